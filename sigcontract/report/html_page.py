"""One self-contained HTML page: escaped by construction, nothing loaded, style and script allowed by their hashes."""

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final
from xml.etree import ElementTree as ET

import msgspec

from sigcontract import __version__
from sigcontract.model import Verdict
from sigcontract.report.names import safe

__all__ = ["Part", "badge", "element", "page", "section", "shown", "table"]

Part = ET.Element | str | None

_VIEWPORT: Final = "width=device-width, initial-scale=1"


def element(tag: str, *parts: Part, **attributes: str | int | None) -> ET.Element:
    """Return an element. Text is text: what is markup in it is escaped on writing, what cannot be printed is shown.

    ``class_`` stands for ``class``, ``data_rule`` for ``data-rule``; an attribute of None is left out.
    """
    named = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items() if value is not None}
    made = ET.Element(tag, {name: safe(value) for name, value in named.items()})
    for part in parts:
        if isinstance(part, ET.Element):
            made.append(part)
        elif part and len(made):
            made[-1].tail = (made[-1].tail or "") + safe(part)
        elif part:
            made.text = (made.text or "") + safe(part)
    return made


def badge(verdict: Verdict | str) -> ET.Element:
    """Return a verdict as a coloured word."""
    return element("span", str(verdict), class_=f"badge {verdict}")


def section(title: str, *parts: Part, name: str) -> ET.Element:
    """Return a section with its heading, which the address of the page can name."""
    return element("section", element("h2", title), *parts, id=name)


def table(head: tuple[str, ...], rows: list[ET.Element], *, name: str | None = None) -> ET.Element:
    """Return a table that scrolls by itself; on a phone each row is a block, and each cell carries its heading."""
    heads = [element("th", title, scope="col") for title in head]
    for row in rows:
        if len(row) == len(head):
            for title, cell in zip(head, row, strict=True):
                cell.set("data-head", title)
    body = element("tbody", *rows)
    made = element("table", element("thead", element("tr", *heads)), body, id=name)
    return element("div", made, class_="scroll", tabindex=0, role="region", aria_label="table")


def page(title: str, body: list[ET.Element], data: Mapping[str, Any] | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    title
        Title of the window.
    body
        What is seen without the script as well.
    data
        What the script draws from: a data island, JSON in which no markup can begin.
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content=_VIEWPORT),
        element("meta", name="generator", content=f"sigcontract {__version__}"),
        element("title", title),
    )
    ET.SubElement(head, "style").text = style
    content = element("body", element("main", *body))
    island = ET.SubElement(content, "script", {"type": "application/json", "id": "data"})
    island.text = _island(data or {})
    ET.SubElement(content, "script").text = script
    html = element("html", head, content, lang="en")
    return f"<!DOCTYPE html>\n{ET.tostring(html, encoding='unicode', method='html')}\n"


def shown(value: Any) -> Any:
    """Return a value in which every text is safe to show: `safe`, through lists and mappings."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(str(key)): shown(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    return value


def _island(data: Mapping[str, Any]) -> str:
    """Return JSON that no HTML parser takes for markup: it would end at ``</script`` or turn at ``<!--``."""
    text = msgspec.json.encode(data).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    return files("sigcontract.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
