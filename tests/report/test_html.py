"""HTML reports: one file that loads nothing, in which no name is markup, and what is seen without its script."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.cli.main import main
from sigcontract.compare import DumpComparison, compare_dumps
from sigcontract.contract import check_dump, load_contract
from sigcontract.fleet import compare_by_rank, compare_fleet
from sigcontract.model import GroupsReport
from sigcontract.profiles import shipped_profile
from sigcontract.report import demangle
from sigcontract.report.html_check import check_html
from sigcontract.report.html_diff import RanksPage, diff_html
from sigcontract.report.html_filter import filter_bar
from sigcontract.report.html_fleet import fleet_html
from sigcontract.report.html_groups import groups_html
from sigcontract.report.html_nodes import NodeTables
from sigcontract.report.html_page import element, page
from sigcontract.report.html_profile import profile_html
from sigcontract.report.html_show import show_html
from sigcontract.update import MEMORY_SOURCE, group_dumps
from tests.architecture.source import ROOT
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import TODAY, written
from tests.fleet.ranks import job, saved
from tests.strategies import graphs
from tests.update import build

NORM, GEMM = kernel(name="norm", func=1), kernel(name="gemm", func=2)
HOSTILE = "</script><script>alert(1)</script><!-- \x1b[2J \u202e & ' \" \u2028 \udcff <img src=x onerror=alert(1)>"
#: Attributes that load something or run a script.
LOADING = {"src", "href", "srcset", "action", "formaction", "poster", "data", "background", "style"}


class Page(HTMLParser):
    """A page as a browser parses it: its elements, its texts, and the contents of its scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  the parser passes it by position
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts.append((self.elements[-1][1], data))
        elif self._open == "style":
            self.styles.append(data)
        elif data.strip():
            self.texts.append(data)

    def meta(self, name: str) -> str:
        found = [a for tag, a in self.elements if tag == "meta" and name in (a.get("http-equiv"), a.get("name"))]
        return found[0]["content"]

    def data(self) -> dict[str, Any]:
        (island,) = [text for attributes, text in self.scripts if attributes.get("id") == "data"]
        found: dict[str, Any] = json.loads(island)
        return found


#: Every kind of page.
KINDS = ("diff", "ranks", "check", "groups", "show", "profile", "fleet")
PROFILE = shipped_profile("nvidia-h200-cuda-13.0")


def ranks_page(old: Path, new: Path) -> str:
    """Return the page of two folders."""
    drawn = RanksPage()
    return drawn.html(compare_by_rank([str(old)], [str(new)], on_diff=drawn.add))


