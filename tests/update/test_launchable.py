"""Kernels that no launch takes as they are recorded."""

from hypothesis import given

from sigcontract.model.dims import Dim3
from sigcontract.model.graph import GraphSignature
from sigcontract.update.launchable import unlaunchable
from tests.strategies import LAWS, records
from tests.update.build import child, cluster, graph, kernel


def test_a_kernel_in_a_child_graph_is_named_by_its_path() -> None:
    (found,) = unlaunchable(graph(kernel(), child(kernel(cluster(2), grid=8), kernel(cluster(2), grid=9))))
    assert found == ("nodes[1].graph.nodes[1]", Dim3(x=9, y=1, z=1), Dim3(x=2, y=1, z=1))


@LAWS
@given(records(GraphSignature))
def test_any_graph_can_be_asked(anything: GraphSignature) -> None:
    assert all(found.grid != found.cluster for found in unlaunchable(anything))
