"""The forms of a diff: golden texts, and what hostile names cannot do to them."""

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from sigcontract.compare.dumps import DumpComparison, compare_dumps
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dump import LabeledGraph, LibraryVersion, SignatureDump
from sigcontract.report import github, markdown, text
from sigcontract.update.policies import POLICIES
from sigcontract.wire.codec import encode
from tests.compare.dumps import dump, kernel, without_code
from tests.update.build import H200, child, cluster, graph, without_value

GEMM = "_Z4gemmILi4E6__halfEvPKT0_PS1_"
LAYER = [
    kernel(name=name, func=number)
    for number, name in enumerate(
        ("norm", GEMM, "attention", "add", "scale", "gate", "up", "down", "residual"), start=1
    )
]
CHANGED = [*LAYER[:4], kernel(cluster(2), name="scale", func=5, grid=16), *LAYER[5:]]


def compared(old: SignatureDump, new: SignatureDump) -> DumpComparison:
    return compare_dumps(old, replace(new, environment=replace(new.environment, process_id=2)), H200)


def drawn(old: SignatureDump, new: SignatureDump) -> str:
    return text.diff_text(compared(old, new))


STACKS = compared(dump(graph(*LAYER * 24)), dump(graph(*CHANGED * 24)))

GOLDEN_STACKS = """\
stale: findings in 1 of 1 graph
verdicts hold for driver profile nvidia-h200-cuda-13.0

g0: 216 nodes; update: stale (kernel.cluster-dim)
  ~ 24 × scale: grid 8x1x1 → 16x1x1, cluster_dimension none → 2x1x1, nodes 4, 13, … 211 (every 9th)
  24 times these 9 nodes, up to [215]:
    [  3] kernel add  <<<8x1x1, 64x1x1>>>
  ~ [  4] kernel scale  <<<16x1x1, 64x1x1>>>
    [  5] kernel gate  <<<8x1x1, 64x1x1>>>

kernel.cluster-dim: stale, measured
  The effective cluster (the attribute, or what __cluster_dims__ compiled in) is fixed at the exec's first
  upload or launch. The update reports SUCCESS, but the exec keeps launching the old cluster; even the
  profiler's record names the new one. If the grid is not a multiple of the stored cluster, the kernel does
  not run at all. Instantiate a new exec.
"""  # noqa: RUF001  times, as people write it

GOLDEN_VERDICTS = """\
stale: findings in 1 of 1 graph
verdicts hold for driver profile nvidia-h200-cuda-13.0

g0: stale, 216 nodes
  ~ 24 × scale: grid 8x1x1 → 16x1x1, cluster_dimension none → 2x1x1, nodes 4, 13, … 211 (every 9th)
  24 times these 9 nodes, up to [215]:
    [  0] kernel norm  <<<8x1x1, 64x1x1>>>
    [  1] kernel gemm<4, __half>  <<<8x1x1, 64x1x1>>>
    [  2] kernel attention  <<<8x1x1, 64x1x1>>>
    [  3] kernel add  <<<8x1x1, 64x1x1>>>
  ~ [  4] kernel scale  <<<16x1x1, 64x1x1>>>
         grid 8x1x1 → 16x1x1  updatable
         cluster_dimension none → 2x1x1  stale  kernel.cluster-dim
    [  5] kernel gate  <<<8x1x1, 64x1x1>>>
    [  6] kernel up  <<<8x1x1, 64x1x1>>>
    [  7] kernel down  <<<8x1x1, 64x1x1>>>
    [  8] kernel residual  <<<8x1x1, 64x1x1>>>

kernel.cluster-dim: stale, measured
  The effective cluster (the attribute, or what __cluster_dims__ compiled in) is fixed at the exec's first
  upload or launch. The update reports SUCCESS, but the exec keeps launching the old cluster; even the
  profiler's record names the new one. If the grid is not a multiple of the stored cluster, the kernel does
  not run at all. Instantiate a new exec.
"""  # noqa: RUF001  times, as people write it

