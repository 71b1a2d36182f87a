"""Graphs on the fake driver whose launches say which graph they were of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from sigcontract.driver.cuda.layouts import UpdateResultInfo
from sigcontract.model.attributes import AttributeValue, ClusterDim
from sigcontract.model.cuda import AttributeId
from sigcontract.model.profile import DriverProfile
from sigcontract.profiles import shipped_profile
from sigcontract.registry import GraphExecRegistry
from tests.driver.build import GraphBuilder
from tests.driver.fake import FakeDriver, FakeLaunch, ptx
from tests.driver.fake_update import answer, carry

__all__ = ["PROFILE", "Accepting", "Capture", "Refusing", "Rig", "closed"]

PROFILE = shipped_profile("nvidia-h200-cuda-13.0")


class Accepting(FakeDriver):
    """A driver that answers SUCCESS to every update, and carries over what it can pair."""

    def _update(self, handle: int, graph: int, out: int) -> int:
        executable = self.execs[handle]
        found = answer(executable.graph, self.graphs[graph], executable.flags)
        for old, new in found.pairs:
            carry(old, new, other_work=self.other_work)
        info = UpdateResultInfo.from_address(out)
        info.result, info.errorNode, info.errorFromNode = 0, None, None
        return 0


class Refusing(FakeDriver):
    """A driver that answers TOPOLOGY_CHANGED to an update as long as `refusing` is set."""

    refusing = False

    def _update(self, handle: int, graph: int, out: int) -> int:
        if not self.refusing:
            return super()._update(handle, graph, out) or 0
        node = self.graphs[graph].nodes[-1].handle
        info = UpdateResultInfo.from_address(out)
        info.result, info.errorNode, info.errorFromNode = 2, node, None
        return 910


class Capture:
    """What `torch.cuda.CUDAGraph(keep_graph=True)` is to the registry: an owner of a CUgraph that can be reset."""

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder: GraphBuilder | None = builder
        self.resets = 0

    def raw_cuda_graph(self) -> int:
        if self._builder is None:
            raise RuntimeError("there is no captured graph")
        return self._builder.graph

    def reset(self) -> None:
        self.resets += 1
        if self._builder is not None:
            self._builder.destroy()
            self._builder = None


class Rig:
    """A fake driver with a kernel, a namesake from another module, and another kernel."""

    def __init__(self, fake: FakeDriver | None = None) -> None:
        self.fake = FakeDriver() if fake is None else fake
        self.driver = self.fake.driver()
        self.step = self.load("step", "one")
        self.namesake = self.load("step", "two")
        self.other = self.load("other", "three")
        self._builders: list[GraphBuilder] = []
        self._seen = 0

    def load(self, name: str, code: str = "") -> int:
        """Return the function of that name, in a module of its own."""
        module = self.driver.module_load(ptx(name, parameters=(8,), code=code))
        return self.driver.module_function(module, name)

    def builder(  # noqa: PLR0913  each a way in which graphs differ
        self,
        value: int = 0,
        *,
        nodes: int = 2,
        grid: int = 8,
        cluster: int = 0,
        cooperative: bool = False,
        priority: int = 0,
        function: int | None = None,
    ) -> GraphBuilder:
        """Return a chain of kernels that are all given the value."""
        attributes: dict[int, AttributeValue] = {}
        if cluster:
            attributes[AttributeId.CLUSTER_DIMENSION] = ClusterDim(x=cluster, y=1, z=1)
        if cooperative:
            attributes[AttributeId.COOPERATIVE] = 1
        if priority:
            attributes[AttributeId.PRIORITY] = priority
        builder = GraphBuilder(self.driver)
        self._builders.append(builder)
        before: list[int] = []
        for _ in range(nodes):
            node = builder.kernel(
                self.step if function is None else function,
                grid=(grid, 1, 1),
                arguments=(value.to_bytes(8, "little"),),
                attributes=attributes,
                after=before,
            )
            before = [node]
        return builder

    def graph(self, value: int = 0, **shape: Any) -> int:
        """Return the CUgraph of such a chain."""
        return self.builder(value, **shape).graph

    def registry(self, **options: Any) -> GraphExecRegistry:
        """Return a registry on this driver."""
        return GraphExecRegistry(self.driver, **{"profile": PROFILE, **options})

    def ran(self) -> list[int]:
        """Return the values that kernels were launched with since the last call, those of stand-ins left out."""
        launches = [launch for launch in self.fake.launches[self._seen :] if "_probe_" not in launch.name]
        self._seen = len(self.fake.launches)
        return [int.from_bytes(launch.arguments[0], "little") for launch in launches]

    def replayed(self, replay: Callable[[], None]) -> set[int]:
        """Return the values that kernels were launched with by that call."""
        self.ran()
        replay()
        return set(self.ran())

    def on_launch(self, action: Callable[[], None]) -> None:
        """Do something in the middle of the next launch, with the registry's locks held, as a finaliser might."""
        function = self.fake.functions[self.step]

        def once(_launch: FakeLaunch) -> None:
            function.run = None
            action()

        function.run = once

    def newer_device(self) -> None:
        """Make the kernel's code that of a device that may follow a preferred cluster, which cannot be read."""
        self.fake.functions[self.step].attributes[6] = 103  # CU_FUNC_ATTRIBUTE_BINARY_VERSION

    def unknown_profile(self) -> DriverProfile:
        """Return a profile of a driver that nobody measured."""
        return msgspec.structs.replace(
            PROFILE, id="unknown", attributes=(), cluster_fixed_at="unknown", exec_state="unknown"
        )

    def execs(self) -> int:
        """Return how many executables the driver has."""
        return len(self.fake.execs)


@contextmanager
def closed(registry: GraphExecRegistry, rig: Rig) -> Iterator[GraphExecRegistry]:
    """Close the registry at the end, and hold it to have left nothing behind."""
    with registry:
        yield registry
    assert rig.execs() == 0
    assert rig.fake.misuse == []
