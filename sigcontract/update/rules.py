"""The rules: what a difference in a field means for an update, with evidence and source.

One table. Findings, `sigcontract rules`, docs/rules.md and contracts use these ids, whose meaning never changes.
``depends`` names what can change the verdict; the verdict in the table holds without a profile.
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
    """The meaning of a difference.

    Attributes
    ----------
    id
        Stable slug, such as ``kernel.grid-dim``.
    field
        The record fields it applies to, such as ``KernelNodeSignature.grid_dim``, separated by commas.
    verdict
        The verdict, unless a profile is more specific.
    evidence
        Evidence: documented, measured, reported or assumed.
    why
        The reason, for the reader of a finding.
    source
        The CUDA function or enum, the measurement, or the public report.
    depends
        What can change the verdict; None: nothing.
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
        """Whether NVIDIA documents it, measured or not."""
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
_ARGUMENT = (
    "KernelNodeSignature.arguments, KernelArgument.offset_bytes, KernelArgument.size_bytes, KernelArgument.value, "
    "KernelArgument.pointers, ArgumentPointer.offset_bytes, ArgumentPointer.address, ArgumentPointer.target"
)
_TARGET = (
    "PointerFacts.target, PointerTarget.allocation, PointerTarget.offset_bytes, Allocation.address, "
    "Allocation.size_bytes, Allocation.memory_type, Allocation.device_ordinal, Allocation.managed, Allocation.pooled, "
    "PointerTarget.block, AllocatorBlock.allocator, AllocatorBlock.state, AllocatorBlock.pool, "
    "AllocatorBlock.size_bytes, AllocatorBlock.offset_bytes"
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
        "The graphs have different numbers of nodes. The driver returns TOPOLOGY_CHANGED and reports no node.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.sink-count", "GraphSignature.dependencies", _REJECTED, "measured",
        "The graphs have different numbers of sinks (nodes that nothing depends on). If the candidate has more, the "
        "error node is one of its sinks; if it has fewer, the driver reports no node.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.dependency-count", "GraphSignature.dependencies", _REJECTED, "measured",
        "Two paired nodes have different numbers of dependencies.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "topology.dependency", "Dependency.node", _REJECTED, "measured",
        "A dependency leads to a node that is already paired with another node. The driver pairs dependencies in the "
        "order in which the edges were added, so the same edges added in another order are another topology.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "edge.data", "Dependency.from_port, Dependency.to_port, Dependency.type", _REJECTED, "measured",
        "An edge changed between full and programmatic (PDL), or its port changed. A captured launch with "
        "programmatic stream serialization becomes such an edge, not an attribute.",
        _MEASURED,
    ),
    Rule(
        "topology.fixed-unrelated", "GraphSignature.nodes", _UNDETERMINED, "assumed",
        "The graph of the first launch cannot be updated to the graph that the exec holds, so the exec cannot have "
        "run both. What it keeps from its first launch is unknown. Pass the graph of its first launch.",
        _SELF,
    ),
    Rule(
        "exec.history", "GraphSignature.nodes", _UNDETERMINED, "assumed",
        "An earlier update of the exec was not proven safe, or other code updated the exec, so what it runs now is "
        "unknown. Instantiate a new exec.",
        _SELF,
        "only for a prediction from the state of the exec",
    ),
    Rule(
        "node.type", "GraphSignature.nodes", _REJECTED, "measured",
        "Two paired nodes have different types: NODE_TYPE_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.opaque", "OpaqueNode.type", _UNDETERMINED, "assumed",
        "This release does not know the node's type. Unknown values never match, not even each other.",
        _SELF,
    ),
    Rule(
        "child.graph", "ChildGraphNode.graph", _UPDATABLE, "measured",
        "A child graph follows every rule of a graph; each finding in it names its own rule.",
        f"{_GUIDE}; {_MEASURED}",
        "the rules of the nested nodes",
    ),
)  # fmt: skip

