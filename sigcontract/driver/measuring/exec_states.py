"""Whether executables follow the state model of `sigcontract.update`: random histories of one kernel node."""

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.reading import read_graph
from sigcontract.errors import DriverCallError, GraphReadError
from sigcontract.model import AttributeId, AttributeValue, ClusterDim
from sigcontract.update import ExecState, NodeJudge

if TYPE_CHECKING:
    from sigcontract.driver.cuda import BuildApi
    from sigcontract.driver.measuring.kernels import Report
    from sigcontract.model import GraphSignature

__all__ = ["measure_exec_state"]

_HISTORIES: Final = 64
_MAX_UPDATES: Final = 6
_ONE_IN_FOUR: Final = (True, False, False, False)
_NODE: Final = "nodes[0]"


class _Step(NamedTuple):
    """What an executable is instantiated from or updated to, and what follows."""

    probe: Probe
    other_work: bool
    launched: bool


def measure_exec_state(rig: ProbeRig) -> Literal["stored_and_fixed", "unknown"]:
    """Update and launch executables in random order; compare each launch with the outcomes of the state model.

    Returns
    -------
    str
        ``stored_and_fixed`` if every launch is among the outcomes, some kept an old cluster, and some took that of
        another function. Other kernels run before some launches, and nothing before others.
    """
    if not rig.clusters:
        return "unknown"
    bench = _Bench(rig)
    kept = carried = 0
    for number in range(_HISTORIES):
        for outcome in bench.outcomes(_history(number)):
            if outcome == "other":
                return "unknown"
            kept += outcome == "kept"
            carried += outcome == "carried"
    return "stored_and_fixed" if kept and carried else "unknown"


def _history(number: int) -> list[_Step]:
    """Return a history, the same at every measurement."""
    random = Random(number)  # noqa: S311  a repeatable choice, no secret
    is_cooperative = random.choice(_ONE_IN_FOUR)  # an update cannot change it
    steps = []
    for _ in range(random.randint(2, 1 + _MAX_UPDATES)):
        attributes: dict[int, AttributeValue] = {}
        blocks = random.choice((0, 2, 4, 4))
        if is_cooperative:
            attributes[AttributeId.COOPERATIVE] = 1
        elif blocks:
            attributes[AttributeId.CLUSTER_DIMENSION] = ClusterDim(x=blocks, y=1, z=1)
        probe = Probe(code=random.choice((1, 2)), attributes=attributes, grid=random.choice((8, 16)))
        steps.append(_Step(probe, other_work=random.choice(_ONE_IN_FOUR), launched=not random.choice(_ONE_IN_FOUR)))
    return steps


class _Bench:
    """Graphs of probes, each built and read once."""

    def __init__(self, rig: ProbeRig) -> None:
        self._rig = rig
        self._judge = NodeJudge(None, 0)
        self._graphs: dict[str, tuple[int, GraphSignature]] = {}
        self._other_work = rig.instantiate(rig.graph(Probe(code=1, grid=4)))

    def outcomes(self, steps: list[_Step]) -> Iterator[Literal["kept", "carried", "as held", "other"]]:
        """Carry a history out, and yield what each launch was: ``other`` if the model excludes it."""
        graph, signature = self._graph(steps[0].probe)
        graph_exec, state = self._rig.instantiate(graph), ExecState.judged(signature, self._judge)
        ran = steps[0].probe
        for index, step in enumerate(steps):
            if index:
                graph, signature = self._graph(step.probe)
                if self._rig.api.graph_exec_update(graph_exec, graph).result:
                    yield "other"
                    return
                state = state.judged_updated(signature, self._judge)
            if step.launched:
                if step.other_work:
                    self._rig.run(self._other_work)
                report = self._rig.run(graph_exec)
                if not _is_among(report, state):
                    yield "other"
                    return
                held = step.probe.attributes.get(AttributeId.CLUSTER_DIMENSION, ClusterDim(x=1, y=1, z=1))
                if held != ClusterDim(x=report.cluster_dim[0], y=report.cluster_dim[1], z=report.cluster_dim[2]):
                    yield "kept"
                else:
                    is_another = step.probe.code != ran.code and step.probe.attributes != ran.attributes
                    yield "carried" if is_another else "as held"
                state, ran = state.used(), step.probe

    def _graph(self, probe: Probe) -> "tuple[int, GraphSignature]":
        found = self._graphs.get(repr(probe))
        if found is None:
            graph = self._rig.graph(probe)
            found = self._graphs[repr(probe)] = graph, _read(graph, self._rig.api)
        return found


def _read(graph: int, api: "BuildApi") -> "GraphSignature":
    """Read a graph of the rig's own: only the driver can fail."""
    try:
        return read_graph(graph, driver=api)
    except GraphReadError as error:
        if isinstance(error.__cause__, DriverCallError):
            raise error.__cause__ from None
        raise


def _is_among(report: "Report", state: ExecState) -> bool:
    """Whether the model allows a launch: its cluster, and the function that ran."""
    node = state.kernels[_NODE]
    cluster = "x".join(map(str, report.cluster_dim))
    clusters = {cluster, "none"} if report.cluster_dim == (1, 1, 1) else {cluster}
    return bool(clusters & node.clusters) and f"sigcontract_probe_{report.code}" in {f.name for f in node.functions}
