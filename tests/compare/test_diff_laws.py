"""Laws of diff: nothing for the same, one finding for one change, whichever field it is."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.compare.fail_on import gate
from sigcontract.model.attributes import LaunchCompletionEvent, ProgrammaticEvent, RawValue
from sigcontract.model.cuda import AttributeId
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ConditionalNode, Dependency, GraphSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    EmptyNode,
    EventRecordNode,
    EventWaitNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    HostNode,
    MemAccess,
    MemAllocNode,
    MemFreeNode,
    MemOp,
)
from sigcontract.update.attributes import attribute_path
from sigcontract.update.policies import same
from sigcontract.update.rules import RULES
from sigcontract.wire.canonical import portable_digest
from tests.compare.dumps import dump, kernel, kinds, of_another_process, only
from tests.strategies import LAWS, records
from tests.update.arguments import block, given as given_arguments, pointer_to, scalar, target
from tests.update.build import H200, child, edge, graph, memcpy, memset, operand, pointer, value

#: Where operands and arguments lead: one allocation, used often, so that one other use contradicts the rest.
LEADS = replace(pointer(), target=target(1, 64, block(stack=("a.py:1 f",))))

KERNEL = kernel(
    value(AttributeId.PROGRAMMATIC_EVENT, ProgrammaticEvent(event=0xE, flags=0, trigger_at_block_start=0)),
    value(AttributeId.LAUNCH_COMPLETION_EVENT, LaunchCompletionEvent(event=0xE, flags=0)),
    value(200, RawValue(hex="00" * 64)),
)

#: A node of every kind that has a record, each handle used twice, so that a change of one contradicts the other.
EVERYTHING = graph(
    given_arguments(KERNEL, pointer_to(1, 64, block(stack=("a.py:1 f",))), scalar(16)),
    given_arguments(kernel(grid=2), pointer_to(1)),
    memcpy(operand(address=0x1000, facts=LEADS), operand(address=0x2000, facts=LEADS)),
    replace(memset(), pointer=LEADS),
    HostNode(function_address=0x10, user_data=0x20),
    child(kernel(block=2)),
    EmptyNode(),
    EventRecordNode(event=0xE),
    EventWaitNode(event=0xE),
    ExtSemasSignalNode(count=1),
    ExtSemasWaitNode(count=1),
    MemAllocNode(
        size_bytes=64,
        address=0xA000,
        allocation_type=1,
        handle_types=0,
        location_type=1,
        location_id=0,
        accesses=(MemAccess(location_type=1, location_id=0, flags=3),),
    ),
    MemFreeNode(address=0xA000),
    BatchMemOpNode(
        context=0xC0,
        flags=0,
        operations=(MemOp(operation=1, address=0xB0, value="0x0000000000000001", flags=0),),
    ),
    ConditionalNode(kind=0, handle="0x0000000000000005", bodies=(graph(kernel(shared=2)),)),
)

Path = tuple[str | int, ...]

#: Numbers of one process: in another run they differ and say nothing.
PROCESS_FIELDS = {
    "AllocatorBlock.stack",
    "ArgumentPointer.address",
    "KernelNodeSignature.kern",
    "MemcpyOperand.address",
    "MemsetNode.destination",
    "HostNode.function_address",
    "HostNode.user_data",
    "MemOp.address",
    "ConditionalNode.handle",
    "AccessPolicyWindow.base_address",
    "DeviceUpdatableNode.device_node",
}
#: Parts of records that cannot change alone.
NOT_ALONE = {
    "ArgumentPointer.offset_bytes",  # the word that it was is another value then
    "LaunchAttribute.id",  # another id is another attribute: one gone, one come
    "LaunchAttribute.state",  # goes with the value
}


def leaves(record: Any, owner: str = "", path: Path = ()) -> Iterator[tuple[str, Path, Any]]:
    """Yield every single value in a record: ``Record.field``, where it is, and what it is."""
    if isinstance(record, Struct):
        for field in record.__struct_fields__:
            yield from leaves(getattr(record, field), f"{type(record).__name__}.{field}", (*path, field))
    elif isinstance(record, tuple):
        for index, item in enumerate(record):
            yield from leaves(item, owner, (*path, index))
    elif record is not None and owner not in NOT_ALONE:
        yield owner, path, record


def changed(leaf: Any, owner: str) -> Any:  # noqa: PLR0911  one answer per type
    """Return another value of the same type."""
    match leaf:
        case "allocated":
            return "free"
        case "graph":
            return "default"
        case str() if owner == "KernelArgument.value":
            return f"20{leaf[2:]}"
        case bool():
            return not leaf
        case int():
            return leaf + 1
        case "node":
            return "launch"
        case str() if owner == "RawValue.hex":
            return "01" * 64
        case str() if owner == "FunctionFacts.code_sha256":
            return "cd" * 32
        case str() if leaf.startswith("0x"):
            return "0x0000000000000009"
        case _:
            return f"{leaf}2"


def replaced(record: Any, path: Path, new: Any) -> Any:
    """Return the record with one value replaced."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*record[:step], replaced(record[step], rest, new), *record[step + 1 :])
    return replace(record, **{step: replaced(getattr(record, step), rest, new)})


