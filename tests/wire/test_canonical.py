"""Digests and canonical bytes."""

from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings

from sigcontract.errors import LimitError, RecordError
from sigcontract.model import attributes, dims, dump, findings, function, graph, nodes, profile
from sigcontract.model.attributes import ClusterDim, DeviceUpdatableNode, LaunchAttribute, ProgrammaticEvent
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import SignatureDump
from sigcontract.model.graph import (
    ChildGraphNode,
    ConditionalNode,
    Dependency,
    GraphSignature,
    NodeRecord,
    NodeSignature,
)
from sigcontract.model.nodes import (
    EventRecordNode,
    EventWaitNode,
    HostNode,
    KernelNodeSignature,
    MemAccess,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    OpaqueNode,
    PointerFacts,
)
from sigcontract.model.record import Record
from sigcontract.model.renumbering import local_fields
from sigcontract.wire import codec
from sigcontract.wire.canonical import canonical_bytes, digest, portable_digest, portable_form
from tests.strategies import LAWS, graphs, records
from tests.update import build

RECORDS = sorted(
    {
        value
        for module in (attributes, dims, dump, findings, function, graph, nodes, profile)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Record) and value is not Record
    },
    key=lambda cls: cls.__name__,
)


def kernel(name: str = "k", **changed: Any) -> KernelNodeSignature:
    return msgspec.structs.replace(
        build.kernel(name=name, func=0xA0, grid=1, block=32, only=(), function=None), **changed
    )


def unordered(*found: NodeSignature) -> GraphSignature:
    return GraphSignature(nodes=found, dependencies=((),) * len(found))


def test_every_record_is_covered() -> None:
    assert len(RECORDS) > 40


@pytest.mark.parametrize("cls", [cls for cls in RECORDS if cls is not SignatureDump], ids=lambda cls: cls.__name__)
def test_canonical_bytes_are_those_of_rfc_8785(cls: type[Record]) -> None:
    @LAWS
    @given(records(cls))
    def law(record: Record) -> None:
        assert canonical_bytes(record) == rfc8785.dumps(msgspec.to_builtins(record))

    law()


@pytest.mark.parametrize("value", [1.5, 2**53, -(2**53), {"é": 1}, [{"a": [0.0]}]])
def test_extensions_without_a_canonical_form_are_refused(value: Any) -> None:
    environment = dump.Environment(
        sigcontract_version="0",
        created_at="",
        hostname=None,
        process_id=None,
        rank=None,
        world_size=None,
        cuda_driver_version=None,
        display_driver_version=None,
        devices=(),
        libraries=(),
    )
    holder = SignatureDump(environment=environment, profile=None, complete=True, graphs=(), extensions={"x": value})
    with pytest.raises(RecordError, match=r"no canonical form .* \(at /extensions") as caught:
        canonical_bytes(holder)
    assert caught.value.code == "canonical"


@LAWS
@given(graphs(), graphs())
def test_digests_are_equal_exactly_where_canonical_bytes_are(one: GraphSignature, other: GraphSignature) -> None:
    same = canonical_bytes(one) == canonical_bytes(other)
    assert (digest(one) == digest(other)) is same
    assert same is (one == other)


@LAWS
@given(graphs())
def test_a_digest_does_not_depend_on_which_objects_are_shared(graph: GraphSignature) -> None:
    copy = msgspec.json.decode(msgspec.json.encode(graph), type=GraphSignature)
    assert digest(copy) == digest(graph)
    assert portable_digest(copy) == portable_digest(graph)


@LAWS
@given(graphs())
def test_the_two_digests_of_a_graph_differ_in_kind(graph: GraphSignature) -> None:
    assert digest(graph) != portable_digest(graph)


# The fields of a graph go together: its nodes are covered by the digests below, its edges by the next test.
@pytest.mark.parametrize(
    "cls", [cls for cls in RECORDS if cls not in (SignatureDump, GraphSignature)], ids=lambda cls: cls.__name__
)
def test_a_change_of_any_field_changes_the_canonical_bytes(cls: type[Record]) -> None:
    unchanged = set(cls.__struct_fields__)

    @settings(LAWS, max_examples=30)
    @given(records(cls), records(cls))
    def law(record: Record, other: Record) -> None:
        for field in cls.__struct_fields__:
            if getattr(record, field) == getattr(other, field):
                continue
            try:
                mutated = msgspec.structs.replace(record, **{field: getattr(other, field)})
                after = canonical_bytes(mutated)
            except RecordError:
                continue  # the other value does not fit the rest of the record
            unchanged.discard(field)
            assert after != canonical_bytes(record), field
            if isinstance(record, NodeRecord) and isinstance(mutated, NodeRecord):
                assert digest(unordered(record)) != digest(unordered(mutated)), field

    law()
    assert unchanged == set()