GOLDEN_INSERTED = """\
rejected: findings in 1 of 1 graph, 1 finding about the environment
verdicts hold for driver profile nvidia-h200-cuda-13.0

environment
  libraries[torch]  none → 2.11.0  harmless  environment.library

g0: 18 → 19 nodes; update: rejected (node.added)
  + combine, node 13
    [12] kernel add  <<<8x1x1, 64x1x1>>>
  + [13] kernel combine  <<<8x1x1, 64x1x1>>>
    [14] kernel scale  <<<8x1x1, 64x1x1>>>
"""

GOLDEN_UNKNOWN = """\
undetermined: findings in 2 of 2 graphs
verdicts hold for driver profile nvidia-h200-cuda-13.0

g0, g1: 9 nodes; update: undetermined (kernel.attribute-unknown, function.code-unknown)
  ? undetermined  kernel.attribute-unknown: mem_sync_domain of 9 nodes
  ? undetermined  function.code-unknown: 9 functions

kernel.attribute-unknown: undetermined, reported
  The value of this attribute is unknown on at least one side (unreadable, unsupported, or not queried). The
  driver may keep the old value and report success; a stale preferred cluster hangs devices that follow it
  (GB300). The same function does not prove the same value. Record with observation (sigcontract record),
  which reads the value at the launch, or pass a profile of this driver (--profile, sigcontract doctor).

function.code-unknown: undetermined, measured
  The machine code of at least one side was not observed, and nothing else proves across processes that two
  kernels of one name are the same function. Record with observation (sigcontract record).
"""


def test_each_distinct_change_is_reported_once_and_a_layer_is_drawn_once() -> None:
    assert text.diff_text(STACKS) == GOLDEN_STACKS


def test_with_verdicts_each_change_says_what_an_update_makes_of_it() -> None:
    assert text.diff_text(STACKS, verdicts=True) == GOLDEN_VERDICTS


def test_an_inserted_node_is_drawn_between_its_neighbours() -> None:
    old = dump(graph(*LAYER * 2))
    new = dump(
        graph(*LAYER, *LAYER[:4], kernel(name="_Z7combinePf", func=77), *LAYER[4:]),
        libraries=(LibraryVersion(name="torch", version="2.11.0"),),
    )
    assert drawn(old, new) == GOLDEN_INSERTED


def test_what_is_not_known_is_reported_under_the_graph_and_equal_graphs_are_drawn_once() -> None:
    unreadable = without_value(AttributeId.MEM_SYNC_DOMAIN)
    nodes = [without_code(kernel(unreadable, name=node.name, func=node.func)) for node in LAYER]
    unknown = dump(graph(*nodes), graph(*nodes))
    assert drawn(unknown, unknown) == GOLDEN_UNKNOWN


def test_what_is_not_known_of_many_nodes_names_each_attribute_once_and_counts_all_nodes() -> None:
    hidden = without_value(AttributeId.MEM_SYNC_DOMAIN)
    unknown = [without_code(kernel(hidden, name=node.name, func=node.func)) for node in LAYER * 24]
    # Known on one side only is another difference than known on neither.
    half = [*unknown[:100], *(without_code(node) for node in (LAYER * 24)[100:])]
    lines = drawn(dump(graph(*half)), dump(graph(*unknown))).splitlines()
    assert "  ? undetermined  kernel.attribute-unknown: mem_sync_domain of 216 nodes" in lines


def test_a_report_without_a_driver_profile_says_so_and_how_to_get_one() -> None:
    old, new = dump(graph(*LAYER)), dump(graph(*CHANGED))
    line = "without a driver profile, effects that need a measurement are undetermined (--profile, sigcontract doctor)"
    found = compare_dumps(old, replace(new, environment=replace(new.environment, process_id=2)))
    assert text.diff_text(found).splitlines()[1] == line
    (shown,) = [
        token.content for token in MarkdownIt().parse(markdown.diff_markdown(found.diff)) if line[:9] in token.content
    ]
    assert shown.replace("\\", "") == line


def test_no_difference_is_one_line_and_another_on_what_was_not_compared() -> None:
    assert drawn(dump(graph(*LAYER)), dump(graph(*LAYER))) == (
        "no differences in 1 graph\n"
        "not compared: arguments of kernels (not recorded); addresses, values of handles, order of nodes "
        "(--policy exact does)\n"
    )


