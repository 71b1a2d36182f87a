"""Which executable each graph replays through: the state of a registry, its groups, members and executables."""

from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sigcontract.driver import (
    UpdateOutcome,
)
from sigcontract.errors import DriverError, RegistryError
from sigcontract.model import (
    EXEC_BYTES_PER_NODE,
    UpdateResult,
)
from sigcontract.registry import reasons
from sigcontract.registry.entries import GraphEntry, GroupState, Member
from sigcontract.registry.events import (
    DestroyFailed,
    Event,
    FellBack,
    GraphRegistered,
    GraphsRegrouped,
    HandleReused,
    RegistryClosed,
)
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.handle_epochs import HandleEpochs
from sigcontract.registry.reasons import FIRST, Reason
from sigcontract.registry.shared_exec import UNVERIFIED, Counts, SharedExec
from sigcontract.registry.stats import RegistryStats
from sigcontract.update import (
    SHARE_UPDATABLE,
    FirstCome,
    NodeJudge,
    first_come_policy,
    judged_key,
    unprovable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sigcontract.model import (
        DriverProfile,
    )
    from sigcontract.registry.entries import EntryOwner
    from sigcontract.registry.registered_graph import RegisteredGraph

__all__ = ["Placement"]

#: Reasons of members whose prediction the driver contradicted: they keep their executable.
_CONTRADICTED: Final = frozenset({"refused", "unverified", "fallback"})

#: Executables of a group that a new graph is tried on, newest first. There is more than one only if driver or
#: prediction refused an update; the bound keeps registration flat even if every update is refused.
_TRIED: Final = 4


class Shareable(NamedTuple):
    """Members that may move to another executable.

    Attributes
    ----------
    members
        The members.
    shared_by
        For each of their executables, the indices of its members.
    execs
        Number of executables of the registry, those included of which no member may move.
    """

    members: "list[Member]"
    shared_by: "list[FirstCome]"
    execs: int


class Placement:
    """The state of a registry of executables, changed nowhere else. All but `stats` needs the registry's lock.

    Attributes
    ----------
    groups
        The groups that have members, by index.
    pool
        Live executables.
    counting
        Lock over what `stats` reads. Acquired alone or after the registry lock, never inside another call.
    regroups
        Whether `GraphExecRegistry.seal` moves graphs to fewer executables.
    to_reset
        Owners of graphs released by `clear`, to be reset if possible.
    """

    def __init__(
        self, pool: ExecPool, policy: str, profile: "DriverProfile | None", *, raise_undetermined: bool
    ) -> None:
        self._policy = first_come_policy(policy)
        self.regroups: Final = policy == SHARE_UPDATABLE
        self._profile = profile
        self._raise_undetermined = raise_undetermined
        self.groups: Final[dict[int, GroupState]] = {}
        self.pool: Final = pool
        self.to_reset: Final[list[Any]] = []
        self._open: dict[tuple[str, tuple[tuple[int, int], ...]], GroupState] = {}
        self._epochs = HandleEpochs()
        self.counting: Final = Lock()
        self._gone = Counts()
        self._fallbacks = 0
        self._merged = 0
        self._grouped = 0

    def add(self, owner: "EntryOwner", graph: "RegisteredGraph", events: list[Event]) -> GraphEntry:
        """Give a graph an executable, shared if that is safe, and return its entry.

        Raises
        ------
        RegistryError
            It cannot be proven the same as any graph, and the registry raises in that case (``undetermined``).
        DriverCallError
            The driver failed; the state is unchanged.
        """
        epochs, reuses = self._epochs.observe(graph.nodes)
        events.extend(HandleReused(label=graph.label, handle=r.handle, before=r.before, now=r.now) for r in reuses)
        judge = self.judge()
        key = judged_key(self._policy, graph.signature, judge)
        barrier = self._barrier(graph, judge)
        group = None if barrier else self._open.get((key, epochs))
        shared, reason = None, barrier or FIRST
        is_new = group is None
        if group is None:
            group = GroupState(self._grouped, key, epochs, is_open=barrier is None)
        else:
            shared, reason = self._join(group, graph, judge, events)
        if shared is None:
            is_pinned = reason.code == "single-exec"
            shared = SharedExec(self.pool, graph, events, is_pinned=is_pinned)
        member = Member(graph, group, shared, reason)
        entry = GraphEntry(owner, member)
        # CPython checks for no signals until the end of the block: an interrupt leaves all or nothing.
        shared.members[member] = None
        group.execs[shared] = None
        group.members[member] = entry
        if is_new:
            self._grouped += 1
            self.groups[group.index] = group
            if group.is_open:
                self._open[key, epochs] = group
        events.append(
            GraphRegistered(
                label=entry.label, group=group.index, shared=len(shared.members) > 1, reason=str(member.reason)
            )
        )
        return entry

    def give_own_exec(self, member: Member, refusal: UpdateOutcome, events: list[Event]) -> None:
        """Give a member that the driver refused at replay its own executable."""
        shared = member.shared
        if shared is None:
            return
        own = SharedExec(self.pool, member.graph, events)
        reason = reasons.fallback(refusal, shared.first.label)
        own.members[member] = None
        member.group.execs[own] = None
        member.reason = reason
        member.shared = own
        self._leave_exec(member, shared, member.group, events)
        if refusal is UNVERIFIED:  # an event has reported it
            return
        self._fallbacks += 1
        events.append(FellBack(label=member.graph.label, result=UpdateResult.name_of(refusal.result)))

    def judge(self) -> NodeJudge:
        """Return a judge of the registry's profile and flags."""
        return NodeJudge(self._profile, self.pool.flags)

    def shareable(self, events: list[Event]) -> "Shareable":
        """Return the members that may move to another executable, by the executable they use now."""
        self._finish_moves(events)
        members: list[Member] = []
        shared_by: list[FirstCome] = []
        execs = self._served()
        for group, served in execs:
            own = [member for member in served if member.reason.code not in _CONTRADICTED]
            if group.is_open and own:
                shared_by.append(FirstCome(tuple(range(len(members), len(members) + len(own))), group.epochs))
                members += own
        return Shareable(members, shared_by, len(execs))

    def _served(self) -> "list[tuple[GroupState, list[Member]]]":
        """Return the members of each executable, with their group."""
        found: list[tuple[GroupState, list[Member]]] = []
        for group in self.groups.values():
            served: dict[SharedExec | None, list[Member]] = {shared: [] for shared in group.execs}
            for member in group.members:
                served[member.shared].append(member)
            found += ((group, members) for members in served.values())
        return found

    def put_together(self, members: "Sequence[Member]", judge: NodeJudge, events: list[Event]) -> None:
        """Move members to one executable; every two of them must be updatable under ``share-updatable``.

        The target is an executable that has held only these graphs, or a new one. A member keeps its executable if
        the update is not predicted safe along the target's history, or if the driver refuses it. Idempotent.

        Raises
        ------
        DriverCallError
            The driver failed to instantiate an executable. Every member still has one that launches it.
        """
        members = [member for member in members if member.shared is not None]
        execs = {member.shared: member.group for member in members if member.shared is not None}
        if len(execs) <= 1:
            return
        inside = set(members)
        whole = [shared for shared in execs if not shared.has_left and inside.issuperset(shared.members)]
        if whole:
            target = max(whole, key=lambda shared: len(shared.members))
            group = execs[target]
        else:
            target, group = self._found(members[0], events)
        for member in members:
            if member.shared is target:
                continue
            judgement = target.admit(member.graph, judge, events)
            if judgement.joined:
                self._move(member, target, group, reasons.shares(judgement, target.first.label), events)

    def regrouped(self, before: "Shareable", at_least: int) -> GraphsRegrouped:
        """Return the event of a regrouping; ``at_least`` is the lower bound for the executables in ``shared_by``."""
        served = tuple(tuple(member.graph.label for member in members) for _, members in self._served())
        return GraphsRegrouped(
            graphs=sum(map(len, served)),
            execs_before=before.execs,
            execs=served,
            at_least=min(len(served), before.execs - len(before.shared_by) + at_least),
        )

    def _found(self, member: Member, events: list[Event]) -> tuple[SharedExec, GroupState]:
        """Instantiate an executable from a member's graph, in a new group, and move the member to it."""
        shared = SharedExec(self.pool, member.graph, events)
        left = member.group
        group = GroupState(self._grouped, left.key, left.epochs, is_open=True)
        group.execs[shared] = None
        self._grouped += 1
        self.groups[group.index] = group
        self._move(member, shared, group, FIRST, events)
        return shared, group

    def _move(self, member: Member, shared: SharedExec, group: GroupState, reason: Reason, events: list[Event]) -> None:
        """Move a member to another executable. `_finish_moves` completes an interrupted move."""
        before, left = member.shared, member.group
        entry = left.members[member]
        # CPython checks for signals at calls, of which the next five lines have none.
        shared.members[member] = None
        group.members[member] = entry
        member.group = group
        member.reason = reason
        member.shared = shared
        if left is not group:
            left.members.pop(member, None)
        if before is not None:
            self._merged += len(before.members) == 1
            self._leave_exec(member, before, left, events)
        self._drop_if_empty(left)

    def _finish_moves(self, events: list[Event]) -> None:
        """Remove members from the executables and groups that they have left."""
        for group in tuple(self.groups.values()):
            for member in [member for member in group.members if member.group is not group]:
                del group.members[member]
            for shared in tuple(group.execs):
                for gone in [m for m in shared.members if isinstance(m, Member) and m.shared is not shared]:
                    shared.has_left = True
                    shared.members.pop(gone)
                if not shared.members:
                    self._retire(group, shared, events)
            self._drop_if_empty(group)

    def _drop_if_empty(self, group: GroupState) -> None:
        if not group.members and not group.execs:
            self.groups.pop(group.index, None)
            if self._open.get((group.key, group.epochs)) is group:
                del self._open[group.key, group.epochs]

    def release(self, member: Member, events: list[Event], dropped: list[object]) -> None:
        """Release a member. References to its graph go into ``dropped``, to be deleted with no lock held.

        Every step is idempotent, so the next release completes an interrupted one.
        """
        shared = member.shared
        if shared is None:
            return
        group = member.group
        dropped.extend(shared.forget(member.graph))
        group.members.pop(member, None)
        self._leave_exec(member, shared, group, events)
        self._drop_if_empty(group)
        member.shared = None

    def clear(self, events: list[Event], errors: list[Exception], dropped: list[object], *, reset: bool) -> None:
        """Destroy all executables and release all graphs. After an interrupt, the next call completes it."""
        execs = len(self.pool)
        self._open.clear()
        for group in tuple(self.groups.values()):
            for shared in tuple(group.execs):
                error = self._retire(group, shared, events)
                if error is not None:
                    errors.append(error)
            for member in tuple(group.members):
                if reset:
                    self.to_reset.append(member.graph.owner)
                member.shared = None
                dropped.extend(member.graph.drop())
                dropped.append(group.members.pop(member))
            del self.groups[group.index]
        for handle, error in self.pool.destroy_rest():
            errors.append(error)
            events.append(DestroyFailed(graph_exec=handle, error=str(error)))
        events.append(RegistryClosed(execs=execs, errors=len(errors)))

    def stats(self) -> RegistryStats:
        """Count graphs, groups, executables and calls. Needs only ``counting``.

        Each count is exact, but other threads may run between counts.
        """
        counts = Counts()
        counts.add(self._gone)
        groups = tuple(self.groups.copy().values())
        graphs = saved = 0
        for group in groups:
            graphs += len(group.members)
            for shared in tuple(group.execs.copy()):
                counts.add(shared.counts)
                saved += max(0, len(shared.members) - bool(shared.handle)) * shared.first.node_count
        pool = self.pool
        return RegistryStats(
            graphs=graphs,
            groups=len(groups),
            execs=len(pool),
            instantiations=pool.instantiations,
            updates=counts.updates,
            repoints=counts.repoints,
            refusals=dict(sorted(counts.refusals.items())),
            rebuilds=counts.rebuilds,
            launches=counts.launches,
            fallbacks=self._fallbacks,
            evictions=counts.evictions,
            unverified=counts.unverified,
            merged=self._merged,
            bytes_saved_estimate=saved * EXEC_BYTES_PER_NODE,
            device_bytes=pool.device_bytes,
            bytes_saved_measured=pool.device_bytes * saved // pool.nodes if pool.device_bytes and pool.nodes else None,
        )

    def _barrier(self, graph: "RegisteredGraph", judge: NodeJudge) -> Reason | None:
        """Return why a graph can share with no other; None if it can."""
        barrier = reasons.single_exec(graph.signature, graph.nodes)
        if barrier is None:
            findings = unprovable(self._policy, graph.signature, graph.nodes, judge)
            barrier = reasons.unproved(findings) if findings else None
        if barrier is not None:
            self._refuse_undetermined(graph, barrier)
        return barrier

    def _join(
        self, group: GroupState, graph: "RegisteredGraph", judge: NodeJudge, events: list[Event]
    ) -> tuple[SharedExec | None, Reason]:
        """Return the executable of the group that admits the graph, or None and why none does."""
        reason = FIRST
        for shared in tuple(islice(reversed(group.execs), _TRIED)):
            judgement = shared.admit(graph, judge, events)
            if judgement.joined:
                return shared, reasons.shares(judgement, shared.first.label)
            reason = reasons.not_joined(judgement, shared.first.label)
        self._refuse_undetermined(graph, reason)
        return None, reason

    def _refuse_undetermined(self, graph: "RegisteredGraph", reason: Reason) -> None:
        if self._raise_undetermined and reason.code == "undetermined":
            raise RegistryError(f"{graph.label}: {reason}; nothing was registered", code="undetermined")

    def _leave_exec(self, member: Member, shared: SharedExec, group: GroupState, events: list[Event]) -> None:
        shared.has_left = True
        shared.members.pop(member, None)
        if not shared.members and shared in group.execs:
            self._retire(group, shared, events)

    def _retire(self, group: GroupState, shared: SharedExec, events: list[Event]) -> DriverError | None:
        """Take an executable out of its group and destroy it.

        Interrupted before the driver call, it is still in the group or the pool. Interrupted in the call, it is in
        neither: it may be destroyed, and must not be destroyed twice.
        """
        shared.stop()
        with self.counting:
            del group.execs[shared]
            self._gone.add(shared.counts)
        return shared.destroy(events)
