"""The bar of a page that filters by verdict, rule and name."""

from collections.abc import Iterable
from typing import Final, Protocol
from xml.etree import ElementTree as ET

from sigcontract.model import Verdict
from sigcontract.report.html_page import element

__all__ = ["Filterable", "filter_bar", "name_bar"]

_NAMES: Final = "kernel or label"


class Filterable(Protocol):
    """Something with a rule and a verdict: a finding, or a change of a fleet."""

    @property
    def rule(self) -> str:
        """Id of the rule."""

    @property
    def verdict(self) -> Verdict:
        """What an update makes of it."""


def filter_bar(findings: Iterable[Filterable], *, nodes: bool = True) -> ET.Element:
    """Return the bar for what these findings have, where there are ``nodes`` with a choice of which are drawn.

    Without the script it is not shown.
    """
    found = list(findings)
    verdicts = sorted({finding.verdict for finding in found}, key=lambda verdict: -verdict.badness)
    boxes = [
        element(
            "label", element("input", type="checkbox", name="verdict", value=str(verdict), checked=""), f" {verdict}"
        )
        for verdict in verdicts
    ]
    rules = sorted({finding.rule for finding in found})
    options = [element("option", "all rules", value=""), *(element("option", rule, value=rule) for rule in rules)]
    return _bar(
        element("fieldset", element("legend", "verdict"), *boxes),
        element("label", "rule ", element("select", *options, name="rule")),
        _name_input(),
        *([element("label", element("input", type="checkbox", name="all"), " all nodes")] if nodes else []),
    )


def name_bar(placeholder: str = _NAMES) -> ET.Element:
    """Return the bar of a page without findings."""
    return _bar(_name_input(placeholder))


def _name_input(placeholder: str = _NAMES) -> ET.Element:
    return element("label", "name ", element("input", type="search", name="name", placeholder=placeholder))


def _bar(*parts: ET.Element) -> ET.Element:
    return element("form", *parts, element("output", aria_live="polite"), id="filter", hidden="", role="search")
