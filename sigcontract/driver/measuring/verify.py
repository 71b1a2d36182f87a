"""Verify an update on this driver, with kernels that report their launch.

User kernels cannot report how they were launched, and a profiler's activity record is no proof (after an update it
named the new cluster while the kernel ran with the old one; measured, H200, driver 580.159.04). So each node is
replaced by a stand-in with its grid, block, shared memory and attributes, one reporting kernel per function. What the
driver keeps stale for the stand-ins it keeps stale for the originals.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import NamedTuple

from sigcontract.driver.cuda import (
    BuildApi,
    KernelLaunch,
    default_driver,
)
from sigcontract.driver.measuring.kernels import REPORT_BYTES, Report, probe_ptx
from sigcontract.driver.measuring.rig import ProbeRig
from sigcontract.driver.observing import (
    loaded_cupti,
)
from sigcontract.driver.reading import (
    encode_attribute,
)
from sigcontract.errors import DriverCallError, UsageError
from sigcontract.model import (
    AttributeId,
    GraphSignature,
    KernelNodeSignature,
    UpdateResult,
)

__all__ = ["LaunchDifference", "UpdateVerification", "verify_update"]

#: A larger size needs a function attribute that stand-ins lack.
_MAX_SHARED_BYTES = 48 * 1024
#: Marks stand-ins of the held graph and of the candidate, so an update without effect shows.
_HELD_MARK = 1 << 16
#: Attributes with process pointers, or valid at launch only: stand-ins omit them.
_NOT_FOR_STAND_INS = frozenset(
    {
        AttributeId.ACCESS_POLICY_WINDOW,
        AttributeId.SYNCHRONIZATION_POLICY,
        AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION,
        AttributeId.PROGRAMMATIC_EVENT,
        AttributeId.LAUNCH_COMPLETION_EVENT,
        AttributeId.DEVICE_UPDATABLE_KERNEL_NODE,
    }
)


class LaunchDifference(NamedTuple):
    """One kernel launched differently than by a fresh executable."""

    #: Of the candidate, as ``nodes[3]``.
    path: str
    #: Its report from a fresh instantiation of the candidate.
    fresh: Report
    #: Its report from the updated executable.
    updated: Report


class UpdateVerification(NamedTuple):
    """What the driver did with the stand-ins."""

    #: CUgraphExecUpdateResult, 0 = SUCCESS.
    result: int
    #: Kernels launched differently after an accepted update.
    differences: tuple[LaunchDifference, ...]
    #: What the stand-ins omit, and so do not verify: path and reason.
    left_out: tuple[str, ...]

    @property
    def carried_out(self) -> bool:
        """Whether the update was accepted and every stand-in was launched as by a fresh executable."""
        return self.result == UpdateResult.SUCCESS and not self.differences


def verify_update(
    held: GraphSignature, candidate: GraphSignature, *, driver: BuildApi | None = None
) -> UpdateVerification:
    """Launch an executable of `held`, update it to `candidate`, relaunch it, and compare with a fresh executable.

    Both graphs are rebuilt from stand-ins on this process's device; the originals are neither needed nor touched. Nodes
    of other types become kernels of one block, edges lose their data, child graphs are not entered, and with CUPTI
    loaded a cooperative node's function proves nothing. ``left_out`` lists each; the result covers the rest.

    Parameters
    ----------
    held, candidate
        Graphs read in one process, so equal handles are equal functions.
    driver
        The driver to use; by default this process's own.

    Raises
    ------
    UsageError
        A node depends on a later one; graphs read from a driver have no such edge.
    DriverUnavailableError
        No driver or device is available.
    DriverCallError
        The device cannot launch the stand-ins. All resources are released.
    """
    with ExitStack() as stack:
        stage = _Stage(driver if driver is not None else default_driver(), stack, (held, candidate))
        held_graph, candidate_graph = stage.build(held, _HELD_MARK), stage.build(candidate, 0)
        launched = stage.rig.instantiate(held_graph)
        stage.run(launched, len(held.nodes))
        result = stage.rig.api.graph_exec_update(launched, candidate_graph).result
        differences: tuple[LaunchDifference, ...] = ()
        if result == UpdateResult.SUCCESS:
            count = len(candidate.nodes)
            updated, fresh = stage.run(launched, count), stage.run(stage.rig.instantiate(candidate_graph), count)
            differences = tuple(
                LaunchDifference(f"nodes[{index}]", expected, seen)
                for index, (expected, seen) in enumerate(zip(fresh, updated, strict=True))
                if expected != seen
            )
        return UpdateVerification(result, differences, tuple(stage.left_out))


class _Stage:
    """The device, one reporting kernel per function, and their report memory."""

    def __init__(self, api: BuildApi, stack: ExitStack, graphs: tuple[GraphSignature, ...]) -> None:
        self.rig = rig = ProbeRig(api, stack)
        self.left_out: dict[str, None] = {}
        functions = {_function(node): None for graph in graphs for node in graph.nodes}
        names = {function: f"sigcontract_probe_{code}" for code, function in enumerate(functions, start=1)}
        image = probe_ptx({name: code for code, name in enumerate(names.values(), start=1)}, clusters=rig.clusters)
        module = rig.kept(api.module_load(image), api.module_unload)
        self._functions = {function: api.module_function(module, name) for function, name in names.items()}
        self._reports = rig.kept(
            api.mem_alloc(REPORT_BYTES * max(1, *(len(graph.nodes) for graph in graphs))), api.mem_free
        )

    def build(self, graph: GraphSignature, mark: int) -> int:
        """Build the graph of stand-ins, which report their index and the mark."""
        api = self.rig.api
        made = self.rig.kept(api.graph_create(), api.graph_destroy)
        handles: list[int] = []
        for index, (node, dependencies) in enumerate(zip(graph.nodes, graph.dependencies, strict=True)):
            path = f"nodes[{index}]"
            if any(edge.node >= index for edge in dependencies):
                raise UsageError(f"{path} depends on a later node; pass graphs as read_graph returns them")
            if any((edge.from_port, edge.to_port, edge.type) != (0, 0, 0) for edge in dependencies):
                self._leave_out(path, "edge data")
            kernel = node if isinstance(node, KernelNodeSignature) else None
            if kernel is None:
                self._leave_out(path, f"a node of type {node.node_type}")
            launch = self._launch(path, index, mark, kernel)
            after = [handles[edge.node] for edge in dependencies]
            handles.append(api.add_kernel_node(made, launch, after))
            for attribute_id, value in launch.attributes.items():
                try:
                    api.set_kernel_attribute(handles[-1], attribute_id, value)
                except DriverCallError as error:
                    self._leave_out(path, f"attribute {attribute_id}, which a node does not accept: {error.result}")
        return made

    def run(self, graph_exec: int, count: int) -> list[Report]:
        """Launch, wait, and return the report of each kernel."""
        return self.rig.reports(graph_exec, self._reports, count)

    def _launch(self, path: str, index: int, mark: int, kernel: KernelNodeSignature | None) -> KernelLaunch:
        value = mark + index
        arguments = ((self._reports + index * REPORT_BYTES).to_bytes(8, "little"), value.to_bytes(4, "little"))
        if kernel is None:
            return KernelLaunch(self._functions[None], (1, 1, 1), (1, 1, 1), arguments)
        grid, block, shared = kernel.grid_dim, kernel.block_dim, kernel.dynamic_shared_mem_bytes
        if shared > _MAX_SHARED_BYTES:
            self._leave_out(path, f"{shared - _MAX_SHARED_BYTES} bytes of shared memory")
        return KernelLaunch(
            self._functions[_function(kernel)],
            (grid.x, grid.y, grid.z),
            (block.x, block.y, block.z),
            arguments,
            min(shared, _MAX_SHARED_BYTES),
            self._attributes(path, kernel),
        )

    def _attributes(self, path: str, kernel: KernelNodeSignature) -> Mapping[int, bytes]:
        attributes = {}
        for entry in kernel.attributes:
            if entry.value is None:
                if entry.state == "unreadable":
                    self._leave_out(path, f"attribute {entry.id}, which is unreadable")
                continue
            value = encode_attribute(entry.id, entry.value)
            if not any(value):
                continue  # set when the node is added
            if entry.id == AttributeId.COOPERATIVE and loaded_cupti() is not None:
                # See `measure_profile`: with CUPTI loaded the driver applies the function; otherwise it keeps it stale.
                self._leave_out(path, "a stale function of a cooperative node, which shows only without CUPTI loaded")
            if entry.id in _NOT_FOR_STAND_INS:
                self._leave_out(path, f"attribute {entry.id}, which stand-ins omit")
            else:
                attributes[entry.id] = value
        return attributes

    def _leave_out(self, path: str, what: str) -> None:
        self.left_out[f"{path}: {what}"] = None


def _function(node: object) -> tuple[int, int] | None:
    return (node.func, node.kern) if isinstance(node, KernelNodeSignature) else None
