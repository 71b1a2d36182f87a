"""What users hold as a graph."""

from types import SimpleNamespace
from typing import Any

import pytest

from sigcontract.driver.cuda.handles import graph_handle
from sigcontract.errors import GraphReadError


class CUgraph:
    """As cuda.bindings.driver has it: a number inside."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __int__(self) -> int:
        return self.number


class cudaGraph_t(CUgraph):  # noqa: N801  the bindings' name
    """As cuda.bindings.runtime has it."""


class CUgraphExec:
    """An executable."""

    def __int__(self) -> int:
        return 5


class TorchGraph:
    """As torch.cuda.CUDAGraph: gives its graph, or raises."""

    def __init__(self, answer: int | RuntimeError) -> None:
        self.answer = answer

    def raw_cuda_graph(self) -> int:
        if isinstance(self.answer, RuntimeError):
            raise self.answer
        return self.answer


class Index:
    """An integer of another library, as numpy's."""

    def __index__(self) -> int:
        return 42


@pytest.mark.parametrize(
    ("graph", "handle"),
    [
        (42, 42),
        (Index(), 42),
        (CUgraph(42), 42),
        (cudaGraph_t(42), 42),
        (TorchGraph(42), 42),
        (SimpleNamespace(handle=CUgraph(42)), 42),
        (SimpleNamespace(graph_definition=SimpleNamespace(handle=CUgraph(42))), 42),
        (2**64 - 1, 2**64 - 1),
    ],
    ids=["int", "index", "CUgraph", "cudaGraph_t", "torch", "cuda.core", "cuda.core builder", "largest"],
)
def test_every_form_of_a_graph_gives_its_number(graph: Any, handle: int) -> None:
    assert graph_handle(graph) == handle


@pytest.mark.parametrize("graph", [0, CUgraph(0), TorchGraph(0)], ids=["int", "CUgraph", "torch"])
def test_handle_zero_is_no_graph(graph: Any) -> None:
    with pytest.raises(GraphReadError) as caught:
        graph_handle(graph)
    assert str(caught.value) == "the graph handle is 0; capture or create a graph first"


@pytest.mark.parametrize("graph", [-1, 2**64])
def test_a_number_that_no_handle_can_be_is_refused(graph: int) -> None:
    with pytest.raises(GraphReadError, match="is not a graph handle"):
        graph_handle(graph)


@pytest.mark.parametrize(
    "graph",
    [None, True, 1.0, "7", CUgraphExec(), SimpleNamespace(handle=CUgraphExec()), SimpleNamespace(handle=7)],
    ids=["None", "bool", "float", "str", "exec", "cuda.core exec", "handle of unknown kind"],
)
def test_what_is_no_graph_is_refused_with_what_is(graph: Any) -> None:
    with pytest.raises(GraphReadError, match="pass an int, a CUgraph, a cudaGraph_t, a torch CUDAGraph") as caught:
        graph_handle(graph)
    assert caught.value.code == "graph_read"


def test_a_torch_graph_that_keeps_none_says_how_to_keep_it() -> None:
    """Captured without keep_graph=True, not captured yet, or reset: torch raises RuntimeError for each."""
    cause = RuntimeError("You cannot access the raw cudaGraph_t instance")
    with pytest.raises(GraphReadError) as caught:
        graph_handle(TorchGraph(cause))
    assert str(caught.value) == (
        "the torch object has no readable graph (You cannot access the raw cudaGraph_t instance); create it with "
        "torch.cuda.CUDAGraph(keep_graph=True), and read it between capture_end() and reset()"
    )
    assert caught.value.__cause__ is cause


def test_the_handle_classes_of_the_installed_bindings_are_known() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    runtime = pytest.importorskip("cuda.bindings.runtime")
    assert graph_handle(driver.CUgraph(42)) == 42
    assert graph_handle(runtime.cudaGraph_t(42)) == 42
    with pytest.raises(GraphReadError):
        graph_handle(driver.CUgraphExec(42))
    with pytest.raises(GraphReadError):
        graph_handle(driver.CUgraphNode(42))