#: Edges are mutated apart: one that leads elsewhere may close a cycle.
LEAVES = [
    leaf
    for leaf in leaves(EVERYTHING.nodes)
    # The word of an address is zero in the value.
    if "dependencies" not in leaf[1] and (leaf[0] != "KernelArgument.value" or leaf[2].strip("0"))
]


def named(path: Path) -> str:
    """Return how a finding's path names the field: attributes by id, dims and their like as one value."""
    if "attributes" in path:
        where = path.index("attributes") + 2
        record: Any = EVERYTHING.nodes
        for step in path[:where]:
            record = record[step] if isinstance(step, int) else getattr(record, step)
        return attribute_path(record.id)
    names = [step for step in path if isinstance(step, str)]
    if names[:-1] == ["arguments"]:
        return names[0]  # by its offset in the parameter buffer
    return names[-2] if names[-1] in ("x", "y", "z") and names[-2].endswith("dim") else names[-1]


def test_the_graph_of_everything_has_every_node_record() -> None:
    """A record that is missing there is a field that no test mutates; an opaque node is never the same."""
    named = {type(node).__name__ for _, node in EVERYTHING.walk()}
    declared = {kind.__name__ for kind in GraphSignature.__annotations__["nodes"].__args__[0].__args__[0].__args__}
    assert declared - named == {"OpaqueNode"}


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: ".".join(map(str, leaf[1])))
def test_one_changed_field_is_one_finding_that_names_it(leaf: tuple[str, Path, Any]) -> None:
    owner, path, old = leaf
    new = replace(EVERYTHING, nodes=replaced(EVERYTHING.nodes, path, changed(old, owner)))
    found = diff(dump(EVERYTHING), dump(new, created_at="2026-12-02T00:00:00Z"), H200)
    if owner in PROCESS_FIELDS:
        assert found.findings == ()
        return
    finding = only(found)
    # Of two that contradict each other, none is the one that changed.
    where = 12 if path == (11, "address") else path[0]
    assert finding.path.startswith(f"nodes[{where}]")
    assert named(path) in finding.path
    assert finding.verdict is not Verdict.IDENTICAL


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: ".".join(map(str, leaf[1])))
def test_by_value_every_field_counts(leaf: tuple[str, Path, Any]) -> None:
    owner, path, old = leaf
    new = replace(EVERYTHING, nodes=replaced(EVERYTHING.nodes, path, changed(old, owner)))
    findings = diff(dump(EVERYTHING), dump(new), H200, policy="exact").findings
    # The cluster that is compiled in says which function it is, and what an exec launches: an update judges both.
    assert len(findings) == (2 if "required_cluster_dim" in path else 1)
    for finding in findings:
        assert finding.path.startswith(f"nodes[{path[0]}]")
        assert finding.rule in RULES


@pytest.mark.parametrize("where", ["node", "access"])
def test_an_id_of_a_location_that_is_no_device_is_the_same_number_in_every_process(where: str) -> None:
    host_numa = 3  # CU_MEM_LOCATION_TYPE_HOST_NUMA

    def allocation(number: int) -> GraphSignature:
        access = MemAccess(location_type=host_numa, location_id=number if where == "access" else 1, flags=3)
        location = number if where == "node" else 1
        parts = {"location_type": host_numa, "location_id": location, "accesses": (access,)}
        return graph(replace(next(node for node in EVERYTHING.nodes if isinstance(node, MemAllocNode)), **parts))

    finding = only(diff(dump(allocation(1)), dump(allocation(2), process_id=2), H200))
    assert finding.path == {"node": "nodes[0].location_id", "access": "nodes[0].accesses[0].location_id"}[where]
    assert (finding.old, finding.new) == (1, 2)


