"""HTML reports in a real browser: opened, clicked, filtered, by mouse and by keyboard, on a phone and in print."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.compare import DumpComparison, compare_dumps
from sigcontract.contract import check_dump, load_contract
from sigcontract.fleet import compare_by_rank, compare_fleet
from sigcontract.model import GroupsReport
from sigcontract.profiles import shipped_profile
from sigcontract.report import (
    RanksPage,
    check_html,
    demangle,
    diff_html,
    fleet_html,
    groups_html,
    profile_html,
    show_html,
)
from sigcontract.update import MEMORY_SOURCE, group_dumps
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import TODAY, written
from tests.fleet.ranks import job, saved
from tests.update import build

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

#: Playwright's, where it is installed; the tests are checked without it as well.
Browser = Any

HOSTILE = "gemm</script><script>alert(1)</script><img src=x onerror=alert(2)>"
NORM, GEMM, OTHER = kernel(name="norm", func=1), kernel(name="gemm", func=2), kernel(name=HOSTILE, func=3)
WIDER = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
#: Twelve layers in which the grid of gemm changed, and a kernel that came at the end.
OLD, NEW = build.graph(*[NORM, GEMM] * 12, NORM), build.graph(*[NORM, WIDER] * 12, NORM, OTHER)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the machine's Chromium, without a window."""
    # Its sandbox needs a user that is not root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


