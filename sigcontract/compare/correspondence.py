"""The numbers of two processes matched with each other: which function, context or event is which."""

from collections import Counter

__all__ = ["Correspondence"]


class Correspondence:
    """Which number of one graph is which of the other, taken from the nodes that correspond.

    Where numbers contradict each other (one function in the old graph, two in the new one), the pair that most nodes
    show is taken for true; `split` and `merged` say how another contradicts it.
    """

    def __init__(self, evidence: Counter[tuple[str, int, int]]) -> None:
        self._old_of: dict[tuple[str, int], int] = {}
        self._new_of: dict[tuple[str, int], int] = {}
        for kind, old, new in sorted(evidence, key=lambda item: (-evidence[item], item)):
            if (kind, old) not in self._new_of and (kind, new) not in self._old_of:
                self._new_of[kind, old] = new
                self._old_of[kind, new] = old
        #: Whether every number of the new graph is its own in the old one.
        self.identity = all(old == new for _, old, new in evidence)
        self._fresh = 1 + max((old for _, old, _ in evidence), default=0)

    def translate(self, kind: str, new: int) -> int:
        """Return the old graph's number for one of the new graph; for one without counterpart, a number of its own."""
        old = self._old_of.get((kind, new))
        return self._fresh + new if old is None else old

    def split(self, kind: str, old: int, new: int) -> bool:
        """Say whether the new number has no counterpart, so that the old one has become two."""
        return (kind, new) not in self._old_of and (kind, old) in self._new_of

    def merged(self, kind: str, old: int, new: int) -> bool:
        """Say whether the old number has no counterpart, so that it and another have become one."""
        return (kind, old) not in self._new_of and (kind, new) in self._old_of
