"""``sigcontract show``: show a dump with repeated blocks folded, or a driver profile."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import NamedTuple

from msgspec.structs import replace

from sigcontract.cli.output import write_document
from sigcontract.cli.parser import Exit, Subparsers, add_command
from sigcontract.cli.profiles import shipped
from sigcontract.cli.terminal import columns, use_color
from sigcontract.compare import (
    Block,
    FoldedBlock,
    fold,
)
from sigcontract.errors import FileError, UsageError
from sigcontract.model import (
    DriverProfile,
    Environment,
    GoneAddress,
    LabeledGraph,
    SignatureDump,
)
from sigcontract.report import (
    DumpViewer,
    FunctionNumbers,
    GraphArguments,
    NodeRow,
    argument_lines,
    counted,
    demangle,
    folded_rows,
    gone_lines,
    is_too_long,
    kernels_of,
    profile_html,
    profile_lines,
    programmatic_edges,
    recorded_line,
    rows,
    safe,
    show_html,
    summary_lines,
    table_lines,
    usual_attributes,
)
from sigcontract.update import (
    no_graph,
)
from sigcontract.wire import (
    Document,
    document_name,
    load,
    portable_digest,
)

__all__ = ["register", "run"]

_EXAMPLE = """\
sigcontract show server.dump.json                         every graph, repeated layers folded
sigcontract show server.dump.json --graph decode/bs=4     one graph
sigcontract show server.dump.json --nodes --attributes    every node with every launch attribute
sigcontract show server.dump.json --arguments             arguments of each kernel, and memory that is gone
sigcontract show server.dump.json --fail-on gone          exit status 1 if an address points to memory that is gone
"""


#: Most functions named of a graph that is not drawn again.
_SHOWN_FUNCTIONS = 4


class _GraphView(NamedTuple):
    """One graph as shown."""

    entry: LabeledGraph
    digest: str
    rows: list[NodeRow]
    blocks: list[Block]
    arguments: GraphArguments


def register(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "show",
        summary="show a dump's graphs, repeated blocks folded, or a profile",
        example=_EXAMPLE,
        formats=("text", "json", "html"),
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a dump of any version, a profile (.json or .msgpack, also .gz and .zst), or a shipped profile's id",
    )
    parser.add_argument(
        "--graph", action="append", default=[], metavar="LABEL", help="only this graph; may be repeated"
    )
    parser.add_argument("--nodes", action="store_true", help="every node, without folding")
    parser.add_argument(
        "--attributes", action="store_true", help="every launch attribute and function attribute of the nodes shown"
    )
    parser.add_argument(
        "--arguments",
        action="store_true",
        help="arguments of kernels: values, and the allocations that addresses point into; first, the addresses that "
        "point to memory that is gone",
    )
    parser.add_argument(
        "--fail-on",
        choices=("gone",),
        help="gone: exit status 1 if an address points to memory that is gone, 3 if that is unknown; standard error "
        "has the reason",
    )


def run(args: argparse.Namespace) -> int:
    """Show the file."""
    document = _document(args.file)
    if isinstance(document, DriverProfile):
        return _show_profile(document, args)
    if not isinstance(document, SignatureDump):
        raise UsageError(f"{args.file} holds a {document_name(type(document))}; show takes a dump or a profile")
    chosen = _chosen(document, args.graph)
    arguments = {id(entry.graph): GraphArguments(entry.graph) for entry in _distinct(chosen)}
    if args.format == "html":
        sys.stdout.write(show_html(replace(document, graphs=tuple(chosen))))
        return _status(args.fail_on, document, arguments.values())
    functions = FunctionNumbers([entry.graph for entry in document.graphs])
    views: list[_GraphView] = []
    view_of: dict[int, _GraphView] = {}
    for entry in chosen:  # equal graphs decode to one object
        known = view_of.get(id(entry.graph)) or _view(entry, functions, arguments[id(entry.graph)], args)
        view_of[id(entry.graph)] = known
        views.append(known._replace(entry=entry))
    if args.format == "json":
        viewer = DumpViewer(attributes=args.attributes, arguments=args.arguments)
        labels: dict[int, list[str]] = {}
        for view in views:
            labels.setdefault(id(view.entry.graph), []).append(view.entry.label)
        for number, view in view_of.items():
            viewer.add(view.entry.graph, labels[number], view.digest, view.rows, view.blocks, arguments=view.arguments)
        write_document(viewer.view(document))
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(document, views, args))
    return _status(args.fail_on, document, arguments.values())


def _show_profile(profile: DriverProfile, args: argparse.Namespace) -> Exit:
    if args.fail_on is not None:
        raise UsageError(f"--fail-on {args.fail_on} takes a dump; {args.file} is a profile")
    if args.format == "html":
        sys.stdout.write(profile_html(profile))
    elif args.format == "json":
        write_document(profile)
    else:
        sys.stdout.writelines(f"{line}\n" for line in profile_lines(profile, columns()))
    return Exit.OK


def _distinct(entries: Iterable[LabeledGraph]) -> Iterable[LabeledGraph]:
    return {id(entry.graph): entry for entry in entries}.values()


def _status(fail_on: str | None, dump: SignatureDump, arguments: Iterable[GraphArguments]) -> Exit:
    """Return the exit status of the gate: undetermined where a kernel's arguments or graphs are not recorded."""
    if fail_on is None:
        return Exit.OK
    found = list(arguments)
    if any(gone.certain for each in found for gone in each.gone):
        return Exit.GATE
    reasons = list(_not_known(dump, found))
    for reason in reasons:
        sys.stderr.write(f"sigcontract: show: --fail-on {fail_on}: undetermined: {reason}\n")
    return Exit.UNDETERMINED if reasons else Exit.OK