class Opened:
    """A page in the browser, and all that it asked for or complained of."""

    def __init__(self, browser: Browser, file: Path, **settings: object) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_context(**settings).new_page()
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def _refuse(self, dialog: Any) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()

    def texts(self, selector: str) -> list[str]:
        """Return the visible elements' texts."""
        return [each.inner_text() for each in self.page.locator(selector).all() if each.is_visible()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a diff."""
    path = tmp_path / "diff.html"
    path.write_text(diff_html(compare_dumps(dump(OLD), again(NEW))), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Opened]:
    """Return the diff in the browser; at the end, nothing was loaded or complained of."""
    found = Opened(browser, file)
    yield found
    assert found.problems == []
    assert found.requests == [file.as_uri()]
    found.page.context.close()


def test_the_first_graph_is_open_and_shows_both_sides_with_layers_folded(opened: Opened) -> None:
    assert opened.texts("button.row.changed .old")[0] == "1gemm <<<8x1x1, 64x1x1, 0 B>>>"
    assert opened.texts("button.row.changed .new")[0] == "1gemm <<<64x1x1, 64x1x1, 0 B>>>"
    assert len(opened.texts("button.row.changed")) == 1
    assert "these 2 nodes, up to 24, the last time the first 1" in opened.texts("li.fold")[0]
    assert opened.texts("button.row.added .new") == [f"25{HOSTILE} <<<8x1x1, 64x1x1, 0 B>>>"]


def test_a_fold_opens_and_closes(opened: Opened) -> None:
    fold = opened.page.locator("button.unfold").first
    fold.click()
    assert len(opened.texts("button.row.changed")) == 12
    assert opened.page.locator("button.unfold").first.get_attribute("aria-expanded") == "true"
    opened.page.locator("button.unfold").first.click()
    assert len(opened.texts("button.row.changed")) == 1


def test_the_detail_of_a_node_has_both_records_and_what_differs_first(opened: Opened) -> None:
    opened.page.locator("button.row.changed").first.click()
    dialog = opened.page.locator("dialog[open]")
    assert dialog.locator("h2").inner_text() == "g0: node 1"
    assert dialog.locator("tbody tr").first.inner_text().split() == ["grid_dim", "8x1x1", "64x1x1"]
    assert dialog.locator("tr.differs").count() == 1
    assert "kernel.grid-dim" in dialog.locator(".findings").inner_text()
    opened.page.keyboard.press("Escape")
    assert opened.page.locator("dialog[open]").count() == 0


def test_a_change_leads_to_its_first_node(opened: Opened) -> None:
    opened.page.locator("#causes button.link").first.click()
    assert opened.page.locator("dialog[open] h2").inner_text() == "g0: node 1"


def test_rows_filter_by_verdict_rule_and_name(opened: Opened) -> None:
    page = opened.page
    assert opened.texts("#filter output") == ["2 of 2 rows"]
    page.get_by_label("updatable").uncheck()
    assert opened.texts("#filter output") == ["1 of 2 rows"]
    assert opened.texts("button.row.changed") == []
    assert len(opened.texts("button.row.added")) == 1
    page.get_by_label("updatable").check()
    page.get_by_label("rule").select_option("kernel.grid-dim")
    assert len(opened.texts("button.row")) == 12
    page.get_by_label("rule").select_option("")
    page.get_by_label("name").fill("NORM")
    assert len(opened.texts("button.row")) == 13
    assert opened.texts("#causes tbody tr") == []
    page.get_by_label("name").fill("no such kernel")
    assert opened.texts("details.graph") == []


def test_all_nodes_are_shown_where_that_is_asked_for(opened: Opened) -> None:
    opened.page.get_by_label("all nodes").check()
    opened.page.locator("button.unfold").first.click()
    assert len(opened.texts("button.row")) == 26


def test_everything_is_reached_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator("details.graph summary").focus()
    page.keyboard.press("Enter")
    assert opened.texts("button.row") == []
    page.keyboard.press("Enter")
    page.locator("button.row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.row") == "1"
    page.keyboard.press("Enter")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.row") == "1"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.row") == "0"


def test_names_are_text_in_the_browser(opened: Opened) -> None:
    assert HOSTILE in opened.page.locator("#causes").inner_text()
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("script").count() == 2
    opened.page.locator("button.row.added").click()
    assert HOSTILE in opened.page.locator("dialog").inner_text()
    assert opened.page.locator("img").count() == 0


def test_a_phone_needs_no_sideways_scrolling_and_dark_is_dark(browser: Browser, file: Path) -> None:
    phone = Opened(browser, file, viewport={"width": 360, "height": 700}, color_scheme="dark")
    assert phone.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert phone.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    phone.page.locator("button.row.changed").first.click()
    assert phone.page.evaluate("document.querySelector('dialog').getBoundingClientRect().width") <= 360
    phone.page.context.close()


def test_print_leaves_out_what_is_clicked_and_keeps_the_marks(browser: Browser, file: Path) -> None:
    paper = Opened(browser, file, color_scheme="dark")
    paper.page.emulate_media(media="print")
    assert not paper.page.locator("#filter").is_visible()
    assert paper.page.locator("button.row.changed").first.is_visible()
    assert paper.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    paper.page.context.close()


def test_without_scripts_the_summary_and_the_changes_are_there(browser: Browser, file: Path) -> None:
    plain = Opened(browser, file, java_script_enabled=False)
    assert plain.texts("header p")[0].startswith("rejected: findings in 1 of 1 graph")
    assert len(plain.texts("#causes tbody tr")) == 2
    assert plain.texts("#filter") == []
    plain.page.context.close()


def test_a_large_graph_is_drawn_as_far_as_it_is_looked_at(browser: Browser, tmp_path: Path) -> None:
    nodes = [kernel(name=f"k{index % 37}", func=index % 37 + 1, grid=1 + index * index % 977) for index in range(5000)]
    path = tmp_path / "show.html"
    path.write_text(show_html(dump(build.graph(*nodes))), encoding="utf-8")
    large = Opened(browser, path)
    rows = large.page.locator("button.row")
    first = rows.count()
    assert 0 < first <= 600
    large.page.locator("button.more").scroll_into_view_if_needed()
    rows.nth(first).wait_for()
    assert rows.count() < 2500
    large.page.get_by_label("name").fill("k36")
    large.page.locator("button.row").first.wait_for()
    assert all("k36" in text for text in large.texts("button.row")[:20])
    assert large.problems == []
    large.page.context.close()


def test_the_rank_matrix_shows_who_deviates(browser: Browser, tmp_path: Path) -> None:
    saved(tmp_path, job([64, 64, 128, 64]))
    path = tmp_path / "fleet.html"
    path.write_text(fleet_html(compare_fleet([str(tmp_path)])), encoding="utf-8")
    fleet = Opened(browser, path)
    assert [text.split() for text in fleet.texts(".ranks li")] == [["0", "0"], ["1", "0"], ["2", "1"], ["3", "0"]]
    fleet.page.get_by_label("name").fill("tile128")
    assert len(fleet.texts("#causes tbody tr")) >= 1
    fleet.page.get_by_label("name").fill("no such kernel")
    assert fleet.texts("#causes tbody tr") == []
    assert fleet.problems == []
    fleet.page.context.close()


def check_page(folder: Path) -> str:
    """Return the page of a contract that the new graph does not keep."""
    text = 'golden = "old.dump.json"\n[[graph]]\n[[graph.kernel]]\nname = "gemm"\ncount = 12\n'
    found: list[tuple[str, DumpComparison]] = []
    report = check_dump(
        again(NEW),
        load_contract(written(folder, text, old=dump(OLD))),
        dump_name="new.dump.json",
        today=TODAY,
        demangle=demangle,
        on_comparison=lambda golden, comparison: found.append((golden, comparison)),
    )
    return check_html(report, found)


def ranks_page(folder: Path) -> str:
    """Return the page of two runs; the GEMM of rank 2 changed."""
    for run, tiles in (("before", [64, 64, 128]), ("after", [64, 64, 64])):
        (folder / run).mkdir()
        saved(folder / run, job(tiles))
    drawn = RanksPage()
    return drawn.html(compare_by_rank([str(folder / "before")], [str(folder / "after")], on_diff=drawn.add))


def groups_page(folder: Path) -> str:  # noqa: ARG001  as the others
    """Return the page of three graphs, one of which has another kernel of a hostile name."""
    apart = dump(build.graph(NORM), build.graph(NORM), build.graph(OTHER))
    policies = group_dumps([apart], ["share"], None)
    return groups_html(
        GroupsReport(dumps=("a.json",), gaps=(), profile=None, flags=0, memory_source=MEMORY_SOURCE, policies=policies)
    )


def profile_page(folder: Path) -> str:  # noqa: ARG001  as the others
    """Return the page of a shipped profile."""
    return profile_html(shipped_profile("nvidia-h200-cuda-13.0"))


PAGES = {"check": check_page, "ranks": ranks_page, "groups": groups_page, "profile": profile_page}


@pytest.fixture(params=PAGES)
def any_page(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """Return each of the other pages on a phone in the dark; at the end, nothing was loaded or complained of."""
    path = tmp_path / f"{request.param}.html"
    path.write_text(PAGES[request.param](tmp_path), encoding="utf-8")
    found = Opened(browser, path, viewport={"width": 360, "height": 700}, color_scheme="dark")
    yield found
    assert found.problems == []
    assert found.requests == [path.as_uri()]
    found.page.context.close()


def test_every_page_fits_a_phone_filters_by_name_and_prints(any_page: Opened) -> None:
    page = any_page.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    rows = len(any_page.texts("tr[data-text]"))
    assert rows > 1
    assert any_page.texts("#filter output") == [f"{rows} of {rows} rows"]
    page.get_by_label("name").fill("no such name")
    assert any_page.texts("tr[data-text]") == []
    assert any_page.texts("#filter output") == [f"0 of {rows} rows"]
    page.get_by_label("name").fill("")
    assert len(any_page.texts("tr[data-text]")) == rows
    page.emulate_media(media="print")
    assert not page.locator("#filter").is_visible()
    assert page.locator("img").count() == 0


def test_a_check_leads_to_the_node_beside_its_golden(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "check.html"
    path.write_text(check_page(tmp_path), encoding="utf-8")
    check = Opened(browser, path)
    assert check.texts("#checks .badge")[:2] == ["failed", "passed"]
    assert len(check.texts("button.row.changed")) == 1
    check.page.locator("#causes button.link").first.click()
    dialog = check.page.locator("dialog[open]")
    assert dialog.locator("tbody tr").first.inner_text().split() == ["grid_dim", "8x1x1", "64x1x1"]
    check.page.keyboard.press("Escape")
    check.page.get_by_label("rule").select_option("kernel.grid-dim")
    assert len(check.texts("#differences tbody tr")) == 1
    assert check.problems == []
    check.page.context.close()


def test_two_runs_show_the_graphs_of_each_pair(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "ranks.html"
    path.write_text(ranks_page(tmp_path), encoding="utf-8")
    ranks = Opened(browser, path)
    assert ranks.texts("details.graph summary")[0].startswith("updatable rank 2: bs=1, bs=2")
    assert "gemm_tile128x64" in ranks.texts("button.row.changed .old")[0]
    ranks.page.get_by_label("name").fill("gemm_tile128")
    assert len(ranks.texts("button.row")) == 1
    assert ranks.problems == []
    ranks.page.context.close()


AWKWARD = (
    '"quoted" & <b>bold</b>',
    "\x1b[31mred\x1b[0m\x07",
    "\u202egnp.exe\u2066",
    "two\nlines",
    "_ZN" + "9templated" * 2_000 + "E",
)


def test_awkward_names_stay_in_their_rows_and_whole_in_the_detail(browser: Browser, tmp_path: Path) -> None:
    nodes = [kernel(name=name, func=at + 1) for at, name in enumerate(AWKWARD)]
    wider = [replace(node, grid_dim=sc.Dim3(x=64, y=1, z=1)) for node in nodes]
    path = tmp_path / "diff.html"
    path.write_text(diff_html(compare_dumps(dump(build.graph(*nodes)), again(build.graph(*wider)))), encoding="utf-8")
    phone = Opened(browser, path, viewport={"width": 360, "height": 700})
    assert phone.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert phone.page.locator("#causes b, .drawing b").count() == 0
    rows = phone.page.locator("button.row.changed")
    assert rows.count() == len(AWKWARD)
    shown = phone.texts("button.row.changed .new")
    assert "\\x1b[31mred" in shown[1]
    assert "\\u202egnp.exe\\u2066" in shown[2]
    assert "two\\nlines" in shown[3]
    # A row has an end of the name that says that it was cut; the detail has all of it.
    assert "…" in shown[4]
    assert len(shown[4]) < 300
    rows.nth(4).click()
    assert AWKWARD[4] in phone.page.locator("dialog[open]").inner_text()
    assert phone.page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
    assert phone.problems == []
    phone.page.context.close()
