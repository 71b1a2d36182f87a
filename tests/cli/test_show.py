"""``sigcontract show``."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sigcontract.cli.main import main
from sigcontract.cli.terminal import columns
from sigcontract.compare.folding import Block, FoldedBlock
from sigcontract.driver import shipped_profile
from sigcontract.model.attributes import LaunchAttribute, MemSyncDomainMap, RawValue
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import ConditionalNode, GraphSignature
from sigcontract.model.profile import AttributeProfile, DriverProfile
from sigcontract.report.graph_summary import summary_lines, usual_attributes
from sigcontract.report.node_rows import FunctionNumbers, attribute_text, rows
from sigcontract.report.node_table import folded_rows, table_lines
from sigcontract.report.profile_table import profile_lines
from sigcontract.wire.codec import decode, save
from sigcontract.wire.schemas import schema
from tests.architecture.source import ROOT
from tests.cli.dumps import DUMP, chain, kernel
from tests.wire.families import FAMILIES, encoded

EXPECTED = """\
3 graphs, complete; written by sigcontract 0.1.0, 2026-12-01T02:00:00Z
rank 3 of 8
CUDA 13.0, driver 580.159.04; device 0 NVIDIA H200 (9.0)
torch 2.11.0, triton 3.6.0
driver profile: nvidia-h200-cuda-13.0

decode/bs=1: 73 nodes (72 kernel, 1 memcpy), 72 edges, sha256:c263bf9ddbb9
  unreadable on every kernel node: preferred_cluster_dimension
  node  type     grid    block  shared  kernel
     0  memcpy                          host -> device, 64 B
  24 times these 3 nodes, up to node 72:
     1  kernel  8x1x1  128x1x1       0  gemm<float, 4> #1
     2  kernel  1x1x1  128x1x1       0  norm #1
     3  kernel  1x1x1  128x1x1       0  silu #1

decode/bs=2: 73 nodes (72 kernel, 1 memcpy), 72 edges, sha256:c263bf9ddbb9
  same as decode/bs=1 except handles and addresses; with other functions: void gemm<float, 4>(float const*, float*) #2,
    norm #2, silu #2

mixed: 4 nodes (2 kernel, 1 graph, 1 opaque), 3 edges (1 programmatic), sha256:4bcc6225973e
  unreadable on 2 of 3 kernel nodes: preferred_cluster_dimension
  node  type     grid    block  shared  kernel
     0  kernel  1x1x1  128x1x1       0  scale #1
     1  kernel  4x1x1  128x1x1       0  scale #2  [cluster_dimension=2x1x1 (launch), after -1 programmatic]
     2  graph                           2 nodes  [after nothing]
   2.0  memset                          256 x 4 B = 0xff
   2.1  kernel  1x1x1  128x1x1       0  norm #3
     3  opaque                          CUgraphNodeType 77, without a record  [after -2,-1]