def pages(name: str, folder: Path) -> dict[str, str]:
    """Return one page of each kind, with that name wherever a file can bring one."""
    one, two = build.graph(NORM, replace(GEMM, name=name)), build.graph(replace(NORM, name=f"{name}2"), GEMM)
    old, new = dump(one), dump(two, process_id=2, display_driver_version=f"1{name}")
    labelled = replace(new, graphs=(sc.LabeledGraph(label=f"g0{name}", graph=two),))
    ranks = job([64, 64, 128])
    odd = [replace(each, graphs=tuple(replace(g, label=f"{g.label}{name}") for g in each.graphs)) for each in ranks]
    for run, of_ranks in (("before", ranks), ("after", odd)):
        (folder / run).mkdir()
        saved(folder / run, of_ranks)
    # Kernels by a pattern, and a suppression that is not used, of that name; another graph than the golden one's.
    text = f"""
golden = "old.dump.json"
[[graph]]
[[graph.kernel]]
name = {json.dumps(name)}
[[suppress]]
rule = "kernel.cluster-dim"
reason = {json.dumps(name)}
expires = 2999-12-31
"""
    found: list[tuple[str, DumpComparison]] = []
    report = check_dump(
        labelled,
        load_contract(written(folder, text, old=old)),
        dump_name=name,
        today=TODAY,
        demangle=demangle,
        on_comparison=lambda golden, comparison: found.append((golden, comparison)),
    )
    groups = GroupsReport(
        dumps=(name,),
        gaps=(),
        profile=name,
        flags=0,
        memory_source=MEMORY_SOURCE,
        policies=group_dumps([replace(labelled, graphs=(*labelled.graphs, *old.graphs))], ["share", "exact"], None),
    )
    profile = replace(
        PROFILE,
        id=name,
        device_name=name,
        attributes=tuple(replace(entry, note=name) for entry in PROFILE.attributes),
    )
    return {
        "diff": diff_html(compare_dumps(old, labelled)),
        "ranks": ranks_page(folder / "before", folder / "after"),
        "check": check_html(report, found),
        "groups": groups_html(groups),
        "show": show_html(labelled),
        "profile": profile_html(profile),
        "fleet": fleet_html(compare_fleet(saved(folder, odd))),
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """Return each page of names that try to be markup. A file cannot hold a lone surrogate."""
    found = pages(HOSTILE.replace("\udcff", ""), tmp_path_factory.mktemp("ranks"))
    return {kind: Page(html) for kind, html in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_the_policy_allows_the_page_s_own_style_and_script_alone(
    hostile: dict[str, Page], kind: str
) -> None:
    found = hostile[kind]
    (style,) = found.styles
    (script,) = [text for attributes, text in found.scripts if "type" not in attributes]

    def allowed(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert found.meta("Content-Security-Policy") == (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    assert [(tag, a) for tag, a in found.elements if LOADING & a.keys() or any(n.startswith("on") for n in a)] == []
    assert re.findall(r"https?://|@import|url\(", style + script) == []
    assert {tag for tag, _ in found.elements} & {"link", "img", "iframe", "object", "embed", "base"} == set()


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text(hostile: dict[str, Page], kind: str) -> None:
    found = hostile[kind]
    assert len(found.scripts) == 2
    everything = [
        *found.texts,
        *(text for _, text in found.scripts),
        *(v for _, a in found.elements for v in a.values()),
    ]
    assert any("</script><script>alert(1)" in text for text in found.texts) or kind == "fleet"
    assert [
        text for text in everything if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text)
    ] == []
    assert found.meta("viewport") == "width=device-width, initial-scale=1"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(name=st.text())
def test_any_text_stays_one_text(name: str) -> None:
    made = Page(
        page(name, [element("p", name, title=name)], {"name": name.encode("utf-8", "backslashreplace").decode()})
    )
    tags = [tag for tag, _ in made.elements]
    assert tags == [
        "html",
        "head",
        "meta",
        "meta",
        "meta",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "p",
        "script",
        "script",
    ]
    assert made.data() == {"name": name.encode("utf-8", "backslashreplace").decode()}


def test_the_summary_causes_and_rules_are_there_without_the_script() -> None:
    wider = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
    html = diff_html(compare_dumps(dump(build.graph(*[NORM, GEMM] * 24)), again(build.graph(*[NORM, wider] * 24))))
    texts = Page(html).texts
    assert "updatable: findings in 1 of 1 graph" in texts
    row = texts[texts.index("where") + 1 :]
    assert row[:6] == ["updatable", "g0", "gemm", "grid 8x1x1 → 64x1x1", "24", "1, 3, … 47 (every 2nd)"]
    assert "kernel.grid-dim" in texts


def test_two_equal_dumps_are_a_page_that_reports_no_difference() -> None:
    one = dump(build.graph(NORM))
    texts = Page(diff_html(compare_dumps(one, one))).texts
    assert "no differences in 1 graph" in texts
    assert "no differences: g0" in texts


@given(graph=graphs())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_node_has_one_row(graph: sc.GraphSignature) -> None:
    tables = NodeTables([graph])
    drawn = tables.one("g", graph)
    paths = [path for path, _ in graph.walk()]
    assert len(drawn.data["rows"]) == drawn.data["total"] == len(paths) == len(drawn.row_of)
    assert [tables.data()["nodes"][row.new][0] for row in drawn.data["rows"]] == [
        node.__struct_config__.tag for _, node in graph.walk()
    ]
    covered = sum(length * count + tail for _, length, count, tail in drawn.data["blocks"])
    assert covered == len(paths)


@given(old=graphs(), new=graphs())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_node_of_both_graphs_has_a_row_in_a_diff(old: sc.GraphSignature, new: sc.GraphSignature) -> None:
    found = compare_dumps(dump(old), again(new)).changes[0]
    assert found is not None
    data = NodeTables([new], [old]).two("g", found).data
    outer = [row for row in data["rows"] if row.depth == 0]
    assert sorted(row.old_at for row in outer if row.old >= 0) == sorted(map(str, range(len(old.nodes))))
    assert [row.new_at for row in outer if row.new >= 0] == [str(index) for index in range(len(new.nodes))]
    marks = {0: (True, True), 1: (True, True), 2: (False, True), 3: (True, False)}
    assert all((row.old >= 0, row.new >= 0) == marks[row.mark] for row in data["rows"])
    assert all(0 <= number < len(data["findings"]) for row in data["rows"] for number in row.changes)


def test_a_page_grows_by_distinct_nodes_and_not_by_layers() -> None:
    def size(layers: int) -> int:
        return len(show_html(dump(build.graph(*[NORM, GEMM] * layers))))

    few, many = size(10), size(1010)
    assert many - few < 2000 * 40


def test_the_filter_offers_what_there_is() -> None:
    wider = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
    result = compare_dumps(dump(build.graph(NORM, GEMM)), again(build.graph(wider))).diff
    bar = filter_bar(result.findings)
    values = [part.get("value") for part in bar.iter() if part.tag in ("input", "option") and part.get("value")]
    assert values == ["rejected", "updatable", *sorted({finding.rule for finding in result.findings})]


def test_the_rank_matrix_has_a_cell_for_every_rank_missing_ones_included(tmp_path: Path) -> None:
    files = saved(tmp_path, job([64, 64, 128, 64]))
    Path(files[1]).unlink()
    found = Page(fleet_html(compare_fleet([str(tmp_path)])))
    cells = [attributes["aria-label"] for tag, attributes in found.elements if tag == "li"]
    assert [re.sub(r" on \S+:", ":", cell) for cell in cells] == [
        "rank 0: class 0",
        "rank 1: no dump",
        "rank 2: class 1",
        "rank 3: class 0",
    ]


DUMPS = [ROOT / "examples" / f"triton-scale-{number}.dump.json" for number in (2, 3)]


def test_the_commands_write_pages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["diff", *map(str, DUMPS), "--format", "html"]) == 1
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>\n<html")
    file = tmp_path / "diff.html"
    main(["diff", *map(str, DUMPS), "--output", f"html={file}"])
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>\n<html")
    assert main(["show", str(DUMPS[0]), "--format", "html", "--graph", "scale"]) == 0
    assert Page(capsys.readouterr().out).data()["kind"] == "show"
    assert main(["show", "nvidia-h200-cuda-13.0", "--format", "html"]) == 0
    assert Page(capsys.readouterr().out).data()["kind"] == "profile"
    saved(tmp_path, job([64, 64]))
    assert main(["fleet", str(tmp_path), "--format", "html"]) == 0
    assert "fleet" in capsys.readouterr().out


def test_the_page_of_a_contract_has_what_failed_first_its_graphs_and_what_became_of_suppressions(
    tmp_path: Path,
) -> None:
    wider = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
    text = """
golden = "old.dump.json"
[[graph]]
[[graph.kernel]]
name = "gemm"
count = 2
[[suppress]]
rule = "kernel.block-dim"
reason = "nobody knows any more"
expires = 2999-12-31
[[suppress]]
rule = "kernel.priority"
reason = "for the release"
expires = 2026-01-01
"""
    old, new = dump(build.graph(NORM, GEMM), build.graph(NORM)), again(build.graph(NORM, wider), build.graph(NORM))
    found: list[tuple[str, DumpComparison]] = []
    report = check_dump(
        new,
        load_contract(written(tmp_path, text, old=old)),
        dump_name="new.dump.json",
        today=TODAY,
        demangle=demangle,
        on_comparison=lambda golden, comparison: found.append((golden, comparison)),
    )
    shown = Page(check_html(report, found))
    checks = shown.texts[shown.texts.index("Checks") : shown.texts.index("Suppressions")]
    answers = [text for text in checks if text in ("failed", "undetermined", "passed")]
    assert answers == ["failed"] * 4 + ["passed"] * 4
    assert {"unused", "expired", "nobody knows any more", "for the release"} <= set(shown.texts)
    # The graph that agrees is not drawn; the other is, with its node marked.
    (drawn,) = shown.data()["graphs"]
    assert (drawn["label"], [row[4] for row in drawn["rows"]]) == ("g0", [0, 1])


def test_a_graph_that_two_clauses_are_about_is_drawn_once(tmp_path: Path) -> None:
    wider = replace(GEMM, grid_dim=sc.Dim3(x=64, y=1, z=1))
    text = 'golden = "old.dump.json"\n[[graph]]\n[[graph]]\nlabel = "g0"\n'
    found: list[tuple[str, DumpComparison]] = []
    report = check_dump(
        again(build.graph(wider)),
        load_contract(written(tmp_path, text, old=dump(build.graph(GEMM)))),
        dump_name="new.dump.json",
        today=TODAY,
        demangle=demangle,
        on_comparison=lambda golden, comparison: found.append((golden, comparison)),
    )
    assert len(found) == 2
    assert len(Page(check_html(report, found)).data()["graphs"]) == 1


def test_the_page_of_two_runs_has_a_row_for_each_distinct_pair_and_every_gap(tmp_path: Path) -> None:
    for run, tiles in (("before", [64, 64, 128]), ("after", [64, 64, 64])):
        (tmp_path / run).mkdir()
        saved(tmp_path / run, job(tiles))
    (tmp_path / "after" / "rank1-pid4001.dump.json").unlink()
    shown = Page(ranks_page(tmp_path / "before", tmp_path / "after"))
    assert [text for text in shown.texts if text.startswith("rank ")] == [
        "rank 1: no comparable new dump",
        "rank 0",
        "rank 2",
        "rank 2: bs=1, bs=2",
    ]
    assert [graph["label"] for graph in shown.data()["graphs"]] == ["rank 2: bs=1, bs=2"]


def test_the_page_of_groups_has_every_group_with_what_keeps_it_apart() -> None:
    one, two = build.graph(NORM), build.graph(replace(NORM, name="other", kern=9, func=9))
    found = replace(dump(one, one, two), profile=None)
    report = GroupsReport(
        dumps=("a.json",),
        gaps=(),
        profile=None,
        flags=0,
        memory_source=MEMORY_SOURCE,
        policies=group_dumps([found], ["share"], None),
    )
    shown = Page(groups_html(report))
    rows = [attributes for tag, attributes in shown.elements if tag == "tr" and "data-rules" in attributes]
    assert [row["data-rules"] for row in rows] == ["kernel.function", "kernel.function"]
    assert "g0, g1" in shown.texts
