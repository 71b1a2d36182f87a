"""Match the graphs of two dumps: by label, then digest, then similarity."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sigcontract.model import (
    LabeledGraph,
    SignatureDump,
)
from sigcontract.update import by_label, no_graph, similarity_key
from sigcontract.wire import (
    portable_digest,
)

__all__ = ["GraphPair", "is_partial", "match_graphs"]

#: Most pairs of graphs compared for similarity; beyond, only label and digest decide.
_SIMILARITY_PAIRS = 10_000
#: Share of the larger graph's nodes that two graphs with different labels must have in common to match.
_SIMILARITY_NEEDED = 0.5


class GraphPair(NamedTuple):
    """Two matched graphs, or one without counterpart."""

    old: LabeledGraph | None
    new: LabeledGraph | None

    @property
    def labels(self) -> set[str]:
        """The labels of the graphs."""
        return {entry.label for entry in self if entry is not None}

    @property
    def one_label(self) -> bool:
        """Whether both exist and have one label."""
        return self.old is not None and self.new is not None and self.old.label == self.new.label


def match_graphs(old: SignatureDump, new: SignatureDump, given: Sequence[tuple[str, str]] = ()) -> list[GraphPair]:
    """Return every graph of both dumps once: those of ``new`` in order, then those only in ``old``.

    Parameters
    ----------
    old, new
        The dumps.
    given
        Label pairs given by the caller; then only these are returned.

    Raises
    ------
    NotComparableError
        Two graphs of a dump share a label.
    UsageError
        A given label is not in its dump.
    """
    of_old, of_new = by_label(old, "the old dump"), by_label(new, "the new dump")
    if given:
        return [GraphPair(_named(a, of_old, "old"), _named(b, of_new, "new")) for a, b in given]
    partner: dict[str, LabeledGraph] = {e.label: of_old.pop(e.label) for e in new.graphs if e.label in of_old}
    left = [entry for entry in new.graphs if entry.label not in partner]
    if left and of_old:
        _match_digests(of_old, left, partner)
        left = [entry for entry in left if entry.label not in partner]
    if left and of_old and len(left) * len(of_old) <= _SIMILARITY_PAIRS:
        _match_similar(of_old, left, partner)
    return [
        *(GraphPair(partner.get(entry.label), entry) for entry in new.graphs),
        *(GraphPair(entry, None) for entry in old.graphs if entry.label in of_old),
    ]


def is_partial(dump: SignatureDump) -> bool:
    """Whether graphs may be missing from the dump: it is truncated or empty."""
    return not (dump.complete and dump.graphs)


def _named(label: str, graphs: Mapping[str, LabeledGraph], which: str) -> LabeledGraph:
    if label not in graphs:
        raise no_graph(label, graphs, f"the {which} dump")
    return graphs[label]


def _match_digests(
    left_old: dict[str, LabeledGraph], left_new: Sequence[LabeledGraph], partner: dict[str, LabeledGraph]
) -> None:
    """Pair graphs of one portable digest, in order; moves paired ones from ``left_old`` to ``partner``."""
    by_digest: dict[str, list[str]] = {}
    for label, entry in left_old.items():
        by_digest.setdefault(portable_digest(entry.graph), []).append(label)
    for entry in left_new:
        labels = by_digest.get(portable_digest(entry.graph))
        if labels:
            partner[entry.label] = left_old.pop(labels.pop(0))


def _match_similar(
    left_old: dict[str, LabeledGraph], left_new: Sequence[LabeledGraph], partner: dict[str, LabeledGraph]
) -> None:
    """Pair the graphs with most nodes of equal type and name, most similar first."""
    old_counts = {label: Counter(map(similarity_key, entry.graph.nodes)) for label, entry in left_old.items()}
    scores: list[tuple[float, int, str]] = []
    for index, entry in enumerate(left_new):
        new_count = Counter(map(similarity_key, entry.graph.nodes))
        for label, old_count in old_counts.items():
            larger = max(new_count.total(), old_count.total())
            share = (new_count & old_count).total() / larger if larger else 0.0
            if share >= _SIMILARITY_NEEDED:
                scores.append((-share, index, label))
    for _, index, label in sorted(scores):
        new_label = left_new[index].label
        if new_label not in partner and label in left_old:
            partner[new_label] = left_old.pop(label)
