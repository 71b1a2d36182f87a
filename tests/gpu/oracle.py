"""Walks of executable-graph updates on the device, each step held against its prediction and a fresh instantiation."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from cuda.bindings import driver

from examples.recording.calls import CallError, check
from sigcontract.model.findings import UpdatePrediction, UpdateResult
from sigcontract.model.graph import GraphSignature
from tests.gpu.build import BuiltGraph, build, destroy, node_paths
from tests.gpu.rig import Rig, spaces_of
from tests.gpu.specs import EventRecord, GraphSpec

__all__ = ["Answer", "Predict", "Step", "Walk", "run_walk", "update"]

UPDATE_FAILURE = 910  # CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE


class Answer(NamedTuple):
    """What cuGraphExecUpdate answered, its nodes as paths in the candidate."""

    result: str
    node: str | None
    from_node: str | None


#: (held, candidate, fixed, instantiate flags) -> prediction
Predict = Callable[[GraphSignature, GraphSignature, GraphSignature | None, int], UpdatePrediction]


@dataclass(frozen=True, kw_only=True)
class Walk:
    """An exec of the first graph, taken once to ``start`` and then updated to each following graph in turn."""

    specs: tuple[GraphSpec, ...]
    start: str = "launch"  # or "upload", or "nothing"
    launch_between: bool = True
    flags: int = 0


@dataclass(frozen=True, kw_only=True)
class Step:
    """One update: what was predicted, what the driver answered, and whether the exec then ran what it should.

    ``honest`` is None where nothing was launched after the update. ``after_unsafe`` says that an earlier update
    of this walk was accepted although its prediction did not call it safe: what the exec holds is then not known.
    """

    held: GraphSignature
    candidate: GraphSignature
    fixed: GraphSignature | None
    prediction: UpdatePrediction
    answer: Answer
    honest: bool | None
    difference: str | None
    after_unsafe: bool


class _UpdateInfo(ctypes.Structure):
    _fields_ = (("result", ctypes.c_int), ("node", ctypes.c_void_p), ("from_node", ctypes.c_void_p))


def update(graph_exec: Any, candidate: BuiltGraph) -> Answer:
    """Call cuGraphExecUpdate_v2 directly: cuda-bindings drops the reason of a refusal."""
    info = _UpdateInfo()
    function = ctypes.CDLL("libcuda.so.1").cuGraphExecUpdate_v2
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    status = function(int(graph_exec), int(candidate.handle), ctypes.byref(info))
    result = UpdateResult(info.result)
    if status not in (0, UPDATE_FAILURE) and result in (UpdateResult.SUCCESS, UpdateResult.ERROR):
        return Answer(driver.CUresult(status).name, None, None)
    if info.node is None and info.from_node is None:
        return Answer(result.name, None, None)
    paths = node_paths(candidate)
    return Answer(result.name, _path(paths, info.node), _path(paths, info.from_node))


def _path(paths: dict[int, str], handle: int | None) -> str | None:
    return None if handle is None else paths.get(handle, f"a node outside of the candidate ({handle:#x})")


def run_walk(rig: Rig, walk: Walk, read: Callable[[int], GraphSignature], predict: Predict) -> Iterator[Step]:
    """Yield one step per update. Raises CallError where a graph cannot be built or instantiated."""
    with _built(rig, walk.specs) as graphs:
        signatures = [read(int(graph.handle)) for graph in graphs]
        spaces = spaces_of(node for spec in walk.specs for node in spec.walk())
        events = any(isinstance(node, EventRecord) for spec in walk.specs for node in spec.walk())

        def launch(graph_exec: Any) -> dict[str, Any]:
            return rig.launch(graph_exec, spaces, events=events)

        def fresh(place: int) -> dict[str, Any]:
            graph_exec = check(driver.cuGraphInstantiate(graphs[place].handle, walk.flags))
            try:
                return launch(graph_exec)
            finally:
                check(driver.cuGraphExecDestroy(graph_exec))

        graph_exec: Any = check(driver.cuGraphInstantiate(graphs[0].handle, walk.flags))
        try:
            held, fixed, unsafe = 0, None, False
            if walk.start == "launch":
                launch(graph_exec)
                fixed = 0
            elif walk.start == "upload":
                check(driver.cuGraphUpload(graph_exec, rig.stream))
                check(driver.cuStreamSynchronize(rig.stream))
                fixed = 0
            for place in range(1, len(graphs)):
                fixed_signature = None if fixed is None else signatures[fixed]
                prediction = predict(signatures[held], signatures[place], fixed_signature, walk.flags)
                answer = update(graph_exec, graphs[place])
                accepted = answer.result == "SUCCESS"
                now = place if accepted else held
                seen = None
                if walk.launch_between or place == len(graphs) - 1:
                    seen = _attempt(launch, graph_exec)
                    fixed = now if fixed is None else fixed
                    if walk.specs[now].single_instance:
                        check(driver.cuGraphExecDestroy(graph_exec))
                        graph_exec = None
                difference = None if seen is None else _difference(seen, _attempt(fresh, now))
                yield Step(
                    held=signatures[held],
                    candidate=signatures[place],
                    fixed=fixed_signature,
                    prediction=prediction,
                    answer=answer,
                    honest=None if seen is None else difference is None,
                    difference=difference,
                    after_unsafe=unsafe,
                )
                unsafe = unsafe or (accepted and not prediction.verdict.safe)
                held = now
                if graph_exec is None:
                    return
        finally:
            if graph_exec is not None:
                check(driver.cuGraphExecDestroy(graph_exec))


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


def _attempt(launch: Callable[..., dict[str, Any]], what: Any) -> dict[str, Any]:
    """Launch; an error of the launch is something seen as well, unless it has taken the context with it."""
    try:
        return launch(what)
    except CallError as error:
        check(driver.cuCtxSynchronize())
        return {"error": error.result}


def _difference(seen: dict[str, Any], expected: dict[str, Any]) -> str | None:
    """Return where two launches differ, in words, or None."""
    for name in expected.keys() | seen.keys():
        ours, theirs = seen.get(name), expected.get(name)
        if ours == theirs:
            continue
        if isinstance(ours, bytes) and isinstance(theirs, bytes):
            place = next(index for index, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
            if name == "reports":
                return _report_difference(ours, theirs, place // 64)
            return f"{name}: byte {place} is {ours[place]:#x}, a fresh exec leaves {theirs[place]:#x}"
        return f"{name}: {ours if not isinstance(ours, bytes) else 'ran'}, a fresh exec: {theirs!r:.80}"
    return None


def _report_difference(ours: bytes, theirs: bytes, slot: int) -> str:
    words = slice(64 * slot, 64 * slot + 44)
    return (
        f"slot {slot}: saw {tuple(memoryview(ours[words]).cast('I'))},"
        f" a fresh exec sees {tuple(memoryview(theirs[words]).cast('I'))}"
    )
