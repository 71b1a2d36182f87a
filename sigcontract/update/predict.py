"""Predict cuGraphExecUpdate's result, and whether the exec then runs what a fresh instantiation runs."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sigcontract.errors import UsageError
from sigcontract.model import (
    Finding,
    GraphSignature,
    UpdatePrediction,
    UpdateResult,
    Verdict,
    holds_graphs,
)
from sigcontract.update.attributes import Difference, by_rule, evidence_under
from sigcontract.update.exec_state import ExecState
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.located import LocatedDifference, Origin, differences_along, located_refusal
from sigcontract.update.long_texts import bounded
from sigcontract.update.pairing import pair_graphs, subject_of
from sigcontract.update.shared_layouts import SharedLayouts
from sigcontract.wire import (
    explains_invalid,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        DriverProfile,
        NodeSignature,
    )
    from sigcontract.update.kernel_state import KernelState

__all__ = [
    "MAX_ALSO",
    "Findings",
    "finding_of",
    "judged_update",
    "predict_update",
]

#: Most paths that a finding lists besides the first.
MAX_ALSO: Final = 8


@explains_invalid("held", "candidate", "profile", "fixed")
def predict_update(
    held: "GraphSignature",
    candidate: "GraphSignature",
    profile: "DriverProfile | None" = None,
    fixed: "GraphSignature | ExecState | None" = None,
    *,
    flags: int = 0,
) -> UpdatePrediction:
    """Predict cuGraphExecUpdate of an exec to another graph of the same process.

    With a graph as ``fixed``, or none, every earlier update of the exec must have been safe. After an unsafe update
    that the driver accepted, what the exec runs is unknown, and a safe update does not repair it: instantiate anew.
    With an `ExecState`, the prediction follows its history: an update is safe only if the next launch is right whatever
    else ran on the device in between.

    Parameters
    ----------
    held
        The graph the exec holds: it was instantiated from or last updated to it.
    candidate
        The graph to update it to.
    profile
        The driver's profile. Without one, only documented and reported rules apply, and the rest is undetermined.
    fixed
        The graph of the exec's first upload or launch, whose values can stay stale; by default ``held``. Its nodes map
        to the candidate's through the pairing with ``held``. If it cannot be updated to ``held``, the exec cannot have
        held both, and the verdict is undetermined at best. Or the state of the exec, which holds ``held``; kernel nodes
        are then judged by what each may run.
    flags
        CUgraphInstantiate_flags of the exec; USE_NODE_PRIORITY (8) makes the priority unchangeable.

    Returns
    -------
    UpdatePrediction
        ``result`` is None if the record does not determine whether the driver refuses, or with which code.

    Raises
    ------
    UsageError
        ``fixed`` is the state of an exec that holds another graph.
    """
    if isinstance(fixed, ExecState) and fixed.held is not held and fixed.held != held:
        raise UsageError("the exec of fixed holds another graph than held; pass held=fixed.held")
    sharing = SharedLayouts()
    if isinstance(fixed, GraphSignature):
        fixed = sharing.graph(fixed)
    found = judged_update(sharing.graph(held), sharing.graph(candidate), NodeJudge(profile, flags), fixed)
    return replace(found, findings=bounded(found.findings))


def judged_update(
    held: "GraphSignature",
    candidate: "GraphSignature",
    judge: NodeJudge,
    fixed: "GraphSignature | ExecState | None" = None,
    *,
    max_also: int = MAX_ALSO,
) -> UpdatePrediction:
    """As `predict_update`, for valid graphs, with a judge that caches records.

    A finding lists at most ``max_also`` paths besides the first; its texts are complete, whatever their length.
    """
    pairing = pair_graphs(held, candidate, judge.refusal)
    findings = Findings(judge.profile)
    refusal = pairing.refusal
    if refusal is not None:
        findings.add(located_refusal(refusal))
    origin: Origin = None
    if isinstance(fixed, ExecState):
        origin = fixed.kernels
        if refusal is None and fixed.unproven is not None:
            what = fixed.unproven
            findings.add((by_rule("exec.history", "", what.what, None), what.path, what.subject))
    elif refusal is None and fixed is not None and fixed is not held:
        origin = _origin(fixed, held, judge, findings)
    for difference in differences_along(pairing, (held, candidate), judge, origin):
        findings.add(difference)
    collapsed = findings.collapsed(max_also)
    doubtful = pairing.doubtful
    located = None if doubtful or refusal is None or refusal.result is None else refusal
    result = UpdateResult.SUCCESS if refusal is None else refusal.result
    return UpdatePrediction(
        verdict=Verdict.worst({finding.verdict for finding in collapsed}),
        result=None if doubtful else result,
        node=located and located.node,
        from_node=located and located.from_node,
        findings=collapsed,
    )


def _origin(fixed: "GraphSignature", held: "GraphSignature", judge: NodeJudge, findings: "Findings") -> Origin:
    """Return, for each held node, its node at the first launch; add findings where that is unknown."""
    pairing = pair_graphs(fixed, held, judge.refusal)
    if pairing.refusal is not None:
        findings.add(located_refusal(pairing.refusal._replace(rule="topology.fixed-unrelated")))
        return None
    origin: dict[str, NodeSignature | KernelState] = {}
    for pair in pairing.walk(fixed, held):
        origin[pair.candidate_path] = pair.held
        if type(pair.held) is not type(pair.candidate):
            texts = subject_of(pair.held), subject_of(pair.candidate)
            findings.add((by_rule("node.opaque", "", *texts), pair.candidate_path, texts[1]))
            origin[pair.candidate_path] = pair.candidate
    _add_hidden(origin, held, findings)
    return origin


def _add_hidden(origin: dict[str, "NodeSignature | KernelState"], held: "GraphSignature", findings: "Findings") -> None:
    """Complete the origins for bodies readable in the held graph but not in that of the first launch."""
    if not any(map(holds_graphs, held.nodes)):
        return
    followed = frozenset(origin)
    hidden: set[str] = set()
    for path, node in held.walk():
        if path in followed:
            continue
        origin[path] = node
        body = path.rpartition(".nodes[")[0]
        # A branch; a wholly hidden node already has its finding.
        if body.endswith("]") and body.rpartition(".")[0] in followed and body not in hidden:
            hidden.add(body)
            findings.add((by_rule("conditional.unreadable", "", "unreadable", "readable"), body, None))


class Findings:
    """Collects differences with their paths; equal ones become one finding with a count.

    Parameters
    ----------
    profile
        The profile behind the verdicts.
    """

    def __init__(self, profile: "DriverProfile | None") -> None:
        self._profile = profile
        self._located: defaultdict[Difference, list[LocatedDifference]] = defaultdict(list)

    def add(self, located: LocatedDifference) -> None:
        """Add a difference."""
        self._located[located[0]].append(located)

    def collapsed(self, max_also: int = MAX_ALSO) -> tuple[Finding, ...]:
        """Return the findings, in the order first added."""
        found = []
        for difference, located in self._located.items():
            _, _, subject = located[0]
            paths = [path + difference.field for _, path, _ in located[: 1 + max_also]]
            found.append(finding_of(difference, paths, subject, len(located), self._profile))
        return tuple(found)


def finding_of(
    difference: Difference, paths: Sequence[str], subject: str | None, count: int, profile: "DriverProfile | None"
) -> Finding:
    """Return a difference of ``count`` nodes, the first at ``paths``, as a finding."""
    return Finding(
        rule=difference.rule,
        path=paths[0],
        verdict=difference.verdict,
        evidence=evidence_under(difference, profile),
        old=difference.old,
        new=difference.new,
        subject=subject,
        count=count,
        also=tuple(paths[1:]),
    )
