"""Findings that say what is not known, as against those that say that something differs."""

from typing import Final

from sigcontract.update.attributes import ABSENT
from sigcontract.update.rules import ATTRIBUTE_RULES

__all__ = ["WITHOUT_VALUE", "is_difference"]

#: What stands in a finding for the value of a launch attribute that has none.
WITHOUT_VALUE: Final = frozenset({ABSENT, "unreadable", "unsupported"})

_OF_ATTRIBUTES: Final = frozenset(rule.id for rule in ATTRIBUTE_RULES.values())
#: Rules that speak where at least one side is not known; all others say that something differs, whatever an update
#: makes of it.
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
        "kernel.attribute-unknown",
        "kernel.context-unknown",
        "kernel.function-unknown",
        "memory.owner-unproven",
        "node.alignment",
        "node.opaque",
    }
)


def is_difference(rule: str, old: int | str | None, new: int | str | None) -> bool:
    """Say whether a finding of that rule, with these values, tells of a difference that is known to be one."""
    if rule in _OF_ATTRIBUTES and not WITHOUT_VALUE.isdisjoint((old, new)):
        return False
    return rule not in _NOT_KNOWN
