"""Walks of executable-graph updates on the device, each step held against its prediction and a fresh instantiation."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from cuda.bindings import driver

from examples.recording.calls import CallError, check
from lab.build import BuiltGraph, node_paths
from lab.capture import as_call_errors, build, destroy
from lab.memory import spaces_of
from lab.rig import Rig
from lab.specs import EventRecord, GraphSpec
from sigcontract.model.cuda import UpdateResult
from sigcontract.model.findings import UpdatePrediction
from sigcontract.model.graph import GraphSignature
from sigcontract.model.profile import DriverProfile
from sigcontract.update.exec_state import ExecState
from sigcontract.update.predict import predict_update

__all__ = ["Answer", "Step", "Walk", "run_walk", "update", "updated"]

_NOT_WRITTEN = -1
_NO_LAUNCH = "no launch"


class Answer(NamedTuple):
    """What cuGraphExecUpdate answered: its CUresult, and what it wrote, nodes as paths in the candidate."""

    status: str
    result: str
    node: str | None
    from_node: str | None

    @property
    def accepted(self) -> bool:
        """Whether the exec now holds the candidate."""
        return self.status == "CUDA_SUCCESS"

    def is_predicted(self, prediction: UpdatePrediction) -> bool:
        """Whether a prediction that has a result has this one."""
        result = None if prediction.result is None else prediction.result.name
        return (result, prediction.node, prediction.from_node) == self[1:]


@dataclass(frozen=True, kw_only=True)
class Walk:
    """An exec of the first graph, taken once to ``start`` and then updated to each following graph in turn."""

    specs: tuple[GraphSpec, ...]
    start: str = "launch"  # or "upload", or "nothing"
    launch_between: bool = True
    flags: int = 0
    stream: str = "busy"  # what its launches find, see `Rig.launch`


@dataclass(frozen=True, kw_only=True)
class Step:
    """One update: what was predicted, what the driver answered, and whether the exec then ran what it should.

    ``honest`` is None where nothing was launched after the update, or a fresh exec fails as well. ``after_unsafe``
    says that an earlier update of this walk was accepted although its prediction did not call it safe: what the exec
    holds is then not known.
    """

    held: GraphSignature
    candidate: GraphSignature
    fixed: GraphSignature | None
    prediction: UpdatePrediction
    along: UpdatePrediction  # of the whole history
    answer: Answer
    honest: bool | None
    difference: str | None
    after_unsafe: bool


class _UpdateInfo(ctypes.Structure):
    _fields_ = (("result", ctypes.c_int), ("node", ctypes.c_void_p), ("from_node", ctypes.c_void_p))


def update(graph_exec: Any, candidate: BuiltGraph) -> Answer:
    """Update, and return the driver's answer with the paths of the nodes that it names."""
    status, info = updated(graph_exec, int(candidate.handle))
    result = "not written" if info.result == _NOT_WRITTEN else UpdateResult(info.result).name
    if info.node is None and info.from_node is None:
        return Answer(status, result, None, None)
    with as_call_errors():
        paths = node_paths(candidate)
    return Answer(status, result, _path(paths, info.node), _path(paths, info.from_node))


def updated(graph_exec: Any, graph: int) -> tuple[str, _UpdateInfo]:
    """Call cuGraphExecUpdate_v2 directly: cuda-bindings drops the reason of a refusal."""
    info = _UpdateInfo(result=_NOT_WRITTEN)
    function = ctypes.CDLL("libcuda.so.1").cuGraphExecUpdate_v2
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return driver.CUresult(function(int(graph_exec), graph, ctypes.byref(info))).name, info


def _path(paths: dict[int, str], handle: int | None) -> str | None:
    return None if handle is None else paths.get(handle, f"a node outside of the candidate ({handle:#x})")


def run_walk(rig: Rig, walk: Walk, read: Callable[[int], GraphSignature], profile: DriverProfile) -> Iterator[Step]:
    """Yield one step per update.

    A walk ends early after the launch of a graph that allows one exec at a time, because a fresh one is needed then.

    Raises
    ------
    CallError
        A graph cannot be built or instantiated, or a launch took the context with it.
    """
    with _built(rig, walk.specs) as graphs:
        signatures = [read(int(graph.handle)) for graph in graphs]
        launcher = _Launcher(rig, walk, graphs)
        try:
            held, unsafe = 0, False
            fixed = 0 if launcher.start() else None
            state = ExecState.instantiated(signatures[0], profile, flags=walk.flags)
            if fixed is not None:
                state = state.used(launched=walk.start == "launch")
            for index in range(1, len(graphs)):
                known = None if fixed is None else signatures[fixed]
                candidate = signatures[index]
                if rig.other_work():
                    state = state.after_other_work()
                prediction = predict_update(signatures[held], candidate, profile, known, flags=walk.flags)
                along = predict_update(state.held, candidate, profile, state, flags=walk.flags)
                answer = update(launcher.graph_exec, graphs[index])
                now = index if answer.accepted else held
                if answer.accepted:
                    state = state.updated(candidate, profile, flags=walk.flags)
                launched = walk.launch_between or index == len(graphs) - 1
                difference = launcher.difference_from_fresh(now) if launched else _NO_LAUNCH
                yield Step(
                    held=signatures[held],
                    candidate=signatures[index],
                    fixed=known,
                    prediction=prediction,
                    along=along,
                    answer=answer,
                    honest=None if difference == _NO_LAUNCH else difference is None,
                    difference=None if difference == _NO_LAUNCH else difference,
                    after_unsafe=unsafe,
                )
                unsafe = unsafe or (answer.accepted and not prediction.verdict.safe)
                held = now
                if launched:
                    state = state.used()
                if launched and fixed is None:
                    fixed = now
                if launcher.graph_exec is None:
                    return
        finally:
            launcher.close()


