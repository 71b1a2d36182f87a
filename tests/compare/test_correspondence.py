"""Nodes numbered and numbers matched: what no field declares, no test of diff would see."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import given, strategies as st
from msgspec import Struct

from sigcontract.compare.aligner import Aligner
from sigcontract.compare.correspondence import Correspondence
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.graph import GraphSignature, NodeSignature
from sigcontract.model.renumbering import Identities, Renumbering
from sigcontract.update import similarity_key
from sigcontract.wire.canonical import portable_form
from tests.compare.dumps import kernel
from tests.strategies import LAWS, records
from tests.update.build import graph, memset


def numbers_in(record: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every single value in a record, graphs inside left out."""
    if isinstance(record, GraphSignature):
        return
    if isinstance(record, Struct):
        for field in record.__struct_fields__:
            yield from numbers_in(getattr(record, field), f"{path}.{field}")
    elif isinstance(record, tuple):
        for index, item in enumerate(record):
            if isinstance(item, KernelArgument):
                for word in item.pointers:  # named by its offset, whatever is null before it
                    at = f"{path}[offset={item.offset_bytes + word.offset_bytes}]"
                    yield from ((at + below.removeprefix(".target"), value) for below, value in numbers_in(word))
            else:
                yield from numbers_in(item, f"{path}[{index}]")
    else:
        yield path, record


@LAWS
@given(records(GraphSignature))
def test_all_that_renumbering_changes_are_the_identities(drawn: GraphSignature) -> None:
    """And a form in which they are all 1 has nothing of its process left."""
    for node in portable_form(drawn).nodes:
        found = {path: number for path, _, number in Identities().of(node)}
        moved = Renumbering(lambda _kind: (100).__add__).record(node)
        before, after = dict(numbers_in(node)), dict(numbers_in(moved))
        assert {path for path in before if before[path] != after[path]} == set(found)
        assert all(after[path] == number + 100 for path, number in found.items())


@LAWS
@given(records(GraphSignature), st.integers(1, 5))
def test_every_number_that_the_portable_form_gives_is_an_identity(drawn: GraphSignature, more: int) -> None:
    """One that its field does not declare would change with the nodes before it, and look like a difference."""
    shifted = GraphSignature(
        nodes=(*[kernel(func=0x9000 + index, context=0x9100 + index) for index in range(more)], *drawn.nodes),
        dependencies=((),) * (more + len(drawn.nodes)),
    )
    here, there = portable_form(drawn).nodes, portable_form(shifted).nodes[more:]
    for a, b in zip(here, there, strict=True):
        before, after = dict(numbers_in(a)), dict(numbers_in(b))
        differing = {path for path in before if before[path] != after[path]}
        assert differing <= {path for path, _, _ in Identities().of(a)}


def test_equal_nodes_have_one_number_and_their_pairs_are_counted() -> None:
    aligner = Aligner(by_value=False)
    nodes: list[NodeSignature] = [kernel(), memset()]
    old, new = graph(*nodes * 3), graph(*nodes * 3)
    aligner.add(old)
    aligner.add(new)
    aligned = aligner.align(old, new)
    assert aligned.distinct == Counter({(0, 0): 3, (1, 1): 3})
    assert aligned.first_pairs() == {(0, 0): (0, 0), (1, 1): (1, 1)}
    assert list(aligned.pairs_among(frozenset({(1, 1)}))) == [(1, 1, (1, 1)), (3, 3, (1, 1)), (5, 5, (1, 1))]
    assert aligner.align(old, new) is aligned
    assert aligner.exact


def test_a_number_without_counterpart_gets_one_of_its_own() -> None:
    pairs = Correspondence(Counter({("function", 1, 1): 5, ("function", 1, 2): 1, ("function", 2, 3): 1}))
    assert pairs.translate("function", 1) == 1
    assert pairs.translate("function", 3) == 2
    assert pairs.translate("function", 2) not in {1, 2}
    assert pairs.split("function", 1, 2)
    assert not pairs.merged("function", 1, 2)


def test_a_number_of_two_becomes_one() -> None:
    pairs = Correspondence(Counter({("event", 1, 1): 2, ("event", 2, 1): 1}))
    assert pairs.merged("event", 2, 1)
    assert not pairs.split("event", 2, 1)


def test_likeness_is_the_type_and_a_kernels_name() -> None:
    assert similarity_key(kernel(grid=1)) == similarity_key(kernel(grid=2, func=9)) == (0, "probe")
    assert similarity_key(memset()) == (2, "")
