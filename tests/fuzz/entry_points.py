"""What a document meets: every entry point of the package, with what each must do and where two must agree.

Of the entry points that only a valid document comes to, each document meets some, drawn by ``choice``: over a campaign
all of them meet all kinds.
"""

import gzip
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, TypeVar
from unittest.mock import patch

from msgspec.structs import replace

from sigcontract.cli.main import main as command
from sigcontract.compare.dumps import diff
from sigcontract.errors import RecordError, SigcontractError
from sigcontract.model.dump import SignatureDump
from sigcontract.model.profile import DriverProfile
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import POLICIES
from sigcontract.update.predict import predict_update
from sigcontract.wire import codec
from sigcontract.wire.arguments import has_arguments, redacted, without_arguments
from sigcontract.wire.canonical import canonical_bytes, digest, portable_digest
from sigcontract.wire.decoding import sniffed
from sigcontract.wire.fault_list import listed_by_pydantic

__all__ = ["Bench", "Shown", "check"]

T = TypeVar("T")

_CORPUS = Path(__file__).parents[1] / "corpus"
_INDEX = re.compile(r"[0-9]+")
#: What turns a terminal's text around or moves its cursor.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RUNNER_COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
#: Characters of an error: a path, a reason and what both are put into.
_MOST_ERROR = 700
_GATED = {0, 1, 3}


class DisagreementError(AssertionError):
    """Two ways to look at one document do not agree, or one is not what it should be."""


