"""Executables shared by graphs if that is safe: predicted, tried on the driver, tracked, and explained."""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Self

from sigcontract.driver import (
    DriverApi,
    LaunchObservations,
    default_driver,
    graph_handle,
    read_graph,
    read_profile,
)
from sigcontract.errors import RegistryError, UsageError
from sigcontract.model import (
    DriverProfile,
    Finding,
    InstantiateFlag,
)
from sigcontract.registry.entries import ExecGroup, GraphEntry
from sigcontract.registry.events import Event
from sigcontract.registry.exec_bounds import ExecBounds
from sigcontract.registry.exec_pool import ExecPool
from sigcontract.registry.lifecycle import Lifecycle
from sigcontract.registry.origin import Origin
from sigcontract.registry.placement import Placement
from sigcontract.registry.registered_graph import RegisteredGraph
from sigcontract.registry.signature_registry import GroupReport, SignatureRegistry
from sigcontract.registry.stats import RegistryStats
from sigcontract.registry.verification import doubt_of_update
from sigcontract.update import (
    SHARE_UPDATABLE,
    same,
)
from sigcontract.wire import (
    wrong_type,
)

__all__ = ["GraphExecRegistry", "check_options"]

#: Policies under which one executable may serve two graphs of one process.
_POLICIES: Final = ("exact", "share", "share-functions", SHARE_UPDATABLE)

#: CUgraphInstantiate_flags that affect neither instantiation nor where the executable may be launched:
#: AUTO_FREE_ON_LAUNCH and USE_NODE_PRIORITY. UPLOAD and DEVICE_LAUNCH fix attributes before the first launch.
_FLAGS: Final = InstantiateFlag.AUTO_FREE_ON_LAUNCH | InstantiateFlag.USE_NODE_PRIORITY


def check_options(  # noqa: PLR0913  the options of the registry
    driver: DriverApi | None = None,
    policy: str = "share",
    profile: DriverProfile | None = None,
    *,
    on_undetermined: str = "own-exec",
    flags: int = 0,
    max_execs: int | None = None,
    max_bytes: int | None = None,
    verify: str = "never",
) -> None:
    """Raise UsageError if `GraphExecRegistry` does not accept these options. Needs no driver."""
    if policy not in _POLICIES:
        raise UsageError(f"executables cannot be shared under policy {policy!r}; use one of {', '.join(_POLICIES)}")
    if on_undetermined not in ("own-exec", "raise"):
        raise UsageError(f"on_undetermined is 'own-exec' or 'raise', not {on_undetermined!r}")
    if driver is not None and not hasattr(driver, "graph_exec_update"):
        raise UsageError(f"a {type(driver).__name__} is not a driver; omit it, or pass policy= and profile= by keyword")
    if profile is not None and not isinstance(profile, DriverProfile):
        raise wrong_type("profile", "DriverProfile", profile)
    if flags & ~_FLAGS:
        raise UsageError(f"instantiation flags {flags:#x} are not supported; use 1, 8 or both")
    for name, bound in (("max_execs", max_execs), ("max_bytes", max_bytes)):
        if bound is not None and (type(bound) is not int or bound < 1):
            raise UsageError(f"{name} must be a positive int or None, not {bound!r}")
    if verify not in ("never", "first-use"):
        raise UsageError(f"verify is 'never' or 'first-use', not {verify!r}")
    if verify == "first-use" and driver is not None and not hasattr(driver, "module_load"):
        raise UsageError(f"a {type(driver).__name__} cannot load stand-in kernels; omit verify='first-use'")