_KERNEL: Final = (
    Rule(
        "kernel.function", "KernelNodeSignature.name, KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE,
        "documented",
        "The function differs, and the update applies it. The driver rejects the update if the new function uses "
        "dynamic parallelism or device-side launches and the old one does not; no driver call reports which functions "
        "do.",
        f"{_UPDATE}; {_MEASURED}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "kernel.handle-reused", "KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE, "measured",
        "The handle is the same, but the name, facts or machine code differ: the module was unloaded, and the driver "
        "reused the handle for another function. CUkernel handles were reused in 20 of 20 reloads.",
        f"{_MEASURED}; {_TRITON}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "kernel.function-unknown", "KernelNodeSignature.kern, KernelNodeSignature.func", _UNDETERMINED, "assumed",
        "At least one side has no function handle (a version 1 record, or the driver returned none). Equal names do "
        "not prove the same function: JIT compilers emit different kernels under one name. Record again: version 2 "
        "has the handles.",
        "https://github.com/ml-explore/mlx/issues/4275",
    ),
    Rule(
        "kernel.cooperative-function", "KernelNodeSignature.kern, KernelNodeSignature.func", _UNDETERMINED, "assumed",
        "The function of a cooperative node changed. Measured: if nothing else in the node changes after a launch, "
        "and no other kernel runs in between, the driver reports SUCCESS and keeps running the old function. Records "
        "show neither condition, and processes that used CUPTI never show the effect. Instantiate a new exec.",
        _MEASURED,
        "the profile's cooperative_function_update: stale, applied; without it: undetermined; updatable by the "
        "state of the exec if grid, block or shared memory change too",
    ),
    Rule(
        "kernel.cooperative-function-rejected", "KernelNodeSignature.kern, KernelNodeSignature.func", _REJECTED,
        "measured",
        "In the profile's measurement, this driver rejects another function on a cooperative node.",
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
        "The context of at least one side is unknown, and the function does not prove that it is the same. The driver "
        "rejects another context.",
        _UPDATE,
    ),
    Rule(
        "kernel.grid-dim", "KernelNodeSignature.grid_dim", _UPDATABLE, "documented",
        "The update applies the grid, in blocks.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "kernel.block-dim", "KernelNodeSignature.block_dim", _UPDATABLE, "documented",
        "The update applies the threads per block.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "kernel.dynamic-shared-mem", "KernelNodeSignature.dynamic_shared_mem_bytes", _UPDATABLE, "documented",
        "The update applies the dynamic shared memory. The carveout stays as instantiated, so occupancy may differ "
        "from that of a fresh exec; results do not.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "function.facts", _FUNCTION_FACTS, _UPDATABLE, "documented",
        "A compile-time property of the function differs, so it is another function.",
        "cuda.h 13.5, CUfunction_attribute",
        "read with kernel.function",
    ),
    Rule(
        "function.settings", _FUNCTION_SETTINGS, _UPDATABLE, "assumed",
        "A setting of the function differs (cuFuncSetAttribute sets it), or it is another function; the record does "
        "not distinguish the two.",
        "cuda.h 13.5, CUfunction_attribute",
        "read with kernel.function",
    ),
    Rule(
        "function.code", "FunctionFacts.code_sha256", _UPDATABLE, "measured",
        "The name is the same, the machine code differs. If dims and facts are equal too, this is the only sign: two "
        "Triton kernels that differ in a constexpr have all of these in common.",
        _MEASURED,
        "read with kernel.function",
    ),
    Rule(
        "function.code-unknown", "FunctionFacts.code_sha256", _UNDETERMINED, "measured",
        "The machine code of at least one side was not observed, and nothing else proves across processes that two "
        "kernels of one name are the same function. Record with observation (sigcontract record).",
        _MEASURED,
    ),
    Rule(
        "function.facts-unknown", "KernelNodeSignature.function", _UNDETERMINED, "assumed",
        "Facts of the function were not recorded, or the driver did not return one. Unknown values never match, not "
        "even each other. Record again: version 2 has the facts that the driver returns.",
        _SELF,
    ),
    Rule(
        "function.name-not-durable", "KernelNodeSignature.name", _UNDETERMINED, "reported",
        "The name contains a handle (func:140...), so it means nothing in another process.",
        "https://github.com/sgl-project/sglang/pull/39091",
    ),
    Rule(
        "kernel.argument", _ARGUMENT, _UPDATABLE, "documented",
        "An argument differs, and the update applies it. What differs is the value, the offset into an allocation, "
        "the allocation, whether two addresses are the same, or the layout. Allocations are matched by their uses; "
        "addresses of two processes are not compared.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "kernel.argument-unknown", "KernelNodeSignature.arguments, KernelArgument.value, ArgumentPointer.target",
        _UNDETERMINED, "assumed",
        "An argument is unknown: at least one side was recorded without arguments or is redacted, both sides hold a "
        "word that looks like an address but is in no allocation, or the block of PyTorch's allocator is not known on "
        "both sides. Unknown values never match, not even each other. An update applies the argument, whatever it is. "
        "Record both with --arguments.",
        _SELF,
        "under the share policies arguments do not count",
    ),
    Rule(
        "kernel.attributes", "KernelNodeSignature.attributes", _UPDATABLE, "documented",
        "Launch attributes are compared one by one, each by the rule of its id.",
        _ATTRIBUTE,
        "the rules of the attributes",
    ),
    Rule(
        "kernel.attribute-unknown", "LaunchAttribute.state", _UNDETERMINED, "reported",
        "The value of this attribute is unknown on at least one side (unreadable, unsupported, or not queried). The "
        "driver may keep the old value and report success; a stale preferred cluster hangs devices that follow it "
        "(GB300). The same function does not prove the same value. Record with observation (sigcontract record), "
        "which reads the value at the launch, or pass a profile of this driver (--profile, sigcontract doctor).",
        _SGLANG,
        "the profile: an attribute that cannot be set, has no effect on this device, or is applied, decides nothing",
    ),
    Rule(
        "kernel.attribute-origin", "LaunchAttribute.origin", _HARMLESS, "assumed",
        "One side read the value from the node, the other observed it at the launch.",
        _SELF,
    ),
    Rule(
        "kernel.attribute-other", "LaunchAttribute.id, LaunchAttribute.value, RawValue.hex", _UNDETERMINED, "assumed",
        "A launch attribute that this release does not know differs. What an update does with it is unknown.",
        _SELF,
        _PROFILE,
    ),
)  # fmt: skip

