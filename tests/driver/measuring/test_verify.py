"""Carrying out an update with stand-ins that report, on a driver that keeps stale what real ones do."""

import pytest

from sigcontract.driver.measuring import verify as verify_module
from sigcontract.driver.measuring.verify import UpdateVerification, verify_update
from sigcontract.errors import UsageError
from sigcontract.model.cuda import UpdateResult
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import Dependency, GraphSignature
from sigcontract.model.nodes import EmptyNode
from sigcontract.profiles import shipped_profile
from sigcontract.update.predict import predict_update
from tests.driver.fake import FakeDriver
from tests.driver.fake_base import report
from tests.update.build import cluster, cooperative, graph, kernel


def clustered(width: int | None) -> GraphSignature:
    """Return a graph of one kernel with so many blocks per cluster."""
    return graph(kernel(cluster(width or 0)))


@pytest.fixture
def fake() -> FakeDriver:
    fake = FakeDriver()
    fake.behaviours |= {f"sigcontract_probe_{code}": report for code in range(3, 9)}
    return fake


def verify(fake: FakeDriver, held: GraphSignature, candidate: GraphSignature) -> UpdateVerification:
    answer = verify_update(held, candidate, driver=fake.driver())
    assert (fake.leaks(), fake.misuse) == ([], [])
    return answer


def test_a_cluster_that_stays_as_it_was_is_seen_by_the_kernel(fake: FakeDriver) -> None:
    answer = verify(fake, clustered(2), clustered(4))
    assert answer.result == UpdateResult.SUCCESS
    (difference,) = answer.differences
    assert difference.path == "nodes[0]"
    assert (difference.fresh.cluster_dim, difference.updated.cluster_dim) == ((4, 1, 1), (2, 1, 1))
    assert not answer.carried_out


def test_grid_and_function_are_carried(fake: FakeDriver) -> None:
    answer = verify(
        fake,
        graph(kernel(func=1, grid=8), kernel(func=1)),
        graph(kernel(func=2, grid=9), kernel(func=1)),
    )
    assert answer.carried_out


def test_a_refused_update_is_what_the_driver_answers(fake: FakeDriver) -> None:
    answer = verify(fake, graph(kernel()), graph(kernel(), kernel()))
    assert (answer.result, answer.differences) == (UpdateResult.ERROR_TOPOLOGY_CHANGED, ())
    assert not answer.carried_out


def test_what_stand_ins_lack_is_named(fake: FakeDriver) -> None:
    plain = graph(kernel())
    mixed = GraphSignature(nodes=(*plain.nodes, EmptyNode()), dependencies=((), ()))
    edges = GraphSignature(
        nodes=plain.nodes * 2, dependencies=((), (Dependency(node=0, from_port=1, to_port=0, type=1),))
    )
    assert any("a node of type 5" in line for line in verify(fake, mixed, mixed).left_out)
    assert any("edge data" in line for line in verify(fake, edges, edges).left_out)
    assert any("attribute 11, which is unreadable" in line for line in verify(fake, plain, plain).left_out)


def test_more_shared_memory_than_a_stand_in_may_have_is_named(fake: FakeDriver) -> None:
    large = graph(kernel(shared=100 * 1024))
    answer = verify(fake, large, large)
    assert "nodes[0]: 53248 bytes of shared memory" in answer.left_out
    assert answer.carried_out


def test_a_graph_out_of_order_is_refused(fake: FakeDriver) -> None:
    nodes = graph(kernel()).nodes * 2
    backward = GraphSignature(nodes=nodes, dependencies=((Dependency(node=1, from_port=0, to_port=0, type=0),), ()))
    with pytest.raises(UsageError):
        verify_update(backward, backward, driver=fake.driver())
    assert fake.leaks() == []


@pytest.mark.parametrize(("old", "new"), [(None, 2), (2, None), (2, 4), (4, 2), (2, 2), (None, None)])
def test_it_agrees_with_the_prediction(fake: FakeDriver, old: int | None, new: int | None) -> None:
    held, candidate = clustered(old), clustered(new)
    predicted = predict_update(held, candidate, shipped_profile("nvidia-h200-cuda-13.0"))
    assert (predicted.verdict is Verdict.STALE) is not verify(fake, held, candidate).carried_out


@pytest.mark.parametrize("loaded", [None, "/lib/libcupti.so.13"])
def test_where_a_profiler_may_be_at_work_a_cooperative_function_is_not_vouched_for(
    fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, loaded: str | None
) -> None:
    monkeypatch.setattr(verify_module, "loaded_cupti", lambda: loaded)
    a, b = (graph(kernel(cooperative(), func=func)) for func in (1, 2))
    left_out = "nodes[0]: a stale function of a cooperative node, which shows only without CUPTI loaded"
    assert (left_out in verify(fake, a, b).left_out) == (loaded is not None)
