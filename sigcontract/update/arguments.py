"""The arguments of two kernel nodes, and where two addresses lead: what differs, by offset in the parameter buffer.

Allocations are compared by their numbers, which the caller puts in correspondence. The address of a word in no
allocation is compared only where both records have it: within one process.
"""

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

from sigcontract.model import (
    POINTER_BYTES,
    Allocation,
    AllocatorBlock,
    ArgumentPointer,
    KernelArgument,
    PointerTarget,
)
from sigcontract.update.attributes import Difference, by_rule, field_text
from sigcontract.update.gone import NO_ALLOCATION, gone_block
from sigcontract.update.words import changed_words

__all__ = [
    "ARGUMENTS_UNKNOWN",
    "argument_differences",
    "argument_unknowns",
    "argument_update",
    "target_differences",
]

#: Path below a kernel node.
_ARGUMENTS: Final = ".arguments"
ARGUMENTS_UNKNOWN: Final = "kernel.argument-unknown"
_NULL, _POINTER, _REDACTED = "null", "pointer", "redacted"
#: Words of one argument that are compared one by one; if more differ, the argument is one difference.
_MOST_WORDS: Final = 8
#: Digits of the digest that is shown of such an argument.
_DIGITS: Final = 16
#: Offsets listed of an update.
_LISTED: Final = 8
#: Fields that differ because two addresses are aliases on one side only.
_OF_ALIAS: Final = (".allocation.address", ".offset_bytes")
#: Allocation numbers count from 1; addresses of one process are larger.
_MOST_NUMBERS: Final = 2**32
_Arguments = tuple[KernelArgument, ...] | None


class _Rules(NamedTuple):
    """The rules of a known change and of an unknown."""

    changed: str
    unknown: str


_OF_KERNEL: Final = _Rules("kernel.argument", ARGUMENTS_UNKNOWN)
_OF_OPERAND: Final = _Rules("memory.target", "memory.target-unknown")


def argument_differences(old: _Arguments, new: _Arguments) -> Iterator[Difference]:
    """Yield the differences between the arguments of two kernel nodes, and what is not known of them.

    Fields are named by their offset in the parameter buffer: ``.arguments[offset=24]``. Unknown words are yielded even
    if both sides are equal.
    """
    if old is None or new is None:
        if old is not new:
            texts = ("not recorded" if arguments is None else "recorded" for arguments in (old, new))
            yield by_rule(ARGUMENTS_UNKNOWN, _ARGUMENTS, *texts)
    elif _layout(old) != _layout(new):
        yield by_rule(_OF_KERNEL.changed, _ARGUMENTS, _layout_text(old), _layout_text(new))
    else:
        yield from _values(old, new)
        yield from _pointers(old, new)


def argument_unknowns(arguments: _Arguments, *, across: bool) -> Iterator[Difference]:
    """Yield what is not known of arguments, and so never matches.

    That arguments were not recorded is no unknown. ``across`` processes, words in no allocation are.
    """
    yield from (found for found in argument_differences(arguments, arguments) if found.rule == ARGUMENTS_UNKNOWN)
    for argument in arguments or () if across else ():
        for word in argument.pointers:
            if word.target is None and word.address:
                at = _at(argument.offset_bytes + word.offset_bytes)
                yield by_rule(ARGUMENTS_UNKNOWN, at, NO_ALLOCATION, NO_ALLOCATION)


def argument_update(old: _Arguments, new: _Arguments) -> Difference | None:
    """Return how arguments differ within one process as one difference: an update applies whatever changed.

    What is recorded on one side only, or redacted, may differ. None where neither side was recorded.
    """
    if old is None and new is None:
        return None
    if old is None or new is None:
        return by_rule(_OF_KERNEL.changed, _ARGUMENTS, "as held", "may be other: recorded of one side only")
    if _layout(old) != _layout(new):
        return by_rule(_OF_KERNEL.changed, _ARGUMENTS, _layout_text(old), _layout_text(new))
    offsets = [before.offset_bytes for before, after in zip(old, new, strict=True) if before != after]
    if offsets:
        more = f" and {len(offsets) - _LISTED} more" if len(offsets) > _LISTED else ""
        text = f"other at offset {', '.join(map(str, offsets[:_LISTED]))}{more}"
        return by_rule(_OF_KERNEL.changed, _ARGUMENTS, "as held", text)
    if any(argument.value is None for argument in new):
        return by_rule(_OF_KERNEL.changed, _ARGUMENTS, "as held", f"may be other: {_REDACTED}")
    return None


