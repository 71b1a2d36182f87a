"""One graph per kind of node: copies, fills, host functions, events, children, conditionals, allocations, PDL edges.

Needs a GPU. Example: ``python -m examples.recording.nodes examples/nodes.dump.json``.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import capture, check, compile_source, open_device
from examples.recording.writing import output_path, write

SOURCE = r"""
extern "C" __global__ void first(float *to) { to[threadIdx.x] = 1.0f; }
extern "C" __global__ void second(float *to) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  to[threadIdx.x] += 1.0f;
}
"""
BYTES = 4096
ROW_BYTES = 64
ROWS = 4


class Nodes:
    """The device, a stream, a module and memory; a method per graph."""

    def __init__(self) -> None:
        _, self.context = open_device()
        self.stream = check(driver.cuStreamCreate(1))
        module = check(driver.cuModuleLoadData(compile_source(SOURCE, "sm_90")))
        self.first = check(driver.cuModuleGetFunction(module, b"first"))
        self.second = check(driver.cuModuleGetFunction(module, b"second"))
        self.device_memory = int(check(driver.cuMemAlloc(BYTES)))
        self.other_memory = int(check(driver.cuMemAlloc(BYTES)))
        self.host_memory = int(check(driver.cuMemHostAlloc(BYTES, 0)))
        self.event = check(driver.cuEventCreate(0))
        self._argument = ctypes.c_uint64(self.device_memory)
        self._pointers = (ctypes.c_void_p * 1)(ctypes.addressof(self._argument))

    def graphs(self) -> dict[str, Any]:
        """Build every graph, by label."""
        return {
            "memcpy": self._captured(self._copies),
            "memset": self._captured(self._fills),
            "host": self._captured(self._host_function),
            "event": self._captured(self._events),
            "alloc and free": self._captured(self._allocation),
            "programmatic edge": self._captured(self._programmatic_launch),
            "batch mem op": self._captured(self._memory_operations),
            "fork and join": self._fork_and_join(),
            "child graph": self._child_graph(),
            "conditional": self._conditional(),
        }

    def _captured(self, put: Callable[[], None]) -> Any:
        with capture(self.stream) as taken:
            put()
        return taken.graph

    def _copies(self) -> None:
        check(driver.cuMemcpyDtoDAsync(self.other_memory, self.device_memory, 256, self.stream))
        check(driver.cuMemcpyDtoHAsync(self.host_memory, self.device_memory, 256, self.stream))
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType = copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice, copy.dstDevice = self.device_memory, self.other_memory
        copy.srcPitch = copy.dstPitch = 2 * ROW_BYTES
        copy.WidthInBytes, copy.Height = ROW_BYTES, ROWS
        check(driver.cuMemcpy2DAsync(copy, self.stream))

    def _fills(self) -> None:
        check(driver.cuMemsetD32Async(self.device_memory, 7, 64, self.stream))
        check(driver.cuMemsetD2D8Async(self.device_memory, 2 * ROW_BYTES, 1, ROW_BYTES, ROWS, self.stream))

    def _host_function(self) -> None:
        # sem_post stands for any host function: it takes one pointer. The graph is read here, never launched.
        address = ctypes.cast(ctypes.CDLL(None).sem_post, ctypes.c_void_p).value
        check(driver.cuLaunchHostFunc(self.stream, driver.CUhostFn(address), self.host_memory))

    def _events(self) -> None:
        check(driver.cuEventRecordWithFlags(self.event, self.stream, 1))
        check(driver.cuStreamWaitEvent(self.stream, self.event, 1))

    def _allocation(self) -> None:
        address = check(driver.cuMemAllocAsync(BYTES, self.stream))
        check(driver.cuMemsetD8Async(address, 0, BYTES, self.stream))
        check(driver.cuMemFreeAsync(address, self.stream))

    def _programmatic_launch(self) -> None:
        """Let the second kernel start before the first has ended: a captured graph carries that as edge data."""
        self._launch(self.first, programmatic=False)
        self._launch(self.second, programmatic=True)

    def _launch(self, function: Any, *, programmatic: bool) -> None:
        config = driver.CUlaunchConfig()
        config.gridDimX = config.gridDimY = config.gridDimZ = 1
        config.blockDimX, config.blockDimY, config.blockDimZ = 128, 1, 1
        config.hStream = self.stream
        if programmatic:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            value = driver.CUlaunchAttributeValue()
            value.programmaticStreamSerializationAllowed = 1
            attribute.value = value
            config.attrs = [attribute]
            config.numAttrs = 1
        check(driver.cuLaunchKernelEx(config, function, ctypes.addressof(self._pointers), 0))

    def _memory_operations(self) -> None:
        operation = driver.CUstreamBatchMemOpParams()
        kind = driver.CUstreamBatchMemOpType.CU_STREAM_MEM_OP_WRITE_VALUE_32
        operation.operation = kind
        operation.writeValue.operation = kind
        operation.writeValue.address = self.device_memory
        operation.writeValue.value = 42
        check(driver.cuStreamBatchMemOp(self.stream, 1, [operation], 0))

    def _kernel_node(self, graph: Any, dependencies: list[Any]) -> Any:
        params = driver.CUDA_KERNEL_NODE_PARAMS()
        params.func = self.first
        params.gridDimX = params.gridDimY = params.gridDimZ = 1
        params.blockDimX, params.blockDimY, params.blockDimZ = 128, 1, 1
        params.kernelParams = ctypes.addressof(self._pointers)
        return check(driver.cuGraphAddKernelNode(graph, dependencies, len(dependencies), params))

    def _fork_and_join(self) -> Any:
        graph = check(driver.cuGraphCreate(0))
        root = check(driver.cuGraphAddEmptyNode(graph, [], 0))
        branches = [self._kernel_node(graph, [root]) for _ in range(3)]
        self._kernel_node(graph, [branches[2], branches[0], branches[1]])
        return graph

    def _child_graph(self) -> Any:
        graph, inner = check(driver.cuGraphCreate(0)), self._captured(self._fills)
        child = check(driver.cuGraphAddChildGraphNode(graph, [], 0, inner))
        check(driver.cuGraphDestroy(inner))
        self._kernel_node(graph, [child])
        return graph

    def _conditional(self) -> Any:
        graph = check(driver.cuGraphCreate(0))
        params = driver.CUgraphNodeParams()
        params.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        params.conditional.handle = check(driver.cuGraphConditionalHandleCreate(graph, self.context, 1, 1))
        params.conditional.type = driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_IF
        params.conditional.size = 1
        params.conditional.ctx = self.context
        check(driver.cuGraphAddNode(graph, None, None, 0, params))
        self._kernel_node(params.conditional.phGraph_out[0], [])
        return graph


def main() -> None:
    """Build and write."""
    path = output_path(__doc__)
    write(path, Nodes().graphs())


if __name__ == "__main__":
    main()
