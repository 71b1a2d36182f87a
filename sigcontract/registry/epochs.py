"""Function handles are numbers that come back: which load of a function a handle stood for, and when."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from sigcontract.model import (
    FunctionFacts,
    KernelNodeSignature,
    NodeSignature,
)
from sigcontract.update import (
    SETTINGS,
)

__all__ = ["HandleEpochs", "Reuse"]

#: What a loaded function cannot change: all its facts but the settings of one and the same function.
_LASTING: Final = tuple(name for name in FunctionFacts.__struct_fields__ if name not in SETTINGS)


class Reuse(NamedTuple):
    """A handle that is another function now."""

    handle: int
    before: str
    now: str


class HandleEpochs:
    """The functions that handles stood for, and how often each handle became another one.

    A CUkernel number came back in 20 of 20 reloads (measured, H200, driver 580.159.04). Equal numbers therefore
    mean one function only while name and lasting facts agree; the epochs keep graphs of two loads apart where
    the policy's key, made of numbers, would not. A reload of the same code cannot be told, and needs not be.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._facts: dict[tuple[int, int], tuple[str, FunctionFacts | None]] = {}
        self._epochs: dict[int, int] = {}

    def observe(self, nodes: Iterable[NodeSignature]) -> tuple[tuple[tuple[int, int], ...], list[Reuse]]:
        """Take in the functions of a graph's nodes.

        Returns
        -------
        tuple of (handle, epoch)
            For the graph's handles that were another function before; part of what groups are found by.
        list of Reuse
            The handles that became another function with this graph.
        """
        epochs: dict[int, int] = {}
        reuses = []
        for handle, context, name, facts in _functions(nodes):
            before = self._names.get(handle, name)
            known_name, known = self._facts.get((handle, context), (name, facts))
            is_another = before != name or (known_name == name and known is not facts and _contradict(known, facts))
            if is_another:
                self._epochs[handle] = self._epochs.get(handle, 0) + 1
                reuses.append(Reuse(handle, before, name))
            if is_another or known_name != name:
                known = facts
            elif known is not facts:
                known = _merged(known, facts)
            self._names[handle] = name
            self._facts[handle, context] = name, known
            if handle in self._epochs:
                epochs[handle] = self._epochs[handle]
        return tuple(sorted(epochs.items())), reuses


def _functions(nodes: Iterable[NodeSignature]) -> Iterator[tuple[int, int, str, FunctionFacts | None]]:
    """Yield handle, context, name and facts: a CUkernel has facts for each context, a CUfunction is of one."""
    for node in nodes:
        if isinstance(node, KernelNodeSignature):
            if node.kern:
                yield node.kern, node.context, node.name, node.function
            if node.func:
                yield node.func, 0, node.name, node.function


def _contradict(known: FunctionFacts | None, facts: FunctionFacts | None) -> bool:
    for name in _LASTING:
        before, now = getattr(known, name, None), getattr(facts, name, None)
        if before is not None and now is not None and before != now:
            return True
    return False


def _merged(known: FunctionFacts | None, facts: FunctionFacts | None) -> FunctionFacts | None:
    """Return the newer facts, and the older ones where those do not say."""
    if known is None or facts is None:
        return known if facts is None else facts
    unsaid = {name: getattr(known, name) for name in _LASTING if getattr(facts, name) is None}
    return replace(facts, **unsaid) if unsaid else facts