class GraphExecRegistry:
    """Graphs that share an executable if an update launches exactly what a fresh instantiation would.

    A new graph is grouped by the policy. The update of the group's executable to it is predicted, from what the
    executable holds and what it held at its first launch, and then tried. Both must succeed. In every case `register`
    returns an entry that launches the graph, with the reason why it shares or does not.

    Safe to use from several threads, each with a current CUDA context. In a forked child every call but `close`
    raises RegistryError (``forked``).

    Parameters
    ----------
    driver
        The driver; by default this process's libcuda.
    policy
        ``share``, ``share-functions``, ``share-updatable`` or ``exact``.
    profile
        Driver profile; by default the shipped one of the running driver and device.
    on_undetermined
        What to do with a graph that cannot be proven the same as any: ``own-exec`` or ``raise``.
    on_event
        Called with every `sigcontract.registry.events.Event`, after the work and with no lock held. Its exceptions
        propagate from the call that caused the event.
    flags
        CUgraphInstantiate_flags of every executable: 1 (AUTO_FREE_ON_LAUNCH), 8 (USE_NODE_PRIORITY), both, or none.
    observations
        Launches that created the graphs (`sigcontract.driver.observe`), read at `register`. They supply attributes that
        nodes do not return: devices with preferred clusters share nothing without them.
    max_execs
        Most live executables, at least 1. The least recently used one is destroyed to make room, and instantiated again
        by the next replay that needs it. Graphs that CUDA allows one executable (reason ``single-exec``) keep theirs
        and are not counted.
    max_bytes
        The same for device memory, by an estimate of 10,240 bytes per node; one executable is always kept.
    verify
        ``first-use``: after the first update of an executable to a graph, repeat the update with stand-in kernels
        (`sigcontract.driver.verify_update`), and give the graph its own executable unless they confirm it. Takes some
        milliseconds and launches kernels. ``never``: driver and prediction decide.

    Raises
    ------
    UsageError
        An argument is invalid.
    DriverUnavailableError
        The driver is unavailable.
    """

    def __init__(  # noqa: PLR0913  independent options, keyword arguments in practice
        self,
        driver: DriverApi | None = None,
        policy: str = "share",
        profile: DriverProfile | None = None,
        on_undetermined: Literal["own-exec", "raise"] = "own-exec",
        on_event: Callable[[Event], None] | None = None,
        *,
        flags: int = 0,
        observations: LaunchObservations | None = None,
        max_execs: int | None = None,
        max_bytes: int | None = None,
        verify: Literal["never", "first-use"] = "never",
    ) -> None:
        check_options(
            driver,
            policy,
            profile,
            on_undetermined=on_undetermined,
            flags=flags,
            max_execs=max_execs,
            max_bytes=max_bytes,
            verify=verify,
        )
        self.policy: Final = policy
        self._driver: Final[DriverApi] = default_driver() if driver is None else driver
        self.profile: Final = read_profile(driver=self._driver) if profile is None else profile
        self._flags = flags
        self._observations = observations
        origin = Origin()
        self._placement: Final = Placement(
            ExecPool(
                self._driver,
                origin,
                flags,
                ExecBounds(max_execs, max_bytes),
                partial(doubt_of_update, self._driver) if verify == "first-use" else None,
            ),
            policy,
            self.profile,
            raise_undetermined=on_undetermined == "raise",
        )
        self._lifecycle: Final = Lifecycle(self._placement, origin, on_event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def sealed(self) -> bool:
        """Whether registration has ended."""
        return self._lifecycle.state != "open"

    @property
    def closed(self) -> bool:
        """Whether the executables are destroyed."""
        return self._lifecycle.state == "closed"

    @property
    def groups(self) -> tuple[ExecGroup, ...]:
        """The groups that have entries, in order of first arrival."""
        return tuple(group.view for group in self._placement.groups.copy().values())

    @property
    def entries(self) -> tuple[GraphEntry, ...]:
        """The entries that are not released, group by group."""
        return tuple(entry for group in self.groups for entry in group)

    def register(self, graph: Any, label: str | None = None) -> GraphEntry:
        """Register a graph and give it an executable, shared if that is safe.

        Parameters
        ----------
        graph
            Any argument of `sigcontract.driver.read_graph`. The registry keeps the object alive until the entry is
            released. Do not change the graph, or use it in another thread during registration.
        label
            Name for events and reports; by default its number in the order of arrival, such as ``#7``.

        Raises
        ------
        RegistryError
            The registry is sealed, closed or of the parent process; or the graph cannot be proven the same as any,
            and ``on_undetermined`` is ``raise``.
        GraphReadError
            The object is not a graph, or cannot be read.
        ObserveError
            The registry's observations have ended.
        DriverCallError
            The driver failed, for example out of memory. Nothing is registered, and the registry stays usable.
        """
        self._lifecycle.check_open()
        if label is not None and not isinstance(label, str):
            raise wrong_type("label", "str", label)
        # Once, with no lock held: the owner is the caller's code, and may be recaptured at any time.
        handle = graph_handle(graph)
        signature = read_graph(handle, driver=self._driver, observations=self._observations)
        return self._lifecycle.register(RegisteredGraph(graph, handle, label or "", signature), numbered=label is None)

    def replay(self, entry: GraphEntry, stream: Any = None) -> None:
        """Launch a registered graph. See `GraphEntry.replay`.

        Raises
        ------
        RegistryError
            The entry is of another registry, or as for `GraphEntry.replay`.
        """
        self._check_own(entry)
        entry.replay(stream)

    def release(self, entry: GraphEntry) -> None:
        """Release a graph. See `GraphEntry.release`."""
        self._check_own(entry)
        entry.release()

    def seal(self) -> None:
        """End registration; replay continues. Idempotent.

        Under ``share-updatable``, graphs then move to the fewest executables that are proven safe, and executables
        left without graphs are destroyed. Other threads may replay and release meanwhile. The event
        `GraphsRegrouped` lists the graphs of each remaining executable.

        Raises
        ------
        DriverCallError
            An executable could not be instantiated. The registry is sealed and every entry launches its graph; the
            next call continues.
        """
        self._lifecycle.seal()

    def close(self, *, reset: bool = False) -> None:
        """Destroy every executable and release every graph. Idempotent.

        Running launches finish; CUDA frees their executables afterwards. After a KeyboardInterrupt, the next call
        completes the rest. Does nothing in a forked child: the executables are the parent's.

        Parameters
        ----------
        reset
            Then call ``reset()`` of every registered object that has one, such as PyTorch's captures.

        Raises
        ------
        CloseError
            Executables could not be destroyed, or a ``reset()`` failed; everything else was done.
        """
        self._lifecycle.close(reset=reset)

    def why_not(self, a: GraphEntry, b: GraphEntry) -> tuple[Finding, ...]:
        """Return the differences that prevent two graphs from sharing under the policy; empty if none.

        `GraphEntry.reason` explains separate executables of graphs that are the same under the policy.
        """
        for entry in (a, b):
            self._check_own(entry)
        return same(self.policy, a.signature, b.signature, self.profile, flags=self._flags).reasons

    def report(self, *, nearest: int = 20) -> GroupReport:
        """Report groups, single graphs, and their closest matches. See `SignatureRegistry.report`."""
        self._lifecycle.check_process()
        signatures = SignatureRegistry(self.policy, self.profile, flags=self._flags)
        for entry in self.entries:
            if entry.reason.code == "single-exec":
                signatures.register_alone(entry.signature, entry.label, entry.reason.findings)
            else:
                signatures.register(entry.signature, entry.label)
        if self.sealed:
            signatures.seal()
        return signatures.report(nearest=nearest)

    def stats(self) -> RegistryStats:
        """Count graphs, groups, executables and the calls made with them."""
        return self._lifecycle.stats()

    def _check_own(self, entry: GraphEntry) -> None:
        self._lifecycle.check_process()
        if not isinstance(entry, GraphEntry):
            raise UsageError(f"a {type(entry).__name__} is not an entry; pass a result of register()")
        if not entry.belongs_to(self._lifecycle):
            msg = f"{entry.label}: the entry belongs to another registry; replay it through that one"
            raise RegistryError(msg, code="foreign_entry")
