"""What an older version leaves out, field by field."""

from hypothesis import given
from msgspec.structs import replace

from sigcontract.model.graph import GraphSignature
from sigcontract.wire.losses import lost_fields
from tests.strategies import LAWS, records
from tests.update.build import edge, graph, kernel


@LAWS
@given(records(GraphSignature))
def test_what_is_read_back_whole_has_lost_nothing(given_graph: GraphSignature) -> None:
    assert lost_fields(given_graph, replace(given_graph)) == {}


def test_every_place_is_counted_and_named_without_its_index() -> None:
    old = graph(kernel(func=1), kernel(func=2), kernel(func=1), edges=[[], [0], [1]])
    bare = graph(kernel(func=0), kernel(func=0), kernel(func=0), edges=[[], [0], [edge(1, from_port=1)]])
    assert lost_fields(old, bare) == {"nodes.func": 3, "dependencies.from_port": 1}


def test_entries_that_only_changed_places_have_lost_their_order() -> None:
    old, new = (graph(kernel(), kernel(), kernel(), edges=[[], [], edges]) for edges in ([0, 1], [1, 0]))
    assert lost_fields(old, new) == {"dependencies order": 1}
