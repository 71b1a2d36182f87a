"""The output formats of a result: one table of names and the functions that draw them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, assert_never

from sigcontract.model import CheckReport, DumpDiff, FleetReport, GroupsReport, RankDiffs
from sigcontract.report.annotations import annotations
from sigcontract.report.cases import location_of_graph
from sigcontract.report.contract_markdown import check_markdown
from sigcontract.report.github import diff_github
from sigcontract.report.groups_markdown import groups_markdown
from sigcontract.report.junit import junit
from sigcontract.report.markdown import diff_markdown
from sigcontract.report.outcome import Outcome
from sigcontract.report.ranks_markdown import fleet_markdown, rank_diffs_markdown
from sigcontract.report.sarif import sarif
from sigcontract.wire import encode

__all__ = ["OUTPUTS"]

_COLUMNS: Final = 120


def _text(outcome: Outcome) -> str:
    return outcome.text(False, _COLUMNS)  # noqa: FBT003  how a command draws its text


def _json(outcome: Outcome) -> str:
    return encode(outcome.record).decode()


def _markdown(outcome: Outcome) -> str:
    record = outcome.record
    match record:
        case DumpDiff():
            return diff_markdown(record)
        case RankDiffs():
            return rank_diffs_markdown(record)
        case CheckReport():
            return check_markdown(record)
        case GroupsReport():
            return groups_markdown(record)
        case FleetReport():
            return fleet_markdown(record)
        case _:
            assert_never(record)


def _github(outcome: Outcome) -> str:
    if isinstance(outcome.record, DumpDiff):
        return diff_github(outcome.record, lambda graph: location_of_graph(graph, outcome.files, outcome.lines))
    return annotations(outcome)


def _html(outcome: Outcome) -> str:
    return outcome.html()


#: What draws each form. A form is added here, and every command has it.
OUTPUTS: Final[Mapping[str, Callable[[Outcome], str]]] = MappingProxyType(
    {
        "text": _text,
        "json": _json,
        "markdown": _markdown,
        "github": _github,
        "sarif": sarif,
        "junit": junit,
        "html": _html,
    }
)
