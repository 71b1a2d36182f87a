from sigcontract.model.attributes import (
    VALUE_TYPES as VALUE_TYPES,
    AccessPolicyWindow as AccessPolicyWindow,
    AttributeId as AttributeId,
    AttributeOrigin as AttributeOrigin,
    AttributeState as AttributeState,
    AttributeValue as AttributeValue,
    ClusterDim as ClusterDim,
    DeviceUpdatableNode as DeviceUpdatableNode,
    LaunchAttribute as LaunchAttribute,
    LaunchCompletionEvent as LaunchCompletionEvent,
    MemSyncDomainMap as MemSyncDomainMap,
    ProgrammaticEvent as ProgrammaticEvent,
    RawValue as RawValue,
    check_attribute_order as check_attribute_order,
)
from sigcontract.model.dims import (
    Dim3 as Dim3,
)
from sigcontract.model.dump import (
    DeviceInfo as DeviceInfo,
    Environment as Environment,
    LabeledGraph as LabeledGraph,
    LibraryVersion as LibraryVersion,
    SignatureDump as SignatureDump,
)
from sigcontract.model.findings import (
    DumpDiff as DumpDiff,
    Evidence as Evidence,
    Finding as Finding,
    GraphDiff as GraphDiff,
    UpdatePrediction as UpdatePrediction,
    UpdateResult as UpdateResult,
    Verdict as Verdict,
)
from sigcontract.model.fleet import (
    FleetAnswer as FleetAnswer,
    FleetCause as FleetCause,
    FleetCell as FleetCell,
    FleetChange as FleetChange,
    FleetClass as FleetClass,
    FleetDump as FleetDump,
    FleetGap as FleetGap,
    FleetGapKind as FleetGapKind,
    FleetGraphs as FleetGraphs,
    FleetQueryResult as FleetQueryResult,
    FleetReport as FleetReport,
    FleetRow as FleetRow,
    RankDiff as RankDiff,
    RankDiffs as RankDiffs,
)
from sigcontract.model.function import (
    FunctionFacts as FunctionFacts,
    ParameterLayout as ParameterLayout,
)
from sigcontract.model.graph import (
    ChildGraphNode as ChildGraphNode,
    ConditionalNode as ConditionalNode,
    Dependency as Dependency,
    GraphSignature as GraphSignature,
    NodeSignature as NodeSignature,
)
from sigcontract.model.nodes import (
    BatchMemOpNode as BatchMemOpNode,
    EmptyNode as EmptyNode,
    EventRecordNode as EventRecordNode,
    EventWaitNode as EventWaitNode,
    ExtSemasSignalNode as ExtSemasSignalNode,
    ExtSemasWaitNode as ExtSemasWaitNode,
    HostNode as HostNode,
    KernelNodeSignature as KernelNodeSignature,
    MemAccess as MemAccess,
    MemAllocNode as MemAllocNode,
    MemcpyNode as MemcpyNode,
    MemcpyOperand as MemcpyOperand,
    MemFreeNode as MemFreeNode,
    MemOp as MemOp,
    MemsetNode as MemsetNode,
    OpaqueNode as OpaqueNode,
    PointerFacts as PointerFacts,
)
from sigcontract.model.profile import (
    Answer as Answer,
    AttributeProfile as AttributeProfile,
    DriverProfile as DriverProfile,
    UpdateEffect as UpdateEffect,
)
from sigcontract.model.pydantic_schema import (
    BRANCH_MARK as BRANCH_MARK,
)
from sigcontract.model.record import (
    MAX_EXACT_INT as MAX_EXACT_INT,
    Handle as Handle,
    Record as Record,
    Size as Size,
    Text as Text,
    UInt8 as UInt8,
    UInt32 as UInt32,
)
