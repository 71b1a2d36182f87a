"""Arguments and memory that is gone, in every form of a report."""

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from sigcontract.compare.dumps import compare_dumps
from sigcontract.model.arguments import KernelArgument
from sigcontract.model.graph import GraphSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.report import Outcome, diff_html, diff_text, show_html
from sigcontract.report.argument_rows import GraphArguments, argument_lines, gone_lines, recorded_line
from sigcontract.report.github import diff_github
from sigcontract.report.junit import junit
from sigcontract.report.markdown import diff_markdown
from sigcontract.report.sarif import sarif
from tests.compare.dumps import again, dump, kernel
from tests.update.arguments import block, given, moved, pointer_to, redacted, scalar, struct_of, target, unallocated
from tests.update.build import H200, child, graph, memcpy, operand, pointer
from tests.work import grows_with_its_input

STACK = ("model.py:33 forward", "main.py:9 <module>")


def drawn(*, length: int, eps: float, workspace: int, offset: int, freed: bool) -> GraphSignature:
    """Return six layers that share a workspace, of which the fourth may have its own, and the last a freed input."""

    def layer(index: int) -> KernelNodeSignature:
        state = "free" if freed else "allocated"
        held = block(pool="default", state=state, stack=STACK) if index == last else None
        shared = pointer_to(workspace if index == apart else 90, offset, held)
        return given(kernel(), pointer_to(1 + index), shared, scalar(length), scalar(eps, "<f"))

    apart, last = 3, 5
    return graph(*map(layer, range(6)))


FOUND = compare_dumps(
    dump(drawn(length=16, eps=1e-5, workspace=90, offset=0, freed=False)),
    again(moved(drawn(length=32, eps=1e-6, workspace=91, offset=512, freed=True))),
    H200,
)

TEXT = """\
updatable: findings in 1 of 1 graph
verdicts hold for driver profile nvidia-h200-cuda-13.0

g0: 6 nodes; update: updatable
  ~ 4 × probe: offset 16: 16 → 32, offset 24: 1e-05 → 1e-06, offset 8: moved by +512 bytes in its
      allocation, nodes 0, 1, 2, 4
  ~ probe: offset 16: 16 → 32, offset 24: 1e-05 → 1e-06, memory: one allocation: 2 → two
      allocations: 2, 6, node 3
  ~ probe: offset 16: 16 → 32, offset 24: 1e-05 → 1e-06, offset 8: moved by +512 bytes in its
      allocation, offset 8: pointer → free block, node 5

memory.gone: updatable, documented
  The address pointed to memory in use, and now points to a free block, to a block of another
  graph's pool, or to no allocation. The update applies it, and the launch then reads or writes
  memory that something else may use. Keep the memory alive as long as the graph is replayed.
"""  # noqa: RUF001  times, as people write it

MARKDOWN = [
    ("nodes[0].arguments[offset=16] and 5 more", "16 → 32", "kernel.argument"),
    ("nodes[0].arguments[offset=24] and 5 more", "1e-05 → 1e-06", "kernel.argument"),
    ("nodes[0].arguments[offset=8].offset_bytes and 4 more", "0 → 512", "kernel.argument"),
    (
        "nodes[3].arguments[offset=8].allocation.address",
        "one allocation: 2 → two allocations: 2, 6",
        "kernel.argument",
    ),
    ("nodes[5].arguments[offset=8].block.state", "pointer → free block", "memory.gone"),
]


def test_the_text_has_each_cause_once() -> None:
    assert diff_text(FOUND, width=100) == TEXT


def test_markdown_has_a_row_per_finding() -> None:
    rows = [line for line in diff_markdown(FOUND.diff).splitlines() if line.startswith("| **")]
    expected = [
        f"| **updatable** | `{where}` | probe | {change} | `{rule}` | documented |" for where, change, rule in MARKDOWN
    ]
    assert rows == expected


def test_github_sarif_junit_and_json_name_the_offset_and_both_values() -> None:
    assert "nodes[0].arguments[offset=16] and 5 more (probe): 16 → 32%0A" in diff_github(FOUND.diff)
    outcome = Outcome("diff", FOUND.diff, "failed", ("a.json", "b.json"), lambda *_: "", str)
    (run,) = json.loads(sarif(outcome))["runs"]
    messages = [result["message"]["text"] for result in run["results"]]
    assert "g0: nodes[0].arguments[offset=16] and 5 more (probe): 16 → 32: updatable" in messages
    assert {"kernel.argument", "memory.gone"} == {result["ruleId"] for result in run["results"]}
    (case,) = ET.fromstring(junit(outcome)).iter("testcase")  # noqa: S314  our own output
    assert "nodes[5].arguments[offset=8].block.state (probe): pointer → free block" in "".join(case.itertext())


def test_a_page_has_the_arguments_of_both_nodes() -> None:
    page = diff_html(FOUND)
    assert "offset 16: 16 → 32" in page
    assert "offset 8, 8 bytes" in page


# Of one dump.


