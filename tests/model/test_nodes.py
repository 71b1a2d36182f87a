"""Kernel nodes: convenient questions, and answers that are never made up."""

from typing import Any

import msgspec
import pytest

from sigcontract.errors import AttributeUnknownError, InvariantError
from sigcontract.model.attributes import (
    AccessPolicyWindow,
    ClusterDim,
    LaunchAttribute,
    MemSyncDomainMap,
    RawValue,
)
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.nodes import KernelNodeSignature
from tests.update import build


def value(number: int, found: Any) -> LaunchAttribute:
    return LaunchAttribute(id=number, state="value", origin="node", value=found)


def unknown(number: int, state: Any = "unreadable") -> LaunchAttribute:
    return LaunchAttribute(id=number, state=state, origin="node", value=None)


def kernel(*attributes: LaunchAttribute) -> KernelNodeSignature:
    return build.kernel(only=attributes)


def test_attributes_answer_as_what_they_are() -> None:
    node = kernel(value(2, 1), value(4, ClusterDim(x=2, y=1, z=1)), value(8, -3), value(11, ClusterDim(x=0, y=0, z=0)))
    assert node.cooperative is True
    assert node.cluster_dim == Dim3(x=2, y=1, z=1)
    assert node.priority == -3
    assert node.preferred_cluster_dim is None
    assert node.attribute(AttributeId.PRIORITY) == value(8, -3)
    assert node.attribute(AttributeId.MEM_SYNC_DOMAIN) is None


@pytest.mark.parametrize("question", ["cooperative", "cluster_dim", "priority", "preferred_cluster_dim"])
@pytest.mark.parametrize("state", ["unreadable", "unsupported", None])
def test_what_is_not_known_is_an_error_and_no_default(question: str, state: str | None) -> None:
    node = kernel() if state is None else kernel(*(unknown(number, state) for number in (2, 4, 8, 11)))
    with pytest.raises(AttributeUnknownError):
        getattr(node, question)


def test_no_cluster_is_not_a_cluster_of_one() -> None:
    assert ClusterDim(x=0, y=0, z=0).dim is None
    assert ClusterDim(x=1, y=1, z=1).dim == Dim3(x=1, y=1, z=1)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (
            {"id": 4, "state": "unreadable", "value": 1},
            "an attribute that is unreadable has no value, not 1; set it to null (at /value)",
        ),
        (
            {"id": 2, "state": "value", "value": None},
            "the value of cooperative is of type int, not NoneType (at /value)",
        ),
        (
            {"id": 2, "state": "value", "value": ClusterDim(x=1, y=1, z=1)},
            "the value of cooperative is of type int, not ClusterDim (at /value)",
        ),
        (
            {"id": 9, "state": "value", "value": RawValue(hex="0" * 128)},
            "the value of mem_sync_domain_map is of type MemSyncDomainMap, not RawValue (at /value)",
        ),
        (
            {"id": 15, "state": "value", "value": 1},
            "the value of attribute_15 is of type RawValue, not int (at /value)",
        ),
    ],
)
def test_a_value_is_there_exactly_where_the_state_says_so_and_fits_its_id(attribute: Any, message: str) -> None:
    with pytest.raises(InvariantError) as caught:
        LaunchAttribute(origin="node", **attribute)
    assert str(caught.value) == message


def test_every_named_id_has_a_type_of_value() -> None:
    for number in AttributeId:
        with pytest.raises(InvariantError, match=f"the value of {number.name.lower()} is of type"):
            LaunchAttribute(id=number, state="value", origin="node", value=None)


def test_each_attribute_is_listed_once_and_ascending() -> None:
    kernel(value(2, 0), value(8, 0)).check()
    for attributes in ((value(8, 0), value(2, 0)), (value(2, 0), value(2, 0))):
        with pytest.raises(InvariantError, match="list each id once, ascending") as caught:
            kernel(*attributes).check()
        assert caught.value.path == "$.attributes[1].id"


def test_a_hit_ratio_is_exact() -> None:
    window = AccessPolicyWindow(
        base_address=0, size_bytes=0, hit_ratio_bits=0x3F19999A, hit_property=0, miss_property=0
    )
    assert window.hit_ratio == pytest.approx(0.6)
    assert msgspec.structs.replace(window, hit_ratio_bits=0x3F800000).hit_ratio == 1.0


def test_a_record_is_equal_by_its_fields_and_reads_well() -> None:
    assert MemSyncDomainMap(default=0, remote=1) == MemSyncDomainMap(default=0, remote=1)
    assert MemSyncDomainMap(default=0, remote=1) != MemSyncDomainMap(default=1, remote=1)
    assert repr(Dim3(x=1, y=2, z=3)) == "Dim3(x=1, y=2, z=3)"
    assert str(Dim3(x=1, y=2, z=3)) == "1x2x3"
    assert repr(value(4, ClusterDim(x=2, y=1, z=1))) == "LaunchAttribute(cluster_dimension=ClusterDim(x=2, y=1, z=1))"
    assert repr(unknown(11)) == "LaunchAttribute(preferred_cluster_dimension unreadable)"
    assert repr(msgspec.structs.replace(value(8, 3), origin="launch")) == "LaunchAttribute(priority=3, launch)"
    assert repr(unknown(15, "unsupported")) == "LaunchAttribute(attribute_15 unsupported)"
    with pytest.raises(AttributeError):
        kernel().name = "other"  # type: ignore[misc]  # records do not change
