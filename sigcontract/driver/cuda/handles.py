"""What users hold as a graph, turned into the CUgraph's number."""

from operator import index

from sigcontract.errors import GraphReadError

__all__ = ["GRAPH_CLASSES", "graph_handle", "handle_number"]

#: The classes of cuda-bindings that are a graph: driver and runtime. Named, so that neither need be imported.
GRAPH_CLASSES = frozenset({"CUgraph", "cudaGraph_t"})


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


def handle_number(value: object, classes: frozenset[str]) -> int | None:
    """Return the number of an int, or of a handle of cuda-bindings that has one of these class names; else None."""
    if isinstance(value, bool):
        return None
    try:
        if _is_of(value, classes):
            return int(value)  # type: ignore[call-overload,no-any-return]  # cuda-bindings' handles have __int__
        # Any other handle of cuda-bindings, an executable's or an event's, converts to an int just as well.
        if type(value).__module__.partition(".")[0] != "cuda":
            return index(value)  # type: ignore[arg-type]  # where it has no __index__, that is the answer
    except TypeError:  # also of a tensor of many numbers, which has one
        return None
    return None


def _number(graph: object) -> int:
    if isinstance(graph, bool) or graph is None:
        raise GraphReadError(f"{graph!r} is no graph; {_ACCEPTED}")
    number = handle_number(graph, GRAPH_CLASSES)
    if number is not None:
        return number
    raw = getattr(graph, "raw_cuda_graph", None)
    if callable(raw):
        try:
            answer = raw()
        except RuntimeError as error:  # what torch raises where there is no graph to give
            msg = (
                f"torch has no graph to read ({error}); make it with torch.cuda.CUDAGraph(keep_graph=True), "
                "and read it after capture_end() and before reset()"
            )
            raise GraphReadError(msg) from error
        number = handle_number(answer, GRAPH_CLASSES)
        if number is None:
            raise GraphReadError(f"raw_cuda_graph() of a {_class_of(graph)} gave {answer!r}, which is no graph")
        return number
    handle = getattr(getattr(graph, "graph_definition", graph), "handle", None)
    if _is_of(handle, GRAPH_CLASSES):
        return int(handle)  # type: ignore[arg-type]  # as above
    raise GraphReadError(f"a {_class_of(graph)} is no graph definition; {_ACCEPTED}")


_ACCEPTED = (
    "give an int, a CUgraph, a cudaGraph_t, a torch CUDAGraph(keep_graph=True) or a cuda.core graph definition "
    "(an executable, CUgraphExec, cannot be read: CUDA has no calls for it)"
)


def _is_of(value: object, classes: frozenset[str]) -> bool:
    return any(base.__name__ in classes for base in type(value).__mro__)


def _class_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
