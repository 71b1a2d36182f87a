"""Hooks into a program's frameworks: yield to their profilers, record their captures, find the rank.

Imports no framework; wraps functions of modules once the program has imported them.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from ctypes import byref, c_int, c_uint64, c_void_p
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Protocol

from sigcontract.driver.cuda import (
    SUCCESS,
    Library,
    resolve_with_bindings,
)
from sigcontract.errors import DriverError

__all__ = ["AfterImport", "Recording", "distributed_rank", "instantiating_graph", "watch_frameworks"]

#: The ``torch.cuda.CUDAGraph`` whose method is running on this thread.
_TORCH_GRAPH: ContextVar[object] = ContextVar("_TORCH_GRAPH", default=None)


class Recording(Protocol):
    """The recorder interface used by the wrapped functions."""

    @property
    def observing(self) -> bool:
        """Whether CUPTI reports instantiations."""
        ...

    def add(self, graph: int) -> None:
        """Record a CUgraph."""
        ...

    def yield_cupti(self, reason: str | None) -> None:
        """Release CUPTI."""
        ...

    def complain(self, problem: str) -> None:
        """Add a line to the report."""
        ...


#: Functions that start a profiler with a CUPTI subscription, by module, with their names in the report.
_PROFILERS = {
    "torch.autograd.profiler": {"_prepare_profiler": "torch.profiler started"},
    "jax._src.profiler": {"start_trace": "jax.profiler started", "start_server": "jax.profiler's server started"},
}
#: A module imported only by programs that use CUPTI.
_CUPTI_USERS = ("cupti",)


def watch_frameworks(recording: Recording, until: ExitStack) -> None:
    """Wrap functions of modules, imported now or later, until the stack is closed."""
    actions: dict[str, Callable[[Any], None]] = {
        name: functools.partial(_wrap_profilers, recording, until, functions) for name, functions in _PROFILERS.items()
    }
    for name in _CUPTI_USERS:
        actions[name] = lambda _: recording.yield_cupti("the program imported cupti")
    actions["torch.cuda.graphs"] = functools.partial(_wrap_torch_capture, recording, until)
    for name in list(actions):
        module = sys.modules.get(name)
        if module is not None:
            actions.pop(name)(module)
    finder = AfterImport(actions)
    sys.meta_path.insert(0, finder)
    until.callback(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)


class AfterImport(MetaPathFinder):
    """Calls a function with a module right after its import. Finds no module itself.

    Parameters
    ----------
    actions
        Actions by full module name. Each runs once.
    """

    def __init__(self, actions: dict[str, Callable[[Any], None]]) -> None:
        self._actions = actions

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find a module of `actions` as Python does, and run its action after it executes."""
        action = self._actions.pop(fullname, None)
        if action is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            action(module)

        # On the instance, so the loader keeps its class: tools query it for source and resources.
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # see above
        return spec


def _wrap_profilers(recording: Recording, until: ExitStack, functions: Mapping[str, str], module: Any) -> None:
    for name, what in functions.items():
        _wrap(module, name, recording, until, functools.partial(recording.yield_cupti, what))


def _wrap(owner: Any, name: str, recording: Recording, until: ExitStack, action: Callable[[], None]) -> None:
    """Run an action before each call of a function, if it exists, until the stack is closed."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            action()
        except Exception as error:  # noqa: BLE001  the program called its own function: our errors must not reach it
            recording.complain(f"{type(error).__name__} before {original.__name__}: {error}")
        return original(*args, **kwargs)

    _replace(owner, name, original, wrapped, until)


def _wrap_torch_capture(recording: Recording, until: ExitStack, module: Any) -> None:
    """Record at the end of PyTorch's captures if CUPTI does not report instantiations."""

    def add_captured() -> None:
        if not recording.observing:
            graph = _captured_graph(module.torch.cuda.current_stream().cuda_stream)
            if graph:
                recording.add(graph)

    graph_class = getattr(module, "CUDAGraph", None)
    _wrap(graph_class, "capture_end", recording, until, add_captured)
    for name in ("capture_end", "instantiate"):
        _wrap_method_of_graph(graph_class, name, until)


def _wrap_method_of_graph(graph_class: Any, name: str, until: ExitStack) -> None:
    """Remember the graph during the method, which instantiates it."""
    original = getattr(graph_class, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(graph: Any, *args: Any, **kwargs: Any) -> Any:
        token = _TORCH_GRAPH.set(graph)
        try:
            return original(graph, *args, **kwargs)
        finally:
            _TORCH_GRAPH.reset(token)

    _replace(graph_class, name, original, wrapped, until)


def _replace(owner: Any, name: str, original: Any, wrapped: Any, until: ExitStack) -> None:
    def unwrap() -> None:
        if getattr(owner, name, None) is wrapped:  # unless something else has wrapped it since
            setattr(owner, name, original)

    setattr(owner, name, wrapped)
    until.callback(unwrap)


def instantiating_graph() -> object:
    """Return the ``torch.cuda.CUDAGraph`` that PyTorch instantiates on this thread now; None if none, or unknown."""
    return _TORCH_GRAPH.get()


def _captured_graph(stream: int) -> int:
    """cuStreamGetCaptureInfo: the CUgraph that a stream captures into; 0 if none or unknown."""
    status, identifier, graph = c_int(), c_uint64(), c_void_p()
    try:
        library = Library(resolve_with_bindings())
        result = library.result_of(
            "cuStreamGetCaptureInfo", stream, byref(status), byref(identifier), byref(graph), None, None
        )
    except DriverError:
        return 0
    return (graph.value or 0) if result == SUCCESS else 0


def distributed_rank() -> tuple[int, int] | None:
    """Return rank and world size of torch.distributed, or None if the program does not use it."""
    distributed = sys.modules.get("torch.distributed")
    initialized = getattr(distributed, "is_initialized", None)  # absent in builds without it, and during its import
    if distributed is None or initialized is None or not initialized():
        return None
    try:
        return int(distributed.get_rank()), int(distributed.get_world_size())
    except (RuntimeError, ValueError):  # the program has left its group
        return None
