"""The arguments of a graph's kernels, and what its addresses point to, as values and as lines of text."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from sigcontract.model import (
    POINTER_BYTES,
    AddressView,
    Allocation,
    ArgumentView,
    GoneAddress,
    GraphSignature,
    KernelArgument,
    KernelNodeSignature,
    MemcpyNode,
    MemsetNode,
    NodeSignature,
    PointerTarget,
    WordView,
)
from sigcontract.report.cuda_words import MEMORY
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import counted
from sigcontract.update import GonePointer, argument_words, gone_pointers, subject_of
from sigcontract.wire import portable_form

__all__ = [
    "ArgumentWords",
    "GraphArguments",
    "NodeArguments",
    "argument_lines",
    "gone_lines",
    "node_arguments",
    "recorded_line",
]

_NAME: Final = 56
#: Words and addresses of one argument in text; JSON has all.
_MOST_WORDS: Final = 32


class NodeArguments(NamedTuple):
    """The arguments of one node, and the addresses in them or in its operands.

    Attributes
    ----------
    arguments
        Of a kernel, with offset, size, value and words; None: not recorded, or no kernel.
    addresses
        In the order of the parameter buffer, or source before destination.
    """

    arguments: tuple[ArgumentView, ...] | None
    addresses: tuple[AddressView, ...]


class ArgumentWords:
    """The words of arguments, read once of a value that many nodes share."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...]], tuple[WordView, ...]] = {}

    def of(self, argument: KernelArgument) -> tuple[WordView, ...] | None:
        """Return the words of an argument except addresses; None: redacted."""
        if argument.value is None:
            return None
        key = argument.value, tuple([pointer.offset_bytes for pointer in argument.pointers])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(
                [
                    WordView(offset_bytes=word.offset, size_bytes=word.size, text=word.text)
                    for word in argument_words(bytes.fromhex(argument.value), frozenset(key[1]))
                ]
            )
        return known


class GraphArguments:
    """The arguments of a graph's nodes, nested graphs included.

    Allocations are numbered as in a diff: by first use in the graph, its memory allocation nodes included.

    Parameters
    ----------
    graph
        The graph, as recorded.

    Attributes
    ----------
    gone
        The addresses that point to memory that is gone.
    kernels, recorded
        How many kernel nodes there are, and of how many the arguments were recorded.
    """

    def __init__(self, graph: GraphSignature) -> None:
        self.gone = tuple(map(_gone, gone_pointers(graph)))
        self._reasons = {(each.path, each.offset_bytes, each.operand): each.reason for each in self.gone}
        nodes = [(path, node) for path, node in graph.walk()]
        kernels = [node for _, node in nodes if isinstance(node, KernelNodeSignature)]
        self.kernels = len(kernels)
        self.recorded = sum(node.arguments is not None for node in kernels)
        forms = (form for _, form in portable_form(graph).walk())
        self._words = ArgumentWords()
        self._nodes = {path: (node, form) for (path, node), form in zip(nodes, forms, strict=True)}

    def of(self, path: str) -> NodeArguments:
        """Return the arguments of the node at a path."""
        node, form = self._nodes[path]
        numbers = [None if target is None else target.allocation.address for _, _, target in _targets(form)]
        return NodeArguments(
            _arguments(node, self._words),
            tuple(
                _address(offset, operand, target, number, self._reasons.get((path, offset, operand)))
                for (offset, operand, target), number in zip(_targets(node), numbers, strict=True)
                if offset is not None or target is not None or (path, offset, operand) in self._reasons
            ),
        )


def node_arguments(node: KernelNodeSignature, words: ArgumentWords) -> NodeArguments:
    """Return the arguments of a kernel node by itself: its allocations have no number.

    ``words`` keeps those of values that nodes share.
    """
    addresses = (_address(offset, operand, target, None, None) for offset, operand, target in _targets(node))
    return NodeArguments(_arguments(node, words), tuple(addresses))


def argument_lines(found: NodeArguments) -> Iterator[str]:
    """Yield a line per argument or operand of a node: where addresses lead, and the values of other words."""
    if found.arguments is None:
        for address in found.addresses:
            yield f"{address.operand}: {_address_text(address)}"
        return
    addresses = deque(found.addresses)
    for argument in found.arguments:
        begin, end = argument.offset_bytes, argument.offset_bytes + argument.size_bytes
        here: list[AddressView] = []
        while addresses and (addresses[0].offset_bytes or 0) < end:
            here.append(addresses.popleft())
        words = argument.words or ()
        # Both ascend, so what is shown is among the first of each.
        first = {(address.offset_bytes or 0) - begin: _address_text(address) for address in here[:_MOST_WORDS]}
        first |= {word.offset_bytes: word.text for word in islice(words, _MOST_WORDS)}
        count = len(here) + len(words)
        texts = [f"+{at} {text}" if count > 1 else text for at, text in islice(sorted(first.items()), _MOST_WORDS)]
        if count > _MOST_WORDS:
            texts.append(f"and {count - _MOST_WORDS} more")
        if argument.words is None and len(here) * POINTER_BYTES < argument.size_bytes:
            texts.append("redacted")
        values = ", ".join(texts)
        yield f"offset {begin}, {counted(argument.size_bytes, 'byte')}: {values or 'empty'}"


