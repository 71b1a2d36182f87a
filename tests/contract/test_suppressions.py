"""Suppressions: with a reason, until a day, and stale only where that is said."""

from pathlib import Path

import pytest

from sigcontract.model import CheckReport
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import checked, only
from tests.update.build import cluster, graph

GOLDEN = 'golden = "golden.dump.json"\nprofile = "nvidia-h200-cuda-13.0"\n'
OLD = graph(kernel(name="gemm"), kernel(name="norm", func=2))
WIDER = graph(kernel(name="gemm", grid=9), kernel(name="norm", func=2))
STALE = graph(kernel(cluster(2), name="gemm"), kernel(name="norm", func=2))


def suppressed(folder: Path, found: object, *lines: str) -> CheckReport:
    text = GOLDEN + "[[suppress]]\n" + "\n".join(['reason = "known"', *lines]) + "\n"
    if not any(line.startswith("expires") for line in lines):
        text += "expires = 2026-12-02\n"
    return checked(folder, again(found), text, golden=dump(OLD))  # type: ignore[arg-type]


GRID = 'rule = "kernel.grid-dim"'
CLUSTER = 'rule = "kernel.cluster-dim"'


@pytest.mark.parametrize(
    ("found", "lines", "answer", "state"),
    [
        pytest.param(WIDER, [GRID], "passed", "used", id="on its last day"),
        pytest.param(WIDER, [GRID, "expires = 2026-12-01"], "failed", "expired", id="a day later"),
        pytest.param(OLD, [GRID], "passed", "unused", id="nothing to suppress"),
        pytest.param(OLD, [GRID, "expires = 2020-01-01"], "failed", "expired", id="expired and unused"),
        pytest.param(WIDER, [CLUSTER], "failed", "unused", id="another rule"),
        pytest.param(WIDER, [GRID, 'graph = "g0"'], "passed", "used", id="this graph"),
        pytest.param(WIDER, [GRID, 'graph = "g1"'], "failed", "unused", id="another graph"),
        pytest.param(WIDER, [GRID, 'kernel = "gem*"'], "passed", "used", id="this kernel"),
        pytest.param(WIDER, [GRID, 'kernel = "norm"'], "failed", "unused", id="another kernel"),
        pytest.param(WIDER, [GRID, 'path = "nodes[0].*"'], "passed", "used", id="this path"),
        pytest.param(WIDER, [GRID, 'path = "nodes[1].*"'], "failed", "unused", id="another path"),
        pytest.param(STALE, [CLUSTER], "failed", "unused", id="stale is not hidden unsaid"),
        pytest.param(STALE, [CLUSTER, "stale = true"], "passed", "used", id="stale, allowed explicitly"),
    ],
)
def test_a_suppression_lets_pass_what_it_names_until_its_day(
    tmp_path: Path, found: object, lines: list[str], answer: str, state: str
) -> None:
    report = suppressed(tmp_path, found, *lines)
    (use,) = report.suppressions
    assert (report.answer, use.state) == (answer, state)
    assert use.hidden == (state == "used")


def test_what_passes_by_a_suppression_names_it(tmp_path: Path) -> None:
    check = only(suppressed(tmp_path, WIDER, GRID), "contract.golden", "g0")
    assert [(each.answer, each.decided_by, each.suppression) for each in check.findings] == [("passed", "suppress", 0)]


def test_a_stale_finding_that_is_named_and_kept_is_counted(tmp_path: Path) -> None:
    (use,) = suppressed(tmp_path, STALE, CLUSTER).suppressions
    assert use.stale_kept == 1


def test_an_expired_one_is_a_failure_of_its_own_with_its_line(tmp_path: Path) -> None:
    check = only(suppressed(tmp_path, OLD, GRID, "expires = 2020-01-01"), "contract.suppression-expired")
    assert (check.answer, check.line, check.expected) == ("failed", 5, "suppressed until 2020-01-01: known")


def test_a_path_covers_every_path_of_a_finding_or_hides_none(tmp_path: Path) -> None:
    many = graph(*(kernel(name="gemm", grid=9) for _ in range(2)))
    text = GOLDEN + f'[[suppress]]\n{GRID}\nreason = "known"\nexpires = 2026-12-31\npath = '
    old = dump(graph(*(kernel(name="gemm") for _ in range(2))))
    assert checked(tmp_path, again(many), f'{text}"nodes[0].*"\n', golden=old).answer == "failed"
    assert checked(tmp_path, again(many), f'{text}"nodes[?].grid_dim"\n', golden=old).answer == "passed"


def test_a_clause_that_does_not_hold_can_be_suppressed_by_its_own_rule(tmp_path: Path) -> None:
    text = '[[graph]]\n[[graph.kernel]]\nname = "flash"\n[[suppress]]\nrule = "contract.kernel"\ngraph = "g0"\n'
    text += 'reason = "comes with the next release"\nexpires = 2026-12-31\n'
    report = checked(tmp_path, again(OLD), text)
    assert report.answer == "passed"
    assert only(report, "contract.kernel", "g0").suppression == 0
    other = checked(tmp_path, again(OLD), text.replace('graph = "g0"', 'graph = "g1"'))
    assert (other.answer, other.suppressions[0].state) == ("failed", "unused")
