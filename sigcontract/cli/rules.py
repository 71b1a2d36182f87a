"""``sigcontract rules``: the rules behind findings: verdict, evidence, reason and source."""

import argparse
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from textwrap import wrap

from sigcontract.cli.output import write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.terminal import columns
from sigcontract.errors import UsageError
from sigcontract.model import RuleEntry, RuleList
from sigcontract.update import (
    RULES,
    Rule,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract rules                        every rule, one line each
sigcontract rules kernel.cluster-dim     verdict, reason and source of one rule
"""
#: Maximum line width of prose, in characters.
_WIDEST = 100


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(subparsers, "rules", summary="list the rules of findings, or explain one", example=_EXAMPLE)
    parser.add_argument("id", metavar="ID", nargs="?", help="the rule to explain")


def run(args: argparse.Namespace) -> int:
    """List or explain."""
    chosen = list(RULES.values()) if args.id is None else [_rule(args.id)]
    if args.format == "json":
        write_document(RuleList(rules=tuple(RuleEntry(**rule._asdict()) for rule in chosen)))
    else:
        lines = _table(chosen) if args.id is None else _explained(chosen[0])
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return Exit.OK


def _rule(rule_id: str) -> Rule:
    found = RULES.get(rule_id)
    if found is None:
        near = get_close_matches(rule_id, RULES, n=3) or [known for known in RULES if rule_id in known][:3]
        hint = f"; similar: {', '.join(near)}" if near else "; `sigcontract rules` lists them"
        raise UsageError(f"no rule {rule_id!r}{hint}")
    return found


def _table(rules: list[Rule]) -> Iterator[str]:
    id_width, verdict_width = (
        max(map(len, column)) for column in zip(*((r.id, r.verdict) for r in rules), strict=True)
    )
    for rule in rules:
        yield f"{rule.id:<{id_width}}  {rule.verdict:<{verdict_width}}  {rule.evidence}"


def _explained(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}: {rule.verdict}, {rule.evidence}"
    width = min(_WIDEST, columns())
    yield from wrap(rule.why, width, initial_indent="  ", subsequent_indent="  ")
    facts = {"depends on": rule.depends, "judges": rule.field, "source": rule.source}
    for name, value in facts.items():
        if value is not None:
            yield from wrap(f"{name}: {value}", width, initial_indent="  ", subsequent_indent="    ")