def gone_lines(gone: Iterable[tuple[str, Iterable[GoneAddress]]]) -> Iterator[str]:
    """Yield the addresses that point to memory that is gone, alike ones of a kernel once.

    ``gone`` has the label of each graph, which several may share, and its addresses.
    """
    lines: dict[tuple[str, ...], list[str]] = {}
    for label, addresses in gone:
        for each in addresses:
            where = each.operand or f"offset {each.offset_bytes}"
            may = "" if each.certain else "possibly "
            frame = f" (allocated at {safe(each.stack[0])})" if each.stack else ""
            key = safe(label), shortened(each.subject, _NAME), f"{where}: {may}{each.reason}{frame}"
            lines.setdefault(key, []).append(each.path)
    for (label, subject, what), paths in lines.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield f"{label}: {paths[0]}{more} ({subject}), {what}"


def recorded_line(recorded: int, kernels: int) -> str:
    """Return how many kernel nodes have recorded arguments."""
    if not recorded:
        return "arguments: not recorded (record --arguments)"
    return f"arguments recorded of {recorded} of {counted(kernels, 'kernel node')}"


def _gone(pointer: GonePointer) -> GoneAddress:
    return GoneAddress(
        path=pointer.path,
        subject=subject_of(pointer.node),
        offset_bytes=pointer.offset,
        operand=pointer.operand,
        reason=pointer.reason,
        certain=pointer.certain,
        stack=() if pointer.block is None else pointer.block.stack,
    )


def _targets(node: NodeSignature) -> Iterator[tuple[int | None, str | None, PointerTarget | None]]:
    """Yield offset or operand of each address of a node, and where it leads."""
    match node:
        case KernelNodeSignature():
            for argument in node.arguments or ():
                for pointer in argument.pointers:
                    yield argument.offset_bytes + pointer.offset_bytes, None, pointer.target
        case MemcpyNode():
            for operand, side in (("source", node.source), ("destination", node.destination)):
                yield None, operand, None if side.pointer is None else side.pointer.target
        case MemsetNode():
            yield None, "destination", None if node.pointer is None else node.pointer.target
        case _:
            pass  # no addresses of memory


def _arguments(node: NodeSignature, words: ArgumentWords) -> tuple[ArgumentView, ...] | None:
    if not isinstance(node, KernelNodeSignature) or node.arguments is None:
        return None
    return tuple(
        [
            ArgumentView(
                offset_bytes=argument.offset_bytes,
                size_bytes=argument.size_bytes,
                value=argument.value,
                words=words.of(argument),
            )
            for argument in node.arguments
        ]
    )


def _address(
    offset: int | None, operand: str | None, target: PointerTarget | None, number: int | None, gone: str | None
) -> AddressView:
    allocation = None if target is None else target.allocation
    return AddressView(
        offset_bytes=offset,
        operand=operand,
        allocation=number or None,
        allocation_offset_bytes=None if target is None else target.offset_bytes,
        allocation_size_bytes=None if allocation is None else allocation.size_bytes,
        memory=None if allocation is None else _memory(allocation),
        device_ordinal=None if allocation is None else allocation.device_ordinal,
        block=None if target is None else target.block,
        gone=gone,
    )


def _memory(allocation: Allocation) -> str:
    """Return the kind of memory."""
    kind = "unknown" if allocation.memory_type is None else MEMORY.get(allocation.memory_type, "unknown")
    if allocation.managed:
        return "managed"
    return f"{kind} pool" if allocation.pooled else kind


def _address_text(address: AddressView) -> str:
    if address.memory is None:
        return f"address in {address.gone or 'no allocation'}"
    size = "" if address.allocation_size_bytes is None else f" of {address.allocation_size_bytes} B"
    number = "allocation" if address.allocation is None else f"allocation {address.allocation}"
    memory = address.memory if address.device_ordinal is None else f"{address.memory} {address.device_ordinal}"
    held, block = address.block, ""
    if held is not None:
        block = f"; {held.state.replace('_', ' ')} block of {held.size_bytes} B, pool {held.pool}"
    gone = f"; GONE: {address.gone}" if address.gone else ""
    return f"{number} + {address.allocation_offset_bytes}{size} ({memory}{block}{gone})"
