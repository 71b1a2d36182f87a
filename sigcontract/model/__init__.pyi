from sigcontract.model.attributes import (
    VALUE_TYPES as VALUE_TYPES,
)
from sigcontract.model.attributes import (
    AccessPolicyWindow as AccessPolicyWindow,
)
from sigcontract.model.attributes import (
    AttributeId as AttributeId,
)
from sigcontract.model.attributes import (
    AttributeOrigin as AttributeOrigin,
)
from sigcontract.model.attributes import (
    AttributeState as AttributeState,
)
from sigcontract.model.attributes import (
    AttributeValue as AttributeValue,
)
from sigcontract.model.attributes import (
    ClusterDim as ClusterDim,
)
from sigcontract.model.attributes import (
    DeviceUpdatableNode as DeviceUpdatableNode,
)
from sigcontract.model.attributes import (
    LaunchAttribute as LaunchAttribute,
)
from sigcontract.model.attributes import (
    LaunchCompletionEvent as LaunchCompletionEvent,
)
from sigcontract.model.attributes import (
    MemSyncDomainMap as MemSyncDomainMap,
)
from sigcontract.model.attributes import (
    ProgrammaticEvent as ProgrammaticEvent,
)
from sigcontract.model.attributes import (
    RawValue as RawValue,
)
from sigcontract.model.attributes import (
    check_attribute_order as check_attribute_order,
)
from sigcontract.model.dims import (
    Dim3 as Dim3,
)
from sigcontract.model.dump import (
    DeviceInfo as DeviceInfo,
)
from sigcontract.model.dump import (
    Environment as Environment,
)
from sigcontract.model.dump import (
    LabeledGraph as LabeledGraph,
)
from sigcontract.model.dump import (
    LibraryVersion as LibraryVersion,
)
from sigcontract.model.dump import (
    SignatureDump as SignatureDump,
)
from sigcontract.model.findings import (
    DumpDiff as DumpDiff,
)
from sigcontract.model.findings import (
    Evidence as Evidence,
)
from sigcontract.model.findings import (
    Finding as Finding,
)
from sigcontract.model.findings import (
    GraphDiff as GraphDiff,
)
from sigcontract.model.findings import (
    UpdatePrediction as UpdatePrediction,
)
from sigcontract.model.findings import (
    UpdateResult as UpdateResult,
)
from sigcontract.model.findings import (
    Verdict as Verdict,
)
from sigcontract.model.function import (
    FunctionFacts as FunctionFacts,
)
from sigcontract.model.function import (
    ParameterLayout as ParameterLayout,
)
from sigcontract.model.graph import (
    ChildGraphNode as ChildGraphNode,
)
from sigcontract.model.graph import (
    ConditionalNode as ConditionalNode,
)
from sigcontract.model.graph import (
    Dependency as Dependency,
)
from sigcontract.model.graph import (
    GraphSignature as GraphSignature,
)
from sigcontract.model.graph import (
    NodeSignature as NodeSignature,
)
from sigcontract.model.nodes import (
    BatchMemOpNode as BatchMemOpNode,
)
from sigcontract.model.nodes import (
    EmptyNode as EmptyNode,
)
from sigcontract.model.nodes import (
    EventRecordNode as EventRecordNode,
)
from sigcontract.model.nodes import (
    EventWaitNode as EventWaitNode,
)
from sigcontract.model.nodes import (
    ExtSemasSignalNode as ExtSemasSignalNode,
)
from sigcontract.model.nodes import (
    ExtSemasWaitNode as ExtSemasWaitNode,
)
from sigcontract.model.nodes import (
    HostNode as HostNode,
)
from sigcontract.model.nodes import (
    KernelNodeSignature as KernelNodeSignature,
)
from sigcontract.model.nodes import (
    MemAccess as MemAccess,
)
from sigcontract.model.nodes import (
    MemAllocNode as MemAllocNode,
)
from sigcontract.model.nodes import (
    MemcpyNode as MemcpyNode,
)
from sigcontract.model.nodes import (
    MemcpyOperand as MemcpyOperand,
)
from sigcontract.model.nodes import (
    MemFreeNode as MemFreeNode,
)
from sigcontract.model.nodes import (
    MemOp as MemOp,
)
from sigcontract.model.nodes import (
    MemsetNode as MemsetNode,
)
from sigcontract.model.nodes import (
    OpaqueNode as OpaqueNode,
)
from sigcontract.model.nodes import (
    PointerFacts as PointerFacts,
)
from sigcontract.model.profile import (
    Answer as Answer,
)
from sigcontract.model.profile import (
    AttributeProfile as AttributeProfile,
)
from sigcontract.model.profile import (
    DriverProfile as DriverProfile,
)
from sigcontract.model.profile import (
    UpdateEffect as UpdateEffect,
)
from sigcontract.model.pydantic_schema import (
    BRANCH_MARK as BRANCH_MARK,
)
from sigcontract.model.record import (
    MAX_EXACT_INT as MAX_EXACT_INT,
)
from sigcontract.model.record import (
    Handle as Handle,
)
from sigcontract.model.record import (
    Record as Record,
)
from sigcontract.model.record import (
    Size as Size,
)
from sigcontract.model.record import (
    Text as Text,
)
from sigcontract.model.record import (
    UInt8 as UInt8,
)
from sigcontract.model.record import (
    UInt32 as UInt32,
)
