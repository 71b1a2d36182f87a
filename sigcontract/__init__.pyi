__version__: str
__all__: list[str]  # noqa: PYI035  the loader gives it its value

from sigcontract.compare import (
    diff as diff,
)
from sigcontract.errors import (
    AttributeUnknownError as AttributeUnknownError,
)
from sigcontract.errors import (
    CloseError as CloseError,
)
from sigcontract.errors import (
    DecodeError as DecodeError,
)
from sigcontract.errors import (
    DriverCallError as DriverCallError,
)
from sigcontract.errors import (
    DriverError as DriverError,
)
from sigcontract.errors import (
    DriverUnavailableError as DriverUnavailableError,
)
from sigcontract.errors import (
    FileError as FileError,
)
from sigcontract.errors import (
    GraphReadError as GraphReadError,
)
from sigcontract.errors import (
    InvariantError as InvariantError,
)
from sigcontract.errors import (
    LimitError as LimitError,
)
from sigcontract.errors import (
    MissingExtraError as MissingExtraError,
)
from sigcontract.errors import (
    NotComparableError as NotComparableError,
)
from sigcontract.errors import (
    ObserveError as ObserveError,
)
from sigcontract.errors import (
    RecordError as RecordError,
)
from sigcontract.errors import (
    RegistryError as RegistryError,
)
from sigcontract.errors import (
    SigcontractError as SigcontractError,
)
from sigcontract.errors import (
    UsageError as UsageError,
)
from sigcontract.errors import (
    VersionError as VersionError,
)
from sigcontract.model import (
    AccessPolicyWindow as AccessPolicyWindow,
)
from sigcontract.model import (
    Answer as Answer,
)
from sigcontract.model import (
    AttributeId as AttributeId,
)
from sigcontract.model import (
    AttributeOrigin as AttributeOrigin,
)
from sigcontract.model import (
    AttributeProfile as AttributeProfile,
)
from sigcontract.model import (
    AttributeState as AttributeState,
)
from sigcontract.model import (
    AttributeValue as AttributeValue,
)
from sigcontract.model import (
    BatchMemOpNode as BatchMemOpNode,
)
from sigcontract.model import (
    ChildGraphNode as ChildGraphNode,
)
from sigcontract.model import (
    ClusterDim as ClusterDim,
)
from sigcontract.model import (
    ConditionalNode as ConditionalNode,
)
from sigcontract.model import (
    Dependency as Dependency,
)
from sigcontract.model import (
    DeviceInfo as DeviceInfo,
)
from sigcontract.model import (
    DeviceUpdatableNode as DeviceUpdatableNode,
)
from sigcontract.model import (
    Dim3 as Dim3,
)
from sigcontract.model import (
    DriverProfile as DriverProfile,
)
from sigcontract.model import (
    DumpDiff as DumpDiff,
)
from sigcontract.model import (
    EmptyNode as EmptyNode,
)
from sigcontract.model import (
    Environment as Environment,
)
from sigcontract.model import (
    EventRecordNode as EventRecordNode,
)
from sigcontract.model import (
    EventWaitNode as EventWaitNode,
)
from sigcontract.model import (
    Evidence as Evidence,
)
from sigcontract.model import (
    ExtSemasSignalNode as ExtSemasSignalNode,
)
from sigcontract.model import (
    ExtSemasWaitNode as ExtSemasWaitNode,
)
from sigcontract.model import (
    Finding as Finding,
)
from sigcontract.model import (
    FunctionFacts as FunctionFacts,
)
from sigcontract.model import (
    GraphDiff as GraphDiff,
)
from sigcontract.model import (
    GraphSignature as GraphSignature,
)
from sigcontract.model import (
    HostNode as HostNode,
)
from sigcontract.model import (
    KernelNodeSignature as KernelNodeSignature,
)
from sigcontract.model import (
    LabeledGraph as LabeledGraph,
)
from sigcontract.model import (
    LaunchAttribute as LaunchAttribute,
)
from sigcontract.model import (
    LaunchCompletionEvent as LaunchCompletionEvent,
)
from sigcontract.model import (
    LibraryVersion as LibraryVersion,
)
from sigcontract.model import (
    MemAccess as MemAccess,
)
from sigcontract.model import (
    MemAllocNode as MemAllocNode,
)
from sigcontract.model import (
    MemcpyNode as MemcpyNode,
)
from sigcontract.model import (
    MemcpyOperand as MemcpyOperand,
)
from sigcontract.model import (
    MemFreeNode as MemFreeNode,
)
from sigcontract.model import (
    MemOp as MemOp,
)
from sigcontract.model import (
    MemsetNode as MemsetNode,
)
from sigcontract.model import (
    MemSyncDomainMap as MemSyncDomainMap,
)
from sigcontract.model import (
    NodeSignature as NodeSignature,
)
from sigcontract.model import (
    OpaqueNode as OpaqueNode,
)
from sigcontract.model import (
    ParameterLayout as ParameterLayout,
)
from sigcontract.model import (
    PointerFacts as PointerFacts,
)
from sigcontract.model import (
    ProgrammaticEvent as ProgrammaticEvent,
)
from sigcontract.model import (
    RawValue as RawValue,
)
from sigcontract.model import (
    SignatureDump as SignatureDump,
)
from sigcontract.model import (
    UpdateEffect as UpdateEffect,
)
from sigcontract.model import (
    UpdatePrediction as UpdatePrediction,
)
from sigcontract.model import (
    UpdateResult as UpdateResult,
)
from sigcontract.model import (
    Verdict as Verdict,
)
from sigcontract.registry import (
    SignatureRegistry as SignatureRegistry,
)
from sigcontract.update import (
    predict_update as predict_update,
)
from sigcontract.wire import (
    Document as Document,
)
from sigcontract.wire import (
    GraphHeader as GraphHeader,
)
from sigcontract.wire import (
    Header as Header,
)
from sigcontract.wire import (
    canonical_bytes as canonical_bytes,
)
from sigcontract.wire import (
    decode as decode,
)
from sigcontract.wire import (
    digest as digest,
)
from sigcontract.wire import (
    encode as encode,
)
from sigcontract.wire import (
    faults as faults,
)
from sigcontract.wire import (
    load as load,
)
from sigcontract.wire import (
    portable_digest as portable_digest,
)
from sigcontract.wire import (
    portable_form as portable_form,
)
from sigcontract.wire import (
    read_header as read_header,
)
from sigcontract.wire import (
    save as save,
)
from sigcontract.wire import (
    schema as schema,
)
from sigcontract.wire import (
    validate as validate,
)
