"""The observed driver calls, and what each reports to the ledgers.

All known calls that create, copy, change or destroy a kernel node or module are listed, under each of their names.
Results of a missing call are unknown, never wrong.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sigcontract.driver.cuda import (
    ATTRIBUTE_VALUE_BYTES,
    ConditionalNodeParams,
    GraphNodeParams,
)
from sigcontract.driver.observing.launches import SCHEDULING_OFF, LaunchLedger
from sigcontract.driver.observing.structs import ApiCall, GraphEvent, pointer, read_bytes, uint
from sigcontract.model import (
    ChildGraphNode,
    ChildGraphOwnership,
    ConditionalNode,
    KernelNodeSignature,
)

if TYPE_CHECKING:
    from sigcontract.driver.observing.modules import ModuleLedger

__all__ = [
    "BEGIN_CAPTURE",
    "COPYING",
    "END_CAPTURE",
    "INSTANTIATING",
    "LAUNCHES",
    "SET_STREAM",
    "Frame",
    "GraphCalls",
    "ModuleCalls",
    "OnEntry",
    "OnReturn",
    "adds_graph",
]

OnEntry = Callable[[int], None]
OnReturn = Callable[["ApiCall", "Frame"], None]


class Frame:
    """An observed call in progress on one thread, and events inside it so far."""

    __slots__ = ("callback_id", "clones", "copies", "modules")

    def __init__(self, callback_id: int) -> None:
        self.callback_id = callback_id
        #: Whether it enabled callbacks for copied nodes.
        self.copies = False
        #: Graphs that nodes were copied into, in order.
        self.clones: dict[int, None] = {}
        #: CUPTI's ids of the modules that were loaded.
        self.modules: list[int] = []


def _both(*names: str) -> tuple[str, ...]:
    """Return each name and its per-thread-default-stream form."""
    return tuple(form for name in names for form in (name, f"{name}_ptsz"))


#: Launches of a kernel, with whether they carry a CUlaunchConfig. cuLaunchCooperativeKernel's one attribute is
#: readable at the node.
LAUNCHES = {
    **dict.fromkeys(_both("cuLaunchKernelEx"), True),
    **dict.fromkeys(_both("cuLaunchKernel", "cuLaunchCooperativeKernel"), False),
}
_RECAPTURE = _both("cuStreamBeginRecaptureToGraph")
BEGIN_CAPTURE = (
    *_both("cuStreamBeginCapture", "cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph"),
    *_RECAPTURE,
)
SET_STREAM = _both("cuStreamSetAttribute", "cuStreamCopyAttributes")
END_CAPTURE = _both("cuStreamEndCapture")
INSTANTIATING = (
    "cuGraphInstantiate",
    "cuGraphInstantiate_v2",
    "cuGraphInstantiateWithFlags",
    *_both("cuGraphInstantiateWithParams"),
)
#: Calls that copy nodes; cuGraphAddNode only if it adds a child graph.
COPYING = ("cuGraphClone", "cuGraphAddChildGraphNode", "cuGraphAddNode", "cuGraphAddNode_v2", "cuGraphAddNode_v3")

#: Index of the argument nodeParams.
_ADD_NODE_PARAMS = {"cuGraphAddNode": 4, "cuGraphAddNode_v2": 5, "cuGraphAddNode_v3": 5}
_NODE_PARAMS = GraphNodeParams.params.offset
_CHILD_OWNERSHIP = _NODE_PARAMS + 8  # CUDA_CHILD_GRAPH_NODE_PARAMS.ownership, behind the graph
_CONDITIONAL_SIZE = _NODE_PARAMS + ConditionalNodeParams.size.offset
_CONDITIONAL_GRAPHS = _NODE_PARAMS + ConditionalNodeParams.phGraph_out.offset


class GraphCalls:
    """Reports graph calls to the launch ledger."""

    def __init__(self, ledger: LaunchLedger) -> None:
        self._ledger = ledger

    def on_entry(self) -> dict[str, OnEntry]:
        """Handlers that run before the call: the handle may be reused as soon as it returns."""
        return {
            "cuGraphDestroy": lambda params: self._ledger.graph_destroyed(pointer(params)),
            "cuGraphDestroyNode": lambda params: self._ledger.forget(pointer(params)),
            # The nodes stay and take the attributes of later launches, but no callback reports which.
            **dict.fromkeys(_RECAPTURE, lambda params: self._ledger.graph_destroyed(pointer(params + 16))),
        }

    def on_return(self) -> dict[str, OnReturn]:
        """Handlers of calls that succeeded."""
        return {
            "cuGraphAddKernelNode": self._kernel_added,
            "cuGraphAddKernelNode_v2": self._kernel_added,
            "cuGraphAddChildGraphNode": self._child_added,
            **{name: partial(self._added, index=index) for name, index in _ADD_NODE_PARAMS.items()},
            "cuGraphClone": self._graph_cloned,
            "cuGraphKernelNodeSetAttribute": self._attribute_set,
            "cuGraphKernelNodeCopyAttributes": self._attributes_copied,
        }

    def node_cloned(self, event: GraphEvent, frame: Frame) -> None:
        """Record CUPTI's GRAPHNODE_CLONED inside a call of `COPYING`."""
        frame.clones[event.graph] = None
        if event.node_type == KernelNodeSignature.node_type:
            self._ledger.cloned(event.graph, event.node, event.original_node)

    def _kernel_added(self, call: ApiCall, _frame: Frame) -> None:
        # Added explicitly, so nothing is inherited from a stream.
        self._ledger.made(call.argument(1), pointer(call.argument(0)), SCHEDULING_OFF)

    def _child_added(self, call: ApiCall, frame: Frame) -> None:
        self._ledger.owns(call.argument(1), pointer(call.argument(0)), frame.clones)

    def _added(self, call: ApiCall, frame: Frame, *, index: int) -> None:
        params = call.argument(index)
        node_type = uint(params)
        if node_type == KernelNodeSignature.node_type:
            self._kernel_added(call, frame)
        elif node_type == ChildGraphNode.node_type:
            moved = uint(params + _CHILD_OWNERSHIP) == ChildGraphOwnership.MOVE
            inner = (pointer(params + _NODE_PARAMS),) if moved else tuple(frame.clones)
            self._ledger.owns(call.argument(1), pointer(call.argument(0)), inner)
        elif node_type == ConditionalNode.node_type:
            bodies, count = pointer(params + _CONDITIONAL_GRAPHS), uint(params + _CONDITIONAL_SIZE)
            inner = tuple(pointer(bodies + 8 * index) for index in range(count)) if bodies else ()
            self._ledger.owns(call.argument(1), pointer(call.argument(0)), inner)

    def _graph_cloned(self, call: ApiCall, frame: Frame) -> None:
        clone = pointer(call.argument(0))
        self._ledger.encloses(clone, [graph for graph in frame.clones if graph != clone])

    def _attribute_set(self, call: ApiCall, _frame: Frame) -> None:
        attribute_id = uint(call.params + 8)
        self._ledger.set_attribute(call.argument(0), attribute_id, read_bytes(call.argument(2), ATTRIBUTE_VALUE_BYTES))

    def _attributes_copied(self, call: ApiCall, _frame: Frame) -> None:
        self._ledger.copied(call.argument(0), call.argument(1))


