"""Groups as text: who shares, who is alone and why, what it saves."""

import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.groups import GroupsReport
from sigcontract.report.groups_text import render_groups
from sigcontract.update.groups import MEMORY_SOURCE, group_dumps
from tests.compare.dumps import dump, kernel
from tests.update.build import H200, cluster, graph

SERVER = replace(
    dump(),
    graphs=tuple(
        LabeledGraph(label=label, graph=each)
        for label, each in {
            "bs=1": graph(*[kernel(grid=1)] * 264),
            "bs=2": graph(*[kernel(grid=2)] * 264),
            "clustered": graph(*[kernel(cluster(2))] * 264),
        }.items()
    ),
)

PAGE = Path(__file__).parents[2] / "docs" / "diff.md"

GOLDEN = """\
share: 3 graphs, 2 executables (1 fewer, 350 kB to 2.7 MB)
  bs=1, bs=2
    closest match: clustered; differences:
      nodes[0].attributes[cluster_dimension] 2x1x1 → none  stale  kernel.cluster-dim, at 264 nodes
  alone: clustered
    closest match: bs=1; differences:
      nodes[0].attributes[cluster_dimension] none → 2x1x1  stale  kernel.cluster-dim, at 264 nodes

memory is an estimate, low: 350 kB per executable of 264 nodes, measured on an H200 under driver 580.159.04; \
high: 10,240 bytes per node, as CCCL estimates
launches of one executable are serialized: graphs of one group that run concurrently on several streams wait for \
each other; dumps do not record streams, so check before you share
"""


def rendered(dumps: list[SignatureDump], policy: str, files: tuple[str, ...]) -> str:
    found = group_dumps(dumps, [policy], H200)
    return render_groups(
        GroupsReport(dumps=files, gaps=(), profile=None, flags=0, memory_source=MEMORY_SOURCE, policies=found)
    )


def test_groups_near_misses_and_savings_are_shown() -> None:
    assert rendered([SERVER], "share", ("server.dump.json",)) == GOLDEN


def test_with_several_dumps_each_graph_names_its_file() -> None:
    shown = rendered([SERVER, SERVER], "portable", ("a", "b")).splitlines()
    assert shown[0] == "portable: 6 graphs, 3 groups equal across processes"
    assert "  a: bs=1, b: bs=1" in shown


def test_a_graph_without_another_says_so() -> None:
    alone = replace(SERVER, graphs=SERVER.graphs[:1])
    shown = rendered([alone], "share", ("a",))
    assert shown == "share: 1 graph, 1 executable\n  alone: bs=1; no other graph to compare with\n"


def test_the_text_is_bounded_however_many_graphs_share_with_none() -> None:
    graphs = tuple(LabeledGraph(label=f"g{i}", graph=graph(kernel(name=f"k{i}"))) for i in range(500))
    shown = rendered([replace(SERVER, graphs=graphs)], "share", ("a",)).splitlines()
    assert len(shown) < 60
    assert shown[-1] == "  and 488 more graphs that share with no other; --format json lists them"


def test_labels_cannot_move_the_cursor() -> None:
    hostile = replace(SERVER, graphs=tuple(replace(e, label=f"{e.label}\x1b[2J") for e in SERVER.graphs))
    assert "\x1b" not in rendered([hostile], "share", ("a",))


def sessions() -> list[tuple[str, str]]:
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [(command.removeprefix("$ "), output) for command, _, output in (block.partition("\n") for block in blocks)]


@pytest.mark.parametrize(("command", "output"), sessions())
def test_the_page_shows_what_the_commands_print(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PAGE.parents[1])
    monkeypatch.setenv("COLUMNS", "120")  # as where there is no terminal; pytest-xdist sets 80
    main(shlex.split(command)[1:])
    assert capsys.readouterr().out == output


def test_lines_keep_to_the_width_that_is_asked_for() -> None:
    report = GroupsReport(
        dumps=("a",),
        gaps=(),
        profile=None,
        flags=0,
        memory_source=MEMORY_SOURCE,
        policies=group_dumps([SERVER], ["share"], H200),
    )
    drawn = render_groups(report, width=90)
    assert max(map(len, drawn.splitlines())) <= 90
    assert drawn.split() == render_groups(report).split()
