"""What a prediction costs: ``pytest benchmarks/bench_predict.py``. The goal is 2 ms for two graphs of 400 nodes.

Nodes are real ones in size: seventeen attributes each, facts of the function, ten functions. The two graphs come from
two files, so no record is common to them.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.model.cuda import UpdateResult
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.findings import Verdict
from sigcontract.model.function import FunctionFacts
from sigcontract.model.graph import GraphSignature
from sigcontract.update.policies import key, same
from sigcontract.update.predict import predict_update
from sigcontract.wire.codec import decode, encode
from tests.update.build import ENVIRONMENT, FACTS, H200, graph, kernel

NODES = 400
GOAL_SECONDS = 0.002

Benchmark = Callable[..., Any]


def chain(grid: int, function: FunctionFacts = FACTS) -> GraphSignature:
    """Return a chain of kernels no two of which are equal, as it comes out of a file."""
    nodes = (
        kernel(name=f"kernel_{i % 10}", func=0xF0 + i % 10, grid=grid + i, block=32 + i, function=function)
        for i in range(NODES)
    )
    return from_file(graph(*nodes))


def layers(grid: int) -> GraphSignature:
    """Return 40 equal layers of ten kernels, as they come out of a file."""
    layer = [kernel(name=f"kernel_{i}", func=0xF0 + i, grid=grid) for i in range(10)]
    return from_file(graph(*layer * (NODES // 10)))


def from_file(written: GraphSignature) -> GraphSignature:
    """Return the graph after a round trip, which shares equal attribute sets, functions and nodes."""
    dump = SignatureDump(
        environment=ENVIRONMENT,
        profile=None,
        complete=True,
        graphs=(LabeledGraph(label="decode", graph=written),),
        extensions={},
    )
    read = decode(encode(dump))
    assert isinstance(read, SignatureDump)
    return read.graph("decode")


def check_goal(benchmark: Any) -> None:
    """Fail where the fastest round misses the goal: what else runs on a shared machine only adds."""
    assert min(benchmark.stats.stats.data) < GOAL_SECONDS


def test_every_node_differs(benchmark: Any) -> None:
    """Every node has another grid: 400 findings."""
    held, candidate = chain(1), chain(9)
    prediction = benchmark(predict_update, held, candidate, H200)
    assert (prediction.verdict, prediction.result) == (Verdict.UPDATABLE, UpdateResult.SUCCESS)
    check_goal(benchmark)


def test_no_node_differs(benchmark: Any) -> None:
    """Equal graphs, of which nothing is shared."""
    prediction = benchmark(predict_update, chain(1), chain(1), H200)
    assert prediction.verdict is Verdict.IDENTICAL
    check_goal(benchmark)


def test_equal_layers(benchmark: Any) -> None:
    """Graphs of 40 equal layers: ten distinct nodes each."""
    prediction = benchmark(predict_update, layers(1), layers(9), H200)
    assert prediction.verdict is Verdict.UPDATABLE
    check_goal(benchmark)


def test_against_the_graph_of_the_first_launch(benchmark: Any) -> None:
    """A second pairing, to the graph that fixes what is stale."""
    prediction = benchmark(predict_update, chain(1), chain(9), H200, chain(5))
    assert prediction.verdict is Verdict.UPDATABLE


def test_without_a_profile(benchmark: Any) -> None:
    """Every node may follow a preferred cluster that nobody can read, and nothing decides that."""
    code = replace(FACTS, binary_version=100)
    prediction = benchmark(predict_update, chain(1, code), chain(9, code))
    assert prediction.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize("policy", ["share", "portable"])
def test_policy_says_same(benchmark: Any, policy: str) -> None:
    """What a registry pays for each candidate of one key."""
    assert benchmark(same, policy, chain(1), chain(1), H200).same


@pytest.mark.parametrize("policy", ["exact", "share", "portable"])
def test_policy_key(benchmark: Any, policy: str) -> None:
    """What a registry pays for each graph."""
    assert benchmark(key, policy, chain(1), H200).startswith(policy)
