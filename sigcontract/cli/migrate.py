"""``sigcontract migrate``: rewrite a document in the default version and the format of the suffix."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sigcontract.cli.output import refuse_to_overwrite, write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.model import LostField, Migration, SignatureDump
from sigcontract.report import (
    safe,
)
from sigcontract.wire import (
    WITH_ARGUMENTS,
    escaped_name,
    form_of,
    load,
    lost_fields,
    save,
    without_arguments,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract migrate old.dump.json new.dump.json                    an old version to the one written by default
sigcontract migrate server.dump.json server.dump.msgpack.zst       the same document, compressed
sigcontract migrate new.dump.json old.dump.json --to-version 1     for readers of version 1
"""


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "migrate",
        summary="upgrade a document to the version written by default, or change its format",
        example=_EXAMPLE,
    )
    parser.add_argument("source", metavar="FROM", help="a document of any version")
    parser.add_argument(
        "target", metavar="TO", help="output file; the suffix selects the format: .json or .msgpack, plus .gz or .zst"
    )
    parser.add_argument(
        "--to-version", type=int, metavar="N", help="write this version; an older one omits what it has no field for"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing TO")


def run(args: argparse.Namespace) -> int:
    """Read, upgrade and write; TO is written whole or not at all."""
    refuse_to_overwrite(args.target, force=args.force)
    document = load(args.source)
    form = form_of(document, args.to_version)
    written = document
    if isinstance(document, SignatureDump) and form.version < WITH_ARGUMENTS:
        written = without_arguments(document)
    save(written, args.target, version=form.version, force=args.force)
    size = Path(args.target).stat().st_size
    left_out = {} if form.lossless and written == document else lost_fields(document, load(args.target))
    if args.format == "json":
        report = Migration(
            source=escaped_name(args.source),
            target=escaped_name(args.target),
            target_document=form.document,
            target_version=form.version,
            target_bytes=size,
            left_out=tuple(LostField(field=field, count=count) for field, count in left_out.items()),
        )
        write_document(report)
    else:
        sys.stdout.write(f"{safe(args.target)}: {form.document} {form.version}, {size} bytes\n")
        sys.stdout.writelines(f"{line}\n" for line in _lines(left_out, form.version))
    return Exit.OK


def _lines(left_out: Mapping[str, int], version: int) -> Iterator[str]:
    """Yield the fields that the written version lacks, and the consequence."""
    if not left_out:
        return
    yield f"left out, because version {version} has no field for them (with the number of values):"
    yield from (f"  {field}  {count}" for field, count in left_out.items())
    yield "readers of the file see these values as unknown; unknown values never match"