def target_differences(
    old: PointerTarget | None, new: PointerTarget | None, at: str, rules: _Rules = _OF_OPERAND
) -> Iterator[Difference]:
    """Yield the differences between what two addresses lead to: another allocation, or another offset into it."""
    if old is None or new is None:
        if old is not new:
            texts = ("not known" if target is None else "known" for target in (old, new))
            yield by_rule(rules.unknown, at, *texts)
        return
    if old.allocation.address != new.allocation.address:
        texts = (_allocation_text(target.allocation) for target in (old, new))
        yield by_rule(rules.changed, f"{at}.allocation.address", *texts)
        gone = gone_block(new.block)
        if gone is not None and gone_block(old.block) is None:
            yield by_rule("memory.gone", f"{at}.block.state", _POINTER, gone)
        return
    yield from _allocations(old.allocation, new.allocation, f"{at}.allocation", rules)
    if old.offset_bytes != new.offset_bytes:
        yield by_rule(rules.changed, f"{at}.offset_bytes", old.offset_bytes, new.offset_bytes)
    yield from _blocks(old.block, new.block, f"{at}.block", rules)


def _layout(arguments: tuple[KernelArgument, ...]) -> list[tuple[int, int]]:
    return [(argument.offset_bytes, argument.size_bytes) for argument in arguments]


def _layout_text(arguments: tuple[KernelArgument, ...]) -> str:
    return " ".join(f"{offset}+{size}" for offset, size in _layout(arguments)) or "none"


# Values.


def _values(old: tuple[KernelArgument, ...], new: tuple[KernelArgument, ...]) -> Iterator[Difference]:
    hidden: tuple[str, str] | None = None
    for before, after in zip(old, new, strict=True):
        if before.value is None or after.value is None:
            covered = len(before.pointers) * POINTER_BYTES
            if before.value is not after.value or covered < before.size_bytes:
                sides = (_REDACTED if side.value is None else "recorded" for side in (before, after))
                hidden = hidden or (next(sides), next(sides))
        elif before.value != after.value:
            yield from _words(before, after, bytes.fromhex(before.value), bytes.fromhex(after.value))
    if hidden is not None:
        yield by_rule(ARGUMENTS_UNKNOWN, _ARGUMENTS, *hidden)


def _words(before: KernelArgument, after: KernelArgument, old: bytes, new: bytes) -> Iterator[Difference]:
    """Yield the words that differ, apart from addresses of either side."""
    addresses = frozenset(pointer.offset_bytes for pointer in chain(before.pointers, after.pointers))
    found = list(islice(changed_words(old, new, addresses), _MOST_WORDS + 1))
    if len(found) > _MOST_WORDS:
        texts = (f"{len(value)} bytes, sha256 {sha256(value).hexdigest()[:_DIGITS]}" for value in (old, new))
        yield by_rule(_OF_KERNEL.changed, _at(before.offset_bytes), *texts)
        return
    for word in found:
        yield by_rule(_OF_KERNEL.changed, _at(before.offset_bytes + word.offset), word.old, word.new)


def _at(offset: int) -> str:
    return f"{_ARGUMENTS}[offset={offset}]"


# Pointers.


def _pointers(old: tuple[KernelArgument, ...], new: tuple[KernelArgument, ...]) -> Iterator[Difference]:
    old_first, new_first = _First(), _First()
    for before, after in zip(old, new, strict=True):
        if not before.pointers and not after.pointers:
            continue
        olds = {pointer.offset_bytes: pointer for pointer in before.pointers}
        news = {pointer.offset_bytes: pointer for pointer in after.pointers}
        for offset in sorted(olds.keys() | news.keys()):
            a, b = olds.get(offset), news.get(offset)
            here = before.offset_bytes + offset
            alias = old_first.offset_of(a, here), new_first.offset_of(b, here)
            if a is None or b is None:
                yield _pointer_and_value((before, a), (after, b), offset)
            elif alias[0] != alias[1] and a.target is not None and b.target is not None:
                yield by_rule(_OF_KERNEL.changed, f"{_at(here)}.alias", *_alias_texts(*alias))
                for found in target_differences(a.target, b.target, _at(here), _OF_KERNEL):
                    if not found.field.endswith(_OF_ALIAS):
                        yield found
            else:
                yield from _two_pointers(a, b, _at(here))