class Bench:
    """Where documents are looked at: a folder for those that are read as files, and a count for each entry point."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The entry point at hand.
        self.at = ""
        self.calls: Counter[str] = Counter()
        graphs = codec.load(_CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json", expect=SignatureDump).graphs
        self.graphs = [entry.graph for entry in graphs]

    def enter(self, name: str) -> None:
        """Count a call of an entry point, which what is raised from here on belongs to."""
        self.at = name
        self.calls[name] += 1


class Shown(NamedTuple):
    """What a document shows, for comparison with others."""

    facts: tuple[str | int, ...]
    valid: bool = True


class Choice:
    """A number that stands for a sequence of choices."""

    def __init__(self, number: int) -> None:
        self._number = number

    def of(self, options: Sequence[T]) -> T:
        """Return the next one."""
        self._number, index = divmod(self._number, len(options))
        return options[index]

    def one_in(self, count: int) -> bool:
        """Say yes as often as that."""
        self._number, index = divmod(self._number, count)
        return index == 0


def check(data: bytes, bench: Bench, choice: int = 0) -> Shown:
    """Look at a document in many ways, and return what it shows, for comparison with others.

    Raises
    ------
    Exception
        Something left the package that is no `SigcontractError`, or two ways disagree; ``bench.at`` is which.
    """
    choose = Choice(choice)
    bench.enter("faults")
    faults = codec.faults(data)
    bench.enter("decode")
    try:
        found = codec.decode(data, verify=True)
    except RecordError as error:
        if {fault.code for fault in faults} == {"digest"}:
            unverified = codec.decode(data)
            bench.enter("encode")
            return check(codec.encode(unverified), bench, choice)  # which has the right ones
        if not faults:
            raise DisagreementError("decode refuses what has no faults") from error
        _refused(error, faults, data, bench, choose)
        facts = error.code, _INDEX.sub("", error.path), _INDEX.sub("", error.reason)[:40]
        return Shown(facts, valid=False)
    if faults:
        raise DisagreementError(f"decode reads what has faults: {faults[0]}")
    if choose.one_in(4):
        bench.enter("pydantic")
        if _pydantic_faults(data):
            raise DisagreementError("pydantic finds faults in what decode reads")
    _round_trip(found, bench, choose)
    bench.enter("validate")
    codec.validate(found)
    if isinstance(found, SignatureDump):
        return _dump_shows(found, data, bench, choose)
    return _other_shows(found, data, bench, choose)


def _other_shows(found: codec.Document, data: bytes, bench: Bench, choose: Choice) -> Shown:
    """Look at a document that is no dump."""
    if choose.one_in(4):
        bench.enter("canonical_bytes")
        _ours(lambda: canonical_bytes(found))
    if isinstance(found, DriverProfile):
        bench.enter("predict_update with a profile")
        held, candidate = choose.of(bench.graphs), choose.of(bench.graphs)
        _ours(lambda: predict_update(held, candidate, profile=found))
    if choose.one_in(32):
        file = _file(bench, "old", data)
        kinds = [["validate", file], ["migrate", file, str(bench.folder / "new.msgpack"), "--force"]]
        if isinstance(found, DriverProfile):
            kinds.append(["show", file])
        _command(choose.of(kinds), {0}, bench, choose)
    return Shown((type(found).__name__, len(data).bit_length()))


def _pydantic_faults(data: bytes) -> list[RecordError]:
    text, form = sniffed(data, len(data))
    return listed_by_pydantic(form, data, text=text)


def _refused(error: RecordError, faults: list[RecordError], data: bytes, bench: Bench, choose: Choice) -> None:
    for fault in (error, *faults):
        if len(str(fault)) > _MOST_ERROR:
            raise DisagreementError("an error carries too much of the document")
        if fault.code == "memory":
            raise DisagreementError("not enough memory for a small document")
    if not choose.one_in(64):
        return
    file = _file(bench, "old", data)
    _command([choose.of(("validate", "show")), file], {2}, bench, choose)
    bench.enter("read_header")
    _ours(lambda: codec.read_header(file))
    bench.enter("load")
    damaged = bytearray(gzip.compress(data, 1))
    damaged[choose.of(range(len(damaged)))] ^= 1
    del damaged[len(damaged) - choose.of((0, 0, 1, 9)) :]
    Path(f"{file}.gz").write_bytes(damaged)
    _ours(lambda: codec.load(f"{file}.gz"))


def _round_trip(found: codec.Document, bench: Bench, choose: Choice) -> None:
    format_: codec.Format = choose.of(("json", "msgpack"))
    bench.enter(f"encode as {format_}")
    written = codec.encode(found, format=format_)
    again = codec.decode(written)
    if again != found or (choose.one_in(4) and codec.encode(again, format=format_) != written):
        raise DisagreementError(f"what is written as {format_} is not what is read")


def _dump_shows(dump: SignatureDump, data: bytes, bench: Bench, choose: Choice) -> Shown:
    rules: set[str] = set()
    ways = [_canonical, _digests, _version_1, _arguments, _groups, _diff, _diff, _predict, _predict]
    for way in choose.of(ways), choose.of(ways):
        rules.update(way(dump, bench, choose))
    if choose.one_in(8):
        _show_files(dump, data, bench, choose)
    return Shown(tuple(sorted(rules)))


def _canonical(dump: SignatureDump, bench: Bench, _: Choice) -> tuple[()]:
    bench.enter("canonical_bytes")
    _ours(lambda: canonical_bytes(dump))
    return ()


def _digests(dump: SignatureDump, bench: Bench, _: Choice) -> tuple[()]:
    bench.enter("digest")
    for entry in dump.graphs:
        digest(entry.graph)
        portable_digest(entry.graph)
    return ()


def _version_1(dump: SignatureDump, bench: Bench, _: Choice) -> tuple[()]:
    bench.enter("encode as version 1")
    _ours(lambda: codec.encode(dump, version=1))
    return ()


def _arguments(dump: SignatureDump, bench: Bench, _: Choice) -> tuple[()]:
    bench.enter("encode as version 3")
    if codec.decode(codec.encode(dump, version=3)) != dump:
        raise DisagreementError("what is written as version 3 is not what is read")
    bench.enter("redacted")
    hidden = redacted(dump)
    if redacted(hidden) != hidden or codec.decode(codec.encode(hidden, version=3), verify=True) != hidden:
        raise DisagreementError("a redacted dump is not what is read")
    bench.enter("without_arguments")
    bare = without_arguments(dump)
    if has_arguments(bare) or without_arguments(hidden) != bare:
        raise DisagreementError("arguments are left")
    codec.encode(bare, version=2)
    return ()


def _groups(dump: SignatureDump, bench: Bench, choose: Choice) -> tuple[()]:
    bench.enter("groups")
    _ours(lambda: group_dumps([dump, dump], [choose.of(POLICIES)]))
    return ()


def _diff(dump: SignatureDump, bench: Bench, choose: Choice) -> Iterator[str]:
    bench.enter("diff")
    told = _ours(lambda: diff(dump, _another(dump, choose), policy=choose.of(POLICIES)))
    if told is not None:
        bench.enter("encode of a diff")
        codec.decode(codec.encode(told))
        yield from (finding.rule for finding in told.findings)


def _predict(dump: SignatureDump, bench: Bench, choose: Choice) -> Iterator[str]:
    if dump.graphs:
        bench.enter("predict_update")
        held, candidate = choose.of(dump.graphs), choose.of(dump.graphs)
        told = _ours(lambda: predict_update(held.graph, candidate.graph))
        yield from () if told is None else (finding.rule for finding in told.findings)


def _another(dump: SignatureDump, choose: Choice) -> SignatureDump:
    """Return a dump of another process, or one with its graphs under each other's labels besides."""
    environment = replace(dump.environment, process_id=1)
    if choose.one_in(2):
        return replace(dump, environment=environment)
    turned = [*dump.graphs[1:], *dump.graphs[:1]]
    graphs = tuple(replace(entry, graph=other.graph) for entry, other in zip(dump.graphs, turned, strict=True))
    return replace(dump, environment=environment, graphs=graphs)


