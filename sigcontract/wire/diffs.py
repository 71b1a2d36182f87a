"""sigcontract.diff: version 2, in which repeated long texts are stored once, and version 1."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError, RecordError
from sigcontract.model import (
    DiffCause,
    DumpDiff,
    Evidence,
    ExactInt,
    Finding,
    GraphDiff,
    GraphSize,
    Record,
    Text,
    UInt32,
    Verdict,
)
from sigcontract.wire.envelope import document_type, fields_of

__all__ = ["DiffDocument", "DiffDocument1", "diff_of", "diff_of_1", "problems", "wire_of", "wire_of_1"]

#: Longer texts, in characters, are stored in ``texts``.
_INLINE_CHARACTERS: Final = 80


class LongText(Record, frozen=True, kw_only=True):
    """A text of more than 80 characters, by its row."""

    text: Annotated[UInt32, Meta(description="Row of texts.")]


_SUBJECT = Text | LongText | None
_VALUE = ExactInt | Text | LongText | None


class FindingRow(Record, frozen=True, kw_only=True):
    """One difference."""

    rule: Annotated[Text, Meta(description="Stable id of the rule; `sigcontract rules ID` explains it.")]
    path: Annotated[Text, Meta(description="Path in the new graph; in the old one if removed.")]
    verdict: Annotated[Verdict, Meta(description="Meaning of the difference.")]
    evidence: Annotated[Evidence, Meta(description="How the verdict is known.")]
    old: Annotated[_VALUE, Meta(description="Old value; null: absent.")]
    new: Annotated[_VALUE, Meta(description="New value; null: absent.")]
    subject: Annotated[_SUBJECT, Meta(description="Kernel name, or another description of the node.")]
    count: Annotated[UInt32, Meta(description="Number of nodes or edges with this difference, this one included.")]
    also: Annotated[tuple[Text, ...], Meta(description="Paths of the first few others.")]


def _with(record: type[Record], name: str, **types: Any) -> Any:  # a class created at run time, unknown to mypy
    """Return a record type with the same fields and descriptions, some of another type."""
    fields = fields_of(record)
    for field, kind in types.items():
        fields[field] = Annotated[kind, *fields[field].__metadata__]
    return msgspec.defstruct(
        name,
        list(fields.items()),
        bases=(Record,),
        module=__name__,
        namespace={"__doc__": record.__doc__},
        frozen=True,
        kw_only=True,
    )


def _each(kind: Any) -> Any:
    """Return the type of a tuple of any length, of a type created at run time."""
    return tuple.__class_getitem__((kind, ...))


_CauseRow = _with(DiffCause, "CauseRow", subject=_SUBJECT)
_GraphRow = _with(GraphDiff, "GraphDiffRow", causes=_each(_CauseRow), findings=_each(FindingRow))
_TEXTS = Annotated[tuple[Text, ...], Meta(description="Distinct texts of more than 80 characters, by first use.")]
_ROWS = _with(DumpDiff, "DumpDiffRows", environment=_each(FindingRow), graphs=_each(_GraphRow))
DiffDocument = document_type(
    "DumpDiffDocument", "sigcontract.diff", 2, DumpDiff.__doc__ or "", {"texts": _TEXTS} | fields_of(_ROWS)
)

_TEXTS_OF_FINDING = ("old", "new", "subject")
_FINDING = Finding.__struct_fields__


def wire_of(diff: DumpDiff) -> Any:
    """Return a diff with its long texts in a table."""
    texts: dict[str, int] = {}

    def put(value: Any) -> Any:
        if isinstance(value, str) and len(value) > _INLINE_CHARACTERS:
            return LongText(text=texts.setdefault(value, len(texts)))
        return value

    rows = _converted(diff, put, FindingRow, _CauseRow, _GraphRow)
    return DiffDocument(document="sigcontract.diff", version=2, texts=tuple(texts), **rows)


def diff_of(document: Any) -> DumpDiff:
    """Return the diff of a document without `problems`."""

    def get(value: Any) -> Any:
        return document.texts[value.text] if isinstance(value, LongText) else value

    return DumpDiff(**_converted(document, get, Finding, DiffCause, GraphDiff))


def problems(document: Any) -> Iterator[RecordError]:
    """Yield every reference to a missing text."""
    rows = len(document.texts)
    for index, finding in enumerate(document.environment):
        yield from _missing(finding, _TEXTS_OF_FINDING, rows, f"$.environment[{index}]")
    for number, graph in enumerate(document.graphs):
        for index, cause in enumerate(graph.causes):
            yield from _missing(cause, ("subject",), rows, f"$.graphs[{number}].causes[{index}]")
        for index, finding in enumerate(graph.findings):
            yield from _missing(finding, _TEXTS_OF_FINDING, rows, f"$.graphs[{number}].findings[{index}]")


def _missing(record: Any, names: tuple[str, ...], rows: int, at: str) -> Iterator[RecordError]:
    for name in names:
        value = getattr(record, name)
        if isinstance(value, LongText) and value.text >= rows:
            yield InvariantError(f"text {value.text} is missing; there are {rows} texts", path=f"{at}.{name}.text")


def _converted(diff: Any, text: Callable[[Any], Any], finding: Any, cause: Any, graph: Any) -> dict[str, Any]:
    """Return the fields of a diff, with parts of the given types and texts converted by the function."""

    def findings(items: Any) -> tuple[Any, ...]:
        return tuple(
            finding(
                **{
                    name: text(getattr(item, name)) if name in _TEXTS_OF_FINDING else getattr(item, name)
                    for name in _FINDING
                }
            )
            for item in items
        )

    def causes(items: Any) -> tuple[Any, ...]:
        return tuple(cause(**(_values(item, DiffCause) | {"subject": text(item.subject)})) for item in items)

    fields = _values(diff, DumpDiff)
    fields["environment"] = findings(diff.environment)
    fields["graphs"] = tuple(
        graph(**(_values(each, GraphDiff) | {"causes": causes(each.causes), "findings": findings(each.findings)}))
        for each in diff.graphs
    )
    return fields


def _values(record: Any, kind: type[Record]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in kind.__struct_fields__}


# Version 1 has neither sizes nor causes, nor what was compared.

_NOT_IN_1: Final = {"policy": None, "one_capture": None, "not_compared": ()}
_NOT_OF_GRAPHS_IN_1: Final[dict[str, GraphSize | tuple[()] | None]] = {
    "old_size": None,
    "new_size": None,
    "causes": (),
}


def _without(record: type[Record], left_out: dict[str, Any]) -> dict[str, Any]:
    return {name: kind for name, kind in fields_of(record).items() if name not in left_out}


_Graph1 = msgspec.defstruct(
    "GraphDiff",
    list(_without(GraphDiff, _NOT_OF_GRAPHS_IN_1).items()),
    bases=(Record,),
    module=__name__,
    namespace={"__doc__": GraphDiff.__doc__},
    frozen=True,
    kw_only=True,
)
_FIELDS_1 = _without(DumpDiff, _NOT_IN_1)
_FIELDS_1["graphs"] = Annotated[_each(_Graph1), *_FIELDS_1["graphs"].__metadata__]
DiffDocument1 = document_type("DumpDiffDocument", "sigcontract.diff", 1, DumpDiff.__doc__ or "", _FIELDS_1)


def wire_of_1(diff: DumpDiff) -> Any:
    """Return a diff as version 1."""
    fields = {name: getattr(diff, name) for name in _FIELDS_1}
    names = _Graph1.__struct_fields__
    fields["graphs"] = tuple(_Graph1(**{name: getattr(graph, name) for name in names}) for graph in diff.graphs)
    return DiffDocument1(document="sigcontract.diff", version=1, **fields)


def diff_of_1(document: Any) -> DumpDiff:
    """Return the diff of a version 1 document."""
    fields = {name: getattr(document, name) for name in _FIELDS_1}
    fields["graphs"] = tuple(
        GraphDiff(**({name: getattr(graph, name) for name in graph.__struct_fields__} | _NOT_OF_GRAPHS_IN_1))
        for graph in document.graphs
    )
    return DumpDiff(**(fields | _NOT_IN_1))
