"""Compare two records field by field, each with its rule of the table."""

from collections.abc import Iterator

from sigcontract.model import (
    ConditionalNode,
    Dim3,
    FunctionFacts,
    GraphSignature,
    LaunchAttribute,
    PointerFacts,
    Record,
)
from sigcontract.update.arguments import target_differences
from sigcontract.update.attributes import Difference, attribute_path, by_rule, field_text, value_text
from sigcontract.update.rules import ATTRIBUTE_RULES, RULE_OF_FIELD, RULES, Rule
from sigcontract.update.shared_layouts import layout_texts

__all__ = ["field_differences"]


def field_differences(old: Record, new: Record, at: str = "") -> Iterator[Difference]:
    """Yield every field in which two records of one type differ, with the table's verdict.

    Nested graphs are left to the caller, who knows how their nodes correspond, and so are the arguments of kernels
    (`argument_differences`).
    """
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before == after or name == "arguments" or isinstance(before, GraphSignature):
            continue
        if isinstance(old, PointerFacts) and name == "target":
            yield from target_differences(before, after, f"{at}.target")
        elif name == "parameters" and before is not None and after is not None:
            rule = _rule(old, name, known=True)
            yield by_rule(rule.id, f"{at}.parameters", *layout_texts(before, after))
        elif name == "attributes":
            yield from _attributes(before, after, at)
        elif isinstance(before, Record) and type(before) is type(after) and not isinstance(before, Dim3):
            yield from field_differences(before, after, f"{at}.{name}")
        elif _are_records(before) and _are_records(after) and len(before) == len(after):
            for index, (a, b) in enumerate(zip(before, after, strict=True)):
                yield from field_differences(a, b, f"{at}.{name}[{index}]")
        elif name != "bodies" or before is None or after is None or len(before) != len(after):
            rule = _rule(old, name, known=before is not None and after is not None)
            yield by_rule(rule.id, f"{at}.{name}", field_text(before), field_text(after))


def _rule(record: Record, name: str, *, known: bool) -> Rule:
    if not known and isinstance(record, FunctionFacts):
        return RULES["function.code-unknown" if name == "code_sha256" else "function.facts-unknown"]
    if not known and isinstance(record, PointerFacts):
        return RULES["memory.owner-unproven"]
    if not known and isinstance(record, ConditionalNode):
        return RULES["conditional.unreadable"]
    return RULE_OF_FIELD[f"{type(record).__name__}.{name}"]


def _attributes(old: tuple[LaunchAttribute, ...], new: tuple[LaunchAttribute, ...], at: str) -> Iterator[Difference]:
    before, after = {entry.id: entry for entry in old}, {entry.id: entry for entry in new}
    for attribute_id in sorted(before.keys() | after.keys()):
        a, b = before.get(attribute_id), after.get(attribute_id)
        if a == b:
            continue
        known = a is not None and b is not None and a.value is not None and b.value is not None
        if not known:
            rule = RULES["kernel.attribute-unknown"]
        elif a is not None and b is not None and a.value == b.value:
            rule = RULES["kernel.attribute-origin"]
        else:
            rule = ATTRIBUTE_RULES.get(attribute_id, RULES["kernel.attribute-other"])
        yield by_rule(rule.id, at + attribute_path(attribute_id), value_text(a), value_text(b))


def _are_records(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(_is_plain_record(item) for item in value)


def _is_plain_record(item: object) -> bool:
    return isinstance(item, Record) and not isinstance(item, GraphSignature)
