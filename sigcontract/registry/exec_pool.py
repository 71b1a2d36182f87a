"""Live executables: each instantiated once, measured where possible, and destroyed exactly once."""

import logging
from collections.abc import Callable
from threading import Lock
from typing import Final

from sigcontract.driver import (
    DriverApi,
)
from sigcontract.errors import DriverCallError, DriverError
from sigcontract.model import (
    GraphSignature,
    Result,
)
from sigcontract.registry.exec_bounds import ExecBounds
from sigcontract.registry.origin import Origin

__all__ = ["ExecPool"]

logger = logging.getLogger("sigcontract")


class ExecPool:
    """Owner of CUgraphExec handles. Safe to use from several threads; calls no code of the user.

    Attributes
    ----------
    driver
        The driver.
    flags
        CUgraphInstantiate_flags of all.
    bounds
        Bounds on live executables.
    verify
        Verifies an update from one graph to another; returns a doubt or None. None: the driver's result is trusted.
    instantiations
        Executables instantiated so far.
    device_bytes
        Device memory taken by instantiation, by cuMemGetInfo. Includes concurrent allocations on the device, but not
        memory the driver already held.
    nodes
        Nodes instantiated.
    """

    def __init__(
        self,
        driver: DriverApi,
        origin: Origin,
        flags: int,
        bounds: ExecBounds,
        verify: Callable[[GraphSignature, GraphSignature], str | None] | None,
    ) -> None:
        self.driver: Final = driver
        self._origin = origin
        self.flags: Final = flags
        self.bounds: Final = bounds
        self.verify: Final = verify
        self._live: set[int] = set()
        self._lock = Lock()
        self.instantiations = 0
        self.device_bytes = 0
        self.nodes = 0

    def __len__(self) -> int:
        return len(self._live)

    def instantiate(self, graph: int, nodes: int) -> tuple[int, int | None]:
        """Instantiate a CUgraph of that many nodes.

        Returns
        -------
        int
            The CUgraphExec.
        int or None
            Bytes of device memory taken; None if not measured.

        Raises
        ------
        DriverCallError
            cuGraphInstantiate failed (out of memory, a graph that may be instantiated only once).
        """
        before = self._free_bytes()
        handle = self.driver.graph_instantiate(graph, self.flags)
        self._live.add(handle)  # before anything else: an interrupt must not lose it
        after = self._free_bytes()
        taken = None if before is None or after is None else max(0, before - after)
        with self._lock:
            self.instantiations += 1
            self.device_bytes += taken or 0
            self.nodes += nodes
        return handle, taken

    def destroy(self, handle: int) -> DriverError | None:
        """Destroy an executable and return the error, if any.

        The driver frees a running executable when it has finished (cuGraphExecDestroy). A failed call is never
        repeated: whether the handle is gone is unknown, and a leak is better than a double free. In a forked child
        the handles are the parent's and stay untouched.
        """
        self._live.remove(handle)
        if self._origin.forked:
            return None
        try:
            self.driver.graph_exec_destroy(handle)
        except DriverError as error:
            # A driver that has shut down has freed everything. Compare by number: a driver in shutdown may not name its
            # errors.
            gone = isinstance(error, DriverCallError) and error.value == Result.DEINITIALIZED
            return None if gone else error
        return None

    def destroy_rest(self) -> list[tuple[int, DriverError]]:
        """Destroy executables that interrupted calls left without a group; return the errors by handle."""
        failed = ((handle, self.destroy(handle)) for handle in sorted(self._live))
        return [(handle, error) for handle, error in failed if error is not None]

    def destroy_abandoned(self) -> None:
        """Destroy the executables of a registry that was garbage-collected without `close`."""
        for _, error in self.destroy_rest():
            logger.warning("an executable of a registry that was never closed may leak: %s", error)

    def _free_bytes(self) -> int | None:
        try:
            free, _ = self.driver.mem_get_info()
        except DriverError:
            return None  # only the measurement is lost; instantiation reports its own errors
        return free
