"""Arguments of two kernels of one process or two: rules, policies and predictions."""

from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.model.findings import Verdict
from sigcontract.model.graph import GraphSignature
from sigcontract.update.arguments import argument_differences, argument_unknowns
from sigcontract.update.policies import GROUPING_POLICIES, key, same
from sigcontract.update.predict import predict_update
from tests.compare.dumps import kernel
from tests.update.arguments import (
    allocation,
    block,
    given,
    moved,
    pointer_to,
    redacted,
    scalar,
    struct_of,
    target,
    unallocated,
)
from tests.update.build import H200, child, graph, memcpy, memset, operand, pointer

K = kernel()
SHARING = [policy for policy in GROUPING_POLICIES if policy.startswith("share")]


def changes(old: tuple[Any, ...], new: tuple[Any, ...]) -> list[tuple[str, str, Any, Any]]:
    """Return rule, field and texts of each difference of two lists of arguments."""
    sides = given(K, *old).arguments, given(K, *new).arguments
    return [(found.rule, found.field.removeprefix(".arguments"), *found[-2:]) for found in argument_differences(*sides)]


def argument(field: str, old: Any, new: Any) -> list[tuple[str, str, Any, Any]]:
    """Return one difference by rule ``kernel.argument``."""
    return [("kernel.argument", field, old, new)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param([scalar(16)], [scalar(32)], argument("[offset=0]", "16", "32"), id="integer"),
        pytest.param(
            [pointer_to(), scalar(1e-5, "<f")],
            [pointer_to(), scalar(1e-6, "<f")],
            argument("[offset=8]", "1e-05", "1e-06"),
            id="float",
        ),
        pytest.param(
            [struct_of("<qqi", 1, 2, 3)],
            [struct_of("<qqi", 1, 2, 4)],
            argument("[offset=16]", "3", "4"),
            id="word of a struct",
        ),
        pytest.param(
            [pointer_to(1)], [pointer_to(1, 512)], argument("[offset=0].offset_bytes", 0, 512), id="another offset"
        ),
        pytest.param(
            [pointer_to(1, address=1)],
            [pointer_to(1, address=2)],
            argument("[offset=0].allocation.address", "allocation 1", "allocation 2"),
            id="another allocation",
        ),
        pytest.param(
            [pointer_to(1), pointer_to(2)],
            [pointer_to(1), pointer_to(1)],
            argument("[offset=8].alias", "distinct from offset 0", "same address as offset 0"),
            id="two became one",
        ),
        pytest.param(
            [pointer_to(1), pointer_to(1)],
            [pointer_to(1), pointer_to(2)],
            argument("[offset=8].alias", "same address as offset 0", "distinct from offset 0"),
            id="one became two",
        ),
        pytest.param(
            [pointer_to(1), pointer_to(1)],
            [pointer_to(1), pointer_to(2, 0, block(pool="default", state="free"), address=9)],
            [
                *argument("[offset=8].alias", "same address as offset 0", "distinct from offset 0"),
                ("memory.gone", "[offset=8].block.state", "pointer", "free block"),
            ],
            id="one became two, and the second is free",
        ),
        pytest.param(
            [pointer_to(1), pointer_to(1)],
            [pointer_to(1), pointer_to(1, 512, size_bytes=8192)],
            [
                *argument("[offset=8].alias", "same address as offset 0", "distinct from offset 0"),
                *argument("[offset=8].allocation.size_bytes", 4096, 8192),
            ],
            id="one became two, in an allocation of another size",
        ),
        pytest.param([pointer_to()], [scalar(0, "<q")], argument("[offset=0]", "pointer", "null"), id="null"),
        pytest.param([scalar(5, "<q")], [pointer_to()], argument("[offset=0]", "0x5", "pointer"), id="no longer 5"),
        pytest.param(
            [unallocated()], [pointer_to()], argument("[offset=0]", "no allocation", "pointer"), id="now allocated"
        ),
        pytest.param(
            [pointer_to()],
            [unallocated()],
            [("memory.gone", "[offset=0]", "pointer", "no allocation")],
            id="in no allocation",
        ),
        pytest.param(
            [pointer_to(size_bytes=4096)],
            [pointer_to(size_bytes=8192)],
            argument("[offset=0].allocation.size_bytes", 4096, 8192),
            id="another size",
        ),
        pytest.param(
            [pointer_to(managed=False)],
            [pointer_to(managed=True)],
            argument("[offset=0].allocation.managed", "false", "true"),
            id="another kind of memory",
        ),
        pytest.param(
            [pointer_to(pooled=None)],
            [pointer_to(pooled=True)],
            [("kernel.argument-unknown", "[offset=0].allocation.pooled", None, "true")],
            id="a fact of one side",
        ),
        pytest.param(
            [pointer_to(held=block(pool="default"))],
            [pointer_to(held=block(pool="default", state="pending_free"))],
            [("memory.gone", "[offset=0].block.state", "pointer", "block pending free")],
            id="freed",
        ),
        pytest.param(
            [pointer_to(held=block(pool="default"))],
            [pointer_to(1, 0, block(pool="default", state="free"), address=9)],
            [
                (
                    "kernel.argument",
                    "[offset=0].allocation.address",
                    f"allocation {hex(allocation(1).address)}",
                    "allocation 9",
                ),
                ("memory.gone", "[offset=0].block.state", "pointer", "free block"),
            ],
            id="another allocation, which is free",
        ),
        pytest.param(
            [pointer_to(held=block(state="allocated"))],
            [pointer_to(held=block(state="free"))],
            argument("[offset=0].block.state", "allocated", "free"),
            id="free in the graph's own pool",
        ),
        pytest.param(
            [pointer_to(held=block(stack=("a.py:1 f", "main.py:9 <module>")))],
            [pointer_to(held=block(stack=("a.py:1 f", "main.py:8 <module>")))],
            [("memory.stack", "[offset=0].block.stack", "main.py:9 <module>", "main.py:8 <module>")],
            id="allocated elsewhere",
        ),
        pytest.param(
            [pointer_to()],
            [pointer_to(held=block())],
            [("kernel.argument-unknown", "[offset=0].block", "not known", "known")],
            id="a block of one side",
        ),
        pytest.param(
            [scalar(1), scalar(2)], [scalar(1)], argument("", "0+4 8+4", "0+4"), id="layout: one finding, no other"
        ),
    ],
)
def test_what_each_difference_is(old: list[Any], new: list[Any], expected: list[Any]) -> None:
    assert changes(tuple(old), tuple(new)) == expected


