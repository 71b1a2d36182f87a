"""The 64 bytes of an attribute's value, decoded and encoded."""

import pytest
from hypothesis import given, strategies as st

from sigcontract.driver.reading.attribute_values import (
    ATTRIBUTE_CUDA_VERSION,
    decode_attribute,
    encode_attribute,
    exact,
)
from sigcontract.errors import GraphReadError
from sigcontract.model.attributes import (
    AccessPolicyWindow,
    AttributeValue,
    ClusterDim,
    DeviceUpdatableNode,
    LaunchAttribute,
    LaunchCompletionEvent,
    MemSyncDomainMap,
    ProgrammaticEvent,
    RawValue,
)
from sigcontract.model.cuda import AttributeId

#: What C writes, and what it means: layouts of CUlaunchAttributeValue in cuda.h.
WRITTEN: list[tuple[int, str, AttributeValue]] = [
    (
        1,
        "0010000000000000 0002000000000000 0000003f 02000000 01000000",
        AccessPolicyWindow(
            base_address=0x1000, size_bytes=512, hit_ratio_bits=0x3F000000, hit_property=2, miss_property=1
        ),
    ),
    (2, "01000000", 1),
    (3, "04000000", 4),
    (4, "02000000 03000000 04000000", ClusterDim(x=2, y=3, z=4)),
    (5, "02000000", 2),
    (6, "01000000", 1),
    (7, "0010000000000000 01000000 02000000", ProgrammaticEvent(event=0x1000, flags=1, trigger_at_block_start=2)),
    (8, "fbffffff", -5),
    (9, "0301", MemSyncDomainMap(default=3, remote=1)),
    (10, "01000000", 1),
    (11, "04000000 01000000 01000000", ClusterDim(x=4, y=1, z=1)),
    (12, "0010000000000000 01000000", LaunchCompletionEvent(event=0x1000, flags=1)),
    (13, "01000000 00000000 0010000000000000", DeviceUpdatableNode(device_updatable=1, device_node=0x1000)),
    (14, "ffffffff", 2**32 - 1),
    (16, "01000000", 1),
    (17, "02000000", 2),
    (18, "04000000", 4),
]


@pytest.mark.parametrize(("attribute_id", "written", "value"), WRITTEN, ids=[str(row[0]) for row in WRITTEN])
def test_a_value_is_what_c_wrote(attribute_id: int, written: str, value: AttributeValue) -> None:
    data = bytes.fromhex(written).ljust(64, b"\0")
    assert decode_attribute(attribute_id, data) == value
    assert encode_attribute(attribute_id, value) == data


def test_every_attribute_has_a_row_above() -> None:
    assert [row[0] for row in WRITTEN] == list(ATTRIBUTE_CUDA_VERSION)


def test_every_attribute_but_the_one_that_is_none_is_asked_for() -> None:
    assert set(AttributeId) - set(ATTRIBUTE_CUDA_VERSION) == {AttributeId.IGNORE}


@given(attribute_id=st.sampled_from([*ATTRIBUTE_CUDA_VERSION, 15, 19, 400]), data=st.binary(min_size=64, max_size=64))
def test_whatever_bytes_come_the_record_accepts_the_value_or_the_handle_is_too_large(
    attribute_id: int, data: bytes
) -> None:
    try:
        value = decode_attribute(attribute_id, data)
    except GraphReadError as error:
        assert "above 2**53 - 1" in str(error)  # noqa: PT017  an outcome of two
        return
    LaunchAttribute(id=attribute_id, state="value", origin="node", value=value)
    assert decode_attribute(attribute_id, encode_attribute(attribute_id, value)) == value


def test_an_id_without_a_type_keeps_its_bytes() -> None:
    data = bytes(range(64))
    assert decode_attribute(15, data) == RawValue(hex=data.hex())
    assert encode_attribute(15, RawValue(hex=data.hex())) == data


@pytest.mark.parametrize(
    ("attribute_id", "value", "message"),
    [
        (4, 2, "the value of launch attribute 4 is of type ClusterDim, not 2"),
        (8, ClusterDim(x=1, y=1, z=1), "the value of launch attribute 8 is of type int, not ClusterDim(x=1, y=1, z=1)"),
        (15, 2, "the value of launch attribute 15 is of type RawValue, not 2"),
    ],
)
def test_a_value_of_another_type_is_refused(attribute_id: int, value: AttributeValue, message: str) -> None:
    with pytest.raises(GraphReadError) as caught:
        encode_attribute(attribute_id, value)
    assert str(caught.value) == message


@pytest.mark.parametrize("size", [0, 4, 63, 65])
def test_a_value_has_64_bytes(size: int) -> None:
    with pytest.raises(GraphReadError, match=f"has {size} bytes; give the union's 64 bytes"):
        decode_attribute(2, bytes(size))


def test_exactly_2_to_53_minus_1_is_the_largest() -> None:
    assert exact(2**53 - 1, "x") == 2**53 - 1
    with pytest.raises(GraphReadError, match=r"x is 0x20000000000000, above 2\*\*53 - 1"):
        exact(2**53, "x")
