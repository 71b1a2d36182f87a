"""What cuGraphExecUpdate would answer, and whether the exec would then run what a fresh one runs."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeVar

from sigcontract.model import (
    Finding,
    UpdatePrediction,
    UpdateResult,
    Verdict,
    holds_graphs,
)
from sigcontract.update.attributes import Difference, by_rule, evidence_under
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.pairing import Pairing, Refusal, body_pairs, pair_graphs, subject_of
from sigcontract.wire import (
    explains_invalid,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        DriverProfile,
        GraphSignature,
        NodeSignature,
    )

__all__ = [
    "MAX_ALSO",
    "Findings",
    "LocatedDifference",
    "differences_along",
    "finding_of",
    "judged_update",
    "located_refusal",
    "predict_update",
]

_Text = TypeVar("_Text", int | str | None, str | None)

#: Paths that a finding of many places lists besides the first.
MAX_ALSO: Final = 8

#: Longer texts are cut in findings: a kernel's name may have 65,536 characters, and stand in a finding three times.
_LONGEST, _KEPT = 1024, 512

#: A difference, the path of its node in the candidate, and the node for people (None: the graphs as a whole differ).
LocatedDifference = tuple[Difference, str, str | None]

#: The node that each node of the exec's graph was at the first launch, by path; None: they are the same.
Origin = dict[str, "NodeSignature"] | None


@explains_invalid("held", "candidate", "profile", "fixed")
def predict_update(
    held: "GraphSignature",
    candidate: "GraphSignature",
    profile: "DriverProfile | None" = None,
    fixed: "GraphSignature | None" = None,
    *,
    flags: int = 0,
) -> UpdatePrediction:
    """Predict cuGraphExecUpdate of an exec to another graph of the same process.

    It speaks of an exec of which every earlier update was safe. After one that was taken all the same, what the exec
    runs is not known, and an update that is called safe then does not mend it: instantiate anew.

    Parameters
    ----------
    held
        The graph that the exec holds now: instantiated from it, or last updated to it with success.
    candidate
        The graph to update it to.
    profile
        What is known of the driver. Without one only what is documented or reported is said, and what that
        leaves open is undetermined.
    fixed
        The graph that the exec held at its first upload or launch, which fixes what is stale; ``held`` where not
        given. Its nodes are followed to the candidate's through the pairing with ``held``. Where it cannot be
        updated to ``held`` the exec cannot have held both, and the verdict is undetermined at best.
    flags
        CUgraphInstantiate_flags of the exec; USE_NODE_PRIORITY (8) makes the priority unchangeable.

    Returns
    -------
    UpdatePrediction
        ``result`` is None where the record does not tell whether the driver refuses, or with which code.
    """
    return judged_update(held, candidate, NodeJudge(profile, flags), fixed)


def judged_update(
    held: "GraphSignature", candidate: "GraphSignature", judge: NodeJudge, fixed: "GraphSignature | None" = None
) -> UpdatePrediction:
    """Answer as `predict_update` does, for valid graphs, by a judge that remembers the records that it saw."""
    pairing = pair_graphs(held, candidate, judge.refusal)
    findings = Findings(judge.profile)
    refusal = pairing.refusal
    if refusal is not None:
        findings.add(located_refusal(refusal))
    origin: Origin = None
    if refusal is None and fixed is not None and fixed is not held:
        origin = _origin(fixed, held, judge, findings)
    for placed in differences_along(pairing, (held, candidate), judge, origin):
        findings.add(placed)
    collapsed = findings.collapsed()
    doubtful = pairing.doubtful
    told = None if doubtful or refusal is None or refusal.result is None else refusal
    result = UpdateResult.SUCCESS if refusal is None else refusal.result
    return UpdatePrediction(
        verdict=Verdict.worst({finding.verdict for finding in collapsed}),
        result=None if doubtful else result,
        node=told and told.node,
        from_node=told and told.from_node,
        findings=collapsed,
    )


def _origin(fixed: "GraphSignature", held: "GraphSignature", judge: NodeJudge, findings: "Findings") -> Origin:
    """Return the node at the first launch of each node that the exec holds, and add where that cannot be told."""
    pairing = pair_graphs(fixed, held, judge.refusal)
    if pairing.refusal is not None:
        findings.add(located_refusal(pairing.refusal._replace(rule="topology.fixed-unrelated")))
        return None
    origin: dict[str, NodeSignature] = {}
    for pair in pairing.walk(fixed, held):
        origin[pair.candidate_path] = pair.held
        if type(pair.held) is not type(pair.candidate):
            texts = subject_of(pair.held), subject_of(pair.candidate)
            findings.add((by_rule("node.opaque", "", *texts), pair.candidate_path, texts[1]))
            origin[pair.candidate_path] = pair.candidate
    _add_hidden(origin, held, findings)
    return origin


def _add_hidden(origin: dict[str, "NodeSignature"], held: "GraphSignature", findings: "Findings") -> None:
    """Complete the origins where the graph of the first launch does not show a body that the exec's graph shows."""
    if not any(map(holds_graphs, held.nodes)):
        return
    followed = frozenset(origin)
    hidden: set[str] = set()
    for path, node in held.walk():
        if path in followed:
            continue
        origin[path] = node
        body = path.rpartition(".nodes[")[0]
        # A branch; where a whole node is hidden, that was told of the node.
        if body.endswith("]") and body.rpartition(".")[0] in followed and body not in hidden:
            hidden.add(body)
            findings.add((by_rule("conditional.unreadable", "", "unreadable", "readable"), body, None))