"""

PROFILE = DriverProfile(
    id="nvidia-h200-cuda-13.0",
    cuda_driver_version=13000,
    display_driver_version="580.159.04",
    device_name="NVIDIA H200",
    compute_capability_major=9,
    compute_capability_minor=0,
    measured_on="2026-12-01",
    attributes=(
        AttributeProfile(
            id=4, readable="yes", settable="yes", becomes_edge="no", has_effect="yes", update="stale", note="measured"
        ),
        AttributeProfile(
            id=15, readable="no", settable="no", becomes_edge="no", has_effect="unknown", update="unknown", note="none"
        ),
    ),
    cluster_fixed_at="first_launch",
    cooperative_function_update="stale",
    exec_state="stored_and_fixed",
    update_rule="cuda-13.0",
)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "server.dump.json"
    save(DUMP, path)
    return str(path)


def table(graph: GraphSignature, *, width: int = 118, attributes: bool = False) -> list[str]:
    """Return the table of a graph, nothing folded."""
    shown = list(rows(graph, FunctionNumbers([graph])))
    return list(table_lines(shown, [FoldedBlock(block=Block(0, len(shown), 1), tail=0)], width, attributes=attributes))


def test_a_dump_is_shown_with_its_environment_and_its_layers_folded(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", dump]) == 0
    assert capsys.readouterr().out == EXPECTED


def test_one_graph_can_be_chosen(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", dump, "--graph", "decode/bs=2"]) == 0
    out = capsys.readouterr().out
    assert "24 times these 3 nodes, up to node 72:" in out
    assert "mixed" not in out


def test_a_label_that_is_not_there_names_the_nearest(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", dump, "--graph", "decode/bs=12"]) == 2
    assert capsys.readouterr().err == (
        "sigcontract: error[usage]: no graph 'decode/bs=12' in the dump (did you mean 'decode/bs=2'?)\n"
    )


def test_nodes_unfolds_and_draws_equal_graphs_too(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", dump, "--nodes"]) == 0
    assert capsys.readouterr().out.count("gemm<float, 4>") == 2 * 24


def test_attributes_are_shown_with_state_and_origin(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", dump, "--graph", "mixed", "--attributes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "          cooperative=0, preferred_cluster_dimension unreadable, code unknown" in lines
    assert "          cluster_dimension=2x1x1 (launch), code unknown" in lines


@pytest.mark.parametrize(("scale", "code"), [(2, "28723c505c58"), (3, "0a6c7f1fe84a")])
def test_observed_code_distinguishes_kernels_of_one_name(
    scale: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = ROOT / "examples" / f"triton-scale-{scale}.dump.json"
    assert main(["show", str(dump), "--attributes"]) == 0
    assert f", code {code}\n" in capsys.readouterr().out


def test_the_json_form_says_the_same_with_names_as_recorded(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", dump, "--graph", "decode/bs=1", "--format", "json", "--attributes"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    (graph,) = shown["graphs"]
    assert [(block["count"], len(block["rows"])) for block in graph["blocks"]] == [(1, 1), (24, 3)]
    row = graph["blocks"][1]["rows"][0]
    assert (row["path"], shown["functions"][row["function"]]["name"]) == ("nodes[1]", "_Z4gemmIfLi4EEvPKT_PS0_")
    assert shown["attribute_sets"][row["attributes"]][1]["state"] == "unreadable"
    assert graph["labels"] == ["decode/bs=1"]
    jsonschema.validate(shown, schema("sigcontract.show"))
    assert graph["unknown"] == [{"state": "unreadable", "what": "preferred_cluster_dimension", "kernel_nodes": 72}]


def test_a_graph_is_bold_on_a_terminal(
    dump: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["show", dump, "--graph", "mixed"]) == 0
    assert "\x1b[1mmixed\x1b[0m: 4 nodes" in capsys.readouterr().out


def test_an_incomplete_dump_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.dump.json"
    save(SignatureDump(environment=DUMP.environment, profile=None, complete=False, graphs=(), extensions={}), path)
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.startswith("0 graphs, INCOMPLETE: graphs after the last write are missing;")


def test_functions_without_a_handle_are_called_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.dump.json"
    graph = chain(kernel("a", 0), kernel("b", 5))
    entry = LabeledGraph(label="g", graph=graph)
    save(SignatureDump(environment=DUMP.environment, profile=None, complete=True, graphs=(entry,), extensions={}), path)
    assert main(["show", str(path)]) == 0
    assert "  unknown on 1 of 2 kernel nodes: function\n" in capsys.readouterr().out


def test_a_label_with_control_characters_cannot_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.dump.json"
    entry = LabeledGraph(label="a\x1b[2J", graph=chain(kernel("k\x1b[1m", 1)))
    save(SignatureDump(environment=DUMP.environment, profile=None, complete=True, graphs=(entry,), extensions={}), path)
    assert main(["show", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_profile_is_shown_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "driver.profile.json"
    save(PROFILE, path)
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == list(profile_lines(PROFILE, columns()))


def test_a_profile_names_what_the_driver_keeps_stale() -> None:
    lines = list(profile_lines(PROFILE, columns()))
    assert lines[0] == "nvidia-h200-cuda-13.0: NVIDIA H200 (9.0), CUDA 13.0, driver 580.159.04"
    assert [line.split() for line in lines[4:6]] == [
        ["cluster_dimension", "yes", "yes", "no", "yes", "stale", "measured"],
        ["attribute_15", "no", "no", "no", "unknown", "unknown", "none"],
    ]
    assert "function of a cooperative node, updated alone: stale" in lines


@pytest.mark.parametrize("width", ["80", "120", "200"])
def test_a_profile_keeps_to_the_width_of_the_terminal(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    shipped = shipped_profile("nvidia-h200-cuda-13.0")
    lines = list(profile_lines(shipped, columns()))
    table = lines[3 : lines.index("", 3)]
    assert max(map(len, table)) <= int(width)
    words = " ".join(table).split()
    assert all(word in words for entry in shipped.attributes for word in entry.note.split())


def test_a_long_name_is_cut_to_the_width() -> None:
    lines = table(chain(kernel("k" * 200, 1)), width=78)
    assert max(map(len, lines)) == 78
    assert lines[1].endswith("k…")


def test_notes_that_leave_a_name_too_few_columns_go_on_a_line_of_their_own() -> None:
    priority = LaunchAttribute(id=8, state="value", origin="node", value=-1)
    graph = chain(kernel("k" * 200, 1, 1, priority))
    head, row, notes = table(graph, width=70)
    assert len(row) == 70
    assert row.endswith("k…")
    assert notes == f"{'':{head.index('kernel')}}[priority=-1]"
    assert table(graph, width=80)[1].endswith("kk…  [priority=-1]")
    assert table(chain(kernel("short", 1, 1, priority)), width=70)[1].endswith("short  [priority=-1]")


def test_what_holds_for_all_nodes_is_broken_at_blanks_to_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", str(ROOT / "examples" / "torch-block.dump.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[6:9] == [
        "unreadable on every kernel node: launch_completion_event,",
        "  nvlink_util_centric_scheduling, preferred_cluster_dimension,",
        "  programmatic_event, programmatic_stream_serialization, synchronization_policy",
    ]


def test_what_all_kernel_nodes_have_is_shown_once_and_left_out_of_their_rows() -> None:
    priority = LaunchAttribute(id=8, state="value", origin="node", value=-1)
    carveout = LaunchAttribute(id=14, state="value", origin="node", value=50)
    kernels = [kernel("a", 1, 1, priority), kernel("b", 2, 1, priority, carveout)]
    assert list(summary_lines(kernels)) == ["on every kernel node: priority=-1"]
    graph = chain(*kernels)
    shown = list(rows(graph, FunctionNumbers([graph])))
    lines = list(table_lines(shown, [FoldedBlock(block=Block(0, 2, 1), tail=0)], 118, usual=usual_attributes(kernels)))
    assert [line.split(maxsplit=5)[5] for line in lines[1:]] == ["a", "b  [preferred_shared_memory_carveout=50]"]


def test_one_kernel_node_alone_keeps_its_attributes_in_its_row() -> None:
    priority = LaunchAttribute(id=8, state="value", origin="node", value=-1)
    assert table(chain(kernel("a", 1, 1, priority)))[1].endswith("a  [priority=-1]")


def test_one_function_of_a_name_bears_no_number() -> None:
    assert table(chain(kernel("k", 1), kernel("k", 1)))[1].endswith("  k")


def test_a_body_that_cannot_be_read_is_counted_and_one_that_can_is_shown() -> None:
    body = chain(kernel("k", 1))
    readable = ConditionalNode(kind=2, handle="0x0000000000000001", bodies=(body, None))
    shown = table(chain(readable, ConditionalNode(kind=None, handle=None, bodies=None)))
    assert [line.split(maxsplit=2)[0] for line in shown[1:]] == ["0", "0b0.0", "1"]
    assert shown[1].endswith("switch, 2 bodies, 1 unreadable")
    assert shown[3].endswith("unreadable before CUDA 13.2")


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (
            LaunchAttribute(id=9, state="value", origin="node", value=MemSyncDomainMap(default=0, remote=1)),
            "mem_sync_domain_map=default:0,remote:1",
        ),
        (
            LaunchAttribute(id=15, state="value", origin="node", value=RawValue(hex="00" * 64)),
            f"attribute_15=0x{'00' * 64}",
        ),
        (LaunchAttribute(id=8, state="value", origin="launch", value=-5), "priority=-5 (launch)"),
        (
            LaunchAttribute(id=11, state="unsupported", origin="node", value=None),
            "preferred_cluster_dimension unsupported",
        ),
    ],
)
def test_each_state_of_an_attribute_has_its_words(attribute: LaunchAttribute, text: str) -> None:
    assert attribute_text(attribute) == text


def test_a_shipped_profile_is_shown_by_its_id_and_what_cannot_be_read_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["show", "nvidia-h200-cuda-13.0"]) == 0
    assert capsys.readouterr().out.startswith("nvidia-h200-cuda-13.0: NVIDIA H200 (9.0), CUDA 13.0")
    assert main(["show", "x" * 300]) == 2
    assert "File name too long" in capsys.readouterr().err


def test_every_row_says_what_its_node_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(ROOT / "examples" / "nodes.dump.json")]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    details = {line.split()[1]: line.split(maxsplit=2)[2] for line in lines if line[:6].strip().isdecimal()}
    assert details["batch_mem_op"] == "write_value_32 [0x7f248de00000] = 0x2a"
    assert details["mem_free"] == "frees the allocation of node -2"
    assert details["host"] == "function 0x7f26aeb74fe0"
    assert details["wait_event"] == details["event_record"] == "event 0x3cc68f60"
    assert details["empty"] == "no work"
    assert any(line.endswith("1 edge (1 programmatic), sha256:3251142825e6") for line in lines)


def test_facts_of_the_function_follow_its_attributes(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "examples" / "triton-scale-2.dump.json")
    assert main(["show", path, "--attributes"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "parameters 0+8 8+8" in words
    assert "registers=" in words
    assert main(["show", path, "--attributes", "--format", "json"]) == 0
    (function,) = json.loads(capsys.readouterr().out)["functions"]
    assert function["facts"]["registers"] > 0


def test_the_first_parameters_of_very_many_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "many.json").write_bytes(encoded(FAMILIES["parameters"](100)))
    assert main(["show", str(tmp_path / "many.json"), "--attributes"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert " 248+4 252+4 and 36 more, " in words


def test_what_follows_the_last_repetition_of_a_layer_belongs_to_it() -> None:
    names = [f"triton_poi_fused_a{layer}_{layer}" if at == 0 else f"k{at}" for layer in range(4) for at in range(5)]
    graph = chain(*(kernel(name, 1) for name in [*names[:-1], "head"]))
    shown = list(rows(graph, FunctionNumbers([graph])))
    lines = list(table_lines(shown, folded_rows(shown), 118))
    assert lines[1] == "4 times these 5 nodes, up to node 18, the last time the first 4:"
    assert [line.split()[-1] for line in lines[2:]] == ["triton_poi_fused_a*", "k1", "k2", "k3", "k4", "head"]


def test_a_profile_is_shown_as_the_document_that_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "nvidia-h200-cuda-13.0", "--format", "json"]) == 0
    assert decode(capsys.readouterr().out.encode()) == shipped_profile("nvidia-h200-cuda-13.0")
