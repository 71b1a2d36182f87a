"""diff: what it finds in the situations that people report, and what it refuses to say."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sigcontract.compare.dumps import compare_dumps, diff
from sigcontract.compare.fail_on import gate
from sigcontract.errors import NotComparableError, UsageError
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.cuda import AttributeId
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import DeviceInfo, LabeledGraph, LibraryVersion, SignatureDump
from sigcontract.model.findings import Verdict
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.nodes import EmptyNode, KernelNodeSignature, OpaqueNode
from sigcontract.wire.codec import decode, encode
from tests.compare.dumps import again, dump, environment, kernel, kinds, of_another_process, only, without_code
from tests.update.build import (
    FACTS,
    H200,
    child,
    cluster,
    cooperative,
    edge,
    graph,
    memcpy,
    operand,
    pointer,
    value,
    without_value,
)
from tests.work import grows_with_its_input

LAYER = [kernel(name=f"k{index}", func=0x100 + index) for index in range(10)]
STACK = LAYER * 24


def each(name: str, **changed: object) -> list[KernelNodeSignature]:
    """Return the stack with one kernel of every layer changed."""
    return [replace(node, **changed) if node.name == name else node for node in STACK]


# One cause, one finding.


def test_the_same_change_in_every_layer_is_one_finding_with_a_count() -> None:
    found = only(diff(dump(graph(*STACK)), again(graph(*each("k3", grid_dim=Dim3(x=99, y=1, z=1)))), H200))
    assert (found.rule, found.verdict, found.evidence) == ("kernel.grid-dim", Verdict.UPDATABLE, "documented")
    assert (found.path, found.old, found.new, found.subject) == ("nodes[3].grid_dim", "8x1x1", "99x1x1", "k3")
    assert found.count == 24
    assert found.also[:2] == ("nodes[13].grid_dim", "nodes[23].grid_dim")
    assert len(found.also) == 8


def test_a_block_of_nodes_inserted_in_every_layer_is_one_finding_per_kind_of_node() -> None:
    """404 nodes against 376: 28 combine kernels, one per layer, and not 400 changed lines."""
    layers = [[kernel(name=f"k{index}", func=0x100 + index) for index in range(13)] for _ in range(28)]
    tail = [kernel(name=f"t{index}", func=0x300 + index) for index in range(12)]
    combine = kernel(name="combine", func=0x999)
    old = graph(*[node for layer in layers for node in layer], *tail)
    new = graph(*[node for layer in layers for node in (*layer[:6], combine, *layer[6:])], *tail)
    assert (len(old.nodes), len(new.nodes)) == (376, 404)
    found = only(diff(dump(old), again(new), H200))
    assert (found.rule, found.subject, found.count, found.verdict) == ("node.added", "combine", 28, Verdict.REJECTED)


def test_a_rebuilt_function_is_one_finding_however_many_facts_differ() -> None:
    rebuilt = replace(FACTS, registers=40, local_mem_bytes=16, code_sha256="cd" * 32)
    found = only(diff(dump(graph(kernel())), again(graph(kernel(function=rebuilt))), H200))
    assert (found.rule, found.path) == ("function.facts", "nodes[0].function")
    assert found.old == f"local_mem_bytes 0, registers 32, code_sha256 {'ab' * 32}"


def test_another_kernel_name_is_another_function_and_its_facts_follow() -> None:
    other = kernel(name="gemm_128x64", func=0xF7, function=replace(FACTS, registers=200, code_sha256="cd" * 32))
    assert kinds(diff(dump(graph(kernel())), again(graph(other)), H200)) == [("kernel.function", "nodes[0].name", 1)]


def test_a_programmatic_edge_is_one_finding_about_the_edge() -> None:
    full, programmatic = graph(*LAYER[:2]), graph(*LAYER[:2], edges=[[], [edge(0, 1, 0, 1)]])
    found = only(diff(dump(full), again(programmatic), H200))
    assert (found.rule, found.path, found.verdict) == ("edge.data", "dependencies[1][0]", Verdict.REJECTED)


def test_dependencies_in_another_order_are_one_finding() -> None:
    a, b = (graph(*LAYER[:3], edges=[[], [], order]) for order in ([0, 1], [1, 0]))
    assert kinds(diff(dump(a), again(b), H200)) == [("topology.dependency", "dependencies[2]", 1)]


def test_an_edge_gained_is_one_finding() -> None:
    a, b = (graph(*LAYER[:3], edges=[[], [0], into]) for into in ([1], [1, 0]))
    found = only(diff(dump(a), again(b), H200))
    assert (found.rule, found.path, found.old, found.new) == (
        "topology.dependency-count",
        "dependencies[2]",
        "1",
        "1, 0",
    )


def test_what_changes_inside_a_child_graph_is_named_there_and_counted() -> None:
    a, b = child(*LAYER[:3]), child(*LAYER[:2], replace(LAYER[2], dynamic_shared_mem_bytes=64))
    found = only(diff(dump(graph(a, a)), again(graph(b, b)), H200))
    assert (found.path, found.count) == ("nodes[0].graph.nodes[2].dynamic_shared_mem_bytes", 2)
    assert found.also == ("nodes[1].graph.nodes[2].dynamic_shared_mem_bytes",)


def test_a_fact_that_is_true_or_false_is_written_in_words_that_a_document_can_hold() -> None:
    managed = memcpy(operand(facts=replace(pointer(), managed=True)))
    found = diff(dump(graph(memcpy())), dump(graph(managed)), H200)
    assert [(f.rule, f.path, f.old, f.new) for f in found.findings] == [
        ("memory.kind", "nodes[0].source.pointer.managed", "false", "true")
    ]
    assert decode(encode(found)) == found


def test_another_type_of_node_in_its_place_is_one_finding() -> None:
    found = only(diff(dump(graph(*LAYER[:3])), again(graph(LAYER[0], memcpy(), LAYER[2])), H200))
    assert (found.rule, found.path, found.old, found.new) == ("node.type", "nodes[1]", "k1", "memcpy")


# What an update does about it.


@pytest.mark.parametrize("old", [0, 2, 4])
@pytest.mark.parametrize("new", [0, 2, 4])
def test_another_cluster_is_stale_in_every_direction(old: int, new: int) -> None:
    found = diff(dump(graph(kernel(cluster(old)))), again(graph(kernel(cluster(new)))), H200)
    assert found.verdict == (Verdict.IDENTICAL if old == new else Verdict.STALE)
    assert [(f.rule, f.evidence) for f in found.findings] == [("kernel.cluster-dim", "measured")] * (old != new)


def test_without_a_profile_nothing_counts_as_measured_and_the_cluster_is_stale_all_the_same() -> None:
    found = diff(dump(graph(kernel(cluster(2)))), again(graph(kernel(cluster(4)))))
    assert {f.evidence for f in found.findings if f.rule == "kernel.cluster-dim"} == {"reported"}
    assert found.verdict is Verdict.STALE
    assert found.profile is None


def test_another_function_on_a_cooperative_node_is_what_the_profile_says_of_it() -> None:
    facts = replace(FACTS, code_sha256="cd" * 32)
    a, b = kernel(cooperative()), kernel(cooperative(), function=facts)
    found = only(diff(dump(graph(a)), again(graph(b)), H200))
    assert (found.rule, found.verdict) == ("kernel.cooperative-function", Verdict.STALE)
    assert found.path == "nodes[0].function.code_sha256"


def test_nodes_that_only_moved_are_judged_by_the_order_in_which_the_driver_pairs_them() -> None:
    a, b = (graph(LAYER[0], *pair, edges=[[], [0], [0]]) for pair in (LAYER[1:3], LAYER[2:0:-1]))
    found = diff(dump(a), again(b), H200)
    assert [finding.rule for finding in found.findings] == ["topology.node-order"]
    assert found.verdict is Verdict.UPDATABLE


def test_whether_moved_nodes_are_refused_is_undetermined_where_what_decides_it_is_unknown() -> None:
    hidden = kernel(name="hidden", func=0xF7, drop=[AttributeId.DEVICE_UPDATABLE_KERNEL_NODE])
    a, b = (graph(LAYER[0], *pair, edges=[[], [0], [0]]) for pair in ((LAYER[1], hidden), (hidden, LAYER[1])))
    moves = [f for f in diff(dump(a), again(b), H200).findings if f.rule == "topology.node-order"]
    assert [f.verdict for f in moves] == ["undetermined"]


def test_every_attribute_that_is_refused_says_so() -> None:
    """The driver stops at the first."""
    scheduling = AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING
    a, b = kernel(), kernel(cooperative(), value(scheduling, 1, observed=True))
    found = diff(dump(graph(a)), again(graph(b)), H200)
    assert {(f.rule, f.verdict) for f in found.findings} == {
        ("kernel.cooperative", "rejected"),
        ("kernel.attribute-rejected", "rejected"),
    }


# Functions across processes.


def test_functions_are_compared_by_which_are_the_same() -> None:
    assert diff(dump(graph(*STACK)), again(of_another_process(graph(*STACK))), H200).findings == ()


def test_a_function_that_splits_and_one_that_merges_are_findings_of_their_own() -> None:
    one, two = graph(*STACK), graph(*STACK[:133], replace(STACK[133], func=0x777), *STACK[134:])
    split = only(diff(dump(one), again(of_another_process(two)), H200))
    merge = only(diff(dump(two), again(of_another_process(one)), H200))
    assert (split.rule, split.path, split.old, split.new) == (
        "function.split",
        "nodes[133].func",
        "one function",
        "two functions",
    )
    assert (merge.rule, merge.path, merge.old, merge.new) == (
        "function.merge",
        "nodes[133].func",
        "two functions",
        "one function",
    )


def test_two_functions_of_one_name_that_were_exchanged_are_reported() -> None:
    a, b = kernel(func=0xA), kernel(func=0xB)
    found = diff(dump(graph(a, a, b, b, a)), again(graph(a, a, b, a, b)), H200)
    assert {finding.rule for finding in found.findings} == {"portable.function"}
    assert sum(finding.count for finding in found.findings) == 2


def test_same_name_same_facts_other_machine_code_is_not_equal() -> None:
    """Two Triton kernels that differ in a constexpr have everything else in common."""
    other = graph(kernel(function=replace(FACTS, code_sha256="cd" * 32)))
    found = only(diff(dump(graph(kernel())), again(other), H200))
    assert (found.rule, found.old, found.new) == ("function.code", "ab" * 32, "cd" * 32)


def test_where_no_code_is_known_it_is_reported_once_for_all_functions() -> None:
    unknown = graph(*map(without_code, STACK))
    found = only(diff(dump(unknown), again(of_another_process(unknown)), H200))
    assert (found.rule, found.verdict, found.count) == ("function.code-unknown", Verdict.UNDETERMINED, 10)


def test_in_one_capture_equal_handles_are_one_function() -> None:
    """The same process at the same moment; at another moment a number may have been given again."""
    a, b = (graph(without_code(kernel(grid=grid))) for grid in (1, 2))
    assert kinds(diff(dump(a), dump(b), H200)) == [("kernel.grid-dim", "nodes[0].grid_dim", 1)]
    later = dump(b, created_at="2026-12-01T00:00:01Z")
    assert "function.code-unknown" in {finding.rule for finding in diff(dump(a), later, H200).findings}


def test_a_name_made_from_a_handle_means_nothing_in_another_process() -> None:
    a, b = (kernel(name=f"func:14{number}", func=number) for number in (7, 8))
    for other in (a, b):
        found = only(diff(dump(graph(a)), again(graph(other)), H200))
        assert (found.rule, found.verdict) == ("function.name-not-durable", Verdict.UNDETERMINED)


def test_a_version_1_record_proves_no_function() -> None:
    """Every field of two such records may be equal and the kernels not: an equal dump is no copy."""
    record = graph(kernel(func=0, context=0, function=None))
    found = diff(dump(record), dump(record))
    assert found.verdict is Verdict.UNDETERMINED
    assert "function.code-unknown" in {finding.rule for finding in found.findings}


def test_repeated_equal_nodes_align_by_position_not_by_name() -> None:
    """Two GEMMs of one name in different layers: the second changed."""
    gemm = kernel(name="gemm", func=0xA)
    old = graph(gemm, LAYER[0], gemm, LAYER[1], gemm)
    new = graph(gemm, LAYER[0], replace(gemm, grid_dim=Dim3(x=3, y=1, z=1)), LAYER[1], gemm)
    assert kinds(diff(dump(old), again(new), H200)) == [("kernel.grid-dim", "nodes[2].grid_dim", 1)]


# Unknown is never equal.


def test_an_attribute_unreadable_on_both_sides_is_reported_once() -> None:
    unreadable = without_value(AttributeId.MEM_SYNC_DOMAIN)
    stack = graph(*[kernel(unreadable, name=f"k{i}", func=i + 1) for i in range(5)])
    found = only(diff(dump(stack), again(stack), H200))
    assert (found.rule, found.count, found.subject) == ("kernel.attribute-unknown", 5, None)
    assert found.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        pytest.param(OpaqueNode(type=14), "node.opaque", id="opaque"),
        pytest.param(ConditionalNode(kind=None, handle=None, bodies=None), "conditional.unreadable", id="conditional"),
        pytest.param(ConditionalNode(kind=0, handle=None, bodies=(None,)), "conditional.unreadable", id="body"),
    ],
)
def test_a_node_of_which_nothing_is_known_is_never_the_same(node: OpaqueNode | ConditionalNode, rule: str) -> None:
    found = diff(dump(graph(node)), again(graph(node)), H200)
    assert {finding.rule for finding in found.findings} == {rule}
    assert found.verdict is Verdict.UNDETERMINED


def test_a_node_known_by_its_number_alone_may_be_of_the_type_that_has_a_record() -> None:
    found = only(diff(dump(graph(EmptyNode())), again(graph(OpaqueNode(type=EmptyNode.node_type))), H200))
    assert (found.rule, found.verdict) == ("node.opaque", Verdict.UNDETERMINED)


def test_a_dump_that_was_cut_off_is_never_the_same() -> None:
    cut = replace(dump(graph(*LAYER)), complete=False)
    found = only(diff(cut, cut))
    assert (found.rule, found.verdict, found.path) == ("dump.incomplete", Verdict.UNDETERMINED, "complete")


def test_an_empty_dump_proves_nothing() -> None:
    found = only(diff(dump(), dump()))
    assert (found.rule, found.verdict) == ("dump.empty", Verdict.UNDETERMINED)
    assert {f.rule for f in diff(dump(), again(graph(EmptyNode()))).findings} == {"dump.empty", "graph.not-recorded"}


def test_a_graph_that_a_dump_cut_off_lacks_may_have_been_captured_all_the_same() -> None:
    whole, cut = labelled(x=A, y=C), replace(labelled(x=A), complete=False)
    for old, new, sizes in ((whole, cut, ("2 nodes", None)), (cut, whole, (None, "2 nodes"))):
        found = diff(old, new, H200)
        found = replace(found, environment=(), graphs=found.graphs[1:])
        assert [(f.rule, f.old, f.new) for f in found.findings] == [("graph.not-recorded", *sizes)]
        assert gate(found, "any") == "undetermined"
    assert [f.rule for f in diff(cut, labelled(x=A, y=C), H200).environment] == ["dump.incomplete"]


# Environment.


def test_differences_of_environment_come_first_and_runs_do_not_count() -> None:
    old = dump(graph(EmptyNode()))
    new = replace(
        old,
        environment=environment(
            hostname="node-b",
            process_id=7,
            rank=3,
            created_at="2026-12-24T00:00:00Z",
            cuda_driver_version=13010,
            devices=(
                DeviceInfo(ordinal=0, name="NVIDIA B200", compute_capability_major=10, compute_capability_minor=0),
            ),
            libraries=(LibraryVersion(name="torch", version="2.11.0"),),
        ),
        profile="nvidia-b200-cuda-13.1",
    )
    found = diff(old, new)
    assert kinds(found) == [
        ("environment.driver", "environment.cuda_driver_version", 1),
        ("environment.device", "environment.devices[0]", 1),
        ("environment.library", "environment.libraries[torch]", 1),
        ("dump.profile", "profile", 1),
    ]
    assert found.findings[: len(found.environment)] == found.environment


def test_the_shipped_profile_that_both_dumps_name_is_the_one_to_judge_by() -> None:
    named = replace(dump(graph(kernel())), profile="nvidia-h200-cuda-13.0")
    assert diff(named, named).profile == "nvidia-h200-cuda-13.0"
    other_driver = replace(named, environment=environment(cuda_driver_version=12080))
    assert diff(named, other_driver).profile is None


def test_dumps_that_name_different_profiles_leave_it_open_unless_one_is_given() -> None:
    unnamed, named = (replace(dump(graph(kernel())), profile=name) for name in (None, "nvidia-h200-cuda-13.0"))
    (left_open,) = diff(unnamed, named).findings
    assert (left_open.rule, left_open.verdict) == ("dump.profile", Verdict.UNDETERMINED)
    assert diff(unnamed, named, H200).findings == ()


def test_a_profile_of_another_driver_is_refused() -> None:
    with pytest.raises(NotComparableError, match=r"profile 'nvidia-h200-cuda-13\.0' is for CUDA driver 13000"):
        diff(dump(graph()), dump(graph(), cuda_driver_version=12080), H200)


# Which graph is which.


def labelled(**graphs: GraphSignature) -> SignatureDump:
    entries = tuple(LabeledGraph(label=label, graph=each_graph) for label, each_graph in graphs.items())
    return replace(again(), graphs=entries)


A, B, C = graph(*LAYER), graph(*LAYER[:4], memcpy()), graph(EmptyNode(), EmptyNode())


def test_graphs_correspond_by_label_first() -> None:
    found = diff(labelled(x=A, y=B), labelled(y=B, x=A), H200)
    assert found.findings == ()
    assert [entry.label for entry in found.graphs] == ["y", "x"]


def test_a_graph_of_another_label_is_found_by_its_digest() -> None:
    found = only(diff(labelled(x=A, y=B), labelled(x=A, z=B), H200))
    assert (found.rule, found.old, found.new, found.verdict) == ("graph.label", "y", "z", Verdict.HARMLESS)


def test_a_graph_of_another_label_that_changed_is_found_by_its_likeness() -> None:
    changed = graph(*LAYER[:9], replace(LAYER[9], grid_dim=Dim3(x=3, y=1, z=1)))
    found = diff(labelled(x=C, y=A), labelled(x=C, z=changed), H200)
    assert kinds(found) == [("graph.label", "label", 1), ("kernel.grid-dim", "nodes[9].grid_dim", 1)]
    assert (found.graphs[1].old_label, found.graphs[1].new_label) == ("y", "z")


def test_a_graph_without_counterpart_is_added_or_removed() -> None:
    found = diff(labelled(x=A), labelled(y=C), H200)
    assert [(f.rule, f.old, f.new) for f in found.findings] == [
        ("graph.added", None, "2 nodes"),
        ("graph.removed", "10 nodes", None),
    ]
    assert [entry.label for entry in found.graphs] == ["y", "x"]


def test_the_caller_may_say_which_graphs_correspond() -> None:
    both = labelled(x=A, y=B)
    found = compare_dumps(both, both, H200, pairs=[("x", "y")]).diff
    assert [(entry.old_label, entry.new_label) for entry in found.graphs] == [("x", "y")]
    assert found.graphs[0].findings
    assert compare_dumps(both, both, H200, pairs=[("x", "x")]).diff.findings == ()


def test_only_the_graphs_of_given_labels_are_compared() -> None:
    found = compare_dumps(labelled(x=A, y=B), labelled(x=B, y=C), H200, labels=["y"])
    assert [entry.label for entry in found.diff.graphs] == ["y"]


def test_a_label_that_stands_for_two_graphs_is_refused() -> None:
    twice = replace(dump(A), graphs=dump(A).graphs * 2)
    with pytest.raises(NotComparableError) as caught:
        diff(twice, twice)
    assert str(caught.value) == "the old dump has 2 graphs labelled 'g0'; give each graph its own label"
    assert caught.value.code == "label_repeated"


def test_a_label_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        compare_dumps(labelled(decode=A), labelled(decode=A), pairs=[("decod", "decode")])
    assert str(caught.value) == "no graph 'decod' in the old dump (did you mean 'decode'?)"


def test_a_label_that_neither_dump_has_is_refused_and_not_passed() -> None:
    with pytest.raises(UsageError) as caught:
        compare_dumps(labelled(x=A), labelled(y=A), labels=["x", "y", "zz"])
    assert str(caught.value) == "no graph 'zz' in either dump (did you mean 'x'?)"


# Size.


def different_everywhere(nodes: int) -> tuple[SignatureDump, SignatureDump]:
    names = [kernel(name=f"k{index}", func=index + 1) for index in range(40)]
    old = graph(*[names[index * 7 % 40] for index in range(nodes)])
    return dump(old), again(graph(*[names[index * 11 % 39] for index in range(nodes)]))


def test_graphs_that_differ_everywhere_are_no_more_work_than_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigcontract.compare.alignment._EDITS_EXACT", 20)
    monkeypatch.setattr("sigcontract.compare.alignment._EDITS_BOUNDED", 8)

    def prepare(nodes: int) -> Callable[[], object]:
        dumps = different_everywhere(nodes)
        return lambda: diff(*dumps, H200)

    grows_with_its_input(prepare, 400)


def test_graphs_that_differ_everywhere_say_that_the_search_was_cut_short() -> None:
    found = diff(*different_everywhere(5_000), H200)
    assert found.verdict is Verdict.UPDATABLE, "two chains of one length, which the driver pairs by order"
    assert "node.alignment" in {finding.rule for finding in found.findings}


def test_texts_that_are_made_of_long_ones_fit_into_the_document() -> None:
    """Names may fill their fields, and a kernel may have as many arguments as bytes."""
    name = "n" * 65_536
    device = DeviceInfo(ordinal=0, name=name, compute_capability_major=9, compute_capability_minor=0)
    scalars = ((size * index, size) for size in (1, 2) for index in range(16_382 // size))
    layouts: dict[int, list[KernelArgument]] = {1: [], 2: []}
    for offset, size in scalars:
        layouts[size].append(KernelArgument(offset_bytes=offset, size_bytes=size, value="00" * size, pointers=()))
    old, new = (graph(replace(kernel(), arguments=tuple(arguments))) for arguments in layouts.values())
    found = diff(
        dump(old),
        dump(new, process_id=2, devices=(device,), libraries=(LibraryVersion(name=name, version=name),)),
        H200,
    )
    assert decode(encode(found)) == found
    assert [(f.rule, len(f.path) < 1200, len(str(f.new)) < 1200) for f in found.environment] == [
        ("environment.device", True, True),
        ("environment.library", True, False),  # a version that fills its field
    ]
    (layout,) = found.graphs[0].findings
    assert (layout.rule, len(str(layout.old)) < 1200) == ("kernel.argument", True)
