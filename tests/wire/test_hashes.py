"""Python's hash of numbers and records is the same everywhere: none of a file's records is a key of a table."""

import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.compare.dumps import diff
from sigcontract.model.dump import SignatureDump
from sigcontract.model.record import Record
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import POLICIES
from sigcontract.wire import codec
from sigcontract.wire.canonical import canonical_bytes, digest, portable_digest
from tests.wire.families import FAMILIES, encoded

PACKAGE = str(Path(codec.__file__).parents[1])
EXAMPLES = Path(__file__).parents[2] / "examples"
DUMPS = sorted(EXAMPLES.glob("*.dump.json"))[:6]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect where in the package a record is hashed."""
    found: list[str] = []

    def noted(self: Record) -> int:
        frame = sys._getframe(1)
        while frame.f_back is not None and not frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        if frame.f_back is not None:
            found.append(f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno} {type(self).__name__}")
        return id(type(self))

    monkeypatch.setattr(Record, "__hash__", noted)
    return found


def dumps() -> Iterator[SignatureDump]:
    for file in DUMPS:
        yield codec.load(file, expect=SignatureDump)
    for make in FAMILIES.values():
        yield codec.decode(encoded(make(6)), expect=SignatureDump)


@pytest.mark.parametrize("dump", list(dumps()), ids=[*(file.name for file in DUMPS), *FAMILIES])
def test_no_record_of_a_file_is_hashed(dump: SignatureDump, hashed: list[str], tmp_path: Path) -> None:
    other = replace(dump, environment=replace(dump.environment, process_id=77, hostname="other"))
    old, new = str(tmp_path / "old.json"), str(tmp_path / "new.msgpack")
    codec.save(dump, old)
    codec.save(other, new)
    codec.load(new, verify=True)
    canonical_bytes(dump)
    for entry in dump.graphs:
        digest(entry.graph)
        portable_digest(entry.graph)
    for policy in POLICIES:
        diff(dump, other, policy=policy)
    group_dumps([dump, other])
    for arguments in (
        ["show", old],
        ["show", old, "--attributes", "--nodes"],
        *(["show", old, "--format", form] for form in ("json", "html")),
        *(["diff", old, new, "--format", form] for form in ("text", "json", "html", "markdown", "github", "sarif")),
        ["groups", old, new],
        ["fleet", old, new],
    ):
        with redirect_stdout(io.StringIO()):
            assert main(arguments) in (0, 1, 3)
    assert sorted(set(hashed)) == []
