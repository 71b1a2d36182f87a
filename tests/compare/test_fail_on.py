"""The gate: what passes, what fails, and what it cannot tell."""

import pytest
from msgspec.structs import replace

from sigcontract.compare.fail_on import FAIL_ON, Answer, gate
from sigcontract.model.findings import DumpDiff, Finding, GraphDiff, Verdict
from sigcontract.update import undetermined as unknowns
from sigcontract.update.rules import RULES


def finding(verdict: Verdict, rule: str = "kernel.grid-dim", old: str | None = "1x1x1") -> Finding:
    return Finding(
        rule=rule,
        path="nodes[0].grid_dim",
        verdict=verdict,
        evidence="assumed",
        old=old,
        new="2x1x1",
        subject=None,
        count=1,
        also=(),
    )


def found(*findings: Finding, environment: tuple[Finding, ...] = ()) -> DumpDiff:
    """Return the diff of one graph that has these findings."""
    verdict = Verdict.of_update(finding.verdict for finding in findings)
    graph = GraphDiff(
        label="g",
        old_label="g",
        new_label="g",
        verdict=verdict,
        old_size=None,
        new_size=None,
        causes=(),
        findings=findings,
    )
    return DumpDiff(
        verdict=verdict,
        policy="portable",
        one_capture=False,
        not_compared=(),
        profile=None,
        environment=environment,
        graphs=(graph,),
    )


UNKNOWN_CODE = finding(Verdict.UNDETERMINED, "function.code-unknown")
UNJUDGED_CHANGE = finding(Verdict.UNDETERMINED, "kernel.mem-sync-domain")


@pytest.mark.parametrize(
    ("findings", "fail_on", "answer"),
    [
        pytest.param([], "any", "passed", id="nothing found"),
        pytest.param([finding(Verdict.IDENTICAL)], "any", "passed", id="identical is no difference"),
        pytest.param([finding(Verdict.HARMLESS)], "any", "failed", id="any difference fails by default"),
        pytest.param([finding(Verdict.HARMLESS)], "updatable", "passed", id="below"),
        pytest.param([finding(Verdict.UPDATABLE)], "updatable", "failed", id="at"),
        pytest.param([finding(Verdict.STALE)], "updatable", "failed", id="above"),
        pytest.param([finding(Verdict.REJECTED)], "stale", "passed", id="rejected is below stale"),
        pytest.param([UNKNOWN_CODE], "any", "undetermined", id="unknown is no difference and no pass"),
        pytest.param([UNKNOWN_CODE], "stale", "undetermined", id="unknown passes no gate"),
        pytest.param([UNJUDGED_CHANGE], "any", "failed", id="a difference, whatever it means"),
        pytest.param([UNJUDGED_CHANGE], "stale", "undetermined", id="it might be stale"),
        pytest.param([UNKNOWN_CODE, finding(Verdict.STALE)], "stale", "failed", id="failed outweighs unknown"),
        pytest.param(
            [finding(Verdict.HARMLESS, "kernel.priority", "not asked for")], "any", "undetermined", id="never asked for"
        ),
        pytest.param(
            [finding(Verdict.HARMLESS, "kernel.programmatic-event", "unreadable")],
            "any",
            "undetermined",
            id="unreadable",
        ),
        pytest.param(
            [finding(Verdict.UPDATABLE, "kernel.function", "unreadable")], "any", "failed", id="a kernel's name"
        ),
    ],
)
def test_the_gate_answers(findings: list[Finding], fail_on: str, answer: Answer) -> None:
    assert gate(found(*findings), fail_on) == answer


def test_where_the_update_is_refused_nothing_goes_stale() -> None:
    refused = found(finding(Verdict.STALE, "kernel.cluster-dim"), finding(Verdict.REJECTED, "node.added"))
    assert [gate(refused, fail_on) for fail_on in FAIL_ON] == ["failed", "failed", "failed", "failed", "passed"]
    elsewhere = found(finding(Verdict.STALE, "kernel.cluster-dim"))
    both = replace(elsewhere, graphs=(*refused.graphs, *elsewhere.graphs))
    assert gate(both, "stale") == "failed"


@pytest.mark.parametrize(
    ("rule", "answer"), [("environment.library", "passed"), ("environment.driver", "failed")], ids=str
)
def test_another_version_of_a_library_is_reported_and_fails_no_gate(rule: str, answer: Answer) -> None:
    assert gate(found(environment=(finding(Verdict.HARMLESS, rule),)), "any") == answer


@pytest.mark.parametrize(
    ("policy", "one_capture", "verdict", "answer"),
    [
        ("portable", False, Verdict.HARMLESS, "passed"),
        ("portable", False, Verdict.REJECTED, "passed"),
        ("portable", True, Verdict.HARMLESS, "passed"),
        ("portable", True, Verdict.REJECTED, "failed"),
        ("exact", False, Verdict.HARMLESS, "failed"),
        (None, None, Verdict.HARMLESS, "failed"),
    ],
)
def test_another_order_of_nodes_is_no_difference_of_two_runs(
    policy: str | None, one_capture: bool | None, verdict: Verdict, answer: Answer
) -> None:
    order = replace(found(finding(verdict, "topology.node-order")), policy=policy, one_capture=one_capture)
    assert gate(order, "any") == answer
    assert gate(order, verdict.value) == "failed"


def test_a_gate_can_be_set_to_any_difference_and_to_each_verdict_that_is_one() -> None:
    assert FAIL_ON == ("any", "harmless", "updatable", "rejected", "stale")
    assert {type(value) for value in FAIL_ON} == {str}, "usage errors show them as they are typed"


def test_the_rules_that_say_what_is_not_known_are_rules() -> None:
    assert RULES.keys() >= unknowns._NOT_KNOWN
