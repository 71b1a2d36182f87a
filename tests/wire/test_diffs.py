"""Diffs as documents: version 2 with each long text once, version 1 as it was."""

import json

import pytest
from hypothesis import given
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.compare.dumps import diff
from sigcontract.model.findings import DumpDiff
from sigcontract.wire.codec import decode, encode
from tests.compare.dumps import again, dump, kernel
from tests.strategies import LAWS, records
from tests.update.arguments import given as given_arguments, scalar
from tests.update.build import H200, edge, graph

LONG = "_Z" + "x" * 900
KERNELS = [kernel(name=f"{LONG}{index}", func=index + 1) for index in range(40)]


def long_names() -> DumpDiff:
    """Return a diff of 40 kernels with long names, each in a finding of its own."""
    changed = [replace(node, grid_dim=replace(node.grid_dim, x=99 + at)) for at, node in enumerate(KERNELS)]
    return diff(dump(graph(*KERNELS)), again(graph(*changed)), H200)


def test_a_long_text_stands_once_however_many_findings_and_causes_repeat_it() -> None:
    data = encode(long_names())
    assert len(json.loads(data)["texts"]) == len(KERNELS)
    assert all(data.count(node.name.encode() + b'"') == 1 for node in KERNELS)
    assert decode(data) == long_names()


@LAWS
@given(records(DumpDiff))
def test_version_1_keeps_what_it_can_say(found: DumpDiff) -> None:
    again_ = decode(encode(found, version=1), expect=DumpDiff)
    assert (again_.policy, again_.one_capture, again_.not_compared) == (None, None, ())
    assert again_.findings == found.findings
    assert [graph.verdict for graph in again_.graphs] == [graph.verdict for graph in found.graphs]
    assert encode(again_, version=1) == encode(found, version=1)


def test_a_diff_says_what_it_compared_and_how_large_the_graphs_are() -> None:
    programmatic = graph(*KERNELS[:2], edges=[[], [edge(0, from_port=1, kind=1)]])
    found = diff(dump(graph(*KERNELS[:2])), again(programmatic), H200)
    assert (found.policy, found.one_capture) == ("portable", False)
    assert found.not_compared[0] == "arguments of kernels (not recorded)"
    (compared,) = found.graphs
    assert compared.old_size == sc.GraphSize(nodes=2, edges=1, programmatic_edges=0)
    assert compared.new_size == sc.GraphSize(nodes=2, edges=1, programmatic_edges=1)
    added = diff(dump(), dump(graph()), H200).graphs[0]
    assert (added.old_size, added.new_size) == (None, sc.GraphSize(nodes=0, edges=0, programmatic_edges=0))


@pytest.mark.parametrize(
    ("policy", "recorded", "left_out"),
    [
        ("exact", False, ("arguments of kernels (not recorded)",)),
        ("exact", True, ()),
        (
            "portable",
            False,
            ("arguments of kernels (not recorded)", "addresses", "values of handles", "order of nodes"),
        ),
        ("portable", True, ("addresses", "values of handles", "order of nodes")),
        ("share", True, ("arguments of kernels", "dimensions", "shared memory", "1D copies and memsets")),
        (
            "share-functions",
            False,
            ("arguments of kernels", "dimensions", "shared memory", "1D copies and memsets", "functions"),
        ),
    ],
)
def test_arguments_are_left_out_where_neither_dump_has_them_and_under_the_share_policies(
    policy: str, recorded: bool, left_out: tuple[str, ...]
) -> None:
    drawn = graph(given_arguments(kernel(), scalar(16)) if recorded else kernel())
    found = diff(dump(drawn), dump(drawn), policy=policy)
    assert (found.policy, found.not_compared) == (policy, left_out)