def test_a_struct_that_differs_all_over_is_one_difference() -> None:
    (found,) = changes((struct_of("<64i", *range(64)),), (struct_of("<64i", *range(1, 65)),))
    assert found[:2] == ("kernel.argument", "[offset=0]")
    assert found[2].startswith("256 bytes, sha256 ")
    assert found[2] != found[3]


def test_a_word_in_no_allocation_is_equal_to_nothing_of_another_process() -> None:
    ((rule, field, old, new),) = changes((unallocated(address=0),), (unallocated(address=0),))
    assert (rule, field, old, new) == ("kernel.argument-unknown", "[offset=0]", "no allocation", "no allocation")


def test_within_a_process_it_is_compared_by_address() -> None:
    assert changes((unallocated(0x10),), (unallocated(0x10),)) == []
    assert changes((unallocated(0x10),), (unallocated(0x18),)) == argument("[offset=0].address", "0x10", "0x18")


def test_redacted_values_are_known_to_none() -> None:
    recorded = given(K, pointer_to(), scalar(1), scalar(2))
    hidden = redacted(recorded)
    texts = [(d.rule, d.field, d.old, d.new) for d in argument_differences(recorded.arguments, hidden.arguments)]
    assert texts == [("kernel.argument-unknown", ".arguments", "recorded", "redacted")]
    assert [found.new for found in argument_unknowns(hidden.arguments, across=False)] == ["redacted"]


def test_a_redacted_address_is_known_by_where_it_leads() -> None:
    hidden = redacted(given(K, pointer_to(), pointer_to(2, 64))).arguments
    assert list(argument_unknowns(hidden, across=True)) == []


def test_arguments_of_one_side_are_one_unknown() -> None:
    (found,) = argument_differences(None, given(K, scalar(1), scalar(2)).arguments)
    assert found[:4] == ("kernel.argument-unknown", ".arguments", Verdict.UNDETERMINED, "assumed")
    assert (found.old, found.new) == ("not recorded", "recorded")
    assert list(argument_differences(None, None)) == []


# Policies.


def other_arguments() -> tuple[GraphSignature, GraphSignature]:
    """Return two graphs of one process that differ in arguments, and in where copies and memsets lead, alone."""

    def drawn(number: int, value: int) -> GraphSignature:
        leads = replace(pointer(), target=target(number))
        return graph(
            given(K, pointer_to(number), scalar(value), unallocated()),
            memcpy(operand(facts=leads), operand(facts=leads)),
            replace(memset(), pointer=leads),
            child(given(K, scalar(value))),
        )

    return drawn(1, 16), drawn(2, 32)


@pytest.mark.parametrize("policy", SHARING)
def test_the_share_policies_take_no_account_of_arguments(policy: str) -> None:
    a, b = other_arguments()
    assert same(policy, a, b, H200).same
    assert same(policy, a, graph(K, *a.nodes[1:]), H200).same
    if policy != "share-updatable":
        assert key(policy, a, H200) == key(policy, b, H200)


