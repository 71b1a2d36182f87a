"""sigcontract: the contract for CUDA graph signatures.

Every public name is imported when it is first used: ``import sigcontract`` costs next to nothing, and brings in neither
CUDA nor pydantic. Live graphs are read by `sigcontract.driver`, shared by `sigcontract.registry`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sigcontract.compare.diff import diff
    from sigcontract.compare.predict import predict_update
    from sigcontract.errors import (
        AttributeUnknownError,
        CloseError,
        DecodeError,
        DriverCallError,
        DriverError,
        DriverUnavailableError,
        FileError,
        GraphReadError,
        InvariantError,
        LimitError,
        MissingExtraError,
        NotComparableError,
        ObserveError,
        RecordError,
        RegistryError,
        SigcontractError,
        UsageError,
        VersionError,
    )
    from sigcontract.model.attributes import (
        AccessPolicyWindow,
        AttributeId,
        AttributeOrigin,
        AttributeState,
        AttributeValue,
        ClusterDim,
        DeviceUpdatableNode,
        LaunchAttribute,
        LaunchCompletionEvent,
        MemSyncDomainMap,
        ProgrammaticEvent,
        RawValue,
    )
    from sigcontract.model.dims import Dim3
    from sigcontract.model.dump import DeviceInfo, Environment, LabeledGraph, LibraryVersion, SignatureDump
    from sigcontract.model.findings import (
        DumpDiff,
        Evidence,
        Finding,
        GraphDiff,
        UpdatePrediction,
        UpdateResult,
        Verdict,
    )
    from sigcontract.model.function import FunctionFacts, ParameterLayout
    from sigcontract.model.graph import ChildGraphNode, ConditionalNode, Dependency, GraphSignature, NodeSignature
    from sigcontract.model.nodes import (
        BatchMemOpNode,
        EmptyNode,
        EventRecordNode,
        EventWaitNode,
        ExtSemasSignalNode,
        ExtSemasWaitNode,
        HostNode,
        KernelNodeSignature,
        MemAccess,
        MemAllocNode,
        MemcpyNode,
        MemcpyOperand,
        MemFreeNode,
        MemOp,
        MemsetNode,
        OpaqueNode,
        PointerFacts,
    )
    from sigcontract.model.profile import Answer, AttributeProfile, DriverProfile, UpdateEffect
    from sigcontract.registry import SignatureRegistry
    from sigcontract.wire.canonical import canonical_bytes, digest, portable_digest, portable_form
    from sigcontract.wire.codec import Document, GraphHeader, Header, decode, encode, load, read_header, save
    from sigcontract.wire.faultlist import faults
    from sigcontract.wire.schema import schema
    from sigcontract.wire.validation import validate

__version__ = "0.2.0.dev0"

__all__ = [
    "AccessPolicyWindow",
    "Answer",
    "AttributeId",
    "AttributeOrigin",
    "AttributeProfile",
    "AttributeState",
    "AttributeUnknownError",
    "AttributeValue",
    "BatchMemOpNode",
    "ChildGraphNode",
    "CloseError",
    "ClusterDim",
    "ConditionalNode",
    "DecodeError",
    "Dependency",
    "DeviceInfo",
    "DeviceUpdatableNode",
    "Dim3",
    "Document",
    "DriverCallError",
    "DriverError",
    "DriverProfile",
    "DriverUnavailableError",
    "DumpDiff",
    "EmptyNode",
    "Environment",
    "EventRecordNode",
    "EventWaitNode",
    "Evidence",
    "ExtSemasSignalNode",
    "ExtSemasWaitNode",
    "FileError",
    "Finding",
    "FunctionFacts",
    "GraphDiff",
    "GraphHeader",
    "GraphReadError",
    "GraphSignature",
    "Header",
    "HostNode",
    "InvariantError",
    "KernelNodeSignature",
    "LabeledGraph",
    "LaunchAttribute",
    "LaunchCompletionEvent",
    "LibraryVersion",
    "LimitError",
    "MemAccess",
    "MemAllocNode",
    "MemFreeNode",
    "MemOp",
    "MemSyncDomainMap",
    "MemcpyNode",
    "MemcpyOperand",
    "MemsetNode",
    "MissingExtraError",
    "NodeSignature",
    "NotComparableError",
    "ObserveError",
    "OpaqueNode",
    "ParameterLayout",
    "PointerFacts",
    "ProgrammaticEvent",
    "RawValue",
    "RecordError",
    "RegistryError",
    "SigcontractError",
    "SignatureDump",
    "SignatureRegistry",
    "UpdateEffect",
    "UpdatePrediction",
    "UpdateResult",
    "UsageError",
    "Verdict",
    "VersionError",
    "canonical_bytes",
    "decode",
    "diff",
    "digest",
    "encode",
    "faults",
    "load",
    "portable_digest",
    "portable_form",
    "predict_update",
    "read_header",
    "save",
    "schema",
    "validate",
]

#: Where each public name lives.
_HOMES = {
    name: module
    for module, names in {
        "sigcontract.compare.diff": ("diff",),
        "sigcontract.compare.predict": ("predict_update",),
        "sigcontract.errors": (
            "AttributeUnknownError",
            "CloseError",
            "DecodeError",
            "DriverCallError",
            "DriverError",
            "DriverUnavailableError",
            "FileError",
            "GraphReadError",
            "InvariantError",
            "LimitError",
            "MissingExtraError",
            "NotComparableError",
            "ObserveError",
            "RecordError",
            "RegistryError",
            "SigcontractError",
            "UsageError",
            "VersionError",
        ),
        "sigcontract.model.attributes": (
            "AccessPolicyWindow",
            "AttributeId",
            "AttributeOrigin",
            "AttributeState",
            "AttributeValue",
            "ClusterDim",
            "DeviceUpdatableNode",
            "LaunchAttribute",
            "LaunchCompletionEvent",
            "MemSyncDomainMap",
            "ProgrammaticEvent",
            "RawValue",
        ),
        "sigcontract.model.dims": ("Dim3",),
        "sigcontract.model.dump": (
            "DeviceInfo",
            "Environment",
            "LabeledGraph",
            "LibraryVersion",
            "SignatureDump",
        ),
        "sigcontract.model.findings": (
            "DumpDiff",
            "Evidence",
            "Finding",
            "GraphDiff",
            "UpdatePrediction",
            "UpdateResult",
            "Verdict",
        ),
        "sigcontract.model.function": (
            "FunctionFacts",
            "ParameterLayout",
        ),
        "sigcontract.model.graph": (
            "ChildGraphNode",
            "ConditionalNode",
            "Dependency",
            "GraphSignature",
            "NodeSignature",
        ),
        "sigcontract.model.nodes": (
            "BatchMemOpNode",
            "EmptyNode",
            "EventRecordNode",
            "EventWaitNode",
            "ExtSemasSignalNode",
            "ExtSemasWaitNode",
            "HostNode",
            "KernelNodeSignature",
            "MemAccess",
            "MemAllocNode",
            "MemFreeNode",
            "MemOp",
            "MemcpyNode",
            "MemcpyOperand",
            "MemsetNode",
            "OpaqueNode",
            "PointerFacts",
        ),
        "sigcontract.model.profile": (
            "Answer",
            "AttributeProfile",
            "DriverProfile",
            "UpdateEffect",
        ),
        "sigcontract.registry": ("SignatureRegistry",),
        "sigcontract.wire.canonical": (
            "canonical_bytes",
            "digest",
            "portable_digest",
            "portable_form",
        ),
        "sigcontract.wire.codec": (
            "Document",
            "GraphHeader",
            "Header",
            "decode",
            "encode",
            "load",
            "read_header",
            "save",
        ),
        "sigcontract.wire.faultlist": ("faults",),
        "sigcontract.wire.schema": ("schema",),
        "sigcontract.wire.validation": ("validate",),
    }.items()
    for name in names
}


if not TYPE_CHECKING:  # or a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