def _show_files(dump: SignatureDump, data: bytes, bench: Bench, choose: Choice) -> None:
    """Put a dump to one of the commands, and to the readers of files."""
    file = _file(bench, "old", data)
    bench.enter("read_header")
    if codec.read_header(file).complete != dump.complete:
        raise DisagreementError("the header is not that of the dump")
    kind = choose.of(("show", "show", "validate", "migrate", "diff", "groups", "predict", "fleet"))
    form = choose.of(("text", "json"))
    if kind == "show":
        more = choose.of(([], ["--nodes"], ["--attributes"], ["--arguments"]))
        _command(["show", file, "--format", form, *more], {0}, bench, choose)
    elif kind == "validate":
        _command(["validate", file, "--format", form], {0}, bench, choose)
    elif kind == "migrate":
        target = bench.folder / choose.of(("new.json", "new.msgpack.gz"))
        _command(["migrate", file, str(target), "--force", "--format", form], {0}, bench, choose)
        bench.enter("load")
        if codec.load(target, verify=True) != dump:
            raise DisagreementError("the migrated dump is another")
    elif kind == "diff":
        new = _file(bench, "new", codec.encode(_another(dump, choose)))
        form = choose.of(("text", "json", "markdown", "github"))
        _command(["diff", file, new, "--policy", choose.of(POLICIES), "--format", form], _GATED, bench, choose)
    elif kind == "groups":
        _command(["groups", file, file, "--policy", choose.of(POLICIES), "--format", form], _GATED, bench, choose)
    elif kind == "predict" and dump.graphs:
        labels = f"--held={choose.of(dump.graphs).label}", f"--candidate={choose.of(dump.graphs).label}"
        _command(["predict", file, *labels, "--format", form], _GATED, bench, choose)
    elif kind == "fleet":
        new = _file(bench, "new", codec.encode(_another(dump, choose)))
        form = choose.of(("text", "json", "markdown"))
        _command(["fleet", file, new, "--format", form], _GATED, bench, choose)


def _file(bench: Bench, name: str, data: bytes) -> str:
    file = bench.folder / f"{name}.{'json' if data.lstrip()[:1] == b'{' else 'msgpack'}"
    file.write_bytes(data)
    return str(file)


def _command(arguments: list[str], statuses: set[int], bench: Bench, choose: Choice) -> None:
    """Run a command line, on GitHub's runner or not, and look at its status and all that it writes."""
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "text"
    bench.enter(f"{arguments[0]} as {form}")
    runner = choose.one_in(2)
    out, err = io.StringIO(), io.StringIO()
    environment = patch.dict(os.environ, {"GITHUB_ACTIONS": "true" if runner else ""})
    with environment, redirect_stdout(out), redirect_stderr(err):
        status = command(arguments)
    if status not in statuses:
        raise DisagreementError(f"{arguments} ends with {status}: {err.getvalue()}")
    for text in out.getvalue(), err.getvalue():
        if _CONTROLS.search(text):
            raise DisagreementError(f"{arguments} prints a control character")
        if runner and form != "github" and _RUNNER_COMMAND.search(text):
            raise DisagreementError(f"{arguments} prints a command of the runner")
    if form == "json" and out.getvalue():
        json.loads(out.getvalue())


def _ours(call: Callable[[], T]) -> T | None:
    """Return what a call returns, None where it raises an error of the package."""
    try:
        return call()
    except SigcontractError:
        return None