@pytest.mark.parametrize("policy", ["exact", "portable"])
def test_the_others_do(policy: str) -> None:
    a, b = other_arguments()
    reasons = {finding.rule for finding in same(policy, a, b, H200).reasons}
    assert "kernel.argument" in reasons
    assert key(policy, a, H200) != key(policy, b, H200)


def test_addresses_of_another_process_are_the_same_where_they_correspond() -> None:
    a = graph(given(K, pointer_to(1), pointer_to(2, 64), scalar(3)), given(K, pointer_to(2), pointer_to(1), scalar(3)))
    assert same("portable", a, moved(a), H200).same
    assert not same("exact", a, moved(a), H200).same
    swapped = graph(a.nodes[0], given(K, pointer_to(1), pointer_to(2), scalar(3)))
    assert not same("portable", a, moved(swapped), H200).same


def test_what_is_not_known_is_the_same_as_nothing() -> None:
    unknown = graph(given(K, unallocated()))
    hidden = graph(redacted(given(K, scalar(1))))
    assert [found.rule for found in same("portable", unknown, unknown, H200).reasons] == ["kernel.argument-unknown"]
    assert same("exact", unknown, unknown, H200).same
    for policy in ("portable", "exact"):
        assert [found.rule for found in same(policy, hidden, hidden, H200).reasons] == ["kernel.argument-unknown"]


# Predictions.


def test_an_update_applies_arguments() -> None:
    a, b = other_arguments()
    found = predict_update(a, b, H200)
    assert found.verdict is Verdict.UPDATABLE
    assert [(f.rule, f.path, f.old, f.new) for f in found.findings if f.rule.startswith("kernel.")] == [
        ("kernel.argument", "nodes[0].arguments", "as held", "other at offset 0, 8"),
        ("kernel.argument", "nodes[3].graph.nodes[0].arguments", "as held", "other at offset 0"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (given(K, pointer_to()), given(K, unallocated())),
        (given(K, unallocated()), given(K, unallocated(0x5))),
        (given(K, scalar(1)), redacted(given(K, scalar(1)))),
        (given(K, scalar(1)), K),
        (given(K, scalar(1)), given(K, scalar(1), scalar(2))),
    ],
)
def test_arguments_never_make_an_update_unsafe(old: Any, new: Any) -> None:
    assert predict_update(graph(old), graph(new), H200).verdict.safe


def test_a_2d_copy_that_leads_elsewhere_is_refused() -> None:
    def copy(number: int) -> GraphSignature:
        side = operand(address=0x1000, facts=replace(pointer(), target=target(number)))
        return graph(given(K, pointer_to(1)), memcpy(side, height=4), given(K, pointer_to(2)))

    (found,) = same("portable", copy(1), copy(2), H200).reasons
    assert (found.rule, found.path, found.verdict) == (
        "memcpy.shape",
        "nodes[1].source.pointer.target.allocation.address",
        Verdict.REJECTED,
    )


def test_a_prediction_never_calls_arguments_identical_that_are_hidden_or_recorded_of_one_side_only() -> None:
    recorded = graph(given(K, scalar(1)))
    hidden, bare = graph(redacted(given(K, scalar(1)))), graph(K)
    assert predict_update(recorded, recorded, H200).verdict is Verdict.IDENTICAL
    assert predict_update(bare, bare, H200).verdict is Verdict.IDENTICAL
    for held, candidate in ((hidden, hidden), (hidden, recorded), (bare, recorded), (recorded, bare)):
        prediction = predict_update(held, candidate, H200)
        assert prediction.verdict is Verdict.UPDATABLE
        assert [found.rule for found in prediction.findings] == ["kernel.argument"]


@pytest.mark.parametrize("policy", SHARING)
def test_redacted_arguments_do_not_block_sharing(policy: str) -> None:
    hidden = graph(redacted(given(K, scalar(1))))
    assert same(policy, hidden, hidden, H200).same


STATES = [
    {"state": state, "pool": pool}
    for state in ("allocated", "pending_free", "free")
    for pool in ("default", "graph", "other", "unknown")
]


@pytest.mark.parametrize("old", STATES, ids=str)
@pytest.mark.parametrize("new", STATES, ids=str)
def test_a_block_that_is_unknown_on_either_side_is_unknown_in_both_directions(
    old: dict[str, str], new: dict[str, str]
) -> None:
    a, b = (given(K, pointer_to(1, held=block(**facts))).arguments for facts in (old, new))
    there, back = (
        {found.field: found.rule for found in argument_differences(*pair) if found.rule == "kernel.argument-unknown"}
        for pair in ((a, b), (b, a))
    )
    assert there == back
    unknown = {name for name in old if old[name] != new[name] and "unknown" in (old[name], new[name])}
    assert {field.rpartition(".")[2] for field in there} == unknown
    assert bool([*argument_differences(a, b)]) == (old != new)
