"""Distinct nodes answer for a whole graph."""

from random import Random

import pytest
from hypothesis import given
from msgspec.structs import replace

from sigcontract.model.findings import Finding
from sigcontract.model.graph import ConditionalNode, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode, OpaqueNode
from sigcontract.model.profile import DriverProfile
from sigcontract.update.grouping import distinct_nodes, unprovable
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.policies import POLICIES, key, same
from tests.strategies import LAWS, graphs
from tests.update.build import (
    CONTEXT,
    FACTS,
    H200,
    child,
    cluster,
    cooperative,
    graph,
    kernel,
    memcpy,
    memset,
    operand,
    pointer,
)


def _unknowns(policy: str, graph: GraphSignature, profile: DriverProfile | None) -> tuple[Finding, ...]:
    return unprovable(policy, graph, distinct_nodes(graph), NodeJudge(profile, 0))


def test_each_object_is_given_once_however_often_it_occurs_also_inside() -> None:
    node, other = kernel(), EmptyNode()
    branch = ConditionalNode(kind=0, handle=None, bodies=(graph(other), None))
    holder = child(node, other)
    found = distinct_nodes(graph(node, node, holder, branch))
    assert [id(one) for one in found] == [id(one) for one in (node, holder, branch, other)]


@given(graph=graphs())
@LAWS
@pytest.mark.parametrize("policy", POLICIES)
def test_a_graph_has_unknowns_exactly_where_it_is_not_the_same_as_itself(policy: str, graph: GraphSignature) -> None:
    answer = same(policy, graph, graph, H200)
    assert _unknowns(policy, graph, H200) == answer.reasons
    assert bool(answer.reasons) != answer.same


def test_the_path_of_an_unknown_is_that_in_the_whole_graph() -> None:
    found = _unknowns("exact", graph(EmptyNode(), EmptyNode(), child(OpaqueNode(type=99))), H200)
    assert {finding.path for finding in found} == {"nodes[2].graph.nodes[0]"}


FACTS_SEEN = (FACTS, None, replace(FACTS, registers=33), replace(FACTS, code_sha256=None))
POINTERS = (
    pointer(),
    None,
    pointer(context=0xC1),
    pointer(context=0),
    pointer(1),
    replace(pointer(), managed=True),
    replace(pointer(), context=None, device_ordinal=None),
    replace(pointer(), memory_type=0, device_ordinal=-2, context=0),
)


def _node(random: Random) -> NodeSignature:
    """Return a node of a small pool, so that two often agree in what a policy looks at."""
    kind = random.randrange(8)
    if kind < 4:
        return kernel(
            cluster(random.choice((0, 0, 1, 2))),
            cooperative(on=random.random() < 0.3),
            func=random.choice((0xF0, 0xF1)),
            grid=random.choice((8, 16)),
            function=random.choice(FACTS_SEEN),
            context=random.choice((CONTEXT, CONTEXT, 0)),
        )
    if kind == 4:
        fill = memset(fill=random.randrange(2), height=random.choice((1, 2)), destination=random.choice((1, 2)))
        return replace(fill, pointer=random.choice(POINTERS))
    if kind == 5:
        sides = [operand(random.choice((1, 2, 3, 4)), address=random.choice((0x1000, 0x2000))) for _ in range(2)]
        source, destination = (replace(side, pointer=random.choice(POINTERS)) for side in sides)
        return memcpy(source, destination, height=random.choice((1, 1, 2)))
    return EmptyNode() if kind == 6 else child(_node(random))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("profile", [H200, None], ids=["measured", "unmeasured"])
def test_graphs_of_one_key_of_which_everything_is_known_are_the_same(
    policy: str, profile: DriverProfile | None
) -> None:
    """What lets the registries find by key alone, without asking the policy about every pair."""
    random = Random(policy)  # noqa: S311  a test's repeatable choice, no secret
    by_key: dict[str, list[GraphSignature]] = {}
    for _ in range(1500):
        one = graph(_node(random))
        by_key.setdefault(key(policy, one, profile), []).append(one)
    pairs = [
        (alike[0], other)
        for alike in by_key.values()
        for other in alike[1:]
        if not _unknowns(policy, alike[0], profile) and not _unknowns(policy, other, profile)
    ]
    assert len(pairs) > 30
    assert [pair for pair in pairs if not same(policy, *pair, profile).same] == []
