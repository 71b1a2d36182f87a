"""Statements on a graph's structure: what holds passes, what does not raises and shows the graph."""

from pathlib import Path

import pytest
from hypothesis import given, settings

import sigcontract as sc
from sigcontract.testing import CheckSettings, GraphSignatureFixture, GraphStructure, Ledger
from tests.compare.dumps import dump, kernel
from tests.strategies import graphs
from tests.update import build

NORM, GEMM, TAIL = (kernel(name=name, func=number) for number, name in enumerate(("norm", "_Z4gemmPf", "tail"), 1))
#: norm, then gemm and a copy side by side, then tail; norm reaches the copy by a programmatic edge.
FORK = build.graph(NORM, GEMM, build.memcpy(), TAIL, edges=[[], [0], [build.edge(0, from_port=1, kind=1)], [1, 2]])


@pytest.fixture
def fork() -> GraphStructure:
    """Return a graph that forks and joins."""
    return GraphStructure(FORK, "fork")


def failure(statement: object) -> str:
    """Return the message of a statement that does not hold."""
    assert callable(statement)
    with pytest.raises(AssertionError) as raised:
        statement()
    return str(raised.value)


def test_kernels_are_found_by_any_of_their_names(fork: GraphStructure) -> None:
    pytest.importorskip("pycxxfilt", reason="needs the extra report")
    for pattern in ("_Z4gemm*", "gemm", "gemm(float[*])", "g?mm"):
        assert fork.kernels(pattern, 1).paths == ("nodes[1]",)
    assert fork.kernels(count=3).nodes == (NORM, GEMM, TAIL)


def test_a_kernel_that_is_not_there_or_too_often_shows_the_graph(fork: GraphStructure) -> None:
    assert failure(lambda: fork.kernels("attention*")).splitlines()[:4] == [
        "fork: expected at least one kernel node matching 'attention*', found 0",
        "",
        "4 nodes (3 kernel, 1 memcpy), 4 edges (1 programmatic)",
        "  node  type     grid   block  shared  kernel",
    ]
    assert failure(lambda: fork.kernels("tail", 2)).startswith(
        "fork: expected 2 kernel nodes matching 'tail', found 1 (nodes 3)"
    )
    assert failure(lambda: fork.kernels("tail", 0)).startswith("fork: expected 0 kernel nodes matching 'tail', found 1")
    assert fork.kernels("attention*", 0).nodes == ()


def test_counts_by_type(fork: GraphStructure) -> None:
    assert fork.counts(kernel=3, memcpy=1, memset=0) == {"kernel": 3, "memcpy": 1}
    assert failure(lambda: fork.counts(memset=1)).startswith("fork: expected memset=1, found kernel=3, memcpy=1")


def test_a_path_is_returned_or_its_absence_explained(fork: GraphStructure) -> None:
    assert fork.path("norm", "tail") == ("nodes[0]", "nodes[1]", "nodes[3]")
    assert fork.path("memcpy", "tail") == ("nodes[2]", "nodes[3]")
    said = failure(lambda: fork.path("tail", "norm"))
    assert said.startswith(
        "fork: no path leads from 1 of 'tail' (nodes 3) to 1 of 'norm' (nodes 0); "
        "there is a path in the opposite direction: 0, 1, 3\n"
    )
    assert failure(lambda: fork.path("none", "norm")).startswith("fork: expected at least one node matching 'none'")


def test_parallel_means_that_neither_depends_on_the_other(fork: GraphStructure) -> None:
    fork.parallel("*gemm*", "memcpy")
    said = failure(lambda: fork.parallel("tail", "memcpy"))
    assert said.startswith("fork: 1 of 'memcpy' (nodes 2) and 1 of 'tail' (nodes 3) are not parallel: 2, 3 is a path\n")
    with pytest.raises(sc.UsageError, match="match the same nodes: 3"):
        fork.parallel("tail", "t*")


def test_programmatic_edges_are_counted(fork: GraphStructure) -> None:
    assert fork.programmatic_edges() == (("nodes[0]", "nodes[2]"),)
    assert fork.programmatic_edges(1) == fork.programmatic_edges()
    assert failure(lambda: fork.programmatic_edges(0)).startswith(
        "fork: expected 0 programmatic edges, found 1: 0 → 2\n"
    )


