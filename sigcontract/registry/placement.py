"""Which executable each graph replays through: groups, the executables in them, and what became of both."""
# ruff: noqa: SLF001  entries and groups are views that users read and only the registry changes

from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from sigcontract.driver import (
    DriverApi,
    UpdateOutcome,
)
from sigcontract.errors import DriverError, RegistryError
from sigcontract.model import (
    DriverProfile,
    UpdateResult,
)
from sigcontract.registry import reasons
from sigcontract.registry.distinct import unknowns
from sigcontract.registry.entries import ExecGroup, GraphEntry
from sigcontract.registry.epochs import HandleEpochs
from sigcontract.registry.events import (
    DestroyFailed,
    Event,
    FellBack,
    GraphRegistered,
    HandleReused,
    RegistryClosed,
)
from sigcontract.registry.lifetimes import ExecTable
from sigcontract.registry.reasons import FIRST, Reason
from sigcontract.registry.shared import Counts, SharedExec
from sigcontract.registry.sources import SourceGraph
from sigcontract.registry.stats import RegistryStats, summed
from sigcontract.update import (
    NodeJudge,
    judged_key,
)

if TYPE_CHECKING:
    from sigcontract.registry.execs import GraphExecRegistry

__all__ = ["Placement"]

#: Executables of one key that a new graph is tried on, newest first. More than one exist only where the driver or
#: the prediction kept graphs of one key apart; the bound keeps registration flat where it keeps all of them apart.
_TRIED: Final = 4