def test_markdown_and_github_say_what_was_not_compared() -> None:
    same = dump(graph(*LAYER))
    found = compare_dumps(same, same, H200).diff
    line = "not compared: arguments of kernels (not recorded); addresses, values of handles, order of nodes"
    assert line in markdown.diff_markdown(found).replace("\\", "")
    assert github.diff_github(found) == (
        f"::notice title=sigcontract diff::no differences in 1 graph%0A{line} (--policy exact does)\n"
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_says_in_one_line_what_it_leaves_out(policy: str) -> None:
    plain = dump(graph(*LAYER))
    shown = text.diff_text(compare_dumps(plain, plain, H200, policy=policy)).splitlines()
    assert [line.partition(":")[0] for line in shown] == ["no differences in 1 graph", "not compared"]
    assert ("--policy exact" in shown[1]) == (policy != "exact")
    assert max(map(len, shown)) <= 120


def test_graphs_without_counterpart_and_inner_changes_are_lines_of_their_own() -> None:
    a, b = child(*LAYER[:2]), child(LAYER[0], kernel(name=GEMM, func=2, block=128))
    shown = drawn(dump(graph(a)), replace(dump(graph(b), graph()), complete=False))
    assert "       ~ [0.1] kernel gemm<4, __half>  <<<8x1x1, 128x1x1>>>" in shown.splitlines()
    assert "              block 64x1x1 → 128x1x1  updatable" in shown.splitlines()
    assert "  graph  none → 0 nodes  undetermined  graph.added" in shown.splitlines()
    assert "  complete  complete → incomplete  undetermined  dump.incomplete" in shown.splitlines()


def test_a_graph_that_differs_everywhere_is_cut_and_says_so() -> None:
    names = [f"k{index}" for index in range(100)]
    old, new = (
        dump(graph(*[kernel(name=name, func=number + 1, grid=number + more) for number, name in enumerate(names)]))
        for more in (1, 2)
    )
    shown = drawn(old, new).splitlines()
    assert shown[-1] == "  … and 60 more distinct changes; --format json lists every finding"
    assert len(shown) == 4 + 40 + 1
    with_verdicts = text.diff_text(compared(old, new), verdicts=True).splitlines()
    cut = "  … cut after 59 lines: the changes above list all nodes, --format json lists every finding"
    assert with_verdicts[-1] == cut
    assert len(with_verdicts) == 4 + 41 + 60


@pytest.mark.parametrize("width", [80, 100])
def test_lines_keep_to_the_width(width: int) -> None:
    name = "kernel_" * 20
    old = dump(graph(kernel(name=name + "left")))
    new = dump(graph(kernel(cluster(2), name=name + "right", grid=2**31 - 1)))
    lines = text.diff_text(compared(old, new), width=width, verdicts=True).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("  ~ [0] kernel kernel_kernel_") and "…  <<<2147483647x1x1" in line for line in lines)
    told = " ".join(line.strip() for line in lines)
    assert "renamed, same code: …left → …right, grid 8x1x1 → 2147483647x1x1, cluster_dimension none → 2x1x1" in told


def test_a_narrow_page_has_the_words_of_a_wide_one() -> None:
    narrow, wide = (text.diff_text(STACKS, width=width).split() for width in (40, 200))
    assert narrow == wide


def test_colour_is_used_where_it_is_asked_for_and_changes_nothing_else() -> None:
    coloured = text.diff_text(STACKS, color=True)
    assert "\x1b[1;31mstale\x1b[0m" in coloured
    plain = coloured
    for code in {part.split("m")[0] for part in coloured.split("\x1b[")[1:]}:
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == GOLDEN_STACKS


HOSTILE = "k\x1b[2J\n::error::|`<b>%0A"


