"""What a field's number stands for is declared by the field, and everything else follows from that."""

from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Meta

from sigcontract.model.cuda import GraphNodeType
from sigcontract.model.graph import NODE_RECORDS, GraphSignature, holds_graphs, inner_graphs, with_inner_graphs
from sigcontract.model.handles import handle
from sigcontract.model.nodes import EventRecordNode, MemAccess, MemAllocNode
from sigcontract.model.record import Handle, Record
from sigcontract.model.renumbering import Identities, Renumbering, local_fields
from sigcontract.update.grouping import distinct_nodes
from sigcontract.wire import portable_form
from tests.update.build import graph

#: Kind of every process-local number in a node, graphs inside of it left out.
DECLARED = {
    "KernelNodeSignature": {"kern": "kernel", "func": "function", "context": "context"},
    "Allocation": {"address": "allocation", "device_ordinal": "device"},
    "AllocatorBlock": {"stack": "stack"},
    "ArgumentPointer": {"address": "memory"},
    "PointerFacts": {"device_ordinal": "device", "context": "context"},
    "MemcpyOperand": {"address": "memory"},
    "MemsetNode": {"destination": "memory"},
    "HostNode": {"function_address": "host_function", "user_data": "user_data"},
    "EventWaitNode": {"event": "event"},
    "EventRecordNode": {"event": "event"},
    "MemAccess": {"location_id": "device"},
    "MemAllocNode": {"address": "allocation", "location_id": "device"},
    "MemFreeNode": {"address": "allocation"},
    "MemOp": {"address": "memory"},
    "BatchMemOpNode": {"context": "context"},
    "ConditionalNode": {"handle": "conditional"},
    "AccessPolicyWindow": {"base_address": "memory"},
    "ProgrammaticEvent": {"event": "event"},
    "LaunchCompletionEvent": {"event": "event"},
    "DeviceUpdatableNode": {"device_node": "device_node"},
}


def _all(cls: type[Record]) -> dict[str, type[Record]]:
    return {sub.__name__: sub for sub in cls.__subclasses__() if sub.__module__.startswith("sigcontract.model")}


def test_every_number_of_a_process_is_declared_and_of_the_right_kind() -> None:
    """Digests depend on this: a kind that changes is another digest."""
    declared = {
        name: {field: fact.kind for field, fact in local_fields(cls).handles} for name, cls in _all(Record).items()
    }
    assert {name: kinds for name, kinds in declared.items() if kinds} == DECLARED


def test_a_handle_without_a_declared_kind_is_refused() -> None:
    class Silent(Record, frozen=True, kw_only=True):
        stream: Annotated[Handle | None, Meta(description="CUstream.")]

    with pytest.raises(TypeError, match=r"Silent\.stream is a Handle; declare its kind"):
        local_fields(Silent)


def test_each_node_type_of_cuda_has_one_record() -> None:
    assert set(NODE_RECORDS) == set(GraphNodeType)
    assert all(record.node_type == number for number, record in NODE_RECORDS.items())


class SwitchNode(Record, frozen=True, kw_only=True, tag_field="node", tag="switch"):
    """A node type that CUDA might bring: an event, a number of no consequence, devices and graphs."""

    node_type: ClassVar[int] = 99

    event: Annotated[Handle, Meta(extra=handle("event"))]
    cookie: Annotated[Handle, Meta(extra=handle("user_data"))]
    accesses: tuple[MemAccess, ...]
    cases: tuple[GraphSignature | None, ...] | None
    otherwise: GraphSignature


def _switch(event: int, device: int) -> Any:
    access = MemAccess(location_type=1, location_id=device, flags=3)
    host = MemAccess(location_type=2, location_id=7, flags=3)
    inner = graph(EventRecordNode(event=event))
    return SwitchNode(event=event, cookie=9, accesses=(access, host), cases=(inner, None), otherwise=inner)


def test_a_new_node_type_needs_its_record_and_no_other_module() -> None:
    node = _switch(event=0xE0, device=3)
    whole = graph(EventRecordNode(event=0xE1), node)
    assert holds_graphs(node)
    assert [path for path, _ in inner_graphs(node)] == [".cases[0].", ".cases[1].", ".otherwise."]
    assert [path for path, _ in whole.walk()] == [
        "nodes[0]",
        "nodes[1]",
        "nodes[1].cases[0].nodes[0]",
        "nodes[1].otherwise.nodes[0]",
    ]
    assert len(distinct_nodes(whole)) == 3
    _, form = portable_form(whole).nodes
    found: Any = form
    assert (found.event, found.cookie) == (2, 0)
    assert [access.location_id for access in found.accesses] == [1, 7]
    assert found.cases[0] == found.otherwise == graph(EventRecordNode(event=2))
    assert Identities().of(found) == [(".event", "event", 2), (".accesses[0].location_id", "device", 1)]
    other_process = graph(EventRecordNode(event=0xA1), _switch(event=0xA0, device=0))
    assert portable_form(whole) == portable_form(other_process)
    emptied: Any = with_inner_graphs(node, lambda _: graph())
    assert (emptied.cases, emptied.otherwise) == ((graph(), None), graph())


def test_what_a_record_holds_is_numbered_before_its_own_fields() -> None:
    """The devices of an allocation's accesses come before the device that it is on: digests say so."""
    node = MemAllocNode(
        size_bytes=8,
        address=0xD0,
        allocation_type=1,
        handle_types=0,
        location_type=1,
        location_id=5,
        accesses=(MemAccess(location_type=1, location_id=6, flags=3),),
    )
    asked: list[tuple[str, Any]] = []

    def numbers_of(kind: str) -> Any:
        def number_of(number: int) -> int:
            asked.append((kind, number))
            return len(asked)

        return number_of

    Renumbering(numbers_of).record(node)
    assert asked == [("device", 6), ("allocation", 0xD0), ("device", 5)]
