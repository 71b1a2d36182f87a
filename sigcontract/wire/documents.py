"""The documents and their versions: layout, checks, and conversion to records and back."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from sigcontract.errors import RecordError, UsageError, VersionError
from sigcontract.model import (
    CheckReport,
    Contract,
    DriverProfile,
    DumpDiff,
    DumpView,
    FleetQueryResult,
    FleetReport,
    GraphPrediction,
    GroupsReport,
    Migration,
    RankDiffs,
    Record,
    RecordingReport,
    ReviewReport,
    RuleList,
    SchemaList,
    SignatureDump,
    ValidationReport,
)
from sigcontract.wire import diffs, upgrade, v1, v2, v3
from sigcontract.wire.envelope import defaults_of, document_type, fields_of

__all__ = ["FORMS", "Document", "Form", "default_version", "document_name", "form_named", "form_of"]

#: The record types that files hold.
Document = (
    SignatureDump
    | DriverProfile
    | DumpDiff
    | GroupsReport
    | GraphPrediction
    | FleetReport
    | RankDiffs
    | FleetQueryResult
    | DumpView
    | ValidationReport
    | Migration
    | RuleList
    | SchemaList
    | RecordingReport
    | ReviewReport
    | Contract
    | CheckReport
)


class Form:
    """One version of one document."""

    def __init__(  # noqa: PLR0913  one argument per property of a form
        self,
        document: str,
        version: int,
        wire: type[Record],
        *,
        record: type[Record],
        record_of: Callable[[Any], Any],
        wire_of: Callable[[Any], Any],
        problems: Callable[[Any], Iterator[RecordError]] = lambda _: iter(()),
        false_digests: Callable[[Any, Any], Iterator[RecordError]] = lambda *_: iter(()),
        lossless: bool = True,
        on_request: bool = False,
        for_generators: bool = False,
        decoded: type[Record] | None = None,
        finished: Callable[[Any, bool], Any] = lambda document, _: document,
        by_hand: bool = False,
    ) -> None:
        self.document = document
        self.version = version
        #: The wire type, decoded and encoded.
        self.wire = wire
        #: Converts a document of this form to its record.
        self.record = record
        self.record_of = record_of
        self.wire_of = wire_of
        #: Yields contradictions in a well-typed document.
        self.problems = problems
        #: Yields digests of a document that do not match its record.
        self.false_digests = false_digests
        #: Whether a document of this form holds its whole record.
        self.lossless = lossless
        #: Whether it is written only where its version is asked for.
        self.on_request = on_request
        #: Whether its schema is one that generators of types take: its unions are of tagged records.
        self.for_generators = for_generators
        #: Whether people write it, so fields with a default are optional.
        self.by_hand = by_hand
        self._decoded = wire if decoded is None else decoded
        self._finished = finished

    def decode(self, data: bytes, *, text: bool) -> Any:
        """Decode bytes whose nesting was checked. Raises as msgspec, or RecordError."""
        decoder = self._json if text else self._msgpack
        return self._finished(decoder.decode(data), text)

    @cached_property
    def json(self) -> msgspec.json.Decoder[Any]:
        """A strict decoder of the JSON form, without the limits of `decode`."""
        return msgspec.json.Decoder(self.wire)

    @cached_property
    def _json(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self._decoded)

    @cached_property
    def _msgpack(self) -> msgspec.msgpack.Decoder[Any]:
        return msgspec.msgpack.Decoder(self._decoded)


def _flat(document: str, version: int, record: type[Record]) -> Form:
    """Return the form of a document that is a record in an envelope."""
    fields = record.__struct_fields__
    doc, name = record.__doc__ or "", f"{record.__name__}Document"
    defaults = defaults_of(record)
    wire = document_type(name, document, version, doc, fields_of(record), defaults=defaults)

    def wire_of(value: Any) -> Any:
        return wire(document=document, version=version, **{name: getattr(value, name) for name in fields})

    def record_of(value: Any) -> Any:
        return record(**{name: getattr(value, name) for name in fields})

    return Form(document, version, wire, record=record, record_of=record_of, wire_of=wire_of, by_hand=bool(defaults))


def _before(document: str, version: int, record: type[Record], added: Mapping[str, Any]) -> Form:
    """Return the form of a record before fields were added, with the value each has for a document without it."""
    fields = {name: kind for name, kind in fields_of(record).items() if name not in added}
    wire = document_type(f"{record.__name__}Document", document, version, record.__doc__ or "", fields)

    def wire_of(value: Any) -> Any:
        return wire(document=document, version=version, **{name: getattr(value, name) for name in fields})

    def record_of(value: Any) -> Any:
        return record(**{name: getattr(value, name) for name in fields}, **added)

    return Form(document, version, wire, record=record, record_of=record_of, wire_of=wire_of, lossless=False)


FORMS: dict[tuple[str, int], Form] = {
    (form.document, form.version): form
    for form in (
        Form(
            "sigcontract.dump",
            1,
            v1.DumpDocument1,
            record=SignatureDump,
            record_of=upgrade.upgraded_from_1,
            wire_of=upgrade.downgraded_to_1,
            problems=v1.problems,
            lossless=False,
        ),
        Form(
            "sigcontract.dump",
            2,
            v2.DumpDocument,
            record=SignatureDump,
            record_of=v2.dump_of,
            wire_of=v2.wire_of,
            problems=v2.problems,
            false_digests=v2.false_digests,
            decoded=v2.UnreadDumpDocument,
            finished=v2.with_extensions_read,
        ),
        Form(
            "sigcontract.dump",
            3,
            v3.DumpDocument,
            record=SignatureDump,
            record_of=v3.dump_of,
            wire_of=v3.wire_of,
            problems=v3.problems,
            false_digests=v2.false_digests,
            on_request=True,
            for_generators=True,
            decoded=v3.UnreadDumpDocument,
            finished=v3.with_extensions_read,
        ),
        _before("sigcontract.profile", 1, DriverProfile, {"exec_state": "unknown"}),
        _flat("sigcontract.profile", 2, DriverProfile),
        Form(
            "sigcontract.diff",
            1,
            diffs.DiffDocument1,
            record=DumpDiff,
            record_of=diffs.diff_of_1,
            wire_of=diffs.wire_of_1,
            lossless=False,
        ),
        Form(
            "sigcontract.diff",
            2,
            diffs.DiffDocument,
            record=DumpDiff,
            record_of=diffs.diff_of,
            wire_of=diffs.wire_of,
            problems=diffs.problems,
        ),
        _flat("sigcontract.groups", 1, GroupsReport),
        _flat("sigcontract.prediction", 1, GraphPrediction),
        _flat("sigcontract.fleet", 1, FleetReport),
        _flat("sigcontract.fleet-diff", 1, RankDiffs),
        _flat("sigcontract.fleet-query", 1, FleetQueryResult),
        _flat("sigcontract.show", 1, DumpView),
        _flat("sigcontract.validation", 1, ValidationReport),
        _flat("sigcontract.migration", 1, Migration),
        _flat("sigcontract.rules", 1, RuleList),
        _flat("sigcontract.review", 1, ReviewReport),
        _flat("sigcontract.schemas", 1, SchemaList),
        _flat("sigcontract.recording", 1, RecordingReport),
        _flat("sigcontract.contract", 1, Contract),
        _flat("sigcontract.check", 1, CheckReport),
    )
}


def form_named(document: str, version: int) -> Form:
    """Return the form of that name and version.

    Raises
    ------
    VersionError
        The document (code ``document``) or version (code ``version``) is unknown to this release.
    """
    form = FORMS.get((document, version))
    if form is not None:
        return form
    versions = tuple(number for name, number in FORMS if name == document)
    if not versions:
        raise VersionError(
            f"unknown document {document!r}; `sigcontract schema` lists those that this release reads",
            document=document,
            found=version,
            supported=(),
            path="$.document",
            code="document",
        )
    advice = "upgrade sigcontract" if version > max(versions) else "no such version exists"
    raise VersionError(
        f"unknown {document} version {version}; this release reads {', '.join(map(str, versions))}; {advice}",
        document=document,
        found=version,
        supported=versions,
    )


def form_of(record: Record, version: int | None = None) -> Form:
    """Return the form of a record in that version, by default `default_version`. Raises UsageError for none."""
    forms = {form.version: form for form in FORMS.values() if form.record is type(record)}
    if not forms:
        raise UsageError(f"{type(record).__name__} is not a document")
    name = next(iter(forms.values())).document
    if version is not None and version not in forms:
        raise UsageError(f"{name} is written as version {' or '.join(map(str, sorted(forms)))}, not {version}")
    return forms[default_version(name) if version is None else version]


def default_version(document: str) -> int:
    """Return the version that a document is written as: the newest that is no draft; 0 if there is no such document."""
    return max(
        (form.version for form in FORMS.values() if form.document == document and not form.on_request), default=0
    )


def document_name(record: type[Record]) -> str:
    """Return the document name of a record type, or the type's own name."""
    return next((form.document for form in FORMS.values() if form.record is record), record.__name__)
