"""What the project says of itself is so: sessions and their output, tables of docs, links, what no file holds."""

import ast
import doctest
import inspect
import re
import shlex
from pathlib import Path

import pytest
from packaging.version import Version

import sigcontract as sc
from sigcontract import errors
from sigcontract.cli.commands import parser_of
from sigcontract.cli.main import COMMANDS
from tests.architecture.source import ROOT, at, modules, parsed, text_files
from tools.sessions import PAGES, Session, output, sessions

README = ROOT / "README.md"
DOCS = ROOT / "docs"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "session"),
    [(page, session) for page in PAGES for session in sessions((ROOT / page).read_text(encoding="utf-8"))],
    ids=str,
)
def test_a_command_on_a_page_prints_what_the_page_shows(page: Path, session: Session) -> None:
    assert output(session.command) == session.shown, f"{page}: if this is as it should be, run: make generated"


@pytest.mark.parametrize("page", [ROOT / page for page in PAGES], ids=lambda page: page.name)
def test_the_python_sessions_of_a_page_print_what_it_shows(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    printed: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=printed.append).failed == 0, "".join(printed)


def test_the_readme_shows_sessions_in_both_languages() -> None:
    assert len(blocks(README, "console")) >= 1
    assert len(blocks(README, "pycon")) >= 1


def test_the_readme_names_the_two_commands_and_both_are_targets() -> None:
    commands = re.findall(r"^make \w+", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)


def error_row(name: str) -> str:
    kind = getattr(errors, name)
    text = inspect.getdoc(kind) or ""
    summary = text.splitlines()[0]
    carried = re.findall(r"^(\w+)$", text.partition("Attributes\n")[2], flags=re.MULTILINE)
    return f"| `{kind.code}` | `{name}` | {summary} | {', '.join(f'`{field}`' for field in carried)} |"


def test_the_table_of_errors_is_what_the_package_raises() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("| `")]
    rows = [error_row(name) for name in sorted(errors.__all__, key=lambda name: str(getattr(errors, name).code))]
    assert [row for row in shown if row.count("|") == 5] == rows


def narrower_codes() -> set[tuple[str, str]]:
    """Return code and class where an error is raised with a code; DriverUnavailableError takes its reason for one."""
    return {
        (keyword.value.value, ast.unparse(node.func))
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in errors.__all__
        for keyword in node.keywords
        if keyword.arg in {"code", "reason"}
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, str)
    }


def test_the_table_of_narrower_codes_is_what_the_package_raises() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `(\w+)` \| `(\w+)` \| [^|]+ \|$", page, flags=re.MULTILINE)
    assert sorted(shown) == sorted(narrower_codes())


def test_the_page_of_the_command_line_describes_every_command() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## `(\w+)", page, flags=re.MULTILINE) == list(COMMANDS)


def sections_of_the_changelog() -> list[tuple[str, str]]:
    """Return the title and the text of each section, the newest first."""
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = [section.partition("\n") for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]]
    return [(title, text) for title, _line, text in parts]


def test_the_changelog_says_what_changed_in_library_documents_and_digests() -> None:
    (unreleased, _changes), *released = sections_of_the_changelog()
    assert unreleased == "Unreleased"
    assert [title.split()[0] for title, _text in released][-1] == "0.1.0"
    assert re.findall(r"^### (\w+)", released[-1][1], flags=re.MULTILINE) == ["Library", "Documents", "Digests"]


def test_the_version_distinguishes_a_release_from_what_comes_after_it() -> None:
    """A tree with changes that no release has is a development version, later than every release."""
    (_unreleased, changes), (newest, _text), *_older = sections_of_the_changelog()
    version, released = Version(sc.__version__), Version(newest.split()[0])
    if changes.strip():
        assert version.is_devrelease
        assert version > released
    else:
        assert version == released


def test_links_lead_to_files_that_are_there() -> None:
    broken = [
        f"{at(page)}: {link}"
        for page in text_files()
        if page.suffix == ".md"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert not broken, "\n".join(broken)


def test_every_page_of_the_docs_is_reached_from_their_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in [*DOCS.glob("*.md"), *DOCS.glob("tasks/*.md")]}
    assert {page for page in pages if f"]({page})" not in index} == {"index.md"}
    listed = {line for block in blocks(DOCS / "index.md", r"\{toctree\}") for line in block.splitlines()}
    assert pages - listed == {"index.md"}


def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    index = r"pypi\.(?:org|python)|pythonhosted\.|(?:npmjs|yarnpkg)\."
    here = r"(?<![\w.~])/(?:home|root|work|Users|workspace)/\w+"
    found = lines_that_match(f"{index}|{here}")
    assert not found, "\n".join(found)


def lines_that_match(pattern: str) -> list[str]:
    """Return the places of every file of the project where a pattern is found, with what was found."""
    return [
        f"{at(path, text.count(chr(10), 0, match.start()) + 1)}: {match[0]}"
        for path in text_files()
        if (text := path.read_text(encoding="utf-8", errors="replace"))
        for match in re.finditer(pattern, text)
    ]


def commands_of(block: str) -> list[list[str]]:
    """Return the arguments of each sigcontract command of a shell block, up to what redirects its output."""
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["sigcontract"]:
            end = next((at for at, word in enumerate(words) if word in (">", "|", "||", "&&")), len(words))
            found.append(words[1:end])
    return found


@pytest.mark.parametrize("page", [README, *sorted(DOCS.rglob("*.md"))], ids=at)
def test_every_command_of_a_shell_block_is_one_that_the_parser_takes(page: Path) -> None:
    for block in [text for language in ("sh", "yaml") for text in blocks(page, language)]:
        for arguments in commands_of(block.replace("- run: |", "")):
            if not {"COMMAND", "...", "…"} & {*arguments} and not any(word.startswith("[") for word in arguments):
                assert parser_of(COMMANDS).parse_args(arguments).command == arguments[0]