class Placement:
    """The state of a `GraphExecRegistry`. Everything but `stats` is called with the registry's lock held.

    Attributes
    ----------
    groups
        The groups that have entries, by index.
    table
        The executables that are alive.
    counting
        Lock over what `stats` adds up, taken inside of the registry's or without it, by threads that are inside alone.
    to_reset
        Graphs that `clear` let go of, and that are to be reset where they can be.
    """

    def __init__(
        self,
        driver: DriverApi,
        policy: str,
        profile: DriverProfile | None,
        *,
        flags: int,
        raise_undetermined: bool,
    ) -> None:
        self._driver = driver
        self._policy = policy
        self._profile = profile
        self._flags = flags
        self._raise_undetermined = raise_undetermined
        self.groups: Final[dict[int, ExecGroup]] = {}
        self.table: Final = ExecTable(driver, flags)
        self.to_reset: Final[list[Any]] = []
        self._open: dict[tuple[str, tuple[tuple[int, int], ...]], ExecGroup] = {}
        self._epochs = HandleEpochs()
        self.counting: Final = Lock()
        self._gone = Counts()
        self._fallbacks = 0
        self._grouped = 0

    def place(self, registry: "GraphExecRegistry", source: SourceGraph, events: list[Event]) -> GraphEntry:
        """Give a graph an executable, shared where that is safe. The entry is one of that registry.

        Raises
        ------
        RegistryError
            It cannot be proved the same as any, and that is to be an error (``undetermined``).
        DriverCallError
            The driver failed; everything is as before.
        """
        epochs, reuses = self._epochs.observe(source.nodes)
        events.extend(HandleReused(label=source.label, handle=r.handle, before=r.before, now=r.now) for r in reuses)
        # Graphs of one key of which everything is known are the same: the policy need not be asked about each pair.
        judge = NodeJudge(self._profile, self._flags)
        digest = judged_key(self._policy, source.signature, judge)
        barrier = reasons.single_exec(source.signature, source.nodes)
        if barrier is None:
            findings = unknowns(self._policy, source.signature, source.nodes, judge)
            barrier = reasons.unproved(findings) if findings else None
        if barrier is not None:
            self._refuse_undetermined(source, barrier)
        group = None if barrier else self._open.get((digest, epochs))
        shared, reason = None, barrier or FIRST
        is_new = group is None
        if group is None:
            group = ExecGroup(self._grouped, digest, epochs, is_open=barrier is None)
        else:
            shared, reason = self._join(group, source, judge, events)
        if shared is None:
            shared = SharedExec(self._driver, self.table, source, events)
            group._execs.append(shared)
        entry = GraphEntry(registry=registry, source=source, group=group, shared=shared, reason=reason)
        group._entries.append(entry)
        if is_new:  # at last: an interrupt leaves no group without a graph
            self._grouped += 1
            self.groups[group.index] = group
            if group.open:
                self._open[digest, epochs] = group
        events.append(
            GraphRegistered(label=entry.label, group=group.index, shared=shared.members > 1, reason=str(reason))
        )
        return entry

    def give_own_exec(self, entry: GraphEntry, refusal: UpdateOutcome, events: list[Event]) -> None:
        """Give an entry that the driver refused at replay an executable of its own."""
        shared = entry._shared
        if shared is None:
            return
        own = SharedExec(self._driver, self.table, entry._source, events)
        entry._reason = reasons.fallback(refusal, shared.first.label)
        entry._shared = own
        entry.group._execs.append(own)
        self._leave_exec(entry.group, shared, events)
        self._fallbacks += 1
        events.append(FellBack(label=entry.label, result=UpdateResult.name_of(refusal.result)))

    def release(self, entry: GraphEntry, events: list[Event], dropped: list[object]) -> None:
        """Let go of a graph; what held it goes into ``dropped``, to die with no lock held."""
        shared = entry._shared
        if shared is None:
            return
        # In steps that can be done again: an interrupted release is finished by the next.
        group = entry.group
        dropped.extend(shared.forget(entry._source))
        if entry in group._entries:
            group._entries.remove(entry)
        self._leave_exec(group, shared, events)
        if not group._entries:
            self.groups.pop(group.index, None)
            if group.open:
                self._open.pop((group.key, group.epochs), None)
        entry._shared = None

    def clear(self, events: list[Event], errors: list[Exception], dropped: list[object], *, reset: bool) -> None:
        """Destroy and let go of everything, in steps each of which may be the last before an interrupt."""
        execs = len(self.table)
        self._open.clear()
        while self.groups:
            group = next(iter(self.groups.values()))
            while group._execs:
                error = self._retire(group, group._execs[0], events)
                if error is not None:
                    errors.append(error)
            while group._entries:
                entry = group._entries[0]
                if reset:
                    self.to_reset.append(entry.graph)
                entry._shared = None
                dropped.extend(entry._source.drop())
                dropped.append(group._entries.pop(0))
            del self.groups[group.index]
        for handle, error in self.table.destroy_rest():
            errors.append(error)
            events.append(DestroyFailed(graph_exec=handle, error=str(error)))
        events.append(RegistryClosed(execs=execs, errors=len(errors)))

    def stats(self) -> RegistryStats:
        """Count graphs, groups, executables, and what was done with them. Needs ``counting`` alone."""
        return summed(tuple(self.groups.values()), self._gone, self.table, self._fallbacks)

    def _join(
        self, group: ExecGroup, source: SourceGraph, judge: NodeJudge, events: list[Event]
    ) -> tuple[SharedExec | None, Reason]:
        """Return the executable of the group that admits the graph, or None and what kept it out."""
        reason = FIRST
        for shared in reversed(group._execs[-_TRIED:]):
            judgement = shared.admit(source, judge, events)
            if judgement.joined:
                shared.members += 1
                return shared, reasons.shares(judgement.prediction, shared.first.label)
            reason = reasons.kept_apart(judgement, shared.first.label)
        self._refuse_undetermined(source, reason)
        return None, reason

    def _refuse_undetermined(self, source: SourceGraph, reason: Reason) -> None:
        if self._raise_undetermined and reason.code == "undetermined":
            raise RegistryError(f"{source.label}: {reason}; nothing was registered", code="undetermined")

    def _leave_exec(self, group: ExecGroup, shared: SharedExec, events: list[Event]) -> None:
        shared.members = sum(entry._shared is shared for entry in group._entries)
        if not shared.members and shared in group._execs:
            self._retire(group, shared, events)

    def _retire(self, group: ExecGroup, shared: SharedExec, events: list[Event]) -> DriverError | None:
        """Take an executable out of its group and destroy it.

        Interrupted, it is in the group or in the table; interrupted in the driver's call it is in neither, since then
        nobody knows whether it is destroyed, and it must not be destroyed twice.
        """
        shared.stop()
        with self.counting:
            group._execs.remove(shared)
            self._gone.add(shared.counts)
        return shared.destroy(events)