def located_refusal(refusal: Refusal) -> LocatedDifference:
    """Return a refusal as a difference with its place."""
    return by_rule(refusal.rule, "", refusal.old, refusal.new), refusal.path, refusal.subject


class Findings:
    """Collects differences with their places; equal ones become one finding with a count.

    Parameters
    ----------
    profile
        The profile that they were judged under.
    """

    def __init__(self, profile: "DriverProfile | None") -> None:
        self._profile = profile
        self._places: dict[Difference, list[LocatedDifference]] = {}

    def add(self, placed: LocatedDifference) -> None:
        """Add a difference."""
        self._places.setdefault(placed[0], []).append(placed)

    def collapsed(self) -> tuple[Finding, ...]:
        """Return the findings, in the order in which they were first added."""
        found = []
        for difference, places in self._places.items():
            _, _, subject = places[0]
            paths = [path + difference.field for _, path, _ in places[: 1 + MAX_ALSO]]
            found.append(finding_of(difference, paths, subject, len(places), self._profile))
        return tuple(found)


def finding_of(
    difference: Difference, paths: Sequence[str], subject: str | None, count: int, profile: "DriverProfile | None"
) -> Finding:
    """Return a difference that is at ``count`` places, the first of them at ``paths``, as a finding."""
    return Finding(
        rule=difference.rule,
        path=paths[0],
        verdict=difference.verdict,
        evidence=evidence_under(difference, profile),
        old=_cut(difference.old),
        new=_cut(difference.new),
        subject=_cut(subject),
        count=count,
        also=tuple(paths[1:]),
    )


def _cut(text: _Text) -> _Text:
    """Return a text of at most so many characters that findings which repeat it stay in proportion to the dump.

    What is left of a longer one is still told apart from any other: its length and its sha256 are in it.
    """
    if not isinstance(text, str) or len(text) <= _LONGEST:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_KEPT]}… ({len(text)} characters, sha256 {digest})"


def differences_along(  # noqa: PLR0913  a recursion over two graphs, and where it stands in them
    pairing: Pairing,
    graphs: tuple["GraphSignature", "GraphSignature"],
    judge: NodeJudge,
    origin: Origin = None,
    at: tuple[str, str] = ("", ""),
    *,
    refused: bool = False,
) -> Iterator[LocatedDifference]:
    """Yield what the pairs of two graphs differ in; of a refused update only what leaves its answer open.

    Parameters
    ----------
    pairing
        The pairing of the two graphs.
    graphs
        The graph that the exec holds, and the candidate.
    judge
        What a difference means.
    origin
        The node that each node of the exec's graph was at the first launch, or None: they are the same.
    at
        Paths of the two graphs in the outermost ones.
    refused
        Whether a graph around these is refused.
    """
    held, candidate = graphs
    refused = refused or pairing.refusal is not None
    # By the number of the candidate's node: equal layers share nodes, and pair them alike.
    seen: dict[int, tuple[NodeSignature, NodeSignature, list[Difference]]] = {}
    old_nodes, new_nodes = held.nodes, candidate.nodes
    for old, new in sorted(pairing.pairs, key=itemgetter(1)):
        before, after = old_nodes[old], new_nodes[new]
        if new in pairing.doubts:
            for doubt in pairing.doubts[new]:
                yield by_rule(*doubt), f"{at[1]}nodes[{new}]", subject_of(after)
        if not refused:
            first = before if origin is None else origin[f"{at[0]}nodes[{old}]"]
            known = seen.get(id(after))
            if known is not None and known[0] is before and known[1] is first:
                differences = known[2]
            else:
                differences = judge.differences(before, after, first)
                seen[id(after)] = before, first, differences
            if differences:
                path, subject = f"{at[1]}nodes[{new}]", subject_of(after)
                for difference in differences:
                    yield difference, path, subject
        if new in pairing.inner:
            bodies = zip(pairing.inner[new], body_pairs(before, after), strict=False)
            for inner, (below, old_body, new_body) in bodies:
                inside = f"{at[0]}nodes[{old}]{below}", f"{at[1]}nodes[{new}]{below}"
                yield from differences_along(inner, (old_body, new_body), judge, origin, inside, refused=refused)