def hostile() -> DumpComparison:
    """Return a diff in which label, kernel name and library try to be more than text."""
    old, new = (
        replace(
            dump(libraries=(LibraryVersion(name=HOSTILE, version=version),)),
            graphs=(LabeledGraph(label=HOSTILE, graph=graph(kernel(name=HOSTILE, grid=grid))),),
        )
        for grid, version in ((1, "1"), (2, "2\n"))
    )
    return compared(old, new)


def test_names_cannot_move_the_cursor_or_forge_a_line() -> None:
    shown = text.diff_text(hostile())
    assert "\x1b" not in shown
    assert not any(line.startswith(("::", "[2J")) for line in shown.splitlines())


def test_names_cannot_open_a_workflow_command() -> None:
    shown = github.diff_github(hostile().diff)
    assert [line.split(" ")[0] for line in shown.splitlines()] == ["::notice", "::notice", "::notice"]
    assert "\x1b" not in shown


def test_names_cannot_be_markup() -> None:
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown.diff_markdown(hostile().diff))
    assert "<b>" not in rendered
    assert rendered.count("<tr>") == 4


def test_annotations_come_worst_first_with_the_reason() -> None:
    shown = github.diff_github(STACKS.diff).splitlines()
    assert shown[0].startswith(
        "::error title=stale%3A kernel.cluster-dim::g0: nodes[4].attributes[cluster_dimension] and 23 more (scale): "
        "none → 2x1x1%0AThe effective cluster"
    )
    assert shown[1] == (
        "::notice title=updatable%3A kernel.grid-dim::g0: nodes[4].grid_dim and 23 more (scale): "
        "8x1x1 → 16x1x1%0AThe update applies the grid, in blocks."
    )
    assert shown[2:] == ["::notice title=sigcontract diff::stale: findings in 1 of 1 graph"]


def test_markdown_is_a_heading_and_a_table() -> None:
    assert markdown.diff_markdown(STACKS.diff) == (
        "## sigcontract diff: stale: findings in 1 of 1 graph\n"
        "\n"
        "verdicts hold for driver profile nvidia-h200-cuda-13.0\n"
        "\n"
        "### `g0`: stale\n"
        "\n"
        "| verdict | where | what | change | rule | evidence |\n"
        "|---|---|---|---|---|---|\n"
        "| **updatable** | `nodes[4].grid_dim and 23 more` | scale | 8x1x1 → 16x1x1 "
        "| `kernel.grid-dim` | documented |\n"
        "| **stale** | `nodes[4].attributes[cluster_dimension] and 23 more` | scale | none → 2x1x1 "
        "| `kernel.cluster-dim` | measured |\n"
    )


@pytest.mark.parametrize("count", [1, 7])
def test_many_graphs_with_the_same_findings_share_a_heading(count: int) -> None:
    old, new = (dump(*[graph(*nodes)] * count) for nodes in (LAYER, CHANGED))
    headings = [line for line in markdown.diff_markdown(compared(old, new).diff).splitlines() if line.startswith("###")]
    assert headings == ["### `g0`: stale" if count == 1 else "### `g0`, `g1`, `g2`, `g3`, `g4` and 2 more: stale"]


NAMES_OF_20_KB = [f"kernel_{'x' * 12_000}{middle}{'y' * 8_000}" for middle in ("AAA", "BBB")]


def test_names_of_20_kb_that_differ_in_their_middle_show_it_in_every_form() -> None:
    """As one kernel that changed, and as one that went and one that came."""
    one, two = (dump(graph(kernel(name=name, func=1), kernel(name="last", func=2))) for name in NAMES_OF_20_KB)
    both = dump(graph(*(kernel(name=name, func=at) for at, name in enumerate([*NAMES_OF_20_KB, "last"], 1))))
    for old, new in ((one, two), (one, both)):
        found = compared(old, new)
        whole = encode(found.diff).decode()
        assert all(name in whole for name in NAMES_OF_20_KB[old is one :])
        shown = text.diff_text(found, width=100)
        assert "BBB" in shown
        assert max(map(len, shown.splitlines())) <= 100
    assert "AAA" in text.diff_text(compared(one, two), width=100)
    assert all(part in markdown.diff_markdown(compared(one, two).diff) for part in ("AAA", "BBB"))
