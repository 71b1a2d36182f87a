"""Which executable each graph replays through: the state of a registry, its groups, members and executables."""

from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

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
from sigcontract.registry.events import DestroyFailed, Event, FellBack, GraphRegistered, HandleReused, RegistryClosed
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.handle_epochs import HandleEpochs
from sigcontract.registry.reasons import FIRST, Reason
from sigcontract.registry.shared_exec import UNVERIFIED, Counts, SharedExec
from sigcontract.registry.stats import RegistryStats
from sigcontract.update import (
    NodeJudge,
    judged_key,
    unprovable,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        DriverProfile,
    )
    from sigcontract.registry.entries import EntryOwner
    from sigcontract.registry.registered_graph import RegisteredGraph

__all__ = ["Placement"]

#: Executables of a group that a new graph is tried on, newest first. There is more than one only if driver or
#: prediction refused an update; the bound keeps registration flat even if every update is refused.
_TRIED: Final = 4


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
    to_reset
        Owners of graphs released by `clear`, to be reset if possible.
    """

    def __init__(
        self, pool: ExecPool, policy: str, profile: "DriverProfile | None", *, raise_undetermined: bool
    ) -> None:
        self._policy = policy
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
        self._grouped = 0

    def add(self, owner: "EntryOwner", graph: "RegisteredGraph", events: list[Event]) -> GraphEntry:
        """Give a graph an executable, shared if that is safe, and return its entry.

        Raises
        ------
        RegistryError
            It cannot be proved the same as any graph, and the registry raises in that case (``undetermined``).
        DriverCallError
            The driver failed; the state is unchanged.
        """
        epochs, reuses = self._epochs.observe(graph.nodes)
        events.extend(HandleReused(label=graph.label, handle=r.handle, before=r.before, now=r.now) for r in reuses)
        judge = NodeJudge(self._profile, self.pool.flags)
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
        self._leave_exec(member, shared, events)
        if refusal is UNVERIFIED:  # an event has reported it
            return
        self._fallbacks += 1
        events.append(FellBack(label=member.graph.label, result=UpdateResult.name_of(refusal.result)))

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
        self._leave_exec(member, shared, events)
        if not group.members:
            self.groups.pop(group.index, None)
            if group.is_open:
                self._open.pop((group.key, group.epochs), None)
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

    def _leave_exec(self, member: Member, shared: SharedExec, events: list[Event]) -> None:
        shared.members.pop(member, None)
        if not shared.members and shared in member.group.execs:
            self._retire(member.group, shared, events)

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
