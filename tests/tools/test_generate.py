"""Generated files: written, checked, and never changed where they are released."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tools import generate, sessions


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with one page, which has one command, and all other files as generated."""
    page = Path("page.md")
    (tmp_path / page).write_text("# A page\n\n```console\n$ echo one; echo two\none\n```\n")
    monkeypatch.setattr(sessions, "PAGES", (page,))
    monkeypatch.setattr(generate, "_generate_types", _stand_in_for_node)
    return tmp_path


def _stand_in_for_node(root: Path) -> None:
    for schema in (root / "schemas").glob("*.schema.json"):
        types = schema.with_name(schema.name.replace(".schema.json", ".d.ts"))
        types.write_text(f"// Types, sha256 {sha256(schema.read_bytes()).hexdigest()}.\n")


def test_what_was_written_is_in_step(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main([], tree) == 0
    assert (tree / "page.md").read_text() == "# A page\n\n```console\n$ echo one; echo two\none\ntwo\n```\n"
    capsys.readouterr()
    assert generate.main(["--check"], tree) == 0
    assert "sessions: 1 files in step" in capsys.readouterr().out


def test_a_check_writes_nothing_and_shows_what_differs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (tree / "page.md").read_text()
    assert generate.main(["--check"], tree) == 1
    told = capsys.readouterr()
    assert "+two\n" in told.out
    assert told.err.splitlines() == [f"{name}: out of step; run: make generated" for name in generate.GENERATORS]
    assert [path.name for path in tree.iterdir()] == ["page.md"]
    assert (tree / "page.md").read_text() == before


def test_one_other_byte_at_the_end_is_out_of_step(tree: Path) -> None:
    generate.main([], tree)
    with (tree / "docs" / "rules.md").open("a") as page:
        page.write("\n")
    assert generate.main(["--check"], tree) == 1


def test_a_schema_that_nothing_makes_is_out_of_step_and_goes(tree: Path) -> None:
    generate.main([], tree)
    (tree / "schemas" / "sigcontract.gone-1.schema.json").write_text("{}\n")
    assert generate.main(["--check"], tree) == 1
    assert generate.main([], tree) == 0
    assert not (tree / "schemas" / "sigcontract.gone-1.schema.json").exists()


def test_types_of_a_schema_that_changed_are_out_of_step(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.main([], tree)
    types = tree / "schemas" / "sigcontract.dump-3.d.ts"
    types.write_text("// Types, sha256 0.\n")
    capsys.readouterr()
    assert generate.main(["--check"], tree) == 1
    told = capsys.readouterr()
    assert told.out.endswith("\nsigcontract.dump-3.d.ts\n")
    assert told.err == "types: out of step; run: make generated\n"
    assert generate.main([], tree) == 0
    assert generate.main(["--check"], tree) == 0


def test_a_released_schema_is_not_overwritten(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.main([], tree)
    index_file = tree / "schemas" / "index.json"
    index = json.loads(index_file.read_text())
    index["schemas"][0] |= {"status": "released", "sha256": "0" * 64}
    index_file.write_text(json.dumps(index))
    before = {path: path.read_bytes() for path in (tree / "schemas").iterdir()}
    for arguments in ([], ["--check"]):
        assert generate.main(arguments, tree) == 2
        assert "released and cannot change" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (tree / "schemas").iterdir()} == before
