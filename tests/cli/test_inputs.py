"""Dumps that no one wants to meet: right text, bounded length, nothing injected, and an exit code that admits it."""

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.cli.parser import Exit
from sigcontract.model.dump import SignatureDump
from sigcontract.model.graph import Dependency, GraphSignature
from sigcontract.wire.codec import encode
from tests.compare.dumps import dump, kernel
from tests.update.build import graph, memcpy, memset

HOSTILE = "k" * 20_000 + "\n\x1b[2J\u202e"
PLAIN = dump(graph(kernel(name="a", func=1), kernel(name="b", func=2)))
COMMANDS = {
    "diff": ["diff", "old", "new"],
    "diff exact": ["diff", "old", "new", "--policy", "exact"],
    "diff json": ["diff", "old", "new", "--format", "json"],
    "diff markdown": ["diff", "old", "new", "--format", "markdown"],
    "groups": ["groups", "old", "new"],
    "show": ["show", "new"],
    "show attributes": ["show", "new", "--attributes"],
    "fleet": ["fleet", "old", "new"],
    "validate": ["validate", "old", "new"],
}


def later(found: SignatureDump) -> SignatureDump:
    return replace(found, environment=replace(found.environment, process_id=2))


def random_edges(size: int, seed: int) -> GraphSignature:
    random = Random(seed)  # noqa: S311  a repeatable choice, not a secret
    edges = (
        tuple(
            Dependency(node=node, from_port=0, to_port=0, type=0)
            for node in sorted(random.sample(range(max(0, at - 50), at), min(2, at)))
        )
        for at in range(size)
    )
    return GraphSignature(nodes=(kernel(),) * size, dependencies=tuple(edges))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def saved(folder: Path, old: SignatureDump, new: SignatureDump, *, old_version: int | None = None) -> None:
    (folder / "old").write_bytes(encode(old, version=old_version))
    (folder / "new").write_bytes(encode(later(new)))


@pytest.mark.parametrize("command", COMMANDS)
def test_names_with_escapes_and_of_20_kb_inject_nothing(
    command: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (dump(graph(kernel(name=HOSTILE + end, func=1), kernel(name="b", func=2))) for end in "12")
    saved(files, old, new)
    main(COMMANDS[command])
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e", "\r"} & {*out, *err}
    assert len(out) < 100_000
    if command in ("diff", "groups", "show", "show attributes", "fleet", "validate"):
        assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["diff", "old", "new", "--pair", "nowhere", "nowhere"],
        ["predict", "old", "--held", "g0", "--candidate", "nowhere"],
        ["predict", "old", "--held", "nowhere", "--candidate", "g0"],
        ["show", "old", "--graph", "nowhere"],
    ],
    ids=" ".join,
)
def test_a_label_that_no_dump_has_is_named(
    arguments: list[str], files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(files, PLAIN, PLAIN)
    assert main(arguments) == Exit.ERROR
    out, err = capsys.readouterr()
    assert not out
    assert "error[usage]: no graph 'nowhere' in " in err


def test_graphs_of_other_node_types_differ(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(files, dump(graph(memset(), memset())), dump(graph(memcpy(), kernel())))
    assert main(["diff", "old", "new"]) == Exit.GATE
    out = capsys.readouterr().out
    assert out.startswith("rejected: ")
    assert "another type: memset → memcpy, node 0" in out
    assert "another type: memset → kernel probe, node 1" in out


@pytest.mark.parametrize("graphs", [0, 1])
def test_of_a_half_recorded_dump_nothing_is_certain(
    graphs: int, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = replace(PLAIN, graphs=PLAIN.graphs[:graphs], complete=False)
    saved(files, PLAIN, half)
    assert main(["diff", "old", "new"]) == Exit.UNDETERMINED
    assert "dump.incomplete" in capsys.readouterr().out
    assert main(["groups", "new"]) == Exit.UNDETERMINED
    assert "dump.incomplete" in capsys.readouterr().out
    assert main(["validate", "new"]) == Exit.OK
    assert "incomplete: graphs after the last write are missing" in capsys.readouterr().out


def test_a_dump_of_version_1_cannot_prove_that_kernels_are_the_same(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(files, PLAIN, PLAIN, old_version=1)
    assert main(["diff", "old", "new"]) == Exit.UNDETERMINED
    assert capsys.readouterr().out.startswith("undetermined: ")


def test_dumps_of_two_drivers_are_compared_and_the_drivers_named(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = replace(PLAIN.environment, cuda_driver_version=12080, display_driver_version="570.1")
    saved(files, PLAIN, replace(PLAIN, environment=environment))
    assert main(["diff", "old", "new"]) in (Exit.GATE, Exit.UNDETERMINED)
    out = capsys.readouterr().out
    assert "580.159.04 → 570.1" in out
    assert "13000 → 12080" in out


def test_very_many_equal_nodes_with_random_edges_are_answered_in_few_lines(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(files, dump(random_edges(5_000, 1)), dump(random_edges(5_000, 2)))
    assert main(["diff", "old", "new"]) == Exit.GATE
    out = capsys.readouterr().out
    assert out.startswith("rejected: ")
    assert len(out.splitlines()) < 120
    assert max(map(len, out.splitlines())) <= 100
