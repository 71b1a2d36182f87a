"""A dump held against a contract: every clause, and what is not known never passes."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sigcontract.errors import NotComparableError, UsageError, VersionError
from sigcontract.model import AttributeId, ConditionalNode, GraphSignature, LabeledGraph, LibraryVersion, SignatureDump
from sigcontract.wire import decode, encode
from tests.compare.dumps import again, dump, kernel, without_code
from tests.contract.contracts import checked, clauses, only, written
from tests.update.build import H200, child, cluster, edge, graph, value

GEMM = "_Z4gemmIfLi4EEvPKT_PS0_"
BASE = graph(kernel(name=GEMM), kernel(name="norm", func=2))
WIDER = graph(kernel(name=GEMM, grid=9), kernel(name="norm", func=2))
STALE = graph(kernel(cluster(2), name=GEMM), kernel(name="norm", func=2))
GOLDEN = 'golden = "golden.dump.json"\nprofile = "nvidia-h200-cuda-13.0"\n'


def new(*graphs: GraphSignature, **changed: Any) -> SignatureDump:
    """Return the dump of a second run."""
    return replace(again(*graphs), **changed)


@pytest.mark.parametrize(
    ("found", "text", "answer"),
    [
        pytest.param(BASE, "", "passed", id="the same in another process"),
        pytest.param(WIDER, "", "failed", id="any difference by default"),
        pytest.param(WIDER, 'worst = "updatable"\n', "passed", id="no worse than allowed"),
        pytest.param(STALE, 'worst = "updatable"\n', "failed", id="worse than allowed"),
        pytest.param(STALE, 'worst = "rejected"\n', "failed", id="stale is worse than rejected"),
        pytest.param(STALE, 'worst = "stale"\n', "passed", id="stale, allowed explicitly"),
        pytest.param(WIDER, 'vary = ["grid_dim"]\n', "passed", id="a field that may vary"),
        pytest.param(WIDER, 'vary = ["block_dim"]\n', "failed", id="another field may vary"),
        pytest.param(STALE, 'vary = ["attributes"]\n', "failed", id="a stale field may not vary"),
        pytest.param(WIDER, 'rules = { "kernel.grid-dim" = "allow" }\n', "passed", id="a rule allowed"),
        pytest.param(STALE, 'rules = { "kernel.cluster-dim" = "allow" }\n', "failed", id="stale is not hidden unsaid"),
        pytest.param(STALE, 'rules = { "kernel.cluster-dim" = "allow-stale" }\n', "passed", id="stale allowed"),
        pytest.param(
            WIDER, 'worst = "stale"\nrules = { "kernel.grid-dim" = "fail" }\n', "failed", id="a rule that always fails"
        ),
        pytest.param(WIDER, 'policy = "share"\n', "passed", id="a policy that leaves the grid out"),
        pytest.param(
            WIDER, '[[graph]]\nworst = "updatable"\n[[graph]]\nlabel = "g?"\n', "failed", id="every clause applies"
        ),
        pytest.param(
            WIDER,
            'rules = { "kernel.grid-dim" = "allow" }\n[[graph]]\nrules = { "kernel.grid-dim" = "fail" }\n',
            "failed",
            id="a graph's answer over the contract's",
        ),
        pytest.param(graph(without_code(kernel(name=GEMM))), "", "failed", id="another topology"),
    ],
)
def test_a_graph_agrees_with_its_golden_graph_as_far_as_the_contract_says(
    tmp_path: Path, found: GraphSignature, text: str, answer: str
) -> None:
    report = checked(tmp_path, new(found), GOLDEN + text, golden=dump(BASE))
    assert report.answer == answer


def test_the_report_says_what_was_found_where_it_was_agreed_and_what_decided(tmp_path: Path) -> None:
    text = GOLDEN + 'worst = "updatable"\n[[graph]]\nlabel = "g*"\n'
    report = checked(tmp_path, new(STALE), text, golden=dump(BASE))
    check = only(report, "contract.golden", "g0")
    assert (check.clause, check.line, check.golden) == ("graph[0]", 6, str(tmp_path / "golden.dump.json"))
    assert (
        (tmp_path / "golden.dump.json")
        .read_text()
        .splitlines()[(check.golden_line or 0) - 1]
        .startswith('{"label":"g0"')
    )
    assert check.expected == "same as the graph of this label in golden.dump.json; worst verdict allowed: updatable"
    assert check.found == "1 difference: 1 not allowed, worst verdict stale"
    assert [(each.answer, each.decided_by, each.finding.rule) for each in check.findings] == [
        ("failed", "worst", "kernel.cluster-dim")
    ]
    assert decode(encode(report)) == report


def test_unknown_code_is_undetermined_until_somebody_allows_it(tmp_path: Path) -> None:
    unknown = graph(without_code(kernel(name=GEMM)), without_code(kernel(name="norm", func=2)))
    assert checked(tmp_path, new(unknown), GOLDEN + 'worst = "stale"\n', golden=dump(unknown)).answer == "undetermined"
    allowed = GOLDEN + 'rules = { "function.code-unknown" = "allow" }\n'
    assert checked(tmp_path, new(unknown), allowed, golden=dump(unknown)).answer == "passed"


def test_a_golden_dump_that_is_missing_is_never_a_pass(tmp_path: Path) -> None:
    report = checked(tmp_path, new(BASE), GOLDEN)
    check = only(report, "contract.golden-missing")
    assert (report.answer, check.answer, check.line) == ("failed", "failed", 3)
    assert check.advice is not None
    assert "--update" in check.advice


def test_a_graph_that_is_missing_or_not_agreed_fails_whatever_verdict_is_allowed(tmp_path: Path) -> None:
    text = GOLDEN + 'worst = "stale"\n'
    one, two = dump(BASE), dump(BASE, graph(kernel(name="other", func=9)))
    missing = only(checked(tmp_path, new(BASE), text, golden=two), "contract.golden", "g1")
    assert (missing.answer, missing.found) == ("failed", "the dump has no such graph")
    added = only(
        checked(tmp_path, new(BASE, graph(kernel(name="x", func=3))), text, golden=one), "contract.golden", "g1"
    )
    assert (added.answer, added.found) == ("failed", "the golden dump has no such graph")


def test_a_golden_dump_of_another_graph_says_so(tmp_path: Path) -> None:
    other = replace(dump(BASE), graphs=(LabeledGraph(label="prefill", graph=graph(kernel(name="x", func=9))),))
    report = checked(tmp_path, new(BASE), GOLDEN, golden=other)
    assert clauses(report)["contract.golden", "g0"] == "failed"
    assert clauses(report)["contract.golden", "prefill"] == "failed"


def test_a_golden_dump_of_version_1_proves_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, GOLDEN + 'worst = "stale"\n')
    (tmp_path / "golden.dump.json").write_bytes(encode(dump(BASE), version=1))
    report = checked(tmp_path, new(BASE), GOLDEN + 'worst = "stale"\n')
    assert Path(path).exists()
    assert report.answer == "undetermined"


def test_a_golden_dump_of_a_newer_version_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "golden.dump.json").write_text('{"document":"sigcontract.dump","version":99}')
    with pytest.raises(VersionError, match="upgrade sigcontract"):
        checked(tmp_path, new(BASE), GOLDEN)


def test_another_driver_fails_and_passes_where_the_contract_names_both(tmp_path: Path) -> None:
    older = dump(BASE, display_driver_version="570.1")
    environment = only(checked(tmp_path, new(BASE), GOLDEN, golden=older), "contract.golden")
    assert (environment.answer, environment.findings[0].finding.rule) == ("failed", "environment.driver")
    named = GOLDEN + '[[driver]]\ndevice = "NVIDIA H200"\n'
    environment = only(checked(tmp_path, new(BASE), named, golden=older), "contract.golden")
    assert (environment.answer, environment.findings[0].decided_by) == ("passed", "driver")


@pytest.mark.parametrize(
    ("scope", "answer"),
    [
        ("cuda_driver_version = 13000", "passed"),
        ("cuda_driver_version = 12080", "undetermined"),
        ('display_driver_version = "580.*"', "passed"),
        ('display_driver_version = "590.*"', "undetermined"),
        ('device = "NVIDIA H?00"', "passed"),
        ('device = "NVIDIA B200"', "undetermined"),
        ('compute_capability = "9.0"', "passed"),
        ('compute_capability = "10.0"', "undetermined"),
        ('device = "NVIDIA H200"\ncuda_driver_version = 12080', "undetermined"),
        ('device = "NVIDIA B200"\n[[driver]]\ncompute_capability = "9.0"', "passed"),
    ],
)
def test_a_contract_does_not_judge_a_driver_that_it_does_not_cover(tmp_path: Path, scope: str, answer: str) -> None:
    report = checked(tmp_path, new(BASE), f"graphs = 1\n[[driver]]\n{scope}\n")
    assert report.answer == answer
    assert len(report.clauses) == (1 if answer == "undetermined" else 3)


def test_a_dump_without_facts_of_its_driver_is_not_known_to_be_within_any(tmp_path: Path) -> None:
    bare = dump(BASE, cuda_driver_version=None, display_driver_version=None, devices=())
    for scope in ('device = "*"', 'display_driver_version = "*"', 'compute_capability = "9.0"'):
        assert checked(tmp_path, bare, f"graphs = 1\n[[driver]]\n{scope}\n").answer == "undetermined"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("graphs = 2\n", "passed"),
        ("graphs = 3\n", "failed"),
        ('[[graph]]\nlabel = "g0"\n[[graph]]\nlabel = "g1"\n', "passed"),
        ('[[graph]]\nlabel = "g0"\n', "failed"),
        ("[[graph]]\ncount = 2\n", "passed"),
        ("[[graph]]\ncount = 1\n", "failed"),
        ("[[graph]]\nat_most = 1\n", "failed"),
        ('[[graph]]\n[[graph]]\nlabel = "warmup*"\n', "failed"),
        ('[[graph]]\n[[graph]]\nlabel = "warmup*"\nat_least = 0\n', "passed"),
        ('[[graph]]\n[[graph]]\nlabel = "warmup*"\ncount = 0\n', "passed"),
    ],
)
def test_graphs_are_counted_and_all_covered(tmp_path: Path, text: str, answer: str) -> None:
    assert checked(tmp_path, new(BASE, WIDER), text).answer == answer


def test_what_a_cut_off_or_empty_dump_lacks_is_not_known(tmp_path: Path) -> None:
    cut = new(BASE, complete=False)
    assert checked(tmp_path, cut, "graphs = 1\n").answer == "undetermined"
    assert clauses(checked(tmp_path, cut, "graphs = 2\n"))["contract.graphs", None] == "undetermined"
    assert (
        clauses(checked(tmp_path, new(BASE, WIDER, complete=False), "graphs = 1\n"))["contract.graphs", None]
        == "failed"
    )
    assert checked(tmp_path, new(), "[[graph]]\n").answer == "undetermined"
    assert checked(tmp_path, cut, GOLDEN + 'worst = "stale"\n', golden=dump(BASE, WIDER)).answer == "undetermined"


@pytest.mark.parametrize(
    ("clause", "answer"),
    [
        ('name = "*gemm*"', "passed"),
        ('name = "*flash*"', "failed"),
        ('name = "*gemm*"\ncount = 0', "failed"),
        ('name = "*flash*"\ncount = 0', "passed"),
        ('name = "norm"\ncount = 3', "passed"),
        ('name = "norm"\nat_most = 2', "failed"),
        (f'code_sha256 = "{"ab" * 32}"\nat_least = 4', "passed"),
        (f'code_sha256 = "{"cd" * 32}"', "failed"),
        (f'name = "norm"\ncode_sha256 = "{"ab" * 32}"\ncount = 3', "passed"),
    ],
)
def test_kernels_are_counted_in_graphs_inside_too(tmp_path: Path, clause: str, answer: str) -> None:
    nested = graph(
        kernel(name=GEMM), kernel(name="norm", func=2), child(kernel(name="norm", func=2), kernel(name="norm", func=2))
    )
    report = checked(tmp_path, new(nested), f"[[graph]]\n[[graph.kernel]]\n{clause}\n")
    assert only(report, "contract.kernel", "g0").answer == answer


def test_kernels_whose_code_is_not_known_leave_a_count_of_code_open(tmp_path: Path) -> None:
    unknown = new(graph(without_code(kernel(name=GEMM))))
    code = "cd" * 32
    for bounds in ("count = 0", "at_least = 1"):
        report = checked(tmp_path, unknown, f'[[graph]]\n[[graph.kernel]]\ncode_sha256 = "{code}"\n{bounds}\n')
        check = only(report, "contract.kernel", "g0")
        assert (check.answer, check.found) == ("undetermined", "0 to 1")
        assert check.advice is not None
        assert "sigcontract record" in check.advice


def test_a_graph_inside_that_cannot_be_read_may_hold_anything(tmp_path: Path) -> None:
    hidden = new(graph(kernel(name="norm"), ConditionalNode(kind=None, handle=None, bodies=None)))
    text = '[[graph]]\nprogrammatic_edges = "forbidden"\n[[graph.kernel]]\nname = "flash"\ncount = 0\n'
    answers = clauses(checked(tmp_path, hidden, text))
    assert answers["contract.kernel", "g0"] == answers["contract.programmatic-edges", "g0"] == "undetermined"
    known = '[[graph]]\n[[graph.kernel]]\nname = "norm"\n'
    assert checked(tmp_path, hidden, known).answer == "passed"


@pytest.mark.parametrize(("kind", "required", "forbidden"), [(1, "passed", "failed"), (0, "failed", "passed")])
def test_programmatic_edges_are_wanted_or_not(tmp_path: Path, kind: int, required: str, forbidden: str) -> None:
    nodes = (kernel(), kernel(name="norm", func=2))
    edges = ((), (edge(0, from_port=kind, kind=kind),))
    found = new(replace(graph(*nodes), dependencies=edges))
    for wanted, answer in (("required", required), ("forbidden", forbidden)):
        report = checked(tmp_path, found, f'[[graph]]\nprogrammatic_edges = "{wanted}"\n')
        assert only(report, "contract.programmatic-edges", "g0").answer == answer


def test_executables_are_counted_under_each_policy(tmp_path: Path) -> None:
    found = new(BASE, WIDER, STALE)
    text = 'profile = "nvidia-h200-cuda-13.0"\n'
    text += '[[executables]]\npolicy = "share"\nat_most = 2\n[[executables]]\npolicy = "exact"\nat_most = 2\n'
    for label in ("g[01]", "g1"):
        text += f'[[executables]]\npolicy = "share"\nat_most = 1\nlabel = "{label}"\n'
    report = checked(tmp_path, found, text)
    assert [(check.answer, check.found) for check in report.clauses if check.rule == "contract.executables"] == [
        ("passed", "2 for 3 graphs"),
        ("failed", "3 for 3 graphs"),
        ("passed", "0 for 0 graphs"),
        ("passed", "1 for 1 graphs"),
    ]


def test_many_graphs_are_held_against_one_golden_graph(tmp_path: Path) -> None:
    text = GOLDEN + '[[graph]]\ngolden_graph = "g0"\nvary = ["grid_dim"]\n'
    report = checked(tmp_path, new(BASE, WIDER, STALE), text, golden=dump(BASE))
    assert [clauses(report)["contract.golden", f"g{index}"] for index in range(3)] == ["passed", "passed", "failed"]
    with pytest.raises(UsageError, match="no graph 'g7' in "):
        checked(tmp_path, new(BASE), GOLDEN + '[[graph]]\ngolden_graph = "g7"\n', golden=dump(BASE))


def test_versions_of_libraries_are_reported_and_fail_nothing(tmp_path: Path) -> None:
    torch = dump(BASE, libraries=(LibraryVersion(name="torch", version="2.11.0"),))
    report = checked(tmp_path, new(BASE), GOLDEN, golden=torch)
    assert report.answer == "passed"
    assert only(report, "contract.golden").findings[0].finding.rule == "environment.library"


def test_labels_that_repeat_are_not_comparable(tmp_path: Path) -> None:
    twice = new(graphs=(LabeledGraph(label="g0", graph=BASE),) * 2)
    with pytest.raises(NotComparableError):
        checked(tmp_path, twice, GOLDEN, golden=dump(BASE))


def test_a_profile_may_be_a_file_beside_the_contract(tmp_path: Path) -> None:
    (tmp_path / "mine.profile.json").write_bytes(encode(H200))
    text = 'golden = "golden.dump.json"\nprofile = "mine.profile.json"\nworst = "updatable"\n'
    assert checked(tmp_path, new(STALE), text, golden=dump(BASE)).answer == "failed"
    assert checked(tmp_path, new(WIDER), text, golden=dump(BASE)).answer == "passed"


def test_an_attribute_may_vary_by_its_name(tmp_path: Path) -> None:
    other = graph(kernel(value(AttributeId.PRIORITY, 3), name=GEMM), kernel(name="norm", func=2))
    text = GOLDEN + 'vary = ["attributes[{}]"]\n'
    assert checked(tmp_path, new(other), text.format("priority"), golden=dump(BASE)).answer == "passed"
    assert checked(tmp_path, new(other), text.format("cooperative"), golden=dump(BASE)).answer == "failed"


def test_what_is_found_fits_into_the_report_whatever_the_dump_holds(tmp_path: Path) -> None:
    found = again(BASE)
    found = replace(found, environment=replace(found.environment, display_driver_version="5" * 65_536))
    report = checked(tmp_path, found, "graphs = 1\n[[driver]]\ncuda_driver_version = 1\n")
    assert report.answer == "undetermined"
    assert decode(encode(report)) == report
