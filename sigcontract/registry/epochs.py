"""Function handles are numbers that come back: which load of a function a handle stood for, and when."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sigcontract.model.function import FunctionFacts
from sigcontract.model.graph import NodeSignature
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["HandleEpochs", "Reuse"]

#: What a loaded function cannot change. Its other facts are settings (cuFuncSetAttribute) of one and the same function.
_LASTING: Final = (
    "parameters",
    "static_shared_mem_bytes",
    "const_mem_bytes",
    "local_mem_bytes",
    "registers",
    "ptx_version",
    "binary_version",
    "code_sha256",
)


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
        self._functions: dict[int, tuple[str, FunctionFacts | None]] = {}
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
        for handle, name, facts in _functions(nodes):
            known = self._functions.get(handle)
            if known is None:
                self._functions[handle] = (name, facts)
            elif known[1] is not facts or known[0] != name:
                if _is_another(known, name, facts):
                    self._epochs[handle] = self._epochs.get(handle, 0) + 1
                    reuses.append(Reuse(handle, known[0], name))
                self._functions[handle] = (name, facts or known[1])
            if handle in self._epochs:
                epochs[handle] = self._epochs[handle]
        return tuple(sorted(epochs.items())), reuses


def _functions(nodes: Iterable[NodeSignature]) -> Iterator[tuple[int, str, FunctionFacts | None]]:
    for node in nodes:
        if isinstance(node, KernelNodeSignature):
            if node.kern:
                yield node.kern, node.name, node.function
            if node.func:
                yield node.func, node.name, node.function


def _is_another(known: tuple[str, FunctionFacts | None], name: str, facts: FunctionFacts | None) -> bool:
    if known[0] != name:
        return True
    for field in _LASTING:
        before, now = getattr(known[1], field, None), getattr(facts, field, None)
        if before is not None and now is not None and before != now:
            return True
    return False