_HINT = "It is documented as a hint, so results do not depend on it, but speed may."
_WINDOW = (
    "AccessPolicyWindow.base_address, AccessPolicyWindow.size_bytes, AccessPolicyWindow.hit_ratio_bits, "
    "AccessPolicyWindow.hit_property, AccessPolicyWindow.miss_property"
)
_ATTRIBUTE_TABLE: Final[dict[int, Rule]] = {
    AttributeId.IGNORE: Rule(
        "kernel.ignore", "LaunchAttribute.value", _HARMLESS, "documented",
        "An ignored entry has no effect.", _ATTRIBUTE,
    ),
    AttributeId.ACCESS_POLICY_WINDOW: Rule(
        "kernel.access-policy-window", _WINDOW, _UNDETERMINED, "assumed",
        "Whether an update applies the access policy window is neither documented nor visible to a kernel.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.COOPERATIVE: Rule(
        "kernel.cooperative", "LaunchAttribute.value", _REJECTED, "measured",
        "A cooperative node cannot become non-cooperative, nor the reverse: ATTRIBUTES_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    AttributeId.SYNCHRONIZATION_POLICY: Rule(
        "kernel.synchronization-policy", "LaunchAttribute.value", _HARMLESS, "documented",
        "A stream attribute; kernel nodes have none.", _ATTRIBUTE,
    ),
    AttributeId.CLUSTER_DIMENSION: Rule(
        "kernel.cluster-dim", "ClusterDim.x, ClusterDim.y, ClusterDim.z, LaunchAttribute.value", _STALE, "reported",
        "The effective cluster (the attribute, or what __cluster_dims__ compiled in) is fixed at the exec's first "
        "upload or launch. The update reports SUCCESS, but the exec keeps launching the old cluster; even the "
        "profiler's record names the new one. If the grid is not a multiple of the stored cluster, the kernel does "
        "not run at all. Instantiate a new exec.",
        f"{_MLX}; {_MEASURED}",
        "the profile's cluster_fixed_at; judged against the graph of the first launch, or by the state of the exec",
    ),
    AttributeId.CLUSTER_SCHEDULING_POLICY_PREFERENCE: Rule(
        "kernel.cluster-scheduling-policy", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update applies the scheduling policy is not documented, and the profiler's record is no proof.",
        f"{_ATTRIBUTE}; {_MEASURED}", _PROFILE,
    ),
    AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION: Rule(
        "kernel.programmatic-stream-serialization", "LaunchAttribute.value", _HARMLESS, "documented",
        "Valid for launches only: a captured graph represents it as edge data (rule edge.data).",
        f"{_ATTRIBUTE}; CUDA programming guide, programmatic dependent launch",
    ),
    AttributeId.PROGRAMMATIC_EVENT: Rule(
        "kernel.programmatic-event",
        "ProgrammaticEvent.event, ProgrammaticEvent.flags, ProgrammaticEvent.trigger_at_block_start", _HARMLESS,
        "documented",
        "Valid for launches only: a captured graph represents it as edge data (rule edge.data).",
        f"{_ATTRIBUTE}; CUDA programming guide, programmatic dependent launch",
    ),
    AttributeId.PRIORITY: Rule(
        "kernel.priority", "LaunchAttribute.value", _HARMLESS, "documented",
        "An exec instantiated without USE_NODE_PRIORITY runs at the priority of its launch stream.",
        "cuda.h 13.5, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY",
        "with the flag USE_NODE_PRIORITY the update is rejected: rule kernel.node-priority",
    ),
    AttributeId.MEM_SYNC_DOMAIN_MAP: Rule(
        "kernel.mem-sync-domain-map", "MemSyncDomainMap.default, MemSyncDomainMap.remote", _UNDETERMINED, "assumed",
        "Whether an update applies the memory sync domain map is neither documented nor visible to a kernel; a "
        "stale one weakens memory ordering.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.MEM_SYNC_DOMAIN: Rule(
        "kernel.mem-sync-domain", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update applies the memory sync domain is neither documented nor visible to a kernel; a stale "
        "one weakens memory ordering.",
        _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.PREFERRED_CLUSTER_DIMENSION: Rule(
        "kernel.preferred-cluster-dim", "LaunchAttribute.value", _STALE, "reported",
        "The exec keeps the preferred cluster it was instantiated with, and the update reports SUCCESS: a "
        "deterministic hang on GB300. No driver function returns the attribute; only observation at the launch shows "
        "it. Instantiate a new exec.",
        _SGLANG, f"{_PROFILE}; none where the code is of a compute capability below 10.0",
    ),
    AttributeId.LAUNCH_COMPLETION_EVENT: Rule(
        "kernel.launch-completion-event", "LaunchCompletionEvent.event, LaunchCompletionEvent.flags", _HARMLESS,
        "documented",
        "Valid for launches only: a captured graph represents it as edge data (rule edge.data).",
        f"{_ATTRIBUTE}; {_MEASURED}",
    ),
    AttributeId.DEVICE_UPDATABLE_KERNEL_NODE: Rule(
        "kernel.device-updatable", "DeviceUpdatableNode.device_updatable, DeviceUpdatableNode.device_node", _REJECTED,
        "measured",
        "Neither graph nor exec may contain device-updatable kernel nodes. The call fails with NOT_SUPPORTED before "
        "any other check, reports no node, and leaves SUCCESS in the result info.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT: Rule(
        "kernel.carveout", "LaunchAttribute.value", _HARMLESS, "documented",
        f"The preferred shared memory carveout is stale after an update: it stays as instantiated. {_HINT}",
        f"{_ATTRIBUTE}; {_MEASURED}",
        "stale, and measured, if the profile says so; policy share requires equality anyway",
    ),
    AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING: Rule(
        "kernel.nvlink-util-centric-scheduling", "LaunchAttribute.value", _HARMLESS, "documented",
        f"Whether an update applies NVLink-centric scheduling is not documented. {_HINT}",
        _ATTRIBUTE,
        "rule kernel.attribute-rejected if the profile says so; policy share requires equality of known values",
    ),
    AttributeId.PORTABLE_CLUSTER_SIZE_MODE: Rule(
        "kernel.portable-cluster-size-mode", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update applies the portable cluster size mode is not documented.", _ATTRIBUTE, _PROFILE,
    ),
    AttributeId.SHARED_MEMORY_MODE: Rule(
        "kernel.shared-memory-mode", "LaunchAttribute.value", _UNDETERMINED, "assumed",
        "Whether an update applies the shared memory mode is not documented.", _ATTRIBUTE, _PROFILE,
    ),
}  # fmt: skip

_MORE_KERNEL: Final = (
    Rule(
        "kernel.cluster-one", "ClusterDim.x, ClusterDim.y, ClusterDim.z", _UNDETERMINED, "reported",
        "One side has no cluster, the other an explicit 1x1x1. Kernels see one block per cluster in both cases, and "
        "every recorded launch was right; but a function built for clusters traps without the attribute.",
        f"{_MLX}; {_MEASURED}",
        "harmless under a profile that measured this update rule, unless the function must have a cluster size set",
    ),
    Rule(
        "kernel.cluster-carried", "ClusterDim.x, ClusterDim.y, ClusterDim.z", _UNDETERMINED, "measured",
        "Function and cluster changed together, and the exec may launch the old or the new cluster. Measured: it "
        "launches the new one if grid, block or shared memory change too; otherwise it depends on whether anything "
        "else ran on the device since the last launch. Instantiate a new exec.",
        f"{_MEASURED}; lab/exec_state.py, 2026-12-02",
        "safe for a prediction from the state of the exec if grid, block or shared memory change too",
    ),
    Rule(
        "kernel.node-priority", "LaunchAttribute.value", _REJECTED, "measured",
        "The exec was instantiated with USE_NODE_PRIORITY. The requested priority then cannot change: "
        "ATTRIBUTES_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
        "only with the flag; else rule kernel.priority",
    ),
    Rule(
        "kernel.attribute-rejected", "LaunchAttribute.value", _REJECTED, "measured",
        "In the profile's measurement, this driver rejects a change of the attribute. An attribute that is unreadable "
        "on both nodes counts as equal; if it differs, the driver rejects the update and leaves the exec unchanged.",
        "the profile", "only if the profile says rejected",
    ),
)  # fmt: skip

_MEMORY: Final = (
    Rule(
        "memory.owner",
        "PointerFacts.device_ordinal, PointerFacts.context", _REJECTED, "measured",
        "Device and context of a copy operand cannot change. cudaMalloc'd and managed memory have a context; pool and "
        "mapped memory have none. A copy operand cannot change from one kind to the other: PARAMETERS_CHANGED. A "
        "unified operand may also be pageable memory, which is compatible with memory that has a context. For a "
        "memset only the device counts.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memory.kind", "PointerFacts.memory_type, PointerFacts.managed", _UPDATABLE, "measured",
        "The kind of memory differs, and the driver accepts the change: between cudaMalloc'd and managed memory in a "
        "copy; also to and from pool and mapped memory in a memset.",
        _MEASURED,
    ),
    Rule(
        "memory.unknown", "MemcpyOperand.pointer", _UNDETERMINED, "measured",
        "A unified operand points to memory unknown to the driver, such as pageable host memory. The driver accepts "
        "updates from and to memory with a context, and the launch may fault (seen from device to pageable memory). "
        "It also faults if the host side of a copy from or to managed memory changes from pinned to pageable "
        "memory.",
        _MEASURED,
    ),
    Rule(
        "memory.owner-unknown", "MemcpyOperand.pointer, MemsetNode.pointer", _UPDATABLE, "assumed",
        "The address differs, and its owner was not recorded. The driver accepts the update if device and context are "
        "the same; otherwise it rejects the update and leaves the exec unchanged.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memory.owner-unproven", "MemcpyOperand.pointer, MemsetNode.pointer", _UPDATABLE, "assumed",
        "The array differs, or the owner of the address was recorded on one side only, so equal device and context "
        "are not proven. If they differ, the driver rejects the update and leaves the exec unchanged.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memory.target", _TARGET, _UPDATABLE, "measured",
        "An operand of a copy or memset points into another allocation, or at another offset in it. A 1D copy and a "
        "memset may change their addresses.",
        f"{_UPDATE}; {_MEASURED}",
        "a 2D or 3D copy: rule memcpy.shape; an argument of a kernel: rule kernel.argument",
    ),
    Rule(
        "memory.target-unknown", "PointerFacts.target, PointerTarget.block", _UNDETERMINED, "assumed",
        "The memory that an operand of a copy or memset points to was recorded on one side only. Record both with "
        "--arguments.",
        _SELF,
        "under the share policies addresses do not count",
    ),
    Rule(
        "memory.gone", "AllocatorBlock.state, AllocatorBlock.pool, ArgumentPointer.target, PointerFacts.target",
        _UPDATABLE, "documented",
        "The address pointed to memory in use, and now points to a free block, to a block of another graph's pool, or "
        "to no allocation. The update applies it, and the launch then reads or writes memory that something else may "
        "use. Keep the memory alive as long as the graph is replayed.",
        f"{_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "memory.stack", "AllocatorBlock.stack", _HARMLESS, "assumed",
        "Other lines of the program allocated the block. Stacks of two processes are not compared.",
        _SELF,
    ),
    Rule(
        "memcpy.operand", "MemcpyNode.source, MemcpyNode.destination", _UPDATABLE, "documented",
        "An operand is compared field by field, each by its own rule.",
        "cuda.h 13.5, CUDA_MEMCPY3D", "the rules of its fields",
    ),
    Rule(
        "memcpy.memory-type", "MemcpyOperand.memory_type", _REJECTED, "measured",
        "The memory type of an operand cannot change: PARAMETERS_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memcpy.shape", "MemcpyNode.height, MemcpyNode.depth", _REJECTED, "measured",
        "One of the two copies is 2D or 3D, and something differs. Nothing in such a copy may change, addresses "
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
        "A 1D copy may change its offset, as it may change its address.",
        _UPDATE,
    ),
    Rule(
        "memcpy.pitch", "MemcpyOperand.pitch_bytes, MemcpyOperand.height_rows", _HARMLESS, "documented",
        "A 1D copy has no second row, so the pitch has no effect.",
        "cuda.h 13.5, CUDA_MEMCPY3D",
    ),
    Rule(
        "memcpy.one-row", "MemcpyNode.height, MemcpyNode.depth", _HARMLESS, "assumed",
        "Height or depth is 0 on one side and 1 on the other; a 1D copy treats both alike.",
        "cuda.h 13.5, CUDA_MEMCPY3D",
    ),
    Rule(
        "memset.shape", "MemsetNode.height, MemsetNode.width, MemsetNode.element_size_bytes", _REJECTED, "measured",
        "A memset cannot change between 1D and 2D, and a 2D memset cannot change width, height or element size: "
        "PARAMETERS_CHANGED.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memset.size", "MemsetNode.width, MemsetNode.element_size_bytes, MemsetNode.height", _UPDATABLE, "measured",
        "A 1D memset may change width and element size; the documentation allows failure if they do not fit the "
        "node's resources.",
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
        "Only address and value of a 2D memset may change.",
        _UPDATE,
    ),
    Rule(
        "memset.unallocated", "MemsetNode.destination", _REJECTED, "measured",
        "The address is in no live allocation; memory of the graph's own allocation node is an example. The driver "
        "returns ERROR.",
        _MEASURED,
    ),
    Rule(
        "memset.value", "MemsetNode.value", _UPDATABLE, "documented",
        "The update applies the value.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "memset.destination", "MemsetNode.destination", _UPDATABLE, "documented",
        "The update applies the address, if device and context are the same.",
        f"{_UPDATE}; {_MEASURED}",
    ),
)  # fmt: skip

_OTHER_NODES: Final = (
    Rule(
        "host.function", "HostNode.function_address", _UPDATABLE, "documented",
        "The update applies the host function.", _GUIDE,
    ),
    Rule(
        "host.user-data", "HostNode.user_data", _UPDATABLE, "documented",
        "The update applies the host function's argument.", _GUIDE,
    ),
    Rule(
        "event.event", "EventWaitNode.event, EventRecordNode.event", _UPDATABLE, "measured",
        "The update applies the event.", f"{_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "semaphores.count", "ExtSemasSignalNode.count, ExtSemasWaitNode.count", _REJECTED, "documented",
        "The number of external semaphores cannot change.", _UPDATE,
    ),
    Rule(
        "alloc.parameters", _ALLOC, _UNDETERMINED, "measured",
        "These parameters are documented as fixed in an exec. The driver nevertheless accepts another size and "
        "address; where the exec then allocates, and what nodes that use the address do, is unknown. Instantiate a "
        "new exec.",
        f"{_NODE_SET}; {_MEASURED}",
    ),
    Rule(
        "free.address", "MemFreeNode.address", _UNDETERMINED, "measured",
        "The address is documented as fixed in an exec. The driver nevertheless accepts another address; which "
        "allocation the exec then frees is unknown. Instantiate a new exec.",
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
        "The parameters of a conditional node cannot change: NOT_SUPPORTED.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "conditional.bodies", "ConditionalNode.bodies", _REJECTED, "measured",
        "The number of bodies cannot change: NOT_SUPPORTED. The nested nodes follow the rules of a graph.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "conditional.handle", "ConditionalNode.handle", _UPDATABLE, "documented",
        "The update applies the flags and default value of the handle; handles must be created and assigned in the "
        "same order.",
        f"{_UPDATE}; {_GUIDE}; {_MEASURED}",
    ),
    Rule(
        "conditional.unreadable", "ConditionalNode.kind, ConditionalNode.bodies", _UNDETERMINED, "documented",
        "The type or a body of the conditional node is unreadable (no getter before CUDA 13.2), so what it runs is "
        "unknown. Record under a driver of CUDA 13.2 or later.",
        "cuda.h 13.2, cuGraphNodeGetParams",
    ),
    Rule(
        "graph.single-exec", "GraphSignature.nodes", _REJECTED, "documented",
        "CUDA allows only one executable at a time for a graph with allocation, free or conditional nodes, and "
        "rejects updates with device-updatable nodes, so no other graph shares its executable.",
        "cuda.h 13.5, cuGraphInstantiateWithParams, cuGraphExecUpdate",
    ),
)  # fmt: skip

_TWO_RUNS: Final = (
    Rule(
        "portable.function", "KernelNodeSignature.kern, KernelNodeSignature.func", _UPDATABLE, "measured",
        "One function in one graph corresponds to two in the other (one handle here, two there). Names and facts "
        "may still be equal.",
        _MEASURED,
    ),
    Rule(
        "function.split", "KernelNodeSignature.func", _UPDATABLE, "measured",
        "Nodes that ran one function in the old graph run two of the same name in the new one. Dims and facts may "
        "still be equal: two Triton kernels that differ in a constexpr have all of these in common.",
        _MEASURED,
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "function.merge", "KernelNodeSignature.func", _UPDATABLE, "measured",
        "Nodes that ran two functions of one name in the old graph run one function in the new one.",
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
        "Only the new dump has the graph, so it cannot be compared.", _SELF,
    ),
    Rule(
        "graph.removed", "SignatureDump.graphs, LabeledGraph.graph", _UNDETERMINED, "assumed",
        "Only the old dump has the graph, so it cannot be compared.", _SELF,
    ),
    Rule(
        "graph.not-recorded", "SignatureDump.graphs, SignatureDump.complete", _UNDETERMINED, "assumed",
        "One dump has the graph; the other is truncated or empty, so whether that process captured the graph is "
        "unknown. Record that process again.",
        _SELF,
    ),
    Rule(
        "graph.label", "LabeledGraph.label", _HARMLESS, "assumed",
        "The graph has another label. Labels are chosen by the program and are not part of the graph.", _SELF,
    ),
    Rule(
        "node.added", "GraphSignature.nodes", _REJECTED, "measured",
        "Only the new graph has the node; a different node count is a different topology.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.removed", "GraphSignature.nodes", _REJECTED, "measured",
        "Only the old graph has the node; a different node count is a different topology.", f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "node.alignment", "GraphSignature.nodes", _HARMLESS, "assumed",
        "The graphs differ so much that the search for corresponding nodes was cut short. Every finding is true, "
        "but nodes that could be paired may be shown as removed and added.",
        _SELF,
    ),
    Rule(
        "kernel.renamed", "KernelNodeSignature.name", _UPDATABLE, "documented",
        "The kernel has another name but the same machine code and facts: its compiler numbers kernels, or it was "
        "renamed. It does the same work; for an update it is another function.",
        f"{_UPDATE}; {_MEASURED}",
        "on a cooperative node rule kernel.cooperative-function applies",
    ),
    Rule(
        "topology.node-order", "GraphSignature.nodes", _HARMLESS, "measured",
        "The nodes and edges are the same, but branches were captured in another order. The driver pairs nodes by "
        "order, so the order decides whether it accepts an update, and what the update changes.",
        f"{_UPDATE}; {_MEASURED}",
        "whether the driver's pairing, which starts from the sinks, pairs the same nodes",
    ),
    Rule(
        "child.wrapper", "ChildGraphNode.graph", _REJECTED, "measured",
        "The same node is wrapped in more or fewer child graphs that contain nothing else. For an update it is a node "
        "of another type. Its content is still compared.",
        f"{_UPDATE}; {_MEASURED}",
    ),
    Rule(
        "dump.empty", "SignatureDump.graphs", _UNDETERMINED, "assumed",
        "A dump has no graphs, so nothing can be compared. A recording that captured nothing proves nothing: record "
        "again.",
        _SELF,
    ),
    Rule(
        "dump.incomplete", "SignatureDump.complete", _UNDETERMINED, "assumed",
        "The process was still running or died when it wrote the dump, so graphs that it instantiated later are "
        "missing. The graphs in the dump are complete. For a complete dump, record again and let the program end.",
        _SELF,
    ),
    Rule(
        "dump.profile", "SignatureDump.profile", _UNDETERMINED, "assumed",
        "The dumps name different driver profiles, or one names none. Pass the profile for both (--profile).",
        _SELF,
    ),
    Rule(
        "dump.extensions", "SignatureDump.extensions", _IDENTICAL, "assumed",
        "Extensions belong to other tools and do not affect verdicts.", _SELF,
    ),
    Rule(
        "environment.driver", "Environment.cuda_driver_version, Environment.display_driver_version", _HARMLESS,
        "assumed",
        "The driver differs: readable attributes and the effects of updates may differ.", _SELF,
    ),
    Rule(
        "environment.device",
        "Environment.devices, DeviceInfo.ordinal, DeviceInfo.name, DeviceInfo.compute_capability_major, "
        "DeviceInfo.compute_capability_minor", _HARMLESS, "assumed",
        "The device differs: kernels may be compiled and selected differently.", _SELF,
    ),
    Rule(
        "environment.library", "Environment.libraries, LibraryVersion.name, LibraryVersion.version", _HARMLESS,
        "assumed",
        "The version of a library involved in the capture differs.", _SELF,
    ),
    Rule(
        "environment.run", f"{_RUN}, SignatureDump.environment", _IDENTICAL, "assumed",
        "Two runs differ in host, process, rank and time; that is not a finding.", _SELF,
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
