from sigcontract.model.attributes import (
    VALUE_TYPES as VALUE_TYPES,
    AccessPolicyWindow as AccessPolicyWindow,
    AttributeInteger as AttributeInteger,
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
from sigcontract.model.cuda import (
    CLUSTERS_SINCE as CLUSTERS_SINCE,
    EXEC_BYTES_PER_NODE as EXEC_BYTES_PER_NODE,
    MAX_HANDLE as MAX_HANDLE,
    PREFERRED_CLUSTERS_SINCE as PREFERRED_CLUSTERS_SINCE,
    STREAM_PER_THREAD as STREAM_PER_THREAD,
    STREAM_WAIT_VALUE_FLUSH as STREAM_WAIT_VALUE_FLUSH,
    AttributeId as AttributeId,
    CaptureMode as CaptureMode,
    ChildGraphOwnership as ChildGraphOwnership,
    DependencyType as DependencyType,
    DeviceAttribute as DeviceAttribute,
    EventFlag as EventFlag,
    FunctionAttribute as FunctionAttribute,
    GraphNodeType as GraphNodeType,
    InstantiateFlag as InstantiateFlag,
    MemLocationType as MemLocationType,
    MemoryType as MemoryType,
    PointerAttribute as PointerAttribute,
    Result as Result,
    StreamFlag as StreamFlag,
    StreamMemOp as StreamMemOp,
    UpdateResult as UpdateResult,
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
    GraphPrediction as GraphPrediction,
    UpdatePrediction as UpdatePrediction,
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
    NODE_RECORDS as NODE_RECORDS,
    ChildGraphNode as ChildGraphNode,
    ConditionalNode as ConditionalNode,
    Dependency as Dependency,
    GraphSignature as GraphSignature,
    NodeRecord as NodeRecord,
    NodeSignature as NodeSignature,
    graph_fields as graph_fields,
    holds_graphs as holds_graphs,
    inner_graphs as inner_graphs,
    with_inner_graphs as with_inner_graphs,
)
from sigcontract.model.groups import (
    DumpGap as DumpGap,
    GraphGroup as GraphGroup,
    GraphName as GraphName,
    GroupsReport as GroupsReport,
    NearestGraph as NearestGraph,
    PolicyGroups as PolicyGroups,
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
    core_schema_of_type as core_schema_of_type,
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
from sigcontract.model.renumbering import (
    Identities as Identities,
    Renumbering as Renumbering,
    local_fields as local_fields,
)
from sigcontract.model.rows import Row as Row, node_row as node_row
