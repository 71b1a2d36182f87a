"""Function handles are numbers that come back: which load of a function a handle stood for, and when."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from sigcontract.compare.policies import SETTINGS
from sigcontract.model.function import FunctionFacts
from sigcontract.model.graph import NodeSignature
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["HandleEpochs", "Reuse"]

#: What a loaded function cannot change: all its facts but the settings of one and the same function.
_LASTING: Final = tuple(name for name in FunctionFacts.__struct_fields__ if name not in SETTINGS)


#: CUkernel or CUfunction, and the CUcontext of its node: in contexts of two devices one CUkernel has other facts.
_Place = tuple[int, int]


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
        self._functions: dict[_Place, tuple[str, FunctionFacts | None]] = {}
        self._epochs: dict[_Place, int] = {}

    def observe(self, nodes: Iterable[NodeSignature]) -> tuple[tuple[tuple[int, int, int], ...], list[Reuse]]:
        """Take in the functions of a graph's nodes.

        Returns
        -------
        tuple of (handle, context, epoch)
            For the graph's handles that were another function before; part of what groups are found by.
        list of Reuse
            The handles that became another function with this graph.
        """
        epochs: dict[_Place, int] = {}
        reuses = []
        for place, name, facts in _functions(nodes):
            known = self._functions.get(place)
            if known is None:
                self._functions[place] = (name, facts)
            elif known[1] is not facts or known[0] != name:
                if known[0] != name or _contradict(known[1], facts):
                    self._epochs[place] = self._epochs.get(place, 0) + 1
                    reuses.append(Reuse(place[0], known[0], name))
                    self._functions[place] = (name, facts)
                else:
                    self._functions[place] = (name, _merged(known[1], facts))
            if place in self._epochs:
                epochs[place] = self._epochs[place]
        return tuple((*place, epoch) for place, epoch in sorted(epochs.items())), reuses


def _functions(nodes: Iterable[NodeSignature]) -> Iterator[tuple[_Place, str, FunctionFacts | None]]:
    for node in nodes:
        if isinstance(node, KernelNodeSignature):
            if node.kern:
                yield (node.kern, node.context), node.name, node.function
            if node.func:
                yield (node.func, node.context), node.name, node.function


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
