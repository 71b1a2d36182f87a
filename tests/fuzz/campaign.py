"""A run of many documents through every entry point: what is raised is ours, and all of them agree.

The run is guided by what documents show: where one meets a new fault, or a new set of rules, it joins the documents
that later ones are made from. That is coarser than the coverage of lines, and costs nothing.
"""

import io
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from sigcontract.cli.main import main as command
from sigcontract.compare.dumps import diff
from sigcontract.errors import RecordError, SigcontractError
from sigcontract.model.dump import SignatureDump
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import POLICIES
from sigcontract.update.predict import predict_update
from sigcontract.wire import codec
from sigcontract.wire.canonical import canonical_bytes, digest, portable_digest
from tests.fuzz.mutation import mutated, seeds, spelled

__all__ = ["Failure", "campaign", "check"]

#: Documents that the run makes others from, beside those that it began with.
_POOL = 4000
_INDEX = re.compile(r"[0-9]+")


class Failure(NamedTuple):
    """A document that something was wrong with, and what."""

    data: bytes
    what: str


class _DisagreementError(AssertionError):
    """Two ways to look at one document do not say the same."""


def campaign(seed: int, count: int, progress: Callable[[int], None] = lambda _: None) -> Iterator[Failure]:
    """Check documents made from a seed, the same ones each time, and yield those that fail."""
    random = Random(seed)  # noqa: S311  no secret: the same documents are wanted again
    pool = seeds()
    first = len(pool)
    seen: set[Any] = set()
    for number in range(count):
        value = mutated(random.choice(pool), pool, random)
        data = spelled(value, random)
        progress(number)
        try:
            shown = check(data, random.randrange(2**30))
        except Exception:  # noqa: BLE001  whatever it is, it should not have left the package
            yield Failure(data, traceback.format_exc())
            continue
        if shown not in seen and shown[0] != "nesting":
            seen.add(shown)
            if len(pool) - first < _POOL:
                pool.append(value)
            else:
                pool[first + random.randrange(_POOL)] = value


def check(data: bytes, choice: int = 0) -> Any:
    """Look at a document in every way, and return what it shows, for comparison with others.

    Parameters
    ----------
    data
        The document.
    choice
        Which policies and formats are taken, where there is more than one.

    Raises
    ------
    Exception
        Something left the package that is no `SigcontractError`, or two ways disagree.
    """
    faults = codec.faults(data)
    try:
        found = codec.decode(data, verify=True)
    except RecordError as error:
        if {fault.code for fault in faults} == {"digest"}:
            return check(codec.encode(codec.decode(data)), choice)  # which has the right ones
        if not faults:
            raise _DisagreementError("decode refuses what has no faults") from error
        return error.code, _INDEX.sub("", error.path), _INDEX.sub("", error.reason)[:40]
    if faults:
        raise _DisagreementError(f"decode reads what has faults: {faults[0]}")
    for format_ in ("json", "msgpack"):
        again = codec.encode(found, format=format_)
        if codec.decode(again) != found or codec.encode(codec.decode(again), format=format_) != again:
            raise _DisagreementError(f"what is written as {format_} is not what is read")
    codec.validate(found)
    if not isinstance(found, SignatureDump):
        return type(found).__name__, len(data).bit_length()
    return _dump_shows(found, data, choice)


def _dump_shows(dump: SignatureDump, data: bytes, choice: int) -> Any:
    rules: set[str] = set()
    ways: list[Callable[[], Any]] = [
        lambda: canonical_bytes(dump),
        lambda: [(digest(entry.graph), portable_digest(entry.graph)) for entry in dump.graphs],
        lambda: codec.encode(dump, version=1),
        lambda: group_dumps([dump, dump], POLICIES),
        lambda: _shown(data, choice),
    ]
    policy = POLICIES[choice % len(POLICIES)]
    for call in ways:
        _ours(call)
    for other in _others(dump):
        told = _ours(partial(diff, dump, other, policy=policy))
        if told is not None:
            codec.decode(codec.encode(told))
            rules.update(finding.rule for finding in told.findings)
    for entry in dump.graphs[:2]:
        told = _ours(partial(predict_update, dump.graphs[-1].graph, entry.graph))
        if told is not None:
            rules.update(finding.rule for finding in told.findings)
    return "dump", frozenset(rules)


def _others(dump: SignatureDump) -> Iterator[SignatureDump]:
    """Yield dumps to compare with: of another process, and with its graphs under each other's labels."""
    environment = msgspec.structs.replace(dump.environment, process_id=1)
    yield msgspec.structs.replace(dump, environment=environment)
    turned = [*dump.graphs[1:], *dump.graphs[:1]]
    graphs = tuple(
        msgspec.structs.replace(entry, graph=other.graph) for entry, other in zip(dump.graphs, turned, strict=True)
    )
    yield msgspec.structs.replace(dump, environment=environment, graphs=graphs)


def _shown(data: bytes, choice: int) -> None:
    suffix = "json" if data.lstrip()[:1] == b"{" else "msgpack"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"x.{suffix}"
        file.write_bytes(data)
        out = io.StringIO()
        with redirect_stdout(out):
            more = [["--nodes"], ["--format", "json"], ["--attributes"], []][choice % 4]
            status = command(["show", str(file), *more])
        if status:
            raise _DisagreementError(f"show ends with {status} for a dump that decodes")
        if any(ord(character) < 0x20 and character != "\n" for character in out.getvalue()):
            raise _DisagreementError("show prints a control character")


def _ours(call: Callable[[], Any]) -> Any:
    """Return what a call returns, None where it raises an error of the package."""
    try:
        return call()
    except SigcontractError:
        return None
