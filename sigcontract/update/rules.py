"""The rules: what a difference of one field means for an update, how that is known, and where from.

One table. Findings, `sigcontract rules`, docs/rules.md and the suppression files all name these ids; an id is
never given another meaning. What depends on the driver or on the flags of the exec says so in ``depends``, and the
verdict in the table is the one that holds without a profile.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from sigcontract.model import (
    AttributeId,
    Evidence,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ATTRIBUTE_RULES", "RULES", "RULE_OF_FIELD", "Rule"]

_UPDATE = "cuda.h 13.5, cuGraphExecUpdate"
_NODE_SET = "cuda.h 13.5, cuGraphExecNodeSetParams"
_ATTRIBUTE = "cuda.h 13.5, CUlaunchAttributeID"
_MEASURED = "measured: H200, driver 580.159.04 (CUDA 13.0), 2026-12-01"
_GUIDE = "CUDA programming guide 4.2.3, Updating Instantiated Graphs"
_SGLANG = "https://github.com/sgl-project/sglang/pull/37657"
_MLX = "https://github.com/ml-explore/mlx/pull/2813"
_TRITON = "https://github.com/triton-lang/triton/pull/9444"
_SELF = "sigcontract"


class Rule(NamedTuple):
    """What a difference means.

    Attributes
    ----------
    id
        Stable slug, as ``kernel.grid-dim``.
    field
        The record fields that it judges, as ``KernelNodeSignature.grid_dim``, separated by commas.
    verdict
        What the difference means where no profile says more.
    evidence
        How that is known: documented, measured, reported or assumed.
    why
        The reason, for a person who has this finding on the screen.
    source
        The CUDA function or enum, the measurement, or the public report.
    depends
        What can change the verdict, or None: it always holds.
    """

    id: str
    field: str
    verdict: Verdict
    evidence: Evidence
    why: str
    source: str
    depends: str | None = None

    @property
    def documented(self) -> bool:
        """Whether NVIDIA says so, measured or not."""
        return "cuda.h" in self.source or "CUDA programming guide" in self.source


_IDENTICAL, _HARMLESS, _UPDATABLE = Verdict.IDENTICAL, Verdict.HARMLESS, Verdict.UPDATABLE
_REJECTED, _STALE, _UNDETERMINED = Verdict.REJECTED, Verdict.STALE, Verdict.UNDETERMINED
_PROFILE = "the profile's answer for the attribute: applied, stale, rejected, or without effect on this device"
_FUNCTION_FACTS = (
    "FunctionFacts.parameters, FunctionFacts.max_threads_per_block, FunctionFacts.static_shared_mem_bytes, "
    "FunctionFacts.const_mem_bytes, FunctionFacts.local_mem_bytes, FunctionFacts.registers, "
    "FunctionFacts.ptx_version, FunctionFacts.binary_version, FunctionFacts.cache_mode_ca, "
    "ParameterLayout.offset_bytes, ParameterLayout.size_bytes"
)
_FUNCTION_SETTINGS = (
    "FunctionFacts.max_dynamic_shared_mem_bytes, FunctionFacts.preferred_shared_mem_carveout, "
    "FunctionFacts.cluster_size_must_be_set, FunctionFacts.required_cluster_dim, "
    "FunctionFacts.non_portable_cluster_size_allowed, FunctionFacts.cluster_scheduling_policy_preference"
)
_RUN = (
    "Environment.sigcontract_version, Environment.created_at, Environment.hostname, Environment.process_id, "
    "Environment.rank, Environment.world_size"
)
_ALLOC = (
    "MemAllocNode.size_bytes, MemAllocNode.address, MemAllocNode.allocation_type, MemAllocNode.handle_types, "
    "MemAllocNode.location_type, MemAllocNode.location_id, MemAllocNode.accesses, MemAccess.location_type, "
    "MemAccess.location_id, MemAccess.flags"
)

_TOPOLOGY: Final = (
    Rule(
        "topology.node-count", "GraphSignature.nodes", _REJECTED, "measured",
        "The graphs have different numbers of nodes. The driver answers TOPOLOGY_CHANGED and names no node.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.sink-count", "GraphSignature.dependencies", _REJECTED, "measured",
        "Different numbers of nodes that nothing depends on. Where the candidate has more, the driver names one of "
        "its sinks; where it has fewer, none.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.dependency-count", "GraphSignature.dependencies", _REJECTED, "measured",
        "Two paired nodes have different numbers of dependencies.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.dependency", "Dependency.node", _REJECTED, "measured",
        "A dependency leads to a node that is already paired with another one. Dependencies are paired in the order "
        "in which the edges were added, so one edge list in two orders is two topologies.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "edge.data", "Dependency.from_port, Dependency.to_port, Dependency.type", _REJECTED, "measured",
        "An edge changed between full and programmatic (PDL), or its port did. A captured launch with programmatic "
        "stream serialization is such an edge, not an attribute.",
        _MEASURED,
    ),
    Rule(
        "topology.fixed-unrelated", "GraphSignature.nodes", _UNDETERMINED, "assumed",
        "The graph of the first launch cannot be updated to the graph that the exec holds, so the exec cannot have "
        "run both, and what it keeps from the first launch cannot be told. Give the graph that it was launched with.",
        _SELF,
    ),
    Rule(
        "exec.history", "GraphSignature.nodes", _UNDETERMINED, "assumed",
        "An earlier update of the exec was not proven, or its history is not known (other code updated it), "
        "so what it runs now cannot be told. Instantiate anew.",
        _SELF,
        "only where a prediction is given the state of the exec",
    ),
    Rule(
        "node.type", "GraphSignature.nodes", _REJECTED, "measured",
        "Two paired nodes have different types: NODE_TYPE_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.opaque", "OpaqueNode.type", _UNDETERMINED, "assumed",
        "The node has a type that this release has no record for. Nothing is known of it, so it is never the same "
        "as another, not even as itself.",
        _SELF,
    ),
    Rule(
        "child.graph", "ChildGraphNode.graph", _UPDATABLE, "measured",
        "A child graph follows every rule of a graph; its findings carry their own rules.",
        f"{_GUIDE}; {_MEASURED}",
        "the rules of the nodes inside",
    ),
)  # fmt: skip

_KERNEL: Final = (
    Rule(
        "kernel.function", "KernelNodeSignature.name, KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE,
        "documented",
        "Another function, which the update carries. Refused where the new one uses dynamic parallelism or device-side "
        "launches and the old one does not: no driver function tells that.",
        f"{_UPDATE}; {_MEASURED}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "kernel.handle-reused", "KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE, "measured",
        "The same handle with another name, other facts or other machine code: the module was unloaded and the number "
        "given again. It is another function. CUkernel numbers came back after 20 of 20 unloads.",
        f"{_MEASURED}; {_TRITON}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "kernel.function-unknown", "KernelNodeSignature.kern, KernelNodeSignature.func", _UNDETERMINED, "assumed",
        "At least one side has no function handle (a version 1 record, or a driver that gave none). Equal names do not "
        "prove one function: JIT compilers emit different kernels of one name. Record anew: version 2 has the handles.",
        "https://github.com/ml-explore/mlx/issues/4275",
    ),
    Rule(
        "kernel.cooperative-function", "KernelNodeSignature.kern, KernelNodeSignature.func", _UNDETERMINED, "assumed",
        "The function of a cooperative node changed. Measured: where nothing else in the node changes after a launch, "
        "and no other kernel runs in between, the driver reports SUCCESS and goes on running the old function. Neither "
        "can be told from the records, and a process in which CUPTI was in use never shows it. Instantiate anew.",
        _MEASURED,
        "the profile's cooperative_function_update: stale, applied; without it: undetermined; updatable by the "
        "state of the exec where grid, block or shared memory change too",
    ),
    Rule(
        "kernel.cooperative-function-rejected", "KernelNodeSignature.kern, KernelNodeSignature.func", _REJECTED,
        "measured",
        "The profile measured that this driver refuses another function on a cooperative node.",
        "the profile",
        "only where the profile's cooperative_function_update is rejected",
    ),
    Rule(
        "kernel.context", "KernelNodeSignature.context", _REJECTED, "documented",
        "The owning context of the function cannot change.",
        _UPDATE,
    ),
    Rule(
        "kernel.context-unknown", "KernelNodeSignature.context", _UNDETERMINED, "assumed",
        "The context of at least one side is not known, and the function does not prove it: another one is refused.",
        _UPDATE,
    ),
    Rule(
        "kernel.grid-dim", "KernelNodeSignature.grid_dim", _UPDATABLE, "documented",
        "The update carries the grid, in blocks.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "kernel.block-dim", "KernelNodeSignature.block_dim", _UPDATABLE, "documented",
        "The update carries the threads per block.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "kernel.dynamic-shared-mem", "KernelNodeSignature.dynamic_shared_mem_bytes", _UPDATABLE, "documented",
        "The update carries the dynamic shared memory. The carveout stays as instantiated, so occupancy may differ "
        "from a fresh exec; results do not.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "function.facts", _FUNCTION_FACTS, _UPDATABLE, "documented",
        "What the compiler fixed about the function differs, so it is another function.",
        "cuda.h 13.5, CUfunction_attribute",
        "read with kernel.function",
    ),
    Rule(
        "function.settings", _FUNCTION_SETTINGS, _UPDATABLE, "assumed",
        "A setting of the function differs (cuFuncSetAttribute can change it), or it is another function: the record "
        "cannot tell the two apart.",
        "cuda.h 13.5, CUfunction_attribute",
        "read with kernel.function",
    ),
    Rule(
        "function.code", "FunctionFacts.code_sha256", _UPDATABLE, "measured",
        "Same name, other machine code. Where dims and facts are equal too, this is the only sign: two Triton kernels "
        "that differ in a constexpr have all of them in common.",
        _MEASURED,
        "read with kernel.function",
    ),
    Rule(
        "function.code-unknown", "FunctionFacts.code_sha256", _UNDETERMINED, "measured",
        "The machine code of at least one side was not observed, and across processes nothing else proves that two "
        "kernels of one name are one function. Record with observation on (sigcontract record).",
        _MEASURED,
    ),
    Rule(
        "function.facts-unknown", "KernelNodeSignature.function", _UNDETERMINED, "assumed",
        "Facts of the function were not recorded, or the driver would not give one of them. Unknown is never equal. "
        "Record anew: version 2 has them, where the driver gives them.",
        _SELF,
    ),
    Rule(
        "function.name-not-durable", "KernelNodeSignature.name", _UNDETERMINED, "reported",
        "The name is made from a handle (func:140...), so it says nothing in another process.",
        "https://github.com/sgl-project/sglang/pull/39091",
    ),
    Rule(
        "kernel.attributes", "KernelNodeSignature.attributes", _UPDATABLE, "documented",
        "Launch attributes are compared one by one, each by the rule of its id.",
        _ATTRIBUTE,
        "the rules of the attributes",
    ),
    Rule(
        "kernel.attribute-unknown", "LaunchAttribute.state", _UNDETERMINED, "reported",
        "The value of this attribute is not known on at least one side (unreadable, unsupported, or never asked for). "
        "The driver may keep the old value and report success, which of a preferred cluster is a hang on devices that "
        "have them (GB300); the same function is no proof of the same value. Record with observation on (sigcontract "
        "record), which sees it at the launch, or name a profile of this driver (--profile, sigcontract doctor).",
        _SGLANG,
        "the profile: an attribute that cannot be set, has no effect on this device, or is carried, decides nothing",
    ),
    Rule(
        "kernel.attribute-origin", "LaunchAttribute.origin", _HARMLESS, "assumed",
        "One side read the value from the node, the other saw it at the launch.",
        _SELF,
    ),
    Rule(
        "kernel.attribute-other", "LaunchAttribute.id, LaunchAttribute.value, RawValue.hex", _UNDETERMINED, "assumed",
        "A launch attribute that this release has no name for differs. What an update does with it is not known.",
        _SELF,
        _PROFILE,
    ),
)  # fmt: skip

_HINT = "It is documented as a hint only, so results do not depend on it; speed may."
_WINDOW = (
    "AccessPolicyWindow.base_address, AccessPolicyWindow.size_bytes, AccessPolicyWindow.hit_ratio_bits, "
    "AccessPolicyWindow.hit_property, AccessPolicyWindow.miss_property"
)
_ATTRIBUTE_TABLE: Final[dict[int, Rule]] = {
    AttributeId.IGNORE: Rule(
        "kernel.ignore", "LaunchAttribute.value", _HARMLESS, "documented",
        "An ignored entry: it has no effect.", _ATTRIBUTE,
    ),
    AttributeId.ACCESS_POLICY_WINDOW: Rule(
        "kernel.access-policy-window", _WINDOW, _UNDETERMINED, "assumed",
        "Whether an update carries the access policy window is neither documented nor visible from a kernel.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.COOPERATIVE: Rule(
        "kernel.cooperative", "LaunchAttribute.value", _REJECTED, "measured",
        "A cooperative node cannot become non-cooperative, nor the reverse: ATTRIBUTES_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    AttributeId.SYNCHRONIZATION_POLICY: Rule(
        "kernel.synchronization-policy", "LaunchAttribute.value", _HARMLESS, "documented",
        "An attribute of streams; a kernel node has none.", _ATTRIBUTE,
    ),
    AttributeId.CLUSTER_DIMENSION: Rule(
        "kernel.cluster-dim", "ClusterDim.x, ClusterDim.y, ClusterDim.z, LaunchAttribute.value", _STALE, "reported",
        "The effective cluster (the attribute, or what __cluster_dims__ compiled in) is fixed at the exec's first "
        "upload or launch. The update reports SUCCESS and the exec goes on launching the old cluster; even the "
        "profiler's record names the new one. Where the grid is no multiple of a cluster that an update left behind, "
        "the kernel does not run at all. Instantiate anew.",
        f"{_MLX}; {_MEASURED}",
        "the profile's cluster_fixed_at; judged against the graph of the first launch, or by the state of the exec",
    ),
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: Rule(
        "kernel.cluster-scheduling-policy", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update carries the scheduling policy is not documented, and the profiler's record is no proof.",
        f"{_ATTRIBUTE}; {_MEASURED}", _PROFILE,
    ),
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: Rule(
        "kernel.programmatic-stream-serialization", "LaunchAttribute.value", _HARMLESS, "documented",
        "Valid for launches only: a captured graph carries it as edge data, and rule edge.data compares that.",
        f"{_ATTRIBUTE}; CUDA programming guide, programmatic dependent launch",
    ),
    AttributeId.PROGRAMMATIC_EVENT: Rule(
        "kernel.programmatic-event",
        "ProgrammaticEvent.event, ProgrammaticEvent.flags, ProgrammaticEvent.trigger_at_block_start", _HARMLESS,
        "documented",
        "Valid for launches only: a captured graph carries it as edge data, and rule edge.data compares that.",
        f"{_ATTRIBUTE}; CUDA programming guide, programmatic dependent launch",
    ),
    AttributeId.PRIORITY: Rule(
        "kernel.priority", "LaunchAttribute.value", _HARMLESS, "documented",
        "An exec instantiated without USE_NODE_PRIORITY runs at the priority of the stream that it is launched into.",
        "cuda.h 13.5, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY",
        "with the flag USE_NODE_PRIORITY the update is rejected: rule kernel.node-priority",
    ),
    AttributeId.MEM_SYNC_DOMAIN_MAP: Rule(
        "kernel.mem-sync-domain-map", "MemSyncDomainMap.default, MemSyncDomainMap.remote", _UNDETERMINED, "assumed",
        "Whether an update carries the memory sync domain map is neither documented nor visible from a kernel; a "
        "stale one weakens memory ordering.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.MEM_SYNC_DOMAIN: Rule(
        "kernel.mem-sync-domain", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update carries the memory sync domain is neither documented nor visible from a kernel; a stale "
        "one weakens memory ordering.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.PREFERRED_CLUSTER_DIMENSION: Rule(
        "kernel.preferred-cluster-dim", "LaunchAttribute.value", _STALE, "reported",
        "The exec keeps the preferred cluster that it was instantiated with and reports success: a deterministic hang "
        "on GB300. No driver function reads it back; only observation at the launch does.",
        _SGLANG, f"{_PROFILE}; none where the code is of a compute capability below 10.0",
    ),
    AttributeId.LAUNCH_COMPLETION_EVENT: Rule(
        "kernel.launch-completion-event", "LaunchCompletionEvent.event, LaunchCompletionEvent.flags", _HARMLESS,
        "documented",
        "Valid for launches only: a captured graph carries it as edge data, and rule edge.data compares that.",
        f"{_ATTRIBUTE}; {_MEASURED}",
    ),
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: Rule(
        "kernel.device-updatable", "DeviceUpdatableNode.device_updatable, DeviceUpdatableNode.device_node", _REJECTED,
        "measured",
        "Neither graph nor exec may contain device-updatable kernel nodes. The call fails with NOT_SUPPORTED before it "
        "looks at anything else, names no node, and leaves SUCCESS as the result in the information that it gives.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: Rule(
        "kernel.carveout", "LaunchAttribute.value", _HARMLESS, "documented",
        f"The preferred shared memory carveout is stale after an update: it stays as instantiated. {_HINT}",
        f"{_ATTRIBUTE}; {_MEASURED}",
        "kept stale where the profile says so, and measured then; policy share asks for equality all the same",
    ),
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: Rule(
        "kernel.nvlink-util-centric-scheduling", "LaunchAttribute.value", _HARMLESS, "documented",
        f"Whether an update carries NVLink-centric scheduling is not documented. {_HINT}",
        _ATTRIBUTE,
        "rule kernel.attribute-rejected where the profile says so; policy share asks for equality where it is known",
    ),
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: Rule(
        "kernel.portable-cluster-size-mode", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update carries the portable cluster size mode is not documented.", _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.SHARED_MEMORY_MODE: Rule(
        "kernel.shared-memory-mode", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update carries the shared memory mode is not documented.", _ATTRIBUTE, _PROFILE,
    ),
}  # fmt: skip

_MORE_KERNEL: Final = (
    Rule(
        "kernel.cluster-one", "ClusterDim.x, ClusterDim.y, ClusterDim.z", _UNDETERMINED, "reported",
        "No cluster against an explicit 1x1x1. Kernels see one block per cluster in both, and every recorded launch "
        "was right; but a function built for clusters traps without the attribute.",
        f"{_MLX}; {_MEASURED}",
        "harmless under a profile that measured this update rule, unless the function must have a cluster size set",
    ),
    Rule(
        "kernel.cluster-carried", "ClusterDim.x, ClusterDim.y, ClusterDim.z", _UNDETERMINED, "measured",
        "Function and cluster changed together, and the exec may launch the old cluster or the new one. Measured: "
        "where grid, block or shared memory change too, the new one; where they are those of the last launch, "
        "that depends on whether anything else ran on the device in between. Instantiate anew.",
        f"{_MEASURED}; lab/exec_state.py, 2026-12-02",
        "safe where a prediction is given the state of the exec, and grid, block or shared memory change too",
    ),
    Rule(
        "kernel.node-priority", "LaunchAttribute.value", _REJECTED, "measured",
        "The exec was instantiated with USE_NODE_PRIORITY, under which the requested priority cannot change: "
        "ATTRIBUTES_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
        "only with the flag; else rule kernel.priority",
    ),
    Rule(
        "kernel.attribute-rejected", "LaunchAttribute.value", _REJECTED, "measured",
        "The profile measured that this driver refuses a change of the attribute. Where neither node can be read it is "
        "taken to be the same: if it is not, the driver refuses the update and the exec stays as it was.",
        "the profile", "only where the profile says rejected",
    ),
)  # fmt: skip

_MEMORY: Final = (
    Rule(
        "memory.owner",
        "PointerFacts.device_ordinal, PointerFacts.context", _REJECTED, "measured",
        "The device and the context of an operand of a copy cannot change. cudaMalloc'd and managed memory have a "
        "context, memory of pools and mapped memory have none, so a copy cannot go from the ones to the others: "
        "PARAMETERS_CHANGED. An operand named as unified may be pageable too, which goes with those that have a "
        "context. Of a memset only the device counts.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memory.kind", "PointerFacts.memory_type, PointerFacts.managed", _UPDATABLE, "measured",
        "Memory of another kind, of the same owner as far as the driver asks: cudaMalloc'd for managed memory in a "
        "copy; those, memory of a pool and mapped memory in a memset.",
        _MEASURED,
    ),
    Rule(
        "memory.unknown", "MemcpyOperand.pointer", _UNDETERMINED, "measured",
        "An operand is named as unified, and its memory is not the driver's, as pageable host memory: the driver takes "
        "the update from and to memory that has a context, and the launch may fault (seen from device to pageable "
        "memory). It faults as well where the host side of a copy from or to managed memory goes from pinned to "
        "pageable memory.",
        _MEASURED,
    ),
    Rule(
        "memory.owner-unknown", "MemcpyOperand.pointer, MemsetNode.pointer", _UPDATABLE, "assumed",
        "Another address, and whose it is was not recorded. Taken where device and context are the same; if not, the "
        "driver refuses the update and the exec stays as it was.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memory.owner-unproven", "MemcpyOperand.pointer, MemsetNode.pointer", _UPDATABLE, "assumed",
        "Another array, or an address whose owner was recorded on one side only: that device and context are the "
        "same is not shown. If they are not, the driver refuses the update and the exec stays as it was.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memcpy.operand", "MemcpyNode.source, MemcpyNode.destination", _UPDATABLE, "documented",
        "An operand is compared field by field, each by its own rule.",
        "cuda.h 13.5, CUDA_MEMCPY3D", "the rules of its fields",
    ),
    Rule(
        "memcpy.memory-type", "MemcpyOperand.memory_type", _REJECTED, "measured",
        "The kind of memory of an operand cannot change: PARAMETERS_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memcpy.shape", "MemcpyNode.height, MemcpyNode.depth", _REJECTED, "measured",
        "One of the two copies is 2D or 3D, and something differs. Such a copy may change nothing, its addresses "
        "included: PARAMETERS_CHANGED.",
        f"{_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "memcpy.size", "MemcpyNode.width_bytes", _UPDATABLE, "measured",
        "A 1D copy may change its size.",
        _MEASURED,
    ),
    Rule(
        "memcpy.address", "MemcpyOperand.address", _UPDATABLE, "measured",
        "A 1D copy may change its addresses.",
        _MEASURED,
    ),
    Rule(
        "memcpy.offset", "MemcpyOperand.x_bytes, MemcpyOperand.y, MemcpyOperand.z, MemcpyOperand.lod", _UPDATABLE,
        "assumed",
        "A 1D copy may change where it starts, as it may change the address.",
        _UPDATE,
    ),
    Rule(
        "memcpy.pitch", "MemcpyOperand.pitch_bytes, MemcpyOperand.height_rows", _HARMLESS, "documented",
        "A 1D copy has no second row for which a pitch could count.",
        "cuda.h 13.5, CUDA_MEMCPY3D",
    ),
    Rule(
        "memcpy.one-row", "MemcpyNode.height, MemcpyNode.depth", _HARMLESS, "assumed",
        "0 against 1 in a 1D copy.",
        "cuda.h 13.5, CUDA_MEMCPY3D",
    ),
    Rule(
        "memset.shape", "MemsetNode.height, MemsetNode.width, MemsetNode.element_size_bytes", _REJECTED, "measured",
        "A memset cannot become 2D nor cease to be, and a 2D memset cannot change width, height or element size: "
        "PARAMETERS_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memset.size", "MemsetNode.width, MemsetNode.element_size_bytes, MemsetNode.height", _UPDATABLE, "measured",
        "A 1D memset may change width and element size; documented as possible to fail where it does not map onto the "
        "resources of the node.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memset.pitch", "MemsetNode.pitch_bytes", _HARMLESS, "documented",
        "The pitch of a 1D memset is not used.",
        "cuda.h 13.5, CUDA_MEMSET_NODE_PARAMS",
        "a 2D memset: rule memset.pitch-2d",
    ),
    Rule(
        "memset.pitch-2d", "MemsetNode.pitch_bytes", _REJECTED, "documented",
        "Of a 2D memset only address and value may change.",
        _UPDATE,
    ),
    Rule(
        "memset.unallocated", "MemsetNode.destination", _REJECTED, "measured",
        "The address is no live allocation, as that of the graph's own allocation node: the driver answers ERROR.",
        _MEASURED,
    ),
    Rule(
        "memset.value", "MemsetNode.value", _UPDATABLE, "documented",
        "The update carries the value.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memset.destination", "MemsetNode.destination", _UPDATABLE, "documented",
        "The update carries the address, of the same device and context.",
        f"{_UPDATE}; {_MEASURED}",
    ),
)  # fmt: skip

_OTHER_NODES: Final = (
    Rule(
        "host.function", "HostNode.function_address", _UPDATABLE, "documented",
        "The update carries the host function.", _GUIDE,
    ),
    Rule(
        "host.user-data", "HostNode.user_data", _UPDATABLE, "documented",
        "The update carries the host function's argument.", _GUIDE,
    ),
    Rule(
        "event.event", "EventWaitNode.event, EventRecordNode.event", _UPDATABLE, "measured",
        "The update carries the event.", f"{_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "semaphores.count", "ExtSemasSignalNode.count, ExtSemasWaitNode.count", _REJECTED, "documented",
        "The number of external semaphores cannot change.", _UPDATE,
    ),
    Rule(
        "alloc.parameters", _ALLOC, _UNDETERMINED, "measured",
        "Documented as what cannot change in an exec. The driver takes another size and another address all the same; "
        "where the exec allocates then, and what the nodes that use the address do, is not known.",
        f"{_NODE_SET}; {_MEASURED}",
    ),
    Rule(
        "free.address", "MemFreeNode.address", _UNDETERMINED, "measured",
        "Documented as what cannot change in an exec. The driver takes another address all the same; which allocation "
        "the exec frees then is not known.",
        f"{_NODE_SET}; {_MEASURED}",
    ),
    Rule(
        "batch-mem-op.context", "BatchMemOpNode.context", _REJECTED, "documented",
        "The context of a batch of memory operations cannot change.", "cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams",
    ),
    Rule(
        "batch-mem-op.count", "BatchMemOpNode.operations", _REJECTED, "measured",
        "The number of operations in a batch cannot change: PARAMETERS_CHANGED.",
        f"cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams; {_MEASURED}",
    ),
    Rule(
        "batch-mem-op.operation", "MemOp.operation", _REJECTED, "measured",
        "The type of an operation cannot change: PARAMETERS_CHANGED.",
        f"cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams; {_MEASURED}",
    ),
    Rule(
        "batch-mem-op.target", "MemOp.address, MemOp.value", _UPDATABLE, "documented",
        "Addresses and values of waits and writes may change.", "cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams",
    ),
    Rule(
        "batch-mem-op.wait-type", "MemOp.flags", _UPDATABLE, "documented",
        "The comparison of a wait may change, its FLUSH bit may not.",
        "cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams",
        "any other flag: rule batch-mem-op.flags",
    ),
    Rule(
        "batch-mem-op.flags", "MemOp.flags", _REJECTED, "documented",
        "The FLUSH bit of a wait, and barrier flags, cannot change.",
        "cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams",
    ),
    Rule(
        "batch-mem-op.batch-flags", "BatchMemOpNode.flags", _UNDETERMINED, "assumed",
        "Whether the flags of a batch may change is not documented.",
        "cuda.h 13.5, cuGraphExecBatchMemOpNodeSetParams",
    ),
    Rule(
        "conditional.kind", "ConditionalNode.kind", _REJECTED, "measured",
        "The parameters of a conditional cannot change: NOT_SUPPORTED.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "conditional.bodies", "ConditionalNode.bodies", _REJECTED, "measured",
        "The number of bodies cannot change: NOT_SUPPORTED. The nodes inside follow the rules of a graph.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "conditional.handle", "ConditionalNode.handle", _UPDATABLE, "documented",
        "Flags and default value of the handle are updated; handles must be made and assigned in the same order.",
        f"{_UPDATE}; {_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "conditional.unreadable", "ConditionalNode.kind, ConditionalNode.bodies", _UNDETERMINED, "documented",
        "The kind or a body of the conditional cannot be read (no getter before CUDA 13.2), so nothing can be said of "
        "what it runs. Record under a driver of CUDA 13.2 or later.",
        "cuda.h 13.2, cuGraphNodeGetParams",
    ),
    Rule(
        "graph.single-exec", "GraphSignature.nodes", _REJECTED, "documented",
        "CUDA allows one executable at a time of a graph that allocates, frees or has conditional nodes, and takes no "
        "graph with nodes that the device updates for an update; so no other graph shares its executable.",
        "cuda.h 13.5, cuGraphInstantiateWithParams, cuGraphExecUpdate",
    ),
)  # fmt: skip

_TWO_RUNS: Final = (
    Rule(
        "portable.function", "KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE, "measured",
        "One function in one graph corresponds to two in the other (same handle here, different ones there). Names and "
        "facts may be equal all the same.",
        _MEASURED,
    ),
    Rule(
        "function.split", "KernelNodeSignature.func", _UPDATABLE, "measured",
        "Nodes that ran one function in the old graph run two of one name in the new one. Names, dims and facts may be "
        "equal all the same: two Triton kernels that differ in a constexpr have all of them in common.",
        _MEASURED,
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "function.merge", "KernelNodeSignature.func", _UPDATABLE, "measured",
        "Nodes that ran two functions of one name in the old graph run one in the new one.",
        _MEASURED,
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "portable.context", "KernelNodeSignature.context, BatchMemOpNode.context, PointerFacts.context", _REJECTED,
        "documented",
        "One context in one graph corresponds to two in the other.",
        _UPDATE,
    ),
    Rule(
        "graph.added", "SignatureDump.graphs, LabeledGraph.graph", _UNDETERMINED, "assumed",
        "The graph is in the new dump only: there is nothing to compare it with.", _SELF,
    ),
    Rule(
        "graph.removed", "SignatureDump.graphs, LabeledGraph.graph", _UNDETERMINED, "assumed",
        "The graph is in the old dump only: there is nothing to compare it with.", _SELF,
    ),
    Rule(
        "graph.not-recorded", "SignatureDump.graphs, SignatureDump.complete", _UNDETERMINED, "assumed",
        "One dump has the graph, and the other was cut off or holds no graph at all: whether that process captured it "
        "is not known.",
        _SELF,
    ),
    Rule(
        "graph.label", "LabeledGraph.label", _HARMLESS, "assumed",
        "The graph has another label. Labels are given by the owner and are no part of the graph.", _SELF,
    ),
    Rule(
        "node.added", "GraphSignature.nodes", _REJECTED, "measured",
        "The node is in the new graph only; another number of nodes is another topology.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.removed", "GraphSignature.nodes", _REJECTED, "measured",
        "The node is in the old graph only; another number of nodes is another topology.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.alignment", "GraphSignature.nodes", _HARMLESS, "assumed",
        "The graphs differ in so many places that the search for corresponding nodes was cut short. Every finding is "
        "true, but some nodes may be shown as removed and added that could have been paired.",
        _SELF,
    ),
    Rule(
        "kernel.renamed", "KernelNodeSignature.name", _UPDATABLE, "documented",
        "The kernel has another name, and the same machine code and facts: a compiler that numbers its kernels counts "
        "otherwise, or somebody renamed it. It does what it did; for an update it is another function.",
        f"{_UPDATE}; {_MEASURED}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "topology.node-order", "GraphSignature.nodes", _HARMLESS, "measured",
        "The same nodes with the same edges, listed in another order: the branches were captured in another order. The "
        "driver pairs nodes by order, so whether an update is taken, and what it then changes, depends on it.",
        f"{_UPDATE}; {_MEASURED}",
        "whether the driver's pairing, which starts from the last nodes, brings the same nodes together",
    ),
    Rule(
        "child.wrapper", "ChildGraphNode.graph", _REJECTED, "measured",
        "The same node, inside of more or fewer child graphs that hold nothing else: for an update a node of another "
        "type. What it holds is compared all the same.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "dump.empty", "SignatureDump.graphs", _UNDETERMINED, "assumed",
        "A dump holds no graph, so there is nothing to compare: a recording that captured nothing is no proof of "
        "anything.",
        _SELF,
    ),
    Rule(
        "dump.incomplete", "SignatureDump.complete", _UNDETERMINED, "assumed",
        "The writer of a dump did not end in order: what came after the last write is missing.", _SELF,
    ),
    Rule(
        "dump.profile", "SignatureDump.profile", _UNDETERMINED, "assumed",
        "The dumps name different driver profiles, or one names none. Name the one to judge both by (--profile).",
        _SELF,
    ),
    Rule(
        "dump.extensions", "SignatureDump.extensions", _IDENTICAL, "assumed",
        "Extensions belong to other tools and are outside of every verdict.", _SELF,
    ),
    Rule(
        "environment.driver", "Environment.cuda_driver_version, Environment.display_driver_version", _HARMLESS,
        "assumed",
        "Another driver: what can be read, and what an update carries, may differ from what one profile says.", _SELF,
    ),
    Rule(
        "environment.device",
        "Environment.devices, DeviceInfo.ordinal, DeviceInfo.name, DeviceInfo.compute_capability_major, "
        "DeviceInfo.compute_capability_minor", _HARMLESS, "assumed",
        "Another device: kernels may be compiled and chosen differently.", _SELF,
    ),
    Rule(
        "environment.library", "Environment.libraries, LibraryVersion.name, LibraryVersion.version", _HARMLESS,
        "assumed", "Another version of a library that had a part in the capture.", _SELF,
    ),
    Rule(
        "environment.run", f"{_RUN}, SignatureDump.environment", _IDENTICAL, "assumed",
        "Two runs differ in host, process, rank and time; that is no finding.", _SELF,
    ),
)  # fmt: skip

_ALL = (
    *_TOPOLOGY,
    *_KERNEL,
    *_ATTRIBUTE_TABLE.values(),
    *_MORE_KERNEL,
    *_MEMORY,
    *_OTHER_NODES,
    *_TWO_RUNS,
)

#: Every rule by its id.
RULES: Final["Mapping[str, Rule]"] = MappingProxyType({entry.id: entry for entry in _ALL})

#: The rule of each launch attribute by CUlaunchAttributeID; ids not in it: ``kernel.attribute-other``.
ATTRIBUTE_RULES: Final["Mapping[int, Rule]"] = MappingProxyType(
    {int(attribute_id): entry for attribute_id, entry in _ATTRIBUTE_TABLE.items()}
)

#: The first rule that judges a field, by ``Record.field``.
RULE_OF_FIELD: Final["Mapping[str, Rule]"] = MappingProxyType(
    {field: entry for entry in reversed(_ALL) for field in entry.field.split(", ")}
)
