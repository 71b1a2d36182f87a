"""Layouts of very many parameters: compared once, however many nodes have them, and reported as shorter ones are."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.model.function import ParameterLayout
from sigcontract.model.graph import GraphSignature
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import GROUPING_POLICIES, POLICIES, key, same
from sigcontract.update.predict import predict_update
from tests.compare.dumps import dump
from tests.update import build

NODES = 100
LENGTH = 200
#: Each parameter is compared for a finding's text, where dumps are compared whole, and per digest of a graph.
TIMES = 20


class Counted(ParameterLayout, frozen=True, kw_only=True):
    """A parameter that counts how often one is compared."""

    def __eq__(self, other: object) -> bool:
        COUNT[0] += 1
        assert isinstance(other, ParameterLayout)
        return (self.offset_bytes, self.size_bytes) == (other.offset_bytes, other.size_bytes)

    def __hash__(self) -> int:
        raise AssertionError("no record is hashed")


COUNT = [0]


def layout(count: int, last: int = 4, kind: type[ParameterLayout] = ParameterLayout) -> tuple[ParameterLayout, ...]:
    sizes = [4] * (count - 1) + [last]
    return tuple(kind(offset_bytes=4 * index, size_bytes=size) for index, size in enumerate(sizes))


def graph(parameters: tuple[ParameterLayout, ...], nodes: int = 2) -> GraphSignature:
    """Return a graph of kernels of one function, half of them in a child graph."""
    function = replace(build.FACTS, parameters=parameters)
    kernels = [build.kernel(grid=1 + index, function=function) for index in range(nodes)]
    return build.graph(*kernels[nodes // 2 :], build.child(*kernels[: nodes // 2]))


def diffed(policy: str, old: GraphSignature, new: GraphSignature) -> Any:
    return diff(dump(old), dump(new, process_id=2), build.H200, policy=policy)


def predicted_fixed(held: GraphSignature, fixed: GraphSignature) -> Any:
    return predict_update(held, held, build.H200, fixed)


COMPARISONS: dict[str, Callable[[GraphSignature, GraphSignature], Any]] = {
    **{f"same {policy}": partial(same, policy) for policy in GROUPING_POLICIES},
    **{f"diff {policy}": partial(diffed, policy) for policy in POLICIES},
    "predict": predict_update,
    "predict fixed": predicted_fixed,
    "groups": lambda a, b: group_dumps([dump(a), dump(b)]),
}


@pytest.mark.parametrize("last", [4, 2])
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_a_long_layout_is_compared_once_and_not_once_per_node(comparison: str, last: int) -> None:
    old, new = graph(layout(LENGTH, kind=Counted), NODES), graph(layout(LENGTH, last, Counted), NODES)
    COUNT[0] = 0
    COMPARISONS[comparison](old, new)
    assert COUNT[0] <= TIMES * LENGTH


@pytest.mark.parametrize("last", [4, 2])
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_a_long_layout_has_the_answer_of_a_short_one(comparison: str, last: int) -> None:
    def answer(count: int) -> str:
        found = str(COMPARISONS[comparison](graph(layout(count)), graph(layout(count, last))))
        return found.replace(f"[{count - 1}] ", "[last] ").replace(f" at {4 * count - 4}", " at the end")

    assert answer(LENGTH) == answer(3)


def test_keys_tell_long_layouts_apart() -> None:
    one, same_one, another = graph(layout(LENGTH)), graph(layout(LENGTH)), graph(layout(LENGTH, 2))
    for policy in POLICIES:
        assert key(policy, one) == key(policy, same_one)
    assert key("portable", one) != key("portable", another)


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (layout(3), layout(3, 2), ("[2] 4 bytes at 8", "[2] 2 bytes at 8")),
        (layout(LENGTH), layout(LENGTH, 2), ("[199] 4 bytes at 796", "[199] 2 bytes at 796")),
        (layout(3)[1:], layout(3)[:2], ("[0] 4 bytes at 4, and 1 more", "[0] 4 bytes at 0, and 1 more")),
        (layout(1), layout(LENGTH), ("1 parameter, 4 bytes", "200 parameters, 800 bytes")),
        ((), layout(1), ("0 parameters, 0 bytes", "1 parameter, 4 bytes")),
    ],
)
def test_a_finding_says_how_layouts_differ(old: Any, new: Any, texts: tuple[str, str]) -> None:
    finding = diffed("portable", graph(old), graph(new)).graphs[0].findings[0]
    assert (finding.rule, finding.path) == ("function.facts", "nodes[0].function.parameters")
    assert (finding.old, finding.new) == texts