@pytest.mark.parametrize("field", Dependency.__struct_fields__)
def test_a_change_of_any_field_of_an_edge_changes_both_digests(field: str) -> None:
    edge = Dependency(node=0, from_port=0, to_port=0, type=0)
    nodes_ = tuple(kernel() for _ in range(3))
    before = GraphSignature(nodes=nodes_, dependencies=((), (), (edge,)))
    after = GraphSignature(nodes=nodes_, dependencies=((), (), (msgspec.structs.replace(edge, **{field: 1}),)))
    assert digest(before) != digest(after)
    assert portable_digest(before) != portable_digest(after)


def test_the_order_of_dependencies_is_part_of_both_digests() -> None:
    edges = tuple(Dependency(node=node, from_port=0, to_port=0, type=0) for node in (0, 1))
    nodes_ = (kernel("a"), kernel("b"), kernel("c"))
    one = GraphSignature(nodes=nodes_, dependencies=((), (), edges))
    other = GraphSignature(nodes=nodes_, dependencies=((), (), edges[::-1]))
    assert digest(one) != digest(other)
    assert portable_digest(one) != portable_digest(other)


def _renamed(value: Any, numbers: dict[tuple[str, int], int]) -> Any:
    """Return a graph of another process: each handle another number, the same wherever it was the same."""
    if isinstance(value, Record):
        fields = {field: _renamed(getattr(value, field), numbers) for field in value.__struct_fields__}
        for field, fact in local_fields(type(value)).handles:
            number = fields[field]
            applies = fact.only_if is None or fields[fact.only_if[0]] == fact.only_if[1]
            if isinstance(number, tuple):
                fields[field] = ()  # a stack, which another process may not have recorded
            elif isinstance(number, str):
                fields[field] = f"0x{int(number, 16) ^ 1:016x}"
            elif number is not None and applies and (number or not fact.zero_is_none):
                fields[field] = numbers.setdefault((fact.kind, number), 0x10 + 7 * len(numbers))
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(_renamed(part, numbers) for part in value)
    return value


@LAWS
@given(graphs())
def test_the_portable_digest_outlives_a_renaming_of_handles(graph: GraphSignature) -> None:
    assert portable_digest(_renamed(graph, {})) == portable_digest(graph)


@LAWS
@given(graphs())
def test_the_portable_form_is_its_own_portable_form(graph: GraphSignature) -> None:
    form = portable_form(graph)
    codec.validate(form)
    assert portable_form(form) == form