class _Launcher:
    """One exec and its launches, and fresh execs to compare them with."""

    def __init__(self, rig: Rig, walk: Walk, graphs: list[BuiltGraph]) -> None:
        self._rig = rig
        self._walk = walk
        self._graphs = graphs
        self._spaces = spaces_of(node for spec in walk.specs for node in spec.walk())
        self._events = any(isinstance(node, EventRecord) for spec in walk.specs for node in spec.walk())
        self.graph_exec: Any = check(driver.cuGraphInstantiate(graphs[0].handle, walk.flags))

    def start(self) -> bool:
        """Launch or upload the exec for the first time; False where the walk leaves that for later."""
        if self._walk.start == "launch":
            self._launch(self.graph_exec)
        elif self._walk.start == "upload":
            check(driver.cuGraphUpload(self.graph_exec, self._rig.stream))
            check(driver.cuStreamSynchronize(self._rig.stream))
        return self._walk.start != "nothing"

    def difference_from_fresh(self, index: int) -> str | None:
        """Launch the exec, and a fresh one of the graph that it holds; say how they differ."""
        seen = self._attempt(self._launch, self.graph_exec)
        if not self._rig.alive():
            return f"the launch fails with {seen.get('error')} and takes the context with it"
        if self._walk.specs[index].single_instance:
            self.close()
        expected = self._attempt(self._launch_fresh, index)
        return _NO_LAUNCH if "error" in expected and seen == expected else _difference(seen, expected)

    def close(self) -> None:
        """Destroy the exec."""
        graph_exec, self.graph_exec = self.graph_exec, None
        if graph_exec is not None:
            check(driver.cuGraphExecDestroy(graph_exec))

    def _launch(self, graph_exec: Any) -> dict[str, Any]:
        return self._rig.launch(graph_exec, self._spaces, events=self._events, stream=self._walk.stream)

    def _launch_fresh(self, index: int) -> dict[str, Any]:
        graph_exec = check(driver.cuGraphInstantiate(self._graphs[index].handle, self._walk.flags))
        try:
            return self._launch(graph_exec)
        finally:
            check(driver.cuGraphExecDestroy(graph_exec))

    @staticmethod
    def _attempt(launch: Callable[..., dict[str, Any]], what: Any) -> dict[str, Any]:
        """Launch; an error of the launch is something seen as well."""
        try:
            return launch(what)
        except CallError as error:
            return {"error": error.result}


@contextmanager
def _built(rig: Rig, specs: tuple[GraphSpec, ...]) -> Iterator[list[BuiltGraph]]:
    graphs: list[BuiltGraph] = []
    try:
        for spec in specs:
            graphs.append(build(rig, spec))  # noqa: PERF401  what is built is destroyed where a later one fails
        yield graphs
    finally:
        for graph in graphs:
            destroy(graph)


def _difference(seen: dict[str, Any], expected: dict[str, Any]) -> str | None:
    """Return where two launches differ, in words, or None."""
    for name in expected.keys() | seen.keys():
        ours, theirs = seen.get(name), expected.get(name)
        if ours == theirs:
            continue
        if isinstance(ours, bytes) and isinstance(theirs, bytes):
            offset = next(
                position for position, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]
            )
            if name == "reports":
                return _report_difference(ours, theirs, offset // 64)
            return f"{name}: byte {offset} is {ours[offset]:#x}, a fresh exec leaves {theirs[offset]:#x}"
        return f"{name}: {ours if not isinstance(ours, bytes) else 'ran'}, a fresh exec: {theirs!r:.80}"
    return None


def _report_difference(ours: bytes, theirs: bytes, slot: int) -> str:
    words = slice(64 * slot, 64 * slot + 44)
    return (
        f"slot {slot}: saw {tuple(memoryview(ours[words]).cast('I'))},"
        f" a fresh exec sees {tuple(memoryview(theirs[words]).cast('I'))}"
    )
