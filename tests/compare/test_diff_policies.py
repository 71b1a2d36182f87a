"""What each policy counts as a difference of two dumps."""

from random import Random

import pytest
from msgspec.structs import replace

from sigcontract.compare.dumps import diff
from sigcontract.errors import UsageError
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.findings import Verdict
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.model.profile import DriverProfile
from sigcontract.update.policies import same
from tests.compare.dumps import again, dump, kernel, only, without_code
from tests.update.build import (
    FACTS,
    H200,
    cluster,
    cooperative,
    graph,
    value,
)

A = graph(kernel())


def test_a_policy_says_what_counts() -> None:
    a = graph(kernel())
    b = graph(kernel(func=0xF1, grid=9))
    found = {
        policy: [f.rule for f in diff(dump(a), again(b), H200, policy=policy).findings]
        for policy in ("exact", "portable", "share", "share-functions")
    }
    assert found == {
        "exact": ["kernel.function", "kernel.grid-dim"],
        "portable": ["kernel.grid-dim"],
        "share": [],
        "share-functions": [],
    }
    other = graph(kernel(name="other"))
    assert [f.rule for f in diff(dump(a), again(other), H200, policy="share").findings] == ["kernel.function"]
    assert diff(dump(a), again(other), H200, policy="share-functions").findings == ()


@pytest.mark.parametrize("code", ["known", "unknown"])
@pytest.mark.parametrize("policy", ["share", "share-functions"])
def test_in_one_capture_two_handles_are_two_functions_for_an_executable(code: str, policy: str) -> None:
    """Two modules loaded from one image, as the policy itself says of two graphs of one process."""
    a, b = kernel(cooperative(on=False)), kernel(cooperative(on=False), func=0xF1)
    one, other = (graph(node if code == "known" else without_code(node)) for node in (a, b))
    rules = [] if policy == "share-functions" else ["kernel.function"]
    assert [f.rule for f in diff(dump(one), dump(other), H200, policy=policy).findings] == rules
    assert same(policy, one, other, H200).same == (not rules)
    found = diff(dump(one), dump(other), H200)
    assert [f.rule for f in found.findings] == ([] if code == "known" else ["kernel.function"])


def test_in_one_capture_another_handle_of_a_cooperative_kernel_is_judged_as_its_function() -> None:
    a, b = (graph(kernel(cooperative(on=True), func=func)) for func in (0xF0, 0xF1))
    finding = only(diff(dump(a), dump(b), H200, policy="share"))
    assert (finding.rule, finding.path, finding.verdict) == (
        "kernel.cooperative-function",
        "nodes[0].func",
        Verdict.STALE,
    )
    assert (finding.old, finding.new) == ("0xf0", "0xf1")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (kernel(), kernel(value(AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, 50)), "kernel.carveout"),
        (kernel(), kernel(cluster(1)), "kernel.cluster-one"),
    ],
)
def test_what_the_share_policies_keep_apart_is_a_difference_under_them(
    old: KernelNodeSignature, new: KernelNodeSignature, rule: str
) -> None:
    for policy in ("share", "share-functions"):
        assert not same(policy, graph(old), graph(new), H200).same
        assert [f.rule for f in diff(dump(graph(old)), dump(graph(new)), H200, policy=policy).findings] == [rule]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="no policy 'strict'; policies: exact, share, share-functions"):
        diff(dump(A), dump(A), policy="strict")


FACTS_SEEN = (FACTS, None, replace(FACTS, registers=33), replace(FACTS, required_cluster_dim=Dim3(x=1, y=1, z=1)))


def _some_kernel(random: Random) -> KernelNodeSignature:
    return kernel(
        cluster(random.choice((0, 0, 1, 2))),
        cooperative(on=random.random() < 0.3),
        kern=random.choice((0, 0, 9)),
        func=random.choice((0xF0, 0xF0, 0xF1)),
        grid=random.choice((8, 16)),
        function=random.choice(FACTS_SEEN),
    )


@pytest.mark.parametrize("policy", ["share", "share-functions"])
@pytest.mark.parametrize("profile", [H200, replace(H200, cluster_fixed_at="never")], ids=["measured", "never fixed"])
def test_in_one_capture_diff_finds_something_exactly_where_the_policy_keeps_graphs_apart(
    policy: str, profile: DriverProfile
) -> None:
    """Chains of one length, so that both put the same nodes side by side."""
    random = Random(policy)  # noqa: S311  a test's repeatable choice, no secret
    wrong = []
    for _ in range(750):
        length = random.choice((1, 1, 2))
        a, b = (graph(*(_some_kernel(random) for _ in range(length))) for _ in range(2))
        found = diff(dump(a), dump(b), profile, policy=policy)
        answer = same(policy, a, b, profile)
        if (found.findings == ()) != answer.same:
            wrong.append((a.nodes, b.nodes, found.findings, answer.reasons))
    assert wrong == []
