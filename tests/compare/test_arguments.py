"""Arguments in a diff of two runs: allocations in correspondence, changes folded by their cause."""

from collections.abc import Callable

import pytest
from hypothesis import given as given_examples, strategies as st
from msgspec.structs import replace

from sigcontract.compare.causes import causes_of
from sigcontract.compare.dumps import compare_dumps, diff
from sigcontract.compare.fail_on import gate
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.findings import DumpDiff, Verdict
from sigcontract.model.graph import GraphSignature
from sigcontract.model.nodes import KernelNodeSignature
from tests.compare.dumps import again, dump, kernel, only
from tests.strategies import LAWS
from tests.update.arguments import block, given, moved, pointer_to, redacted, scalar, struct_of, target, unallocated
from tests.update.build import H200, child, graph, memcpy, memset, operand, pointer
from tests.work import grows_with_its_input

Arguments = Callable[[int], tuple[KernelArgument, ...]]


def layers(count: int, arguments: Arguments) -> GraphSignature:
    """Return a chain of one kernel, given these arguments by its index."""
    return graph(*(given(kernel(), *arguments(index)) for index in range(count)))


def found(old: GraphSignature, new: GraphSignature) -> list[tuple[str, str, object, object, int]]:
    """Return rule, path, texts and count of the findings between two runs."""
    result = diff(dump(old), again(moved(new)), H200)
    return [(f.rule, f.path, f.old, f.new, f.count) for f in result.findings]


def three(index: int) -> tuple[KernelArgument, ...]:
    """Return the arguments of a layer: its weights, a workspace of all layers, and a length."""
    return pointer_to(1 + index), pointer_to(99, 256), struct_of("<qi", 0, 16)


def test_the_same_program_in_another_process_has_no_difference() -> None:
    assert found(layers(24, three), layers(24, three)) == []


def test_one_changed_scalar_of_24_nodes_is_one_cause() -> None:
    """Offset 24: 16 → 32 in 24 nodes."""
    new = moved(layers(24, lambda index: (*three(index)[:2], struct_of("<qi", 0, 32))))
    comparison = compare_dumps(dump(layers(24, three)), again(new), H200)
    finding = only(comparison.diff)
    assert (finding.rule, finding.path, finding.old, finding.new, finding.count) == (
        "kernel.argument",
        "nodes[0].arguments[offset=24]",
        "16",
        "32",
        24,
    )
    assert (finding.verdict, finding.evidence) == (Verdict.UPDATABLE, "documented")
    assert comparison.changes[0] is not None
    (cause,) = causes_of(comparison.changes[0])
    assert (cause.count, len(cause.paths), cause.subject) == (24, 24, "probe")


def test_memory_that_moved_by_one_distance_is_one_finding() -> None:
    old = layers(24, lambda index: (pointer_to(1, 4096 * index), scalar(index)))
    new = layers(24, lambda index: (pointer_to(1, 4096 * index + 512), scalar(index)))
    assert found(old, new) == [("kernel.argument", "nodes[0].arguments[offset=0].offset_bytes", 0, 512, 24)]


def test_one_buffer_that_became_two_is_one_finding_however_many_use_it() -> None:
    apart = layers(24, lambda index: (*three(index)[:1], pointer_to(98 if index > 20 else 99, 256), *three(index)[2:]))
    path = "nodes[21].arguments[offset=8].allocation.address"
    # Numbers by first use, each in its own graph: layer 0 has 1, the workspace is 2, the other workspace is 24.
    split = "one allocation: 2", "two allocations: 2, 24"
    assert found(layers(24, three), apart) == [("kernel.argument", path, *split, 3)]
    merged = "two allocations: 2, 24", "one allocation: 2"
    assert found(apart, layers(24, three)) == [("kernel.argument", path, *merged, 3)]


def test_two_buffers_that_changed_their_roles_are_one_finding_each() -> None:
    old = layers(6, lambda index: (pointer_to(1 + index % 2), scalar(index)))
    new = layers(6, lambda index: (pointer_to(1 + (index + (index == 5)) % 2), scalar(index)))
    assert found(old, new) == [
        ("kernel.argument", "nodes[5].arguments[offset=0].allocation.address", "allocation 2", "allocation 1", 1)
    ]