def test_order_goes_through_child_graphs() -> None:
    inner = build.graph(GEMM, build.memcpy(), edges=[[], []])
    nested = GraphStructure(build.graph(NORM, sc.ChildGraphNode(graph=inner), TAIL))
    assert nested.path("norm", "tail") == ("nodes[0]", "nodes[1]", "nodes[2]")
    assert nested.path("norm", "*gemm*")[-1] == "nodes[1].graph.nodes[0]"
    assert nested.path("*gemm*", "tail") == ("nodes[1].graph.nodes[0]", "nodes[1]", "nodes[2]")
    nested.parallel("*gemm*", "memcpy")
    assert nested.kernels("*gemm*", 1).paths == ("nodes[1].graph.nodes[0]",)


def test_branches_of_a_conditional_are_no_parallel_work() -> None:
    bodies = (build.graph(NORM), build.graph(TAIL), None)
    node = sc.ConditionalNode(kind=2, handle="0x" + "0" * 16, bodies=bodies)
    branches = GraphStructure(build.graph(node))
    said = failure(lambda: branches.parallel("norm", "tail"))
    assert "0b0.0, 0b1.0 are in different branches of a conditional node" in said
    assert "no path leads" in failure(lambda: branches.path("norm", "tail"))


@given(graph=graphs())
@settings(deadline=None, derandomize=True)
def test_paths_are_those_of_the_edges(graph: sc.GraphSignature) -> None:
    """A path of two nodes of the outermost graph is what walking back over its dependencies finds."""
    structure = GraphStructure(graph)
    before: list[set[int]] = [set() for _ in graph.nodes]
    changed = True
    while changed:
        sizes = list(map(len, before))
        for index, edges in enumerate(graph.dependencies):
            for edge in edges:
                before[index] |= {edge.node} | before[edge.node]
        changed = sizes != list(map(len, before))
    for index, earlier in enumerate(before):
        for other in range(len(graph.nodes)):
            way = structure._order.shortest([f"nodes[{other}]"], [f"nodes[{index}]"])
            assert bool(way) == (other in earlier)


def fixture(tmp_path: Path) -> GraphSignatureFixture:
    settings = CheckSettings(writes=False, strict=False, requires_gpu=False, directory=tmp_path)
    return GraphSignatureFixture("test_a.py::test_a", tmp_path / "test_a.py", settings, Ledger())


def test_a_graph_of_a_dump_is_chosen_by_its_label(tmp_path: Path) -> None:
    both = dump(build.graph(NORM), FORK)
    assert fixture(tmp_path).graph(both, "g1").graph is FORK
    assert fixture(tmp_path).graph(dump(FORK)).label == "g0"
    assert fixture(tmp_path).graph(FORK).label == "test_a"
    with pytest.raises(sc.UsageError, match="the dump has 2 graphs; pass the label of one"):
        fixture(tmp_path).graph(both)
    with pytest.raises(sc.UsageError, match="g9"):
        fixture(tmp_path).graph(both, "g9")


def test_executables_are_counted_and_a_limit_shows_what_keeps_graphs_apart(tmp_path: Path) -> None:
    ask = fixture(tmp_path).executables
    narrow, wide = build.graph(NORM), build.graph(kernel(name="norm", func=1, grid=64))
    assert ask(dump(narrow, wide), at_most=1) == 1
    assert ask({"small": narrow, "large": wide}) == ask([narrow, wide]) == 1
    assert ask([narrow, wide], "exact") == 2
    said = failure(lambda: ask([narrow, build.graph(TAIL)], at_most=1))
    assert said.startswith("expected at most 1 executable under share, found 2\n\nshare: 2 graphs, 2 executables\n")
    assert "alone: graph 0\n    closest match: graph 1; differences:\n" in said


def test_executables_of_what_may_be_missing_are_not_counted(tmp_path: Path) -> None:
    with pytest.raises(sc.NotComparableError, match="incomplete or empty"):
        fixture(tmp_path).executables(dump())
    with pytest.raises(sc.UsageError, match="pass one kind"):
        fixture(tmp_path).executables([FORK, 4096])
