"""``sigcontract schema``: the JSON Schemas of the documents, and their TypeScript types."""

import argparse
import sys
from pathlib import Path

from sigcontract.cli.output import write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.errors import DecodeError, UsageError
from sigcontract.model import SchemaEntry, SchemaList
from sigcontract.report import (
    safe,
)
from sigcontract.wire import (
    FORMS,
    check_files,
    schema,
    schema_sha256,
    schema_text,
    typed_versions,
    typescript_types,
    write_files,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract schema                        list documents and versions
sigcontract schema sigcontract.dump       the schema of the version written by default
sigcontract schema sigcontract.dump 1     the schema of an older version
sigcontract schema sigcontract.dump --lang typescript > dump.d.ts
sigcontract schema --check schemas        exit status 1 if files differ from this release
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(subparsers, "schema", summary="list, print, write or check JSON Schemas", example=_EXAMPLE)
    parser.add_argument("document", metavar="DOCUMENT", nargs="?", help="print the schema of this document")
    parser.add_argument(
        "version", metavar="VERSION", nargs="?", type=int, help="this version instead of the one written by default"
    )
    parser.add_argument(
        "--lang",
        choices=("json", "typescript"),
        default="json",
        help="JSON Schema (the default), or TypeScript declarations",
    )
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--check", metavar="DIR", help="compare the files in a directory with this release")
    folder.add_argument("--write", metavar="DIR", help="write every schema and the index into a directory")


def run(args: argparse.Namespace) -> int:
    """List, print, write or check."""
    if args.document is not None:
        if args.check is not None or args.write is not None:
            raise UsageError("--check and --write cover every document; drop DOCUMENT or the option")
        written = typescript_types if args.lang == "typescript" else schema_text
        sys.stdout.write(written(args.document, args.version))
        return Exit.OK
    if args.lang == "typescript" and (args.check is not None or args.write is not None):
        raise UsageError("--check and --write apply to JSON Schemas only; name a DOCUMENT for its TypeScript types")
    if args.write is not None:
        write_files(Path(args.write))
        return _report(args, [])
    if args.check is not None:
        return _report(args, _out_of_step(Path(args.check)))
    return _list(args)


def _out_of_step(folder: Path) -> list[str]:
    try:
        return check_files(folder)
    except (KeyError, TypeError, ValueError) as error:
        msg = f"the index.json in {folder} is not a schema index; write the files into an empty directory"
        raise DecodeError(msg, code="malformed") from error


def _report(args: argparse.Namespace, wrong: list[str]) -> int:
    if args.format == "json":
        write_document(SchemaList(schemas=_entries("json"), out_of_step=tuple(wrong)))
    else:
        sys.stdout.writelines(f"{safe(line)}\n" for line in wrong or [f"{len(FORMS)} schemas up to date"])
    return Exit.GATE if wrong else Exit.OK


def _list(args: argparse.Namespace) -> int:
    entries = _entries(args.lang)
    if args.format == "json":
        write_document(SchemaList(schemas=entries, out_of_step=None))
    else:
        sys.stdout.writelines(f"{entry.document:<20} {entry.version}  {entry.sha256}\n" for entry in entries)
    return Exit.OK


def _entries(lang: str) -> tuple[SchemaEntry, ...]:
    return tuple(
        SchemaEntry(
            document=form.document,
            version=form.version,
            sha256=schema_sha256(schema(form.document, form.version)),
        )
        for form in FORMS.values()
        if lang == "json" or form.version in typed_versions(form.document)
    )