def test_aliases_are_distinguished_from_two_buffers() -> None:
    old = layers(4, lambda index: (pointer_to(1, 64 * index), pointer_to(2, 64 * index)))
    new = layers(4, lambda index: (pointer_to(1, 64 * index), pointer_to(1, 64 * index)))
    apart, same = "distinct from offset 0", "same address as offset 0"
    assert found(old, new) == [("kernel.argument", "nodes[0].arguments[offset=8].alias", apart, same, 4)]
    assert found(new, old) == [("kernel.argument", "nodes[0].arguments[offset=8].alias", same, apart, 4)]


def test_copies_memsets_and_nested_graphs_refer_to_the_same_allocations() -> None:
    def drawn(read: int) -> GraphSignature:
        leads = replace(pointer(), target=target(1))
        return graph(
            given(kernel(), pointer_to(1)),
            memcpy(operand(address=target(2).allocation.address, facts=replace(pointer(), target=target(2)))),
            replace(memset(), pointer=leads),
            child(given(kernel(), pointer_to(read))),
        )

    assert found(drawn(1), drawn(1)) == []
    path = "nodes[3].graph.nodes[0].arguments[offset=0].allocation.address"
    assert found(drawn(1), drawn(2)) == [("kernel.argument", path, "allocation 1", "allocation 2", 1)]


def test_a_memset_that_leads_elsewhere_is_a_target_of_its_own() -> None:
    def drawn(number: int) -> GraphSignature:
        leads = replace(pointer(), target=target(number))
        return graph(given(kernel(), pointer_to(1)), replace(memset(), pointer=leads), given(kernel(), pointer_to(2)))

    path = "nodes[1].pointer.target.allocation.address"
    assert found(drawn(1), drawn(2)) == [("memory.target", path, "allocation 1", "allocation 2", 1)]
    unknown = graph(drawn(1).nodes[0], memset(), drawn(1).nodes[2])
    assert [each[0] for each in found(drawn(1), unknown)] == ["memory.target-unknown"]


def test_a_pointer_whose_memory_is_gone_is_named_so() -> None:
    old = layers(3, lambda index: (pointer_to(1 + index, 0, block(pool="default")), pointer_to(9)))
    new = layers(3, lambda index: (pointer_to(1 + index, 0, block(pool="default", state="free")), unallocated()))
    assert found(old, new) == [
        ("memory.gone", "nodes[0].arguments[offset=0].block.state", "pointer", "free block", 3),
        ("memory.gone", "nodes[0].arguments[offset=8]", "pointer", "no allocation", 3),
    ]


def gated(old: GraphSignature, new: GraphSignature) -> tuple[str, DumpDiff]:
    """Return the answer of the default gate, and the diff."""
    result = diff(dump(old), again(new), H200)
    return gate(result, "any"), result


def test_what_is_not_known_is_one_finding_and_no_pass() -> None:
    recorded = layers(24, three)
    bare = graph(*[kernel()] * 24)
    hidden = graph(*(redacted(node) for node in recorded.nodes if isinstance(node, KernelNodeSignature)))
    words = layers(24, lambda index: (unallocated(0x7E00_0000_0000 + index),))
    for old, new, field, texts in (
        (bare, recorded, "arguments", ("not recorded", "recorded")),
        (recorded, bare, "arguments", ("recorded", "not recorded")),
        (recorded, hidden, "arguments", ("recorded", "redacted")),
        (hidden, hidden, "arguments", ("redacted", "redacted")),
        (words, words, "arguments[offset=0]", ("no allocation", "no allocation")),
    ):
        answer, result = gated(old, new)
        finding = only(result)
        assert (answer, finding.rule, finding.count) == ("undetermined", "kernel.argument-unknown", 24)
        assert (finding.path, finding.old, finding.new) == (f"nodes[0].{field}", *texts)
    assert gated(bare, bare)[0] == "passed"
    assert gated(recorded, moved(recorded))[0] == "passed"
    assert gated(recorded, layers(24, lambda index: (*three(index)[:2], scalar(1))))[0] == "failed"


def test_redacted_dumps_that_are_equal_may_be_of_other_arguments() -> None:
    hidden = [dump(graph(redacted(given(kernel(), scalar(value))))) for value in (16, 32)]
    assert hidden[0] == hidden[1]
    for policy in ("portable", "exact"):
        finding = only(diff(hidden[0], hidden[1], H200, policy=policy))
        assert (finding.rule, finding.old, finding.new) == ("kernel.argument-unknown", "redacted", "redacted")
    assert diff(hidden[0], hidden[0], H200).findings == ()
    addresses = [dump(graph(redacted(given(kernel(), pointer_to())))) for _ in range(2)]
    assert diff(addresses[0], addresses[1], H200).findings == ()


