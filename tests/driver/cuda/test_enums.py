"""Every node type and launch attribute of the installed cuda-bindings has a record, or is a gap with a name."""

from enum import IntEnum

import pytest

from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION
from sigcontract.driver.reading.node_readers import NODE_READERS
from sigcontract.model import cuda
from sigcontract.model.cuda import AttributeId, GraphNodeType
from sigcontract.model.graph import NODE_RECORDS, graph_fields

driver = pytest.importorskip("cuda.bindings.driver")

WITH_A_RECORD = set(NODE_RECORDS)

#: Enumerations of sigcontract.model.cuda, with the C enumeration and the prefix of its members.
ENUMERATIONS = {
    cuda.AttributeId: ("CUlaunchAttributeID", "CU_LAUNCH_ATTRIBUTE_"),
    cuda.CaptureMode: ("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_"),
    cuda.ChildGraphOwnership: ("CUgraphChildGraphNodeOwnership", "CU_GRAPH_CHILD_GRAPH_OWNERSHIP_"),
    cuda.DependencyType: ("CUgraphDependencyType", "CU_GRAPH_DEPENDENCY_TYPE_"),
    cuda.PointerAttribute: ("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_"),
    cuda.DeviceAttribute: ("CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_"),
    cuda.EventFlag: ("CUevent_flags", "CU_EVENT_"),
    cuda.FunctionAttribute: ("CUfunction_attribute", "CU_FUNC_ATTRIBUTE_"),
    cuda.GraphNodeType: ("CUgraphNodeType", "CU_GRAPH_NODE_TYPE_"),
    cuda.InstantiateFlag: ("CUgraphInstantiate_flags", "CUDA_GRAPH_INSTANTIATE_FLAG_"),
    cuda.MemLocationType: ("CUmemLocationType", "CU_MEM_LOCATION_TYPE_"),
    cuda.MemoryType: ("CUmemorytype", "CU_MEMORYTYPE_"),
    cuda.Result: ("CUresult", "CUDA_"),
    cuda.StreamFlag: ("CUstream_flags", "CU_STREAM_"),
    cuda.StreamMemOp: ("CUstreamBatchMemOpType", "CU_STREAM_MEM_OP_"),
    cuda.UpdateResult: ("CUgraphExecUpdateResult", "CU_GRAPH_EXEC_UPDATE_"),
}

#: Node types that are recorded as `OpaqueNode`: there, never skipped, never the same as another.
OPAQUE = {14: "MEMCPY_BATCH", 16: "RESERVED_16", 17: "EXTERNAL_ENGINE", 18: "FABRIC_CPY_BATCH"}

#: Ids that are no attributes.
NO_ATTRIBUTE = {0: "IGNORE"}


#: What the oldest bindings that are supported do not have: whole enumerations, or these members.
NEWER_THAN_SOME_BINDINGS: dict[type[IntEnum], set[str]] = {
    cuda.AttributeId: {"NVLINK_UTIL_CENTRIC_SCHEDULING", "PORTABLE_CLUSTER_SIZE_MODE", "SHARED_MEMORY_MODE"},
    cuda.ChildGraphOwnership: set(),
}


def members(enum_name: str, prefix: str) -> dict[int, str]:
    return {int(one): one.name.removeprefix(prefix) for one in getattr(driver, enum_name)}


@pytest.mark.parametrize("ours", ENUMERATIONS, ids=lambda ours: ours.__name__)
def test_every_number_of_an_enumeration_is_cudas(ours: type[IntEnum]) -> None:
    name, prefix = ENUMERATIONS[ours]
    if not hasattr(driver, name):
        assert ours in NEWER_THAN_SOME_BINDINGS
        pytest.skip(f"these bindings have no {name}")
    theirs = {
        one.removeprefix("ERROR_") if ours is cuda.Result else one: number
        for number, one in members(name, prefix).items()
    }
    newer = NEWER_THAN_SOME_BINDINGS.get(ours, set()) - set(theirs)
    assert {one.name: one.value for one in ours if one.name not in newer} == {
        one.name: theirs.get(one.name) for one in ours if one.name not in newer
    }


def test_every_enumeration_is_held_against_the_bindings() -> None:
    defined = {
        one for one in vars(cuda).values() if isinstance(one, type) and issubclass(one, IntEnum) and one is not IntEnum
    }
    assert defined == set(ENUMERATIONS)
    assert int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_FLUSH) == cuda.STREAM_WAIT_VALUE_FLUSH
    assert int(driver.CU_STREAM_PER_THREAD) == cuda.STREAM_PER_THREAD


def test_every_record_that_is_no_kernel_and_holds_no_graph_has_a_reader() -> None:
    elsewhere = {number for number, record in NODE_RECORDS.items() if graph_fields(record)} | {GraphNodeType.KERNEL}
    assert set(NODE_READERS) == set(NODE_RECORDS) - elsewhere


def test_every_node_type_has_a_record_or_is_opaque_by_name() -> None:
    types = members("CUgraphNodeType", "CU_GRAPH_NODE_TYPE_")
    assert len(types) >= 14
    assert set(types) <= WITH_A_RECORD | set(OPAQUE)
    assert {number: types[number] for number in OPAQUE if number in types}.items() <= OPAQUE.items()
    assert not WITH_A_RECORD & set(OPAQUE)


def test_every_launch_attribute_is_read_or_is_none_by_name() -> None:
    attributes = members("CUlaunchAttributeID", "CU_LAUNCH_ATTRIBUTE_")
    attributes = {number: name for number, name in attributes.items() if number < 2**30}
    assert len(attributes) >= 15
    assert set(attributes) <= set(ATTRIBUTE_CUDA_VERSION) | set(NO_ATTRIBUTE)
    known = {number: AttributeId(number).name for number in attributes}
    assert known == attributes
