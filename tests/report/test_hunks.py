"""What is drawn of two graphs: every change once, context around it, layers folded."""

from hypothesis import given
from msgspec.structs import replace

from sigcontract.compare.dumps import compare_dumps
from sigcontract.model.dims import Dim3
from sigcontract.model.graph import GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode
from sigcontract.report.hunks import Stretch, is_note, stretches_of
from tests.compare.dumps import dump, kernel
from tests.strategies import LAWS, records
from tests.update.build import H200, graph, memset

LAYER = [kernel(name=f"k{index}", func=index + 1) for index in range(10)]
WIDE = Dim3(x=99, y=1, z=1)


def stretches(old: GraphSignature, new: GraphSignature) -> list[Stretch]:
    (found,) = compare_dumps(dump(old), dump(new, process_id=2), H200).changes
    assert found is not None
    return list(stretches_of(found))


def marks(part: Stretch) -> str:
    return "".join(row.mark for row in part.rows)


def test_three_rows_stand_above_and_below_a_change() -> None:
    new = [*LAYER[:5], replace(LAYER[5], grid_dim=WIDE), *LAYER[6:]]
    (part,) = stretches(graph(*LAYER), graph(*new))
    assert marks(part) == "…   ~    "
    assert part.rows[0].left_out == 2


def test_a_row_that_stands_for_one_node_would_save_nothing() -> None:
    new = [*LAYER[:4], replace(LAYER[4], grid_dim=WIDE), *LAYER[5:]]
    (part,) = stretches(graph(*LAYER), graph(*new))
    assert marks(part) == "    ~   …"


def test_rows_between_two_near_changes_are_all_there() -> None:
    new = [replace(node, grid_dim=WIDE) if index in (1, 8) else node for index, node in enumerate(LAYER)]
    (part,) = stretches(graph(*LAYER), graph(*new))
    assert marks(part) == " ~      ~ "


def test_a_removed_node_stands_where_it_was() -> None:
    (part,) = stretches(graph(*LAYER), graph(*LAYER[:5], *LAYER[6:]))
    assert marks(part) == "…   -   …"[:1] + "   -    "
    removed = next(row for row in part.rows if row.mark == "-")
    assert (removed.at, removed.node) == (5, part.rows[4].node)


def test_layers_that_changed_alike_are_one_part() -> None:
    new = [*LAYER[:5], replace(LAYER[5], grid_dim=WIDE), *LAYER[6:]]
    first, repeated, last = stretches(
        graph(kernel(name="embed", func=50), *LAYER * 24, kernel(name="head", func=51)),
        graph(kernel(name="embed", func=50), *new * 24, kernel(name="head", func=51)),
    )
    assert (repeated.times, repeated.length, repeated.last) == (24, 10, 240)
    assert (first.length, last.length) == (1, 1)


def test_unchanged_layers_between_changes_are_not_drawn() -> None:
    nodes = LAYER * 24
    new = [replace(node, grid_dim=WIDE) if index in (5, 230) else node for index, node in enumerate(nodes)]
    (part,) = stretches(graph(*nodes), graph(*new))
    assert marks(part) == "…   ~   …   ~   …"


@LAWS
@given(records(GraphSignature), records(GraphSignature))
def test_every_changed_node_is_drawn_and_every_node_accounted_for(a: GraphSignature, b: GraphSignature) -> None:
    (found,) = compare_dumps(dump(a), dump(b, process_id=2), H200).changes
    assert found is not None
    places = {index for change in found.changes if not is_note(change) for index in change.indices}
    shown = list(stretches_of(found))
    drawn = sum(sum(bool(row.changes) for row in part.rows) * part.times for part in shown)
    assert drawn == len(places)
    removed = sum(index.new is None for index in places)
    if shown:
        assert sum(part.length * part.times for part in shown) == len(b.nodes) + removed


def test_layers_may_have_nodes_without_a_name() -> None:
    old: list[NodeSignature] = [LAYER[0], memset(), LAYER[1], EmptyNode()]
    new = [replace(old[0], grid_dim=WIDE), *old[1:]]
    before, after = (
        graph(kernel(name="embed", func=50), *layer * 8, kernel(name="head", func=51)) for layer in (old, new)
    )
    repeated = next(part for part in stretches(before, after) if part.times == 8)
    assert [row.name for row in repeated.rows] == ["k0", None, "k1", None]
