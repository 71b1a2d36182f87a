"""One change in words: ``grid 4x1x1 → 8x1x1``, ``other code (registers 15 → 13)``."""

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from sigcontract.compare import CauseChange, unnumbered
from sigcontract.model import NodeRecord
from sigcontract.report.cuda_words import value_word
from sigcontract.report.names import safe, shortened
from sigcontract.report.phrases import change_of

__all__ = ["change_words", "index_words", "node_index"]

_ATTRIBUTE = re.compile(r"attributes\[(\w+)\]")
#: Where an argument or an operand leads.
_LEADS = re.compile(
    r"arguments(?:\[offset=(?P<offset>\d+)\])?(?P<field>.*)"
    r"|(?:(?P<operand>source|destination)\.)?pointer\.target(?P<of_operand>.*)"
)
_SHORT = {"grid_dim": "grid", "block_dim": "block"}
#: Rules of which old and new are lists of facts, each a name and a value.
_OF_FUNCTION = {
    "function.facts": "other function",
    "function.settings": "other settings",
    "function.code": "other code",
}
#: Words for a change instead of its field.
_PHRASES = {
    "child.wrapper": "in other child graphs",
    "kernel.renamed": "renamed, same code",
    "topology.dependency": "order of dependencies",
    "topology.dependency-count": "dependencies",
    "topology.node-order": "same graph, other node order",
}
#: Node types as records name them.
_TAGS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(NodeRecord))
_CODE = "code_sha256"
#: Indices written out one by one; more are given by their steps, or counted.
_LISTED = 8
#: Stretches of indices written out of a list that has no order.
_MOST = 24


def change_words(change: CauseChange, width: int) -> str:
    """Return a change as a reader would say it, each of its values at most ``width`` characters."""
    if change.rule in _OF_FUNCTION:
        return _function_words(change, width)
    if change.field == "name":
        return f"{_PHRASES.get(change.rule, 'another kernel')}: {_name_words(str(change.old), str(change.new), width)}"
    if change.rule == "node.type":
        return f"another type: {_type_words(change.old, width)} → {_type_words(change.new, width)}"
    leads = _LEADS.fullmatch(change.field)
    if leads is not None:
        return _argument_words(change, leads, width)
    field = safe(_ATTRIBUTE.sub(r"\1", change.field))
    values = change_of(value_word(field, change.old), value_word(field, change.new), width=width)
    if change.rule == "topology.dependency" and field.endswith(".node"):
        return f"dependency moved: from node {change.old} → from node {change.new}"
    phrase = _PHRASES.get(change.rule)
    return f"{phrase}: {values}" if phrase else f"{_SHORT.get(field, field)} {values}".lstrip()


def _argument_words(change: CauseChange, leads: re.Match[str], width: int) -> str:
    """Return ``offset 24: 16 → 32``; of what many addresses share, such as an allocation, without the offset."""
    offset, operand = leads["offset"], leads["operand"] or "destination"
    field = leads["field"] if leads["of_operand"] is None else leads["of_operand"]
    values = change_of(value_word(field, change.old), value_word(field, change.new), width=width)
    if field == ".allocation.address":
        return f"memory: {values}"
    if field.startswith(".allocation"):
        return f"{field.removeprefix('.')} {values}"
    if leads["of_operand"] is None and offset is None:
        return f"layout of arguments {values}" if change.rule == "kernel.argument" else f"arguments {values}"
    where = f"offset {offset}" if offset is not None else operand
    if field == ".offset_bytes" and isinstance(change.old, int) and isinstance(change.new, int):
        return f"{where}: moved by {change.new - change.old:+d} bytes in its allocation"
    if change.rule == "memory.stack":
        return f"{where}: allocated at {values}"
    shown = field in ("", ".alias", ".address") or change.rule == "memory.gone"
    return f"{where}: {values}" if shown else f"{where}: {field.removeprefix('.')} {values}"


def _name_words(old: str, new: str, width: int) -> str:
    """Return both names; of one that changed in nothing but its number, that."""
    if unnumbered(old) != unnumbered(new) or len(unnumbered(new)) == len(new):
        return change_of(old, new, width=width)
    return f"{shortened(new, width)} (was {safe(old[len(unnumbered(old)) :])})"


def _type_words(value: int | str | None, width: int) -> str:
    """Return the type of a node; of a kernel, which is known by its name, both."""
    text = str(value)
    return text if text in _TAGS else f"kernel {shortened(text, width)}"


def _function_words(change: CauseChange, width: int) -> str:
    facts = list(_facts(change))
    code = [fact for fact in facts if fact[0] == _CODE]
    rest = [f"{name} {change_of(old, new, width=width)}" for name, old, new in facts if name != _CODE]
    if code:
        inside = ", ".join(rest) or change_of(*code[0][1:], width=width)
        return f"other code ({inside})"
    return f"{_OF_FUNCTION[change.rule]}: {', '.join(rest)}"


def _facts(change: CauseChange) -> Iterator[tuple[str, str, str]]:
    """Yield name and both values of each fact."""
    name = change.field.removeprefix("function").removeprefix(".")
    if name:
        yield name, str(change.old), str(change.new)
        return
    for old, new in zip(str(change.old).split(", "), str(change.new).split(", "), strict=False):
        yield old.partition(" ")[0], old.partition(" ")[2], new.partition(" ")[2]


def node_index(path: str) -> str:
    """Return ``3.0`` for ``nodes[3].graph.nodes[0]``, ``3b1.0`` for the first node of branch 1."""
    return path.replace(".graph", "").replace(".bodies[", "b").replace("nodes[", "").replace("]", "")


def index_words(paths: Sequence[str], count: int) -> str:
    """Return which nodes these are, in few words and without losing any that a list of paths has.

    ``18, 35, 52, 69``; ``0-9``; ``4, 13, … 211 (every 9th)``; ``0, 5, … 253, 258 (2 in every 11)``.
    """
    indices = [node_index(path) for path in paths]
    more = f" and {count - len(paths)} more" if count > len(paths) else ""
    if len(indices) > _LISTED and all(map(str.isdecimal, indices)):
        numbers = list(map(int, indices))
        return (_rhythm(numbers) or _shortened(list(_runs(numbers)))) + more
    return ", ".join(indices) + more


def _rhythm(numbers: Sequence[int]) -> str:
    """Return numbers of several layers in short, where each layer has some at the same distances."""
    for many in range(1, min(_LISTED, len(numbers) // 3) + 1):
        steps = {later - number for number, later in zip(numbers, numbers[many:], strict=False)}
        if len(steps) == 1:
            (step,) = steps
            if many == 1:
                return ""  # one run
            first, last = (", ".join(map(str, part)) for part in (numbers[:many], numbers[-many:]))
            return f"{first}, … {last} ({many} in every {step})"
    return ""


def _shortened(parts: Sequence[str]) -> str:
    if len(parts) <= _MOST:
        return ", ".join(parts)
    return f"{', '.join(parts[:_MOST])}, … {parts[-1]}"


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    """Yield stretches of equal steps as one, from three numbers on."""
    position = 0
    while position < len(numbers):
        end = position + 1
        step = numbers[end] - numbers[position] if end < len(numbers) else 1
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        first, last = numbers[position], numbers[end - 1]
        if end - position < 4:  # noqa: PLR2004  three numbers are as short as their description
            end = position + 1
            yield str(first)
        elif step == 1:
            yield f"{first}-{last}"
        else:
            yield f"{first}, {first + step}, … {last} (every {_ordinal(step)})"
        position = end


def _ordinal(number: int) -> str:
    teen = number % 100 // 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
