"""The executables that are alive: each made once, measured where the device can tell, destroyed exactly once."""

import logging
import os
from threading import Lock

from sigcontract.driver import (
    DriverApi,
)
from sigcontract.errors import DriverCallError, DriverError
from sigcontract.model import (
    Result,
)

__all__ = ["ExecTable"]

logger = logging.getLogger("sigcontract")


class ExecTable:
    """Owner of CUgraphExec handles. Safe from several threads; no call into user code.

    Attributes
    ----------
    instantiations
        Executables made so far.
    device_bytes
        Device memory that their instantiation took, as cuMemGetInfo showed it. Other allocations of the device
        at the same moment are counted too, and what fits into memory that the driver already held is not.
    nodes
        Nodes of the graphs that they were made from.
    """

    def __init__(self, driver: DriverApi, flags: int) -> None:
        self._driver = driver
        self._flags = flags
        self._live: set[int] = set()
        self._lock = Lock()
        self._process = os.getpid()
        self.instantiations = 0
        self.device_bytes = 0
        self.nodes = 0

    def __len__(self) -> int:
        return len(self._live)

    def instantiate(self, graph: int, nodes: int) -> tuple[int, int | None]:
        """Make an executable from a CUgraph of that many nodes.

        Returns
        -------
        int
            The CUgraphExec.
        int or None
            Bytes of device memory that it took, None where the device did not tell.

        Raises
        ------
        DriverCallError
            cuGraphInstantiate failed (out of memory, a graph that may be instantiated only once).
        """
        before = self._free_bytes()
        handle = self._driver.graph_instantiate(graph, self._flags)
        self._live.add(handle)  # before anything else: an interrupt must not lose it
        after = self._free_bytes()
        taken = None if before is None or after is None else max(0, before - after)
        with self._lock:
            self.instantiations += 1
            self.device_bytes += taken or 0
            self.nodes += nodes
        return handle, taken

    def destroy(self, handle: int) -> DriverError | None:
        """Destroy an executable, and return what went wrong, if anything did.

        An executable that is still running is freed by the driver when it ends (cuGraphExecDestroy). A failed
        call is never repeated: whether the handle is gone cannot be known, and a leak is better than a double free.
        After a fork the handles are the parent's, and the child leaves them alone.
        """
        self._live.remove(handle)
        if os.getpid() != self._process:
            return None
        try:
            self._driver.graph_exec_destroy(handle)
        except DriverError as error:
            # A driver that was shut down has freed everything itself.
            # By its number: a driver that shuts down may not even name its errors.
            gone = isinstance(error, DriverCallError) and error.value == Result.DEINITIALIZED
            return None if gone else error
        return None

    def destroy_rest(self) -> list[tuple[int, DriverError]]:
        """Destroy what an interrupted call left without a group, and return what went wrong, by handle."""
        failed = ((handle, self.destroy(handle)) for handle in sorted(self._live))
        return [(handle, error) for handle, error in failed if error is not None]

    def destroy_abandoned(self) -> None:
        """Destroy what a registry left that was garbage-collected without `close`."""
        for _, error in self.destroy_rest():
            logger.warning("an executable of a registry that was never closed may leak: %s", error)

    def _free_bytes(self) -> int | None:
        try:
            free, _ = self._driver.mem_get_info()
        except DriverError:
            return None  # Only the measurement is lost; instantiation itself will tell what is wrong.
        return free
