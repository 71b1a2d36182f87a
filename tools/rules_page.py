"""The page docs/rules.md, made from the table of rules."""

from sigcontract.update.rules import RULES, Rule

__all__ = ["page"]

_HEAD = """\
# Rules

Every finding names one of these rules; `sigcontract rules ID` prints it. An id keeps its meaning for ever.

The verdict is the one that holds without a driver profile; *depends* says what can change it. Evidence is
`documented` (NVIDIA says so), `measured` (on the machine that the source names, or by the profile of the prediction),
`reported` (by the third party that the source names) or `assumed` (by us, on the side of caution).

This page is generated from the table of rules in the package: `make generated`.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([_HEAD, *map(_section, sorted(RULES.values(), key=lambda rule: rule.id))])


def _section(rule: Rule) -> str:
    lines = [
        f"## {rule.id}",
        "",
        rule.why,
        "",
        f"- verdict: **{rule.verdict}**, {rule.evidence}",
        f"- judges: {', '.join(f'`{field}`' for field in rule.field.split(', '))}",
        f"- source: {rule.source}",
    ]
    if rule.depends is not None:
        lines.append(f"- depends: {rule.depends}")
    return "\n".join([*lines, ""])