@pytest.mark.parametrize(
    ("node", "field"),
    [
        (kernel(), "func"),
        (kernel(func=0, kern=0xB0), "kern"),
        (kernel(), "context"),
        (EventRecordNode(event=0xE0), "event"),
        (EventWaitNode(event=0xE0), "event"),
        (MemFreeNode(address=0xD0), "address"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_one_handle_that_becomes_two_changes_the_portable_digest(node: Any, field: str) -> None:
    split = msgspec.structs.replace(node, **{field: getattr(node, field) + 1})
    assert portable_digest(unordered(node, node)) != portable_digest(unordered(node, split))
    assert portable_digest(unordered(node, split)) == portable_digest(unordered(split, node))


def test_a_function_is_known_by_func_and_by_kern_only_where_there_is_no_func() -> None:
    both = unordered(kernel(kern=1), kernel(kern=2))
    neither = unordered(kernel(func=0, kern=1), kernel(func=0, kern=2))
    assert portable_digest(both) == portable_digest(unordered(kernel(), kernel()))
    assert portable_digest(neither) != portable_digest(both)


def test_handles_are_numbered_over_children_too() -> None:
    child = ChildGraphNode(graph=unordered(kernel(func=0xA1)))
    same = unordered(kernel(func=0xA1), child)
    other = unordered(kernel(func=0xA2), child)
    assert portable_digest(same) != portable_digest(other)


def test_addresses_of_a_process_are_not_part_of_the_portable_digest() -> None:
    pointer = PointerFacts(memory_type=2, device_ordinal=0, context=0xC0, managed=False)
    operand = MemcpyOperand(
        memory_type=2, address=0x7F00, x_bytes=0, y=0, z=0, lod=0, pitch_bytes=0, height_rows=0, pointer=pointer
    )
    copy = MemcpyNode(source=operand, destination=operand, width_bytes=4, height=1, depth=1)
    moved = msgspec.structs.replace(copy, source=msgspec.structs.replace(operand, address=0x7F10))
    assert portable_digest(unordered(copy)) == portable_digest(unordered(moved))
    one, other = HostNode(function_address=1, user_data=2), HostNode(function_address=3, user_data=4)
    assert portable_digest(unordered(one)) == portable_digest(unordered(other))
    closed = ConditionalNode(kind=0, handle="0x" + "0" * 15 + "1", bodies=())
    unread = ConditionalNode(kind=0, handle=None, bodies=())
    assert portable_digest(unordered(closed)) != portable_digest(unordered(unread))


def test_a_graph_on_another_device_is_the_same_but_two_devices_are_not_one() -> None:
    def alloc(device: int, peer: int) -> MemAllocNode:
        access = MemAccess(location_type=1, location_id=peer, flags=3)
        return MemAllocNode(
            size_bytes=8,
            address=0xD0,
            allocation_type=1,
            handle_types=0,
            location_type=1,
            location_id=device,
            accesses=(access,),
        )

    assert portable_digest(unordered(alloc(0, 0))) == portable_digest(unordered(alloc(3, 3)))
    assert portable_digest(unordered(alloc(0, 0))) != portable_digest(unordered(alloc(0, 1)))


def test_numbers_of_the_process_in_attributes_are_taken_out() -> None:
    def attributed(number: int, value: Any) -> KernelNodeSignature:
        return kernel(attributes=(LaunchAttribute(id=number, state="value", origin="node", value=value),))

    def updatable(device_node: int) -> GraphSignature:
        return unordered(attributed(13, DeviceUpdatableNode(device_updatable=1, device_node=device_node)))

    def event(number: int) -> KernelNodeSignature:
        return attributed(7, ProgrammaticEvent(event=number, flags=0, trigger_at_block_start=0))

    assert portable_digest(updatable(5)) == portable_digest(updatable(6))
    assert portable_digest(unordered(event(5), EventWaitNode(event=5))) == portable_digest(
        unordered(event(6), EventWaitNode(event=6))
    )
    assert portable_digest(unordered(event(5), EventWaitNode(event=5))) != portable_digest(
        unordered(event(5), EventWaitNode(event=6))
    )


def test_what_is_unreadable_or_opaque_stays_what_it_is_in_the_portable_digest() -> None:
    def cluster(state: Any, value: ClusterDim | None) -> GraphSignature:
        return unordered(kernel(attributes=(LaunchAttribute(id=4, state=state, origin="node", value=value),)))

    none = ClusterDim(x=0, y=0, z=0)
    answers = {
        portable_digest(cluster("value", none)),
        portable_digest(cluster("unreadable", None)),
        portable_digest(cluster("unsupported", None)),
        portable_digest(unordered(kernel())),
    }
    assert len(answers) == 4
    assert portable_digest(unordered(OpaqueNode(type=14))) != portable_digest(unordered(OpaqueNode(type=16)))


def test_digests_of_version_1_never_change() -> None:
    graph_ = unordered(kernel(), EventRecordNode(event=0xE0))
    assert digest(graph_) == "sha256:fbe58875cd272e0ca3b93f3798c1ea64074b40d43c781e3f8d04b6e5eb02eb4c"
    assert portable_digest(graph_) == "sha256:4b8d19b2e6e327344e17ffef35f8a5bd4f03a70d3cb3ae46dcd72b9a847d08a6"


@pytest.mark.parametrize("function_", [digest, portable_digest, canonical_bytes])
def test_an_invalid_graph_has_no_digest(function_: Any) -> None:
    broken = unordered(kernel(grid_dim=Dim3(x=-1, y=1, z=1)))
    with pytest.raises(RecordError, match=r"\(at /nodes/0/grid_dim/x\)"):
        function_(broken)


@pytest.mark.parametrize("function_", [digest, portable_digest, canonical_bytes])
def test_graphs_nested_beyond_the_limit_are_refused(function_: Any) -> None:
    nested = unordered(kernel())
    for _ in range(200):
        nested = unordered(ChildGraphNode(graph=nested))
    with pytest.raises(LimitError, match="nested more than 32 deep") as caught:
        function_(nested)
    assert caught.value.code == "nesting"


def test_a_graph_of_many_equal_children_is_digested_once_for_all() -> None:
    doubled = unordered(kernel())
    for _ in range(30):
        node = ChildGraphNode(graph=doubled)
        doubled = unordered(node, node)  # 2**30 kernels, were they written out
    assert digest(doubled) != portable_digest(doubled)