def adds_graph(name: str, params: int) -> bool:
    """Whether a call of `COPYING`, about to be made, copies nodes."""
    index = _ADD_NODE_PARAMS.get(name)
    return index is None or uint(pointer(params + 8 * index)) == ChildGraphNode.node_type


class ModuleCalls:
    """Reports loads and unloads to the module ledger."""

    def __init__(self, ledger: "ModuleLedger") -> None:
        self._ledger = ledger

    def on_entry(self) -> dict[str, OnEntry]:
        """Handlers that run before the call: the handle may be reused as soon as it returns."""
        return {
            "cuModuleUnload": lambda params: self._ledger.module_unloaded(pointer(params)),
            "cuLibraryUnload": lambda params: self._ledger.library_unloaded(pointer(params)),
        }

    def on_return(self) -> dict[str, OnReturn]:
        """Handlers of calls that succeeded."""
        made_from_memory = ("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary")
        # A primary context ends with its last release, and the call does not report which is the last.
        ends = ("cuCtxDestroy", "cuCtxDestroy_v2", "cuCtxDetach", "cuGreenCtxDestroy")
        resets = ("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2")
        releases = ("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2")
        return {
            **dict.fromkeys(made_from_memory, self._module_loaded),
            **dict.fromkeys((*ends, *resets, *releases), lambda _call, _frame: self._ledger.contexts_ended()),
            "cuModuleLoad": lambda call, frame: self._ledger.module_loaded(pointer(call.argument(0)), 0, frame.modules),
            "cuLibraryLoadData": lambda call, _: self._ledger.library_loaded(
                pointer(call.argument(0)), call.argument(1)
            ),
            "cuLibraryLoadFromFile": lambda call, _: self._ledger.library_loaded(pointer(call.argument(0)), 0),
        }

    def _module_loaded(self, call: ApiCall, frame: Frame) -> None:
        self._ledger.module_loaded(pointer(call.argument(0)), call.argument(1), frame.modules)