@pytest.mark.parametrize("field", Dependency.__struct_fields__)
def test_one_changed_edge_is_one_finding_that_names_it(field: str) -> None:
    diamond = graph(kernel(grid=1), kernel(grid=2), kernel(grid=3), edges=[[], [0], [1]])
    one = replace(diamond.dependencies[2][0], **{field: {"node": 0}.get(field, 1)})
    new = replace(diamond, dependencies=(*diamond.dependencies[:2], (one,)))
    assert kinds(diff(dump(diamond), dump(new, process_id=2), H200))[0][1] == f"dependencies[2][0].{field}"
    assert len(diff(dump(diamond), dump(new, process_id=2), H200).findings) == 1


@LAWS
@given(records(GraphSignature), st.booleans())
def test_a_dump_and_itself_have_no_difference(a: GraphSignature, exact: bool) -> None:
    given_dump = dump(a)
    found = diff(given_dump, given_dump, policy="exact" if exact else "portable")
    assert found.findings == ()
    assert found.verdict is Verdict.IDENTICAL


@LAWS
@given(records(GraphSignature), records(GraphSignature))
def test_no_finding_means_the_same_and_the_same_means_no_finding(a: GraphSignature, b: GraphSignature) -> None:
    """Two runs differ exactly where the policy portable says so, whatever the graphs are."""
    for other in (a, b):
        found = diff(dump(a), dump(other, process_id=2), H200)
        assert (gate(found, "any") == "passed") == same("portable", a, other, H200).same
        assert all(finding.rule in RULES for finding in found.findings)


@LAWS
@given(records(GraphSignature), records(GraphSignature))
def test_graphs_of_different_digests_are_never_without_finding(a: GraphSignature, b: GraphSignature) -> None:
    if portable_digest(a) != portable_digest(b):
        assert diff(dump(a), dump(b, process_id=2)).findings
        assert diff(dump(a), dump(b, process_id=2), policy="exact").findings


def test_other_numbers_for_the_same_handles_are_no_difference() -> None:
    found = diff(dump(EVERYTHING), dump(of_another_process(EVERYTHING), process_id=2), H200)
    assert found.findings == ()


LAYER = [kernel(name=f"k{index}", func=0x100 + index) for index in range(5)]


@LAWS
@given(st.integers(1, 6), st.data())
def test_one_inserted_node_is_one_finding_wherever_it_is(layers: int, data: st.DataObject) -> None:
    old = LAYER * layers
    where = data.draw(st.integers(0, len(old)))
    inserted = data.draw(st.sampled_from([*LAYER, kernel(name="new", func=0x999)]))
    a, b = dump(graph(*old)), dump(graph(*old[:where], inserted, *old[where:]), process_id=2)
    added, removed = only(diff(a, b, H200)), only(diff(b, a, H200))
    assert (added.rule, added.count, added.verdict) == ("node.added", 1, Verdict.REJECTED)
    assert (removed.rule, removed.count, removed.verdict) == ("node.removed", 1, Verdict.REJECTED)
    assert (added.old, added.new) == (removed.new, removed.old)


@LAWS
@given(st.integers(1, 4), st.data())
def test_one_inserted_node_of_a_fork_takes_its_edges_with_it(width: int, data: st.DataObject) -> None:
    """Its edges, and those that it stands in for, are part of its insertion."""
    branches = [kernel(name=f"b{index}", func=0x200 + index) for index in range(width)]
    old = graph(LAYER[0], *branches, LAYER[1], edges=[[], *[[0]] * width, list(range(1, width + 1))])
    where = data.draw(st.integers(1, width))
    extra = edge(width)
    join = [edge(index) for index in range(1, width + 1)] + [edge(width + 1)]
    new = graph(
        LAYER[0], *branches, kernel(name="new", func=0x999), LAYER[1], edges=[[], *[[0]] * width, [extra], join]
    )
    assert only(diff(dump(old), dump(new, process_id=2), H200)).rule == "node.added"
    assert where <= width


@LAWS
@given(records(GraphSignature), records(GraphSignature))
def test_what_was_removed_one_way_was_added_the_other(a: GraphSignature, b: GraphSignature) -> None:
    there, back = diff(dump(a), dump(b, process_id=2)), diff(dump(b, process_id=2), dump(a))
    counts = [
        sum(finding.count for finding in found.findings if finding.rule == rule)
        for found, rule in ((there, "node.added"), (back, "node.removed"))
    ]
    assert counts[0] == counts[1]
