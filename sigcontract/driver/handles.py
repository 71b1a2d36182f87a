"""What users hold as a graph, turned into the CUgraph's number."""

from operator import index

from sigcontract.errors import GraphReadError

__all__ = ["graph_handle"]

#: The classes of cuda-bindings that are a graph: driver and runtime. Named, so that neither need be imported.
_GRAPH_CLASSES = frozenset({"CUgraph", "cudaGraph_t"})


def graph_handle(graph: object) -> int:
    """Return the CUgraph of what was given.

    Parameters
    ----------
    graph
        An int, ``cuda.bindings.driver.CUgraph``, ``cuda.bindings.runtime.cudaGraph_t``, a
        ``torch.cuda.CUDAGraph(keep_graph=True)`` after its capture, or a cuda.core graph definition or finished
        builder. The caller keeps it alive: the number is good no longer than the graph.

    Raises
    ------
    GraphReadError
        It is none of these, the handle is 0, or torch holds no graph (captured without ``keep_graph=True``, not
        captured yet, or reset).
    """
    handle = _number(graph)
    if handle == 0:
        raise GraphReadError("the graph handle is 0, which is no graph; capture or create one first")
    if not 0 < handle < 2**64:
        raise GraphReadError(f"{handle} is no graph handle; a CUgraph is a number of 64 bits")
    return handle


def _number(graph: object) -> int:
    if isinstance(graph, bool) or graph is None:
        raise GraphReadError(f"{graph!r} is no graph; {_ACCEPTED}")
    if _is_graph_class(graph):
        return int(graph)  # type: ignore[call-overload,no-any-return]  # cuda-bindings' handles have __int__
    if hasattr(graph, "__index__") and not _is_other_handle(graph):
        return index(graph)
    raw = getattr(graph, "raw_cuda_graph", None)
    if raw is not None:
        try:
            return int(raw())
        except RuntimeError as error:  # what torch raises where there is no graph to give
            msg = (
                f"torch has no graph to read ({error}); make it with torch.cuda.CUDAGraph(keep_graph=True), "
                "and read it after capture_end() and before reset()"
            )
            raise GraphReadError(msg) from error
    handle = getattr(getattr(graph, "graph_definition", graph), "handle", None)
    if handle is not None and _is_graph_class(handle):
        return int(handle)
    msg = f"a {type(graph).__module__}.{type(graph).__qualname__} is no graph definition; {_ACCEPTED}"
    raise GraphReadError(msg)


_ACCEPTED = (
    "give an int, a CUgraph, a cudaGraph_t, a torch CUDAGraph(keep_graph=True) or a cuda.core graph definition "
    "(an executable, CUgraphExec, cannot be read: CUDA has no calls for it)"
)


def _is_other_handle(value: object) -> bool:
    """Whether it is a handle of cuda-bindings: an executable's or node's converts to an int just as well."""
    return type(value).__module__.partition(".")[0] == "cuda"


def _is_graph_class(value: object) -> bool:
    return any(base.__name__ in _GRAPH_CLASSES for base in type(value).__mro__)
