"""The page of fields: of each document and version, every record and field as its schema has them.

An extension of Sphinx: the page is written when the site is built, so that no copy of the schemas is kept.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["pages_of", "setup"]

_SCHEMAS: Final = Path(__file__).resolve().parents[1] / "schemas"
#: The page, and where on it the fields go.
_PAGE: Final = "fields"
_MARK: Final = "<!-- fields:"
#: Values of an enumeration that are written out.
_VALUES: Final = 24


def setup(app: "Sphinx") -> dict[str, bool]:
    """Connect the extension."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def pages_of(folder: Path = _SCHEMAS) -> Iterator[str]:
    """Yield the Markdown of each document and version, the newest version of a document first."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))["schemas"]
    for entry in sorted(index, key=lambda entry: (entry["document"] != "sigcontract.dump", entry["document"])):
        of_document = [other["version"] for other in index if other["document"] == entry["document"]]
        if entry["version"] == max(of_document):
            for version in sorted(of_document, reverse=True):
                file = next(o for o in index if (o["document"], o["version"]) == (entry["document"], version))
                schema = json.loads((folder / file["file"]).read_text(encoding="utf-8"))
                yield "\n".join(
                    _document(f"{entry['document']} {version}", schema, released=file["status"] == "released")
                )


def _fill(_app: "Sphinx", page: str, source: list[str]) -> None:
    if page == _PAGE:
        before, mark, _after = source[0].partition(_MARK)
        assert mark, "the page lacks the line that the fields replace"
        source[0] = before + "\n".join(pages_of())


def _document(title: str, schema: dict[str, Any], *, released: bool) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield schema.get("description", "") + ("" if released else " A draft: not released yet.")
    yield from _record(schema)
    for name, record in schema.get("$defs", {}).items():
        yield ""
        yield f"**{name}.** {record.get('description', '')}"
        if "properties" in record:
            yield from _record(record)
        elif "prefixItems" in record:
            yield from _rows((part.get("title", str(at)), part) for at, part in enumerate(record["prefixItems"]))
        else:
            yield ""
            yield f"{_type(record)}."
    yield ""


def _record(record: dict[str, Any]) -> Iterator[str]:
    required = set(record.get("required", ()))
    yield from _rows(
        (name if name in required else f"{name} (optional)", field) for name, field in record["properties"].items()
    )


def _rows(fields: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    yield from ("", "| field | type | |", "|---|---|---|")
    for name, field in fields:
        yield f"| `{name}` | {_cell(_type(field))} | {_cell(field.get('description', ''))} |"
    yield ""


def _type(field: dict[str, Any]) -> str:
    """Return the type in words."""
    either = next((field[key] for key in ("anyOf", "oneOf", "allOf") if key in field), None)
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if either is not None:
        return " or ".join(dict.fromkeys(_type(part) for part in either))
    if "const" in field or "enum" in field:
        values = [f"`{json.dumps(value)}`" for value in field.get("enum", [field.get("const")])]
        return " or ".join(values) if len(values) <= _VALUES else f"one of {len(values)} values"
    return _plain_type(field)


def _plain_type(field: dict[str, Any]) -> str:
    kind = field.get("type", "any value")
    if kind == "array":
        return f"array of {_type(field['items'])}" if isinstance(field.get("items"), dict) else "array"
    if kind == "integer" and "maximum" in field:
        return f"integer, {field.get('minimum', 'any')} to {field['maximum']}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
