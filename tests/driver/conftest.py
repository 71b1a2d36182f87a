"""What the tests of the adapter build graphs from, on either driver."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver
from tests.driver.build import GraphBuilder
from tests.driver.fake import ptx


@dataclass
class Workshop:
    """A driver with things to build graphs from; everything is given back after the test."""

    driver: CudaDriver
    stack: ExitStack

    def graph(self) -> GraphBuilder:
        """Begin a graph."""
        builder = GraphBuilder(self.driver)
        self.stack.callback(builder.destroy)
        return builder

    def function(self, name: str = "add", **options: object) -> int:
        """Load a module of one kernel (see `tests.driver.fake.ptx`) and return its CUfunction."""
        module = self.driver.module_load(ptx(name, **options))  # type: ignore[arg-type]  # passed through
        self.stack.callback(self.driver.module_unload, module)
        return self.driver.module_function(module, name)

    def memory(self, size_bytes: int = 256) -> int:
        """Allocate device memory."""
        return self._kept(self.driver.mem_alloc(size_bytes), self.driver.mem_free)

    def event(self) -> int:
        """Create an event."""
        return self._kept(self.driver.event_create(), self.driver.event_destroy)

    def stream(self) -> int:
        """Create a stream."""
        return self._kept(self.driver.stream_create(), self.driver.stream_destroy)

    def instantiate(self, graph: int, flags: int = 0) -> int:
        """Instantiate a graph."""
        return self._kept(self.driver.graph_instantiate(graph, flags), self.driver.graph_exec_destroy)

    def captured(self, *launches: KernelLaunch) -> int:
        """Capture launches from a stream."""
        stream = self.driver.stream_create()
        try:
            self.driver.begin_capture(stream)
            for launch in launches:
                self.driver.launch_kernel(launch, stream)
            graph = self.driver.end_capture(stream)
        finally:
            self.driver.stream_destroy(stream)
        return self._kept(graph, self.driver.graph_destroy)

    def _kept(self, handle: int, give_back: Callable[[int], None]) -> int:
        self.stack.callback(give_back, handle)
        return handle


@pytest.fixture
def workshop(driver: CudaDriver) -> Iterator[Workshop]:
    """Return a workshop on the driver under test."""
    with ExitStack() as stack:
        yield Workshop(driver, stack)