def _not_known(dump: SignatureDump, arguments: list[GraphArguments]) -> Iterator[str]:
    """Yield why it is unknown whether an address points to memory that is gone, and what to do."""
    if not arguments:
        yield "the dump has no graphs; record again"
    if not dump.complete:
        yield "the dump is incomplete: graphs after the last write are missing; record again and let the program finish"
    missing = sum(each.kernels - each.recorded for each in arguments)
    if missing:
        yield f"arguments of {counted(missing, 'kernel node')} are not recorded; record with --arguments"
    possible = sum(len(each.gone) for each in arguments)
    if possible:
        yield f"{counted(possible, 'word')} that may point to memory that is gone; see show --arguments"


def _document(name: str) -> Document:
    try:
        return load(name)
    except FileError:
        profile = shipped(name)
        if profile is None:
            raise
        return profile


def _chosen(dump: SignatureDump, labels: list[str]) -> list[LabeledGraph]:
    known = [entry.label for entry in dump.graphs]
    for label in labels:
        if label not in known:
            raise no_graph(label, known, "the dump")
    return [entry for entry in dump.graphs if not labels or entry.label in labels]


def _view(
    entry: LabeledGraph, functions: FunctionNumbers, arguments: GraphArguments, args: argparse.Namespace
) -> _GraphView:
    lines = (lambda path: argument_lines(arguments.of(path))) if args.arguments else None
    shown = list(rows(entry.graph, functions, arguments=lines))
    blocks = [Block(0, len(shown), 1)] if args.nodes else fold([row.shown for row in shown])
    return _GraphView(entry, portable_digest(entry.graph), shown, blocks, arguments)


def _lines(dump: SignatureDump, views: list[_GraphView], args: argparse.Namespace) -> Iterator[str]:
    bold, plain = ("\x1b[1m", "\x1b[0m") if use_color(sys.stdout) else ("", "")
    width = columns()
    yield from _wrapped(_environment_lines(dump), width)
    distinct = {id(view.entry.graph): view.entry.graph for view in views}
    everywhere = kernels_of(distinct.values())
    usual_everywhere = usual_attributes(everywhere)
    summaries = {number: graph.summary for number, graph in distinct.items()}
    general = list(summary_lines(everywhere, parts=False))
    yield from _wrapped(general, width)
    yield from _wrapped(_names_kept({node.name for node in everywhere}), width)
    yield from _wrapped(_argument_lines(views, args), width)
    first: dict[str, _GraphView] = {}
    for view in views:
        label = safe(view.entry.label)
        yield ""
        programmatic = programmatic_edges(view.entry.graph)
        edges = f" ({programmatic} programmatic)" if programmatic else ""
        head = f"{label}: {summaries[id(view.entry.graph)]}{edges}, {_digest_start(view.digest)}"
        for line in _wrapped([head], width):
            yield line.replace(label, f"{bold}{label}{plain}", 1) if bold else line
        twin = first.setdefault(view.digest, view)
        if twin is not view and not args.nodes:
            others = _other_functions(twin, view)
            yield from _wrapped(
                [f"same as {safe(twin.entry.label)} except handles and addresses{others}"], width, indent="  "
            )
            continue
        kernels = kernels_of([view.entry.graph])
        yield from _wrapped((line for line in summary_lines(kernels) if line not in general), width, indent="  ")
        usual = {**usual_everywhere, **usual_attributes(kernels)}
        whole = [FoldedBlock(block=Block(0, len(view.rows), 1), tail=0)]
        blocks = whole if args.nodes else folded_rows(view.rows)
        table = table_lines(view.rows, blocks, width - 2, usual=usual, attributes=args.attributes)
        yield from (f"  {line}" for line in table)