def test_a_share_policy_ignores_arguments() -> None:
    other = layers(24, lambda index: (pointer_to(5, index), unallocated()))
    for new in (other, graph(*[kernel()] * 24)):
        found_by_policy = diff(dump(layers(24, three)), dump(new), H200, policy="share")
        assert found_by_policy.findings == ()


def test_a_stack_is_of_one_machine() -> None:
    here, there = (
        layers(2, lambda index: (pointer_to(1 + index, 0, block(stack=(f"/home/{name}/model.py:3 forward",))),))  # noqa: B023  called at once
        for name in ("a", "b")
    )
    assert found(here, there) == []
    assert {f.rule for f in diff(dump(here), dump(there), policy="exact").findings} == {"memory.stack"}


# Laws.


def nodes() -> st.SearchStrategy[KernelNodeSignature]:
    """Return a strategy of kernels with addresses in few allocations, and values."""
    addresses = st.builds(pointer_to, st.integers(1, 4), st.sampled_from([0, 64, 512]))
    values = st.binary(min_size=1, max_size=24).map(
        lambda content: KernelArgument(offset_bytes=0, size_bytes=len(content), value=content.hex(), pointers=())
    )
    names = st.sampled_from(["a", "b"])
    made = st.lists(addresses | values, max_size=4)
    return st.builds(lambda name, listed: given(kernel(name=name, func=ord(name)), *listed), names, made)


@LAWS
@given_examples(st.lists(nodes(), max_size=8))
def test_law_other_addresses_change_nothing(drawn: list[KernelNodeSignature]) -> None:
    assert found(graph(*drawn), graph(*drawn)) == []


@LAWS
@given_examples(st.lists(nodes(), min_size=1, max_size=8), st.data())
def test_law_one_changed_byte_is_one_finding_at_its_node(drawn: list[KernelNodeSignature], data: st.DataObject) -> None:
    indices = [
        (at, number)
        for at, node in enumerate(drawn)
        for number, argument in enumerate(node.arguments or ())
        if not argument.pointers
    ]
    if not indices:
        return
    at, number = data.draw(st.sampled_from(indices))
    arguments = list(drawn[at].arguments or ())
    old = bytes.fromhex(arguments[number].value or "")
    byte = data.draw(st.integers(0, len(old) - 1))
    value = old[:byte] + bytes([old[byte] ^ data.draw(st.integers(1, 255))]) + old[byte + 1 :]
    arguments[number] = replace(arguments[number], value=value.hex())
    new = graph(*drawn[:at], replace(drawn[at], arguments=tuple(arguments)), *drawn[at + 1 :])
    ((rule, path, before, after, count),) = found(graph(*drawn), new)
    assert (rule, count) == ("kernel.argument", 1)
    assert path.startswith(f"nodes[{at}].arguments[offset=")
    assert before != after


def test_law_the_work_grows_with_nodes_and_arguments() -> None:
    def of(size: int, width: int) -> Callable[[], object]:
        def drawn(length: int) -> GraphSignature:
            return layers(
                size,
                lambda index: (
                    *(pointer_to(1 + (index * width + at) % (3 * size), 64 * at) for at in range(width)),
                    struct_of("<qqi", index, 5, length),
                ),
            )

        old, new = dump(drawn(16)), again(moved(drawn(32)))
        return lambda: diff(old, new, H200)

    grows_with_its_input(lambda size: of(size, 3), 300)
    grows_with_its_input(lambda width: of(10, width), 40)


@pytest.mark.parametrize("policy", ["portable", "exact"])
def test_in_one_capture_arguments_of_one_side_are_not_identical(policy: str) -> None:
    recorded = graph(given(kernel(), scalar(1)))
    for old, new in ((graph(kernel()), recorded), (recorded, graph(kernel()))):
        found = diff(dump(old), dump(new), H200, policy=policy)
        assert [finding.rule for finding in found.findings] == ["kernel.argument-unknown"]
        assert Verdict.IDENTICAL not in {found.verdict, found.graphs[0].verdict}
