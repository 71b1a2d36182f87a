"""Every node type and launch attribute of the installed cuda-bindings has a record, or is a gap with a name."""

import pytest

from sigcontract.driver.reading.attribute_values import ATTRIBUTE_CUDA_VERSION
from sigcontract.driver.reading.node_params import NODE_READERS
from sigcontract.model.attributes import AttributeId
from sigcontract.model.graph import ChildGraphNode, ConditionalNode
from sigcontract.model.nodes import KernelNodeSignature

driver = pytest.importorskip("cuda.bindings.driver")

WITH_A_RECORD = {
    *NODE_READERS,
    KernelNodeSignature.node_type,
    ChildGraphNode.node_type,
    ConditionalNode.node_type,
}

#: Node types that are recorded as `OpaqueNode`: there, never skipped, never the same as another.
OPAQUE = {14: "MEMCPY_BATCH", 16: "RESERVED_16", 17: "EXTERNAL_ENGINE", 18: "FABRIC_CPY_BATCH"}

#: Ids that are no attributes.
NO_ATTRIBUTE = {0: "IGNORE"}


def members(enum_name: str, prefix: str) -> dict[int, str]:
    return {int(one): one.name.removeprefix(prefix) for one in getattr(driver, enum_name)}


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