class _First:
    """Finds the first pointer of a node with the same address."""

    def __init__(self) -> None:
        self._offset_of: dict[str, int] = {}

    def offset_of(self, pointer: ArgumentPointer | None, here: int) -> int | None:
        """Return its offset, None if there is none before this one."""
        if pointer is None or pointer.target is None:
            return None
        # By text: Python's hash of integers is the same on every machine, and a hostile file may choose them.
        key = f"{pointer.target.allocation.address}+{pointer.target.offset_bytes}"
        first = self._offset_of.setdefault(key, here)
        return None if first == here else first


def _alias_texts(old: int | None, new: int | None) -> Iterator[str]:
    for mine, other in ((old, new), (new, old)):
        yield f"distinct from offset {other}" if mine is None else f"same address as offset {mine}"


def _two_pointers(old: ArgumentPointer, new: ArgumentPointer, at: str) -> Iterator[Difference]:
    if old.target is not None and new.target is not None:
        found = list(target_differences(old.target, new.target, at, _OF_KERNEL))
        yield from found or _addresses(old, new, at)
    elif old.target is not None:
        yield by_rule("memory.gone", at, _POINTER, NO_ALLOCATION)
    elif new.target is not None:
        yield by_rule(_OF_KERNEL.changed, at, NO_ALLOCATION, _POINTER)
    elif old.address and new.address:
        yield from _addresses(old, new, at)
    else:
        yield by_rule(ARGUMENTS_UNKNOWN, at, NO_ALLOCATION, NO_ALLOCATION)


def _addresses(old: ArgumentPointer, new: ArgumentPointer, at: str) -> Iterator[Difference]:
    """Compare raw addresses: both are recorded within one process only."""
    if old.address != new.address and old.address and new.address:
        yield by_rule(_OF_KERNEL.changed, f"{at}.address", f"{old.address:#x}", f"{new.address:#x}")


def _pointer_and_value(
    old: tuple[KernelArgument, ArgumentPointer | None], new: tuple[KernelArgument, ArgumentPointer | None], offset: int
) -> Difference:
    """Compare a word that is an address on one side only."""
    texts = [_word_text(argument, pointer, offset) for argument, pointer in (old, new)]
    rule = ARGUMENTS_UNKNOWN if _REDACTED in texts else _OF_KERNEL.changed
    return by_rule(rule, _at(old[0].offset_bytes + offset), *texts)


def _word_text(argument: KernelArgument, pointer: ArgumentPointer | None, offset: int) -> str:
    if pointer is not None:
        return _POINTER if pointer.target is not None else NO_ALLOCATION
    if argument.value is None:
        return _REDACTED
    word = bytes.fromhex(argument.value[2 * offset : 2 * (offset + POINTER_BYTES)])
    return f"{int.from_bytes(word, 'little'):#x}" if any(word) else _NULL


def _allocations(old: Allocation, new: Allocation, at: str, rules: _Rules) -> Iterator[Difference]:
    for name in ("size_bytes", "memory_type", "device_ordinal", "managed", "pooled"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            rule = rules.unknown if before is None or after is None else rules.changed
            yield by_rule(rule, f"{at}.{name}", field_text(before), field_text(after))


def _allocation_text(allocation: Allocation) -> str:
    number = allocation.address
    return f"allocation {number if number < _MOST_NUMBERS else hex(number)}"


def _blocks(old: AllocatorBlock | None, new: AllocatorBlock | None, at: str, rules: _Rules) -> Iterator[Difference]:
    if old is None or new is None:
        if old is not new:
            yield by_rule(rules.unknown, at, *("not known" if block is None else "known" for block in (old, new)))
        return
    gone = gone_block(new) if gone_block(old) is None else None
    for name in ("allocator", "state", "pool", "size_bytes", "offset_bytes"):
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if "unknown" in (before, after):  # whether it was gone before is not known either
            yield by_rule(rules.unknown, f"{at}.{name}", before, after)
        elif gone is not None and name in ("state", "pool"):
            yield by_rule("memory.gone", f"{at}.state", _POINTER, gone)
        else:
            yield by_rule(rules.changed, f"{at}.{name}", before, after)
    if old.stack != new.stack:
        frames = next(pair for pair in zip_longest(old.stack, new.stack) if pair[0] != pair[1])
        yield by_rule("memory.stack", f"{at}.stack", *frames)
