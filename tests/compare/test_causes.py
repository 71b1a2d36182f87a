"""The distinct changes between two graphs, each once with its nodes."""

from msgspec.structs import replace

from sigcontract.compare.causes import Cause, causes_of
from sigcontract.compare.dumps import compare_dumps
from sigcontract.model.dims import Dim3
from sigcontract.model.graph import GraphSignature
from tests.compare.dumps import again, dump, kernel
from tests.update.build import H200, child, graph

LAYER = [kernel(name=f"k{index}", func=index + 1) for index in range(5)]
WIDE = Dim3(x=99, y=1, z=1)


def found(old: GraphSignature, new: GraphSignature) -> tuple[Cause, ...]:
    comparison = compare_dumps(dump(old), again(new), H200)
    (changes,) = comparison.changes
    assert changes is not None
    # Findings list their first paths only: the changes are the same, and each finding is of one cause.
    graph_diff = comparison.diff.graphs[0]
    drawn = {(cause.kind, cause.subject, change.rule) for cause in causes_of(changes) for change in cause.changes}
    listed = {
        (cause.kind, cause.subject, graph_diff.findings[index].rule)
        for cause in graph_diff.causes
        for index in cause.findings
    }
    assert drawn == listed
    assert sorted(index for cause in graph_diff.causes for index in cause.findings) == [
        *range(len(graph_diff.findings))
    ]
    return causes_of(changes)


def test_a_change_of_every_layer_is_one_cause_with_all_of_its_nodes() -> None:
    changed = replace(LAYER[2], grid_dim=WIDE, block_dim=WIDE)
    (cause,) = found(graph(*LAYER * 24), graph(*[*LAYER[:2], changed, *LAYER[3:]] * 24))
    assert (cause.kind, cause.subject, cause.count) == ("changed", "k2", 24)
    assert [(change.field, change.old, change.new, change.rule) for change in cause.changes] == [
        ("grid_dim", "8x1x1", "99x1x1", "kernel.grid-dim"),
        ("block_dim", "64x1x1", "99x1x1", "kernel.block-dim"),
    ]
    assert cause.paths == tuple(f"nodes[{index}]" for index in range(2, 120, 5))
    assert hash(cause) == hash(replace(cause))


def test_nodes_with_one_change_more_are_another_cause() -> None:
    one, both = replace(LAYER[0], grid_dim=WIDE), replace(LAYER[0], grid_dim=WIDE, block_dim=WIDE)
    causes = found(graph(*LAYER[:1] * 3), graph(one, both, one))
    assert [(len(cause.changes), cause.paths) for cause in causes] == [
        (1, ("nodes[0]", "nodes[2]")),
        (2, ("nodes[1]",)),
    ]


def test_an_added_and_a_removed_node_are_causes_of_their_kind() -> None:
    causes = found(graph(*LAYER), graph(LAYER[0], *LAYER[2:], kernel(name="new", func=77)))
    assert {(cause.kind, cause.subject, cause.paths) for cause in causes} == {
        ("removed", "k1", ("nodes[1]",)),
        ("added", "new", ("nodes[4]",)),
    }


def test_a_change_inside_of_a_child_graph_names_the_node_inside() -> None:
    (cause,) = found(graph(child(*LAYER)), graph(child(LAYER[0], replace(LAYER[1], grid_dim=WIDE), *LAYER[2:])))
    assert (cause.subject, cause.paths, cause.changes[0].field) == ("k1", ("nodes[0].graph.nodes[1]",), "grid_dim")
