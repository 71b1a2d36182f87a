"""Addresses that lead to memory that is gone."""

from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.model.nodes import MemAllocNode
from sigcontract.update.gone import gone_pointers
from tests.compare.dumps import kernel
from tests.update.arguments import block, given, pointer_to, redacted, struct_of, target, unallocated
from tests.update.build import child, graph, memcpy, memset, operand, pointer

K = kernel()


def gone(*nodes: Any) -> list[tuple[str, int | str | None, str, bool]]:
    """Return path, offset or operand, reason and certainty of each address."""
    return [
        (each.path, each.offset if each.operand is None else each.operand, each.reason, each.certain)
        for each in gone_pointers(graph(*nodes))
    ]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"state": "free", "pool": "default"}, "free block"),
        ({"state": "pending_free", "pool": "default"}, "block pending free"),
        ({"state": "allocated", "pool": "other"}, "block of another graph's pool"),
        ({"state": "free", "pool": "other"}, "free block of another graph's pool"),
    ],
)
def test_a_block_that_is_not_the_graphs_to_use(changed: dict[str, Any], reason: str) -> None:
    node = given(K, pointer_to(), pointer_to(2, 0, block(**changed)))
    assert gone(node) == [("nodes[0]", 8, reason, True)]


@pytest.mark.parametrize(
    "changed",
    [
        {"pool": "default"},
        {"pool": "graph"},
        {"pool": "unknown"},
        {"pool": "unknown", "state": "free"},
        {"pool": "graph", "state": "free"},
        {"pool": "graph", "state": "pending_free"},
    ],
)
def test_a_healthy_graph_has_none(changed: dict[str, Any]) -> None:
    """An intermediate result is free in the graph's own pool after the capture: replays use that memory."""
    leads = replace(pointer(), target=target(1, 0, block(**changed)))
    assert gone(given(K, pointer_to(1, 0, block(**changed))), replace(memset(), pointer=leads), memcpy(), K) == []


def test_an_address_in_no_allocation_is_gone_where_it_is_the_whole_argument() -> None:
    struct = struct_of("<qq", 0, 5)
    inside = replace(struct, pointers=unallocated().pointers)
    assert gone(given(K, unallocated(), inside), child(redacted(given(K, unallocated())))) == [
        ("nodes[0]", 0, "no allocation", True),
        ("nodes[0]", 8, "no allocation", False),
        ("nodes[1].graph.nodes[0]", 0, "no allocation", False),
    ]


def test_memory_of_the_graphs_own_allocation_nodes_is_its_own() -> None:
    own = MemAllocNode(
        size_bytes=64,
        address=0x7E00_0000_0000,
        allocation_type=1,
        handle_types=0,
        location_type=1,
        location_id=0,
        accesses=(),
    )
    smaller = replace(own, size_bytes=8, address=own.address + 8)
    assert gone(own, smaller, child(given(K, unallocated(own.address + 63)))) == []
    assert gone(own, smaller, given(K, unallocated(own.address + 64))) == [("nodes[2]", 0, "no allocation", True)]
    assert gone(given(K, unallocated(own.address - 1)), own) == [("nodes[0]", 0, "no allocation", True)]


def test_operands_of_copies_and_memsets() -> None:
    nowhere = pointer(memory_type=0)
    freed = replace(pointer(), target=target(1, 0, block(state="free", pool="default")))
    assert gone(
        memcpy(operand(facts=nowhere), operand(facts=freed)),
        replace(memset(), pointer=nowhere),
        memcpy(operand(1, facts=nowhere), operand(4, facts=nowhere)),  # pageable host memory is in no allocation
    ) == [
        ("nodes[0]", "source", "no allocation", True),
        ("nodes[0]", "destination", "free block", True),
        ("nodes[1]", "destination", "no allocation", True),
    ]


def test_an_address_has_the_stack_that_allocated_its_block() -> None:
    held = block(state="free", pool="default", stack=("model.py:33 forward",))
    (found,) = gone_pointers(graph(given(K, pointer_to(3, 16, held))))
    assert found.block == held
    assert found.node == given(K, pointer_to(3, 16, held))
