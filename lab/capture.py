"""Described graphs on a device: added node by node, or captured from a stream where the description says so."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import addressof, byref
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import CallError, check
from lab.build import (
    BuiltGraph,
    add,
    add_all,
    arguments_of,
    attributes_of,
    edges_of,
    mem_op,
    memcpy_params,
)
from lab.memory import HOST_SPACES
from lab.rig import Rig
from lab.specs import (
    Alloc,
    BatchMemOps,
    Edge,
    EventRecord,
    EventWait,
    Free,
    GraphSpec,
    Host,
    Kernel,
    Memcpy,
    Memset,
    NodeSpec,
)
from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.layouts import StreamBatchMemOpParams
from sigcontract.driver.reading.attribute_values import encode_attribute
from sigcontract.errors import DriverCallError
from sigcontract.model.attributes import ClusterDim
from sigcontract.model.cuda import AttributeId
from tests.driver.build import GraphBuilder

__all__ = ["as_call_errors", "build", "destroy"]

_SET_DEPENDENCIES = 1  # CU_STREAM_SET_CAPTURE_DEPENDENCIES


def build(rig: Rig, spec: GraphSpec) -> BuiltGraph:
    """Build the graph, captured where the description says so. The caller destroys it.

    Raises
    ------
    CallError
        The driver refuses a node, an attribute, a dependency or the capture.
    """
    with as_call_errors():
        built = BuiltGraph(GraphBuilder(rig.driver))
        try:
            if spec.captured:
                _capture(rig, spec, built)
            else:
                add_all(rig, spec, built)
        except BaseException:
            if not spec.captured:  # a failed capture takes its graph along: destroying that crashed now and then
                with suppress(DriverCallError):  # the first error is the one to tell
                    built.builder.destroy()
            raise
        return built


def destroy(built: BuiltGraph) -> None:
    """Destroy the graph."""
    with as_call_errors():
        built.builder.destroy()


@contextmanager
def as_call_errors() -> Iterator[None]:
    """Let a failed call be the CallError that the experiments count, whoever made the call."""
    try:
        yield
    except DriverCallError as error:
        raise CallError(error.result) from error


def _capture(rig: Rig, spec: GraphSpec, built: BuiltGraph) -> None:
    """Capture the nodes one after the other on one stream whose dependencies are set before each."""
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    check(driver.cuStreamBeginCaptureToGraph(rig.stream, built.handle, None, None, 0, mode))
    try:
        _enqueue_all(rig, spec, built)
    except BaseException:
        driver.cuStreamEndCapture(rig.stream)  # the first error is the one to tell; this only frees the stream
        raise
    check(driver.cuStreamEndCapture(rig.stream))


def _enqueue_all(rig: Rig, spec: GraphSpec, built: BuiltGraph) -> None:
    for node, edges in zip(spec.nodes, spec.dependencies, strict=True):
        sources = [driver.CUgraphNode(built.nodes[edge.node]) for edge in edges]
        data = [_edge_data(edge) for edge in edges]
        check(driver.cuStreamUpdateCaptureDependencies(rig.stream, sources, data, len(sources), _SET_DEPENDENCIES))
        if _put_on_stream(rig, built, node):
            leaves = check(driver.cuStreamGetCaptureInfo(rig.stream))[3]
            built.nodes.append(int(leaves[0]))
        else:
            handle = add(rig, built, node)
            built.nodes.append(handle)
            built.builder.depend(handle, edges_of(built, edges))


def _edge_data(edge: Edge) -> Any:
    data = driver.CUgraphEdgeData()
    data.from_port = edge.from_port
    data.type = int(edge.from_port != 0)
    return data


def _put_on_stream(rig: Rig, built: BuiltGraph, node: NodeSpec) -> bool:
    """Enqueue the node's operation; False for what is no operation of a stream."""
    match node:
        case Kernel():
            _launch(rig, built, node)
        case Memset(height=1) if node.space != "alloc":
            fill = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
            target = rig.spaces[node.space].part(node.slot, alternate=node.alternate)
            check(fill[node.element_bytes](target, node.value, node.width, rig.stream))
        case Memcpy() if not HOST_SPACES & {node.source, node.target}:
            _call(rig, "cuMemcpy3DAsync_v2", byref(memcpy_params(rig, built, node)), ctypes.c_void_p(int(rig.stream)))
        case Host():
            argument = ctypes.c_void_p(rig.semaphore(node.slot, alternate=node.alternate))
            function = ctypes.c_void_p(rig.host_functions[node.function])
            # cuda-bindings frees its wrapper's data when the node first runs (seen in 13.3.1).
            _call(rig, "cuLaunchHostFunc", ctypes.c_void_p(int(rig.stream)), function, argument)
        case EventRecord():
            check(driver.cuEventRecordWithFlags(rig.events[node.event], rig.stream, 1))
        case EventWait():
            check(driver.cuStreamWaitEvent(rig.stream, rig.events[node.event], 1))
        case BatchMemOps():
            count = len(node.operations)
            operations = (StreamBatchMemOpParams * count)(*(mem_op(rig, operation) for operation in node.operations))
            stream, array = ctypes.c_void_p(int(rig.stream)), ctypes.c_void_p(addressof(operations))
            _call(rig, "cuStreamBatchMemOp_v2", stream, ctypes.c_uint(count), array, ctypes.c_uint(0))
        case Alloc():
            built.allocation = int(check(driver.cuMemAllocAsync(node.size_bytes, rig.stream)))
        case Free():
            check(driver.cuMemFreeAsync(built.allocation, rig.stream))
        case _:
            return False
    return True


def _call(rig: Rig, symbol: str, *arguments: Any) -> None:
    """Call libcuda itself, with our layouts. Every argument is a ctypes value: an address is no C int."""
    check((driver.CUresult(getattr(rig.driver_library, symbol)(*arguments)),))


def _launch(rig: Rig, built: BuiltGraph, node: Kernel) -> None:
    attributes = attributes_of(rig, node)
    if node.preferred_cluster is not None:
        x, y, z = node.preferred_cluster
        number = AttributeId.PREFERRED_CLUSTER_DIMENSION
        attributes[number] = encode_attribute(number, ClusterDim(x=x, y=y, z=z))
    launch = KernelLaunch(
        int(rig.functions[node.function]),
        node.grid,
        (node.block, 1, 1),
        arguments_of(rig, built, node),
        node.shared_bytes,
        attributes,
    )
    rig.driver.launch_kernel(launch, int(rig.stream))
