"""Separates findings of unknown values from findings of differences."""

from typing import Final

from sigcontract.update.attributes import ABSENT
from sigcontract.update.rules import ATTRIBUTE_RULES

__all__ = ["WITHOUT_VALUE", "is_difference"]

#: Values in findings for launch attributes without a value.
WITHOUT_VALUE: Final = frozenset({ABSENT, "unreadable", "unsupported"})

_OF_ATTRIBUTES: Final = frozenset(rule.id for rule in ATTRIBUTE_RULES.values())
#: Rules for values unknown on at least one side; all other rules state differences, whatever an update does.
_NOT_KNOWN: Final = frozenset(
    {
        "conditional.unreadable",
        "dump.empty",
        "dump.incomplete",
        "dump.profile",
        "function.code-unknown",
        "function.facts-unknown",
        "function.name-not-durable",
        "graph.not-recorded",
        "kernel.argument-unknown",
        "kernel.attribute-unknown",
        "kernel.context-unknown",
        "kernel.function-unknown",
        "memory.owner-unproven",
        "memory.target-unknown",
        "node.alignment",
        "node.opaque",
    }
)


def is_difference(rule: str, old: int | str | None, new: int | str | None) -> bool:
    """Whether a finding of that rule, with these values, is a known difference."""
    if rule in _OF_ATTRIBUTES and not WITHOUT_VALUE.isdisjoint((old, new)):
        return False
    return rule not in _NOT_KNOWN