def held() -> GraphSignature:
    """Return a graph with an argument of every kind."""
    freed = block(state="free", pool="default", stack=STACK)
    copy = memcpy(
        operand(facts=replace(pointer(), target=target(1, 64, managed=True, memory_type=None))),
        operand(facts=replace(pointer(), target=target(2, 0, freed))),
    )
    struct = replace(struct_of("<qqiif", 0, 5, 1, 2, 0.5), pointers=unallocated().pointers)
    first = given(
        kernel(),
        pointer_to(1, 512, block()),
        pointer_to(2, 0, freed),
        unallocated(),
        scalar(16),
        scalar(128**-0.5, "<f"),
        struct,
    )
    second = redacted(given(kernel(), pointer_to(3, pooled=True), scalar(3), device_host()))
    return graph(first, second, kernel(), copy, child(given(kernel(), pointer_to(2, 0, freed))), given(kernel()))


def device_host() -> KernelArgument:
    """Return an argument that is an address in host memory of unknown size."""
    return pointer_to(4, 8, memory_type=1, device_ordinal=None, size_bytes=None)


LINES = {
    "nodes[0]": [
        "offset 0, 8 bytes: allocation 1 + 512 of 4096 B (device 0; allocated block of 512 B, pool graph)",
        "offset 8, 8 bytes: allocation 2 + 0 of 4096 B (device 0; free block of 512 B, pool default; GONE: free block)",
        "offset 16, 8 bytes: address in no allocation",
        "offset 24, 4 bytes: 16",
        "offset 32, 4 bytes: 0.088388346 (1035273459)",
        "offset 40, 28 bytes: +0 address in no allocation, +8 5, +16 1, +20 2, +24 0.5",
    ],
    "nodes[1]": [
        "offset 0, 8 bytes: allocation 3 + 0 of 4096 B (device pool 0)",
        "offset 8, 4 bytes: redacted",
        "offset 16, 8 bytes: allocation 4 + 8 (host)",
    ],
    "nodes[2]": [],
    "nodes[3]": [
        "source: allocation 1 + 64 of 4096 B (managed 0)",
        "destination: allocation 2 + 0 of 4096 B (device 0; free block of 512 B, pool default; GONE: free block)",
    ],
    "nodes[4]": [],
    "nodes[4].graph.nodes[0]": [
        "offset 0, 8 bytes: allocation 2 + 0 of 4096 B (device 0; free block of 512 B, pool default; GONE: free block)"
    ],
    "nodes[5]": [],
}

GONE = """\
g0: nodes[0] (probe), offset 8: free block (allocated at model.py:33 forward)
g0: nodes[0] (probe), offset 16: no allocation
g0: nodes[0] (probe), offset 40: possibly no allocation
g0: nodes[3] (memcpy), destination: free block (allocated at model.py:33 forward)
g0: nodes[4].graph.nodes[0] (probe), offset 0: free block (allocated at model.py:33 forward)
"""


def test_a_node_has_a_line_for_each_argument_or_operand() -> None:
    given_arguments = GraphArguments(held())
    shown = {path: list(argument_lines(given_arguments.of(path))) for path, _ in held().walk()}
    assert shown == LINES


def test_what_is_gone_is_one_line_for_alike_addresses() -> None:
    graph_of_one = GraphArguments(held())
    assert "\n".join(gone_lines([("g0", graph_of_one.gone)])) + "\n" == GONE
    many = GraphArguments(graph(*[given(kernel(), unallocated())] * 24))
    assert list(gone_lines([("g0", many.gone)])) == ["g0: nodes[0] and 23 more (probe), offset 0: no allocation"]


@pytest.mark.parametrize(
    ("recorded", "line"),
    [
        (0, "arguments: not recorded (record --arguments)"),
        (1, "arguments recorded of 1 of 2 kernel nodes"),
    ],
)
def test_how_many_kernels_have_arguments(recorded: int, line: str) -> None:
    nodes = [given(kernel(), scalar(1))] * recorded + [kernel()] * (2 - recorded)
    arguments = GraphArguments(graph(*nodes))
    assert recorded_line(arguments.recorded, arguments.kernels) == line


def test_a_page_lists_what_is_gone() -> None:
    page = show_html(dump(held()))
    assert "Memory that is gone" in page
    assert all(line in page for line in GONE.splitlines())
    assert "Memory that is gone" not in show_html(dump(graph(kernel())))


def test_the_work_grows_with_nodes_and_with_arguments() -> None:
    def prepared(nodes: int, width: int) -> Callable[[], object]:
        listed = [pointer_to(1 + at, 64) if at % 3 else unallocated() for at in range(width)]
        made = graph(*[given(kernel(), *listed, struct_of("<40i", *range(40))) for _ in range(nodes)])

        def shown() -> list[str]:
            arguments = GraphArguments(made)
            lines = [line for path, _ in made.walk() for line in argument_lines(arguments.of(path))]
            return [*lines, *gone_lines([("g0", arguments.gone)])]

        return shown

    grows_with_its_input(lambda nodes: prepared(nodes, 6), 100)
    grows_with_its_input(lambda width: prepared(20, width), 60)


def test_the_text_of_a_long_struct_has_its_first_words() -> None:
    (line,) = argument_lines(GraphArguments(graph(given(kernel(), struct_of("<40i", *range(40))))).of("nodes[0]"))
    assert line.startswith("offset 0, 160 bytes: +0 0, +4 1, ")
    assert line.endswith(", +124 31, and 8 more")
