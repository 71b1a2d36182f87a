"""Correspondence of the handles of two processes: functions, contexts, events."""

from collections import Counter

__all__ = ["Correspondence"]


class Correspondence:
    """Maps numbers of one graph to the other, by corresponding nodes.

    If numbers contradict each other (one function in the old graph, two in the new one), the most frequent pair counts;
    `split` and `merged` classify the others.
    """

    def __init__(self, evidence: Counter[tuple[str, int, int]]) -> None:
        self._old_of: dict[tuple[str, int], int] = {}
        self._new_of: dict[tuple[str, int], int] = {}
        for kind, old, new in sorted(evidence, key=lambda item: (-evidence[item], item)):
            if (kind, old) not in self._new_of and (kind, new) not in self._old_of:
                self._new_of[kind, old] = new
                self._old_of[kind, new] = old
        #: Whether every number is the same in both graphs.
        self.identity = all(old == new for _, old, new in evidence)
        self._fresh = 1 + max((old for _, old, _ in evidence), default=0)

    def translate(self, kind: str, new: int) -> int:
        """Return the old graph's number for one of the new graph; a unique one if it has no counterpart."""
        old = self._old_of.get((kind, new))
        return self._fresh + new if old is None else old

    def counterpart(self, kind: str, old: int) -> int | None:
        """Return the new graph's number for one of the old graph, or None."""
        return self._new_of.get((kind, old))

    def split(self, kind: str, old: int, new: int) -> bool:
        """Whether the new number has no counterpart, so the old one was split."""
        return (kind, new) not in self._old_of and (kind, old) in self._new_of

    def merged(self, kind: str, old: int, new: int) -> bool:
        """Whether the old number has no counterpart, so it was merged with another."""
        return (kind, old) not in self._new_of and (kind, new) in self._old_of
