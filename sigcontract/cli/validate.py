"""``sigcontract validate``: every fault of every file."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sigcontract.cli.output import write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.terminal import progress
from sigcontract.errors import RecordError, SigcontractError
from sigcontract.model import (
    FileFault,
    FileRemark,
    SignatureDump,
    ValidatedFile,
    ValidationReport,
)
from sigcontract.report import (
    counted,
    safe,
)
from sigcontract.update import unlaunchable
from sigcontract.wire import (
    MAX_DOCUMENT_BYTES,
    decode,
    document_bytes,
    escaped_name,
    faults,
    sniffed,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract validate server.dump.json              every fault with its path, or a summary
sigcontract validate ranks/*.dump.json.zst         many files; exit status 2 if any is invalid
"""


#: Most remarks shown per file.
_REMARKS: Final = 8


class _Checked(NamedTuple):
    """The result for one file."""

    file: str
    faults: Sequence[SigcontractError]
    #: The document it holds, None if invalid; the number of graphs if it is a dump.
    document: str | None = None
    version: int | None = None
    graphs: int | None = None
    #: Whether the writer of the dump exited cleanly; None if it is not a dump.
    complete: bool | None = None
    #: Valid, but cannot be right.
    remarks: Sequence[FileRemark] = ()


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(subparsers, "validate", summary="list every fault of files", example=_EXAMPLE)
    parser.add_argument("files", metavar="FILE", nargs="+", help="a dump, a profile or a diff, of any version")


def run(args: argparse.Namespace) -> int:
    """Check all files, also after an invalid one."""
    checked = [_check(file) for file in progress(args.files, str)]
    if args.format == "json":
        write_document(ValidationReport(files=tuple(map(_as_record, checked))))
    else:
        for found in checked:
            sys.stdout.writelines(f"{safe(line)}\n" for line in _lines(found))
    return Exit.ERROR if any(found.faults for found in checked) else Exit.OK


def _check(file: str) -> _Checked:
    try:
        data = document_bytes(file, MAX_DOCUMENT_BYTES)
        found = faults(data)
        if found:
            return _Checked(file, found)
        _, form = sniffed(data, MAX_DOCUMENT_BYTES)
        record = decode(data)
    except SigcontractError as error:
        return _Checked(file, [error])
    if not isinstance(record, SignatureDump):
        return _Checked(file, [], form.document, form.version)
    return _Checked(file, [], form.document, form.version, len(record.graphs), record.complete, list(_remarks(record)))


def _remarks(dump: SignatureDump) -> Iterator[FileRemark]:
    """Yield the first kernel of each graph that cannot be launched as recorded."""
    for entry in dump.graphs:
        found = list(unlaunchable(entry.graph))
        if found:
            more = f", and {len(found) - 1} more like it" if len(found) > 1 else ""
            message = (
                f"{found[0].path}: grid {found[0].grid} is not a multiple of cluster {found[0].cluster}"
                f"{more}; such a launch fails"
            )
            yield FileRemark(label=entry.label, message=message)


def _lines(found: _Checked) -> list[str]:
    if not found.faults:
        size = "" if found.graphs is None else f", {counted(found.graphs, 'graph')}"
        cut = ", incomplete: graphs after the last write are missing" if found.complete is False else ""
        remarks = [f"  remark: {remark.label}: {remark.message}" for remark in found.remarks[:_REMARKS]]
        if len(found.remarks) > _REMARKS:
            remarks.append(f"  and {counted(len(found.remarks) - _REMARKS, 'more remark')}; --format json lists them")
        return [f"{found.file}: valid {found.document} {found.version}{size}{cut}", *remarks]
    return [
        f"{found.file}: {counted(len(found.faults), 'fault')}",
        *(f"  error[{fault.code}]: {fault}" for fault in found.faults),
    ]


def _as_record(found: _Checked) -> ValidatedFile:
    return ValidatedFile(
        file=escaped_name(found.file),
        valid=not found.faults,
        document=found.document,
        version=found.version,
        graphs=found.graphs,
        complete=found.complete,
        remarks=tuple(found.remarks),
        faults=tuple(
            FileFault(
                code=fault.code,
                path=escaped_name(fault.path) if isinstance(fault, RecordError) else None,
                pointer=escaped_name(fault.pointer) if isinstance(fault, RecordError) else None,
                message=escaped_name(fault.reason if isinstance(fault, RecordError) else str(fault)),
            )
            for fault in found.faults
        ),
    )
