"""`FakeDriver`: a CUDA driver in memory, behind C function pointers, that behaves as drivers were seen to behave.

Give it to the adapter through the seam that real addresses take, so that reader, layouts and bindings run whole::

    fake = FakeDriver()                          # or version=12080, compute_capability=(8, 0), ...
    driver = fake.driver()                       # a CudaDriver
    module = driver.module_load(ptx(kernel="add", parameters=(8, 8, 4)))
    add = driver.module_function(module, "add")
    graph = GraphBuilder(driver)                 # tests.driver.build: works on the real driver too
    graph.kernel(add, grid=(4, 1, 1), attributes={4: ClusterDim(x=2, y=1, z=1)})
    launched = driver.graph_instantiate(graph.graph)
    driver.graph_launch(launched, 0)
    fake.launches[-1].cluster_dim                # what ran, not what the graph says

It keeps stale what the measured driver keeps stale (`tests.driver.fake_update`), refuses what that refuses, fails on
demand (`fail`), counts calls (`calls`) and knows what was not given back (`leaks`, `misuse`).
"""

from ctypes import (
    c_void_p,
)

from sigcontract.driver.cuda.layouts import (
    UpdateResultInfo,
)
from tests.driver.fake_base import CHILD, NOT_SUPPORTED, SINGLE_INSTANCE, UPDATE_FAILURE, entry, put
from tests.driver.fake_building import FakeBuilding
from tests.driver.fake_functions import FakeFunctions
from tests.driver.fake_reading import FakeReading
from tests.driver.fake_state import KERNEL, FakeExec, FakeGraph, FakeLaunch
from tests.driver.fake_update import answer, carry, fix

__all__ = ["FakeDriver", "FakeLaunch", "ptx"]


def ptx(
    kernel: str, *, parameters: tuple[int, ...] = (8,), cluster: tuple[int, int, int] | None = None, code: str = ""
) -> bytes:
    """Return PTX text of one kernel that does nothing: parameter sizes in bytes, ``__cluster_dims__``, a comment.

    Texts that differ in ``code`` alone are two kernels of one name, as a JIT compiler emits them. The text is valid
    for the real driver as well; a cluster needs compute capability 9.0.
    """
    target = "sm_90" if cluster else "sm_70"
    declared = ", ".join(f".param {_declared(size, f'p{index}')}" for index, size in enumerate(parameters))
    dims = f".explicitcluster .reqnctapercluster {cluster[0]}, {cluster[1]}, {cluster[2]}" if cluster else ""
    version = "7.8" if cluster else "6.3"
    return (
        f"// {code}\n.version {version}\n.target {target}\n.address_size 64\n"
        f".visible .entry {kernel}({declared}) {dims} {{ ret; }}\n"
    ).encode()


def _declared(size: int, name: str) -> str:
    """Declare a scalar of 1, 2, 4 or 8 bytes, or a struct."""
    return f".b{size * 8} {name}" if size in (1, 2, 4, 8) else f".align {4 if size % 8 else 8} .b8 {name}[{size}]"


class FakeDriver(FakeFunctions, FakeBuilding, FakeReading):
    """An in-memory driver.

    Parameters
    ----------
    version
        cuDriverGetVersion; functions that came later are missing.
    compute_capability
        Of its one device.
    devices
        How many devices; with 0, cuInit fails as on a machine without one.
    device_name
        Its name.
    context
        Whether the primary context is current.
    missing
        Names of functions that this driver does not have, whatever its version.
    readable
        Launch attribute ids that a node gives.

    Attributes
    ----------
    launches
        What ran, in order.
    calls
        How often each C function was called.
    misuse
        What a correct program does not do: handles destroyed twice, unknown ones used.
    other_work
        Whether other programs run kernels on the device, which hides what an update may keep stale.
    """

    other_work = False

    # Executables

    @entry("cuGraphInstantiateWithFlags")
    def _instantiate(self, out: int, graph: int, flags: int) -> int:
        self._context()
        source = self._graph(graph)
        single = any(node.type in SINGLE_INSTANCE for node in source.walk())
        if source.owned or (single and any(one.source == graph for one in self.execs.values())):
            return NOT_SUPPORTED
        made = FakeExec(self._handle(), source.copy(self._handle), graph, flags)
        self.execs[made.handle] = made
        put(c_void_p, out, made.handle)
        return 0

    @entry("cuGraphExecUpdate")
    def _update(self, handle: int, graph: int, out: int) -> int:
        self._context()
        executable = self._exec(handle)
        candidate = self._graph(graph)
        if any(node.device_updatable for held in (executable.graph, candidate) for node in held.walk()):
            return NOT_SUPPORTED
        found = answer(executable.graph, candidate, executable.flags)
        info = UpdateResultInfo.from_address(out)
        info.result = found.result
        info.errorNode = found.node.handle if found.node is not None else None
        info.errorFromNode = found.from_node.handle if found.from_node is not None else None
        if found.result:
            return UPDATE_FAILURE
        for old, new in found.pairs:
            carry(old, new, other_work=self.other_work)
        return 0

    @entry("cuGraphExecDestroy")
    def _exec_destroy(self, handle: int) -> None:
        self._forget("exec", self.execs, handle)

    @entry("cuGraphLaunch")
    def _launch(self, handle: int, _stream: int) -> None:
        self._context()
        executable = self._exec(handle)
        self._run_graph(handle, executable.graph)
        for node in executable.graph.walk():
            if node.type == KERNEL:
                fix(node)

    def _run_graph(self, handle: int, graph: FakeGraph) -> None:
        """Run the kernels in the order of the nodes; fills, copies and the bodies of conditionals are not acted out."""
        for node in graph.nodes:
            if node.type == KERNEL:
                self._run(handle, node)
            elif node.type == CHILD:
                self._run_graph(handle, node.children[0])
