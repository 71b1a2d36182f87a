"""What Sphinx cannot see of the package by itself, and that the reference has every public name.

An extension: fields of records are described by their ``Meta(description=...)``, links to files of the project that are
no pages lead to a copy of the file, and a public name that no page documents fails the build.
"""

import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.rst import escape
from sphinx.util.typing import restify, stringify_annotation

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

__all__ = ["PUBLIC", "setup", "undocumented"]

#: Modules whose ``__all__`` is promised to users.
PUBLIC = (
    "sigcontract",
    "sigcontract.contract",
    "sigcontract.driver",
    "sigcontract.errors",
    "sigcontract.fleet",
    "sigcontract.registry",
    "sigcontract.testing",
)

#: Names that a door lists for other packages of sigcontract. Users are promised none of them.
INTERNAL = {
    "sigcontract.driver": frozenset(
        {
            "BuildApi",
            "DEFAULT_LABEL",
            "DEFAULT_NAME",
            "DriverApi",
            "GRAPH_CLASSES",
            "LaunchObservations",
            "ProcessReport",
            "RecordSettings",
            "UpdateOutcome",
            "default_driver",
            "graph_handle",
            "handle_number",
            "read_reports",
            "run_program",
        }
    ),
    "sigcontract.testing": frozenset({"CheckSettings", "Checked", "Ledger"}),
}

_LOG = logging.getLogger(__name__)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Connect the extension."""
    app.connect("autodoc-process-docstring", _describe)
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("env-check-consistency", _refuse_undocumented)
    app.add_transform(_CopyLinkedFiles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def undocumented(documented: set[str]) -> list[str]:
    """Return the public names that stand for an object which none of the documented names stands for."""
    known = {id(_imported(name)) for name in documented if name.startswith("sigcontract")}
    return [
        f"{module}.{name}"
        for module in PUBLIC
        for name in importlib.import_module(module).__all__
        if name not in INTERNAL.get(module, ()) and id(_imported(f"{module}.{name}")) not in known
    ]


def _imported(path: str) -> Any:
    """Return what a dotted name stands for, None for members that only instances have."""
    module, rest = path, list[str]()
    while module:
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
            continue
        for name in rest:
            found = getattr(found, name, None)
        return found
    return None


def _refuse_undocumented(_app: "Sphinx", env: "BuildEnvironment") -> None:
    for name in undocumented({name for name, *_rest in env.get_domain("py").get_objects()}):
        _LOG.warning("no page under docs/reference documents %s", name)


class _CopyLinkedFiles(SphinxTransform):
    """Lead a link to a Markdown file beside ``docs`` to a copy: to MyST it is a page, and to Sphinx there is none."""

    default_priority = 10

    def apply(self, **_options: Any) -> None:
        """Replace the links of one page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for link in list(self.document.findall(pending_xref)):
            file = Path(f"{link['reftarget']}.md")
            if link["reftype"] == "myst" and file.is_absolute() and file.is_file():
                copied = download_reference("", reftarget=os.path.relpath(file, folder), refdoc=self.env.docname)
                copied += link.children
                link.replace_self(copied)


def _shorten_signature(
    _app: "Sphinx", what: str, _name: str, documented: Any, _options: Any, _signature: str | None, _returned: str | None
) -> tuple[str, None] | None:
    """Return a record's fields by name: their types and bounds are below."""
    if what != "class" or not _is_record(documented):
        return None
    return f"({', '.join(['*', *documented.__struct_fields__])})" if documented.__struct_fields__ else "()", None


def _describe(_app: "Sphinx", what: str, _name: str, documented: Any, _options: Any, lines: list[str]) -> None:
    if what == "class" and _is_record(documented):
        lines += ["", *_field_lines(documented), ""]
    elif what == "data" and lines and lines[0] == (inspect.getdoc(type(documented)) or "").partition("\n")[0]:
        # What a value's type says of itself says nothing of the value; an alias says what it stands for.
        lines[:] = [f"alias of {restify(documented, 'smart')}", ""] if isinstance(documented, UnionType) else []


def _field_lines(record: type[msgspec.Struct]) -> Iterator[str]:
    hints = get_type_hints(record)
    described = msgspec.inspect.type_info(record)
    assert isinstance(described, msgspec.inspect.StructType)
    for field in described.fields:
        schema = field.type.extra_json_schema if isinstance(field.type, msgspec.inspect.Metadata) else None
        name = escape(field.name)
        yield f":ivar {name}: {escape((schema or {}).get('description', ''))}"
        yield f":vartype {name}: {stringify_annotation(hints[field.name], 'smart')}"


def _is_record(documented: Any) -> bool:
    return isinstance(documented, type) and issubclass(documented, msgspec.Struct)