def _argument_lines(views: list[_GraphView], args: argparse.Namespace) -> Iterator[str]:
    """Yield of how many kernels the arguments are recorded, and the addresses that point to memory that is gone."""
    distinct = {id(view.entry.graph): view for view in views}
    arguments = [view.arguments for view in distinct.values()]
    recorded = sum(each.recorded for each in arguments)
    if recorded or args.arguments:
        yield recorded_line(recorded, sum(each.kernels for each in arguments))
    gone = [address for each in arguments for address in each.gone]
    if gone:
        more = "" if args.arguments or args.fail_on else " (--arguments lists them)"
        yield f"{_pointing(gone)} to memory that is gone{more or ':'}"
    if args.arguments or args.fail_on:
        found = ((view.entry.label, view.arguments.gone) for view in distinct.values())
        yield from (f"  {line}" for line in gone_lines(found))


def _pointing(gone: list[GoneAddress]) -> str:
    """Return ``2 addresses point``, ``1 address may point``, ``2 addresses point, and 1 may point,``."""
    certain = sum(address.certain for address in gone)
    possible = len(gone) - certain
    if not certain:
        return f"{possible} address{'' if possible == 1 else 'es'} may point"
    point = "1 address points" if certain == 1 else f"{certain} addresses point"
    return f"{point}, and {possible} may point," if possible else point


def _names_kept(names: set[str]) -> Iterator[str]:
    """Yield how many names are shown mangled, because demangling makes them too long."""
    kept = sum(map(is_too_long, names))
    if kept:
        yield f"{counted(kept, 'kernel name')} shown mangled: demangling makes them many times longer"


def _other_functions(first: _GraphView, view: _GraphView) -> str:
    """Return the functions in which two graphs of one digest differ; several functions may share a name."""
    if first.entry.graph is view.entry.graph:
        return ""
    marks = {
        f"{safe(demangle(row.subject))} {row.function}": None
        for known, row in zip(first.rows, view.rows, strict=True)
        if known.function != row.function
    }
    more = f" and {len(marks) - _SHOWN_FUNCTIONS} more" if len(marks) > _SHOWN_FUNCTIONS else ""
    return f"; with other functions: {', '.join([*marks][:_SHOWN_FUNCTIONS])}{more}" if marks else ""


def _wrapped(lines: Iterable[str], width: int, *, indent: str = "") -> Iterator[str]:
    """Yield lines wrapped at spaces, continuation lines indented."""
    for line in lines:
        yield from wrap(line, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _environment_lines(dump: SignatureDump) -> Iterator[str]:
    environment = dump.environment
    state = "complete" if dump.complete else "INCOMPLETE: graphs after the last write are missing"
    writer = safe(f"sigcontract {environment.sigcontract_version}, {environment.created_at}")
    yield f"{counted(len(dump.graphs), 'graph')}, {state}; written by {writer}"
    yield from (safe(line) for line in _provenance(environment))
    yield f"driver profile: {safe(dump.profile) if dump.profile else 'none'}"


def _provenance(environment: Environment) -> Iterator[str]:
    process = [
        f"host {environment.hostname}" if environment.hostname else "",
        f"process {environment.process_id}" if environment.process_id is not None else "",
        f"rank {environment.rank} of {environment.world_size}" if environment.rank is not None else "",
    ]
    if any(process):
        yield ", ".join(filter(None, process))
    version = environment.cuda_driver_version
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}" if version is not None else "unknown CUDA version"
    display = f", driver {environment.display_driver_version}" if environment.display_driver_version else ""
    devices = "".join(
        f"; device {device.ordinal} {device.name} ({device.compute_capability_major}.{device.compute_capability_minor})"
        for device in environment.devices
    )
    yield f"{cuda}{display}{devices}"
    if environment.libraries:
        yield ", ".join(f"{library.name} {library.version}" for library in environment.libraries)


def _digest_start(digest: str) -> str:
    """Return the first characters of a digest."""
    return digest[: len("sha256:") + 12]
