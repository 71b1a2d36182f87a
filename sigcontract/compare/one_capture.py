"""Graphs of one capture: add what an update within one process shows and a comparison of runs does not."""

import re
from collections.abc import Iterable
from typing import Final

from sigcontract.compare.changes import Change, NodeIndices
from sigcontract.compare.graphs import GraphChanges
from sigcontract.model import Finding, UpdatePrediction, UpdateResult, Verdict
from sigcontract.update import MAX_ALSO, Difference

__all__ = ["with_prediction"]

_NODE: Final = re.compile(r"nodes\[(\d+)\]")
#: Refusals for different topology, which a diff reports as nodes and edges.
_STRUCTURE: Final = ("topology.", "edge.", "node.")
#: Rules for functions of two runs that are not proven equal.
_OF_TWO_RUNS: Final = frozenset({"function.code-unknown", "function.facts-unknown", "function.name-not-durable"})


def with_prediction(found: GraphChanges, prediction: UpdatePrediction) -> GraphChanges:
    """Return the changes plus the prediction's findings that are not among them.

    In one process, another context is refused and another handle is another function. Functions unproven between two
    runs are identified by handle there, unless the update is refused first.
    """
    kept = found.changes
    if prediction.result is UpdateResult.SUCCESS:
        kept = [change for change in kept if change.difference.rule not in _OF_TWO_RUNS]
    dropped = len(kept) < len(found.changes)
    known = {path for change in kept for path in change.paths}
    verdicts = {change.difference.verdict for change in kept}
    added = [
        finding
        for finding in prediction.findings
        if (not finding.verdict.safe or (dropped and finding.path.endswith(".func")))
        and finding.path not in known
        and not (finding.rule.startswith(_STRUCTURE) and Verdict.REJECTED in verdicts)
        # Unknowns of two functions are already reported.
        and not (finding.verdict is Verdict.UNDETERMINED and Verdict.UNDETERMINED in verdicts)
    ]
    return found._replace(changes=sorted([*kept, *_as_changes(found, added)], key=_first_index))


def _as_changes(found: GraphChanges, findings: Iterable[Finding]) -> list[Change]:
    old_of = {
        match.new + offset: match.old + offset
        for match in found.aligned.alignment.matches
        for offset in range(match.length)
    }
    changes = []
    for finding in findings:
        paths = [finding.path, *finding.also]
        nodes = [int(node[1]) for node in map(_NODE.match, paths) if node]
        field = finding.path[_end_of_node(finding.path) :]
        difference = Difference(finding.rule, field, finding.verdict, finding.evidence, finding.old, finding.new)
        changes.append(
            Change(
                difference,
                finding.subject,
                [NodeIndices(index, old_of.get(index), index) for index in sorted(set(nodes))],
                paths[: 1 + MAX_ALSO],
                finding.count,
            )
        )
    return changes


def _end_of_node(path: str) -> int:
    node = _NODE.match(path)
    return 0 if node is None else node.end()


def _first_index(change: Change) -> int:
    return change.indices[0].at if change.indices else -1
