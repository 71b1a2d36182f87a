"""A driver profile as one HTML page: what the driver reads, applies, keeps stale and rejects."""

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from sigcontract.model import DriverProfile
from sigcontract.report.html_filter import name_bar
from sigcontract.report.html_page import element, page, section, table
from sigcontract.report.profile_table import COLUMNS, profile_facts, profile_head, profile_rows

__all__ = ["profile_html"]

_UPDATE: Final = COLUMNS.index("update")
#: The badge of what an update does.
_BADGES: Final = {"applied": "identical", "stale": "stale", "rejected": "rejected", "unknown": "undetermined"}


def profile_html(profile: DriverProfile) -> str:
    """Return a profile as one HTML page that loads nothing."""
    head, measured = profile_head(profile)
    facts = [
        element("tr", element("th", name, scope="row"), element("td", value)) for name, value in profile_facts(profile)
    ]
    body = [
        element("header", element("h1", "sigcontract profile"), element("p", head), element("p", measured)),
        name_bar("launch attribute"),
        section("Updates", table(("what", "value"), facts), name="updates"),
        section(
            "Launch attributes",
            table(COLUMNS, [*map(_row, profile_rows(profile))], name="attributes"),
            name="launch-attributes",
        ),
    ]
    return page(f"sigcontract profile: {profile.id}", body, {"kind": "profile", "graphs": []})


def _row(cells: Sequence[str]) -> ET.Element:
    made = [element("td", cell) for cell in cells]
    update = cells[_UPDATE]
    made[_UPDATE] = element("td", element("span", update, class_=f"badge {_BADGES[update]}"))
    return element("tr", *made, data_text=" ".join(cells).lower())
