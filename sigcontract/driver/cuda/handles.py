"""Conversion of the graph objects that users have to CUgraph handles."""

from operator import index

from sigcontract.errors import GraphReadError

__all__ = ["GRAPH_CLASSES", "graph_handle", "handle_number"]

#: Graph classes of cuda-bindings (driver and runtime), by name, so that neither is imported.
GRAPH_CLASSES = frozenset({"CUgraph", "cudaGraph_t"})


def graph_handle(graph: object) -> int:
    """Return the CUgraph handle of a graph object.

    Parameters
    ----------
    graph
        An int, ``cuda.bindings.driver.CUgraph``, ``cuda.bindings.runtime.cudaGraph_t``, a
        ``torch.cuda.CUDAGraph(keep_graph=True)`` after its capture, or a cuda.core graph definition or finished
        builder. The caller keeps it alive: the handle is valid only as long as the graph.

    Raises
    ------
    GraphReadError
        It is none of these, the handle is 0, or the torch object has no graph: captured without ``keep_graph=True``,
        not captured yet, or reset.
    """
    handle = _number(graph)
    if handle == 0:
        raise GraphReadError("the graph handle is 0; capture or create a graph first")
    if not 0 < handle < 2**64:
        raise GraphReadError(f"{handle} is not a graph handle; a CUgraph is a 64-bit integer")
    return handle


def handle_number(value: object, classes: frozenset[str]) -> int | None:
    """Return the integer value of an int, or of a cuda-bindings handle of one of these classes; else None."""
    if isinstance(value, bool):
        return None
    try:
        if _is_of(value, classes):
            return int(value)  # type: ignore[call-overload,no-any-return]  # cuda-bindings' handles have __int__
        # Other cuda-bindings handles, such as executables and events, convert to int too, so they are rejected.
        if type(value).__module__.partition(".")[0] != "cuda":
            return index(value)  # type: ignore[arg-type]  # TypeError if it has no __index__
    except TypeError:  # also raised by a tensor with several elements, which has one
        return None
    return None


def _number(graph: object) -> int:
    if isinstance(graph, bool) or graph is None:
        raise GraphReadError(f"{graph!r} is not a graph; {_ACCEPTED}")
    number = handle_number(graph, GRAPH_CLASSES)
    if number is not None:
        return number
    raw = getattr(graph, "raw_cuda_graph", None)
    if callable(raw):
        try:
            answer = raw()
        except RuntimeError as error:  # torch raises this if it has no graph
            msg = (
                f"the torch object has no readable graph ({error}); "
                "create it with torch.cuda.CUDAGraph(keep_graph=True), and read it between capture_end() and reset()"
            )
            raise GraphReadError(msg) from error
        number = handle_number(answer, GRAPH_CLASSES)
        if number is None:
            raise GraphReadError(f"raw_cuda_graph() of {_class_of(graph)} returned {answer!r}, which is not a graph")
        return number
    handle = getattr(getattr(graph, "graph_definition", graph), "handle", None)
    if _is_of(handle, GRAPH_CLASSES):
        return int(handle)  # type: ignore[arg-type]  # as above
    raise GraphReadError(f"{_class_of(graph)} is not a graph definition; {_ACCEPTED}")


_ACCEPTED = (
    "pass an int, a CUgraph, a cudaGraph_t, a torch CUDAGraph(keep_graph=True) or a cuda.core graph definition "
    "(a CUgraphExec cannot be read: CUDA has no calls for it)"
)


def _is_of(value: object, classes: frozenset[str]) -> bool:
    return any(base.__name__ in classes for base in type(value).__mro__)


def _class_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
