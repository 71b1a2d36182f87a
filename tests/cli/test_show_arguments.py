"""``sigcontract show --arguments`` and ``--fail-on gone``."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from sigcontract.cli.main import main
from sigcontract.model.graph import GraphSignature
from sigcontract.wire.codec import save
from sigcontract.wire.schemas import schema
from tests.architecture.source import ROOT
from tests.compare.dumps import dump, kernel
from tests.update.arguments import block, given, pointer_to, redacted, scalar, struct_of, unallocated
from tests.update.build import graph

HEALTHY = graph(*[given(kernel(), pointer_to(1, 64, block(state="free")), scalar(16))] * 3)
FREED = graph(*[given(kernel(), pointer_to(1, 64, block(state="free", pool="default", stack=("a.py:3 f",))))] * 2)
MAY_BE = graph(redacted(given(kernel(), unallocated())))

SHOWN = """\
arguments recorded of 2 of 2 kernel nodes
2 addresses point to memory that is gone:
  g0: nodes[0] and 1 more (probe), offset 0: free block (allocated at a.py:3 f)

g0: 2 nodes (2 kernel), 1 edge, DIGEST
  node  type     grid   block  shared  kernel
  2 times this node, up to node 1:
     0  kernel  8x1x1  64x1x1       0  probe
          offset 0, 8 bytes: allocation 1 + 64 of 4096 B (device 0; free block of 512 B, pool default; GONE: free block)
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def saved(path: Path, *graphs: GraphSignature, complete: bool = True) -> str:
    """Return the path of a file with these graphs."""
    save(replace(dump(*graphs), complete=complete), path / "server.dump.json")
    return str(path / "server.dump.json")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Return what ``show`` prints."""
    assert main(["show", *arguments]) == status
    return capsys.readouterr().out


def test_arguments_follow_their_node_and_what_is_gone_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, saved(tmp_path, FREED), "--arguments").splitlines()
    lines = [", ".join([*line.split(", ")[:-1], "DIGEST"]) if "sha256:" in line else line for line in lines]
    begin = next(index for index, line in enumerate(lines) if line.startswith("arguments recorded"))
    assert "\n".join(lines[begin:]) + "\n" == SHOWN


@pytest.mark.parametrize("form", ["text", "html"])
def test_what_is_gone_is_named_of_each_of_two_graphs_of_one_label(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = dump(FREED, graph(kernel()))
    labelled = tuple(replace(entry, label="twice") for entry in found.graphs)
    save(replace(found, graphs=labelled), tmp_path / "server.dump.json")
    out = shown(capsys, str(tmp_path / "server.dump.json"), "--arguments", "--format", form)
    assert "twice: nodes[0] and 1 more (probe), offset 0: free block (allocated at a.py:3 f)" in out


def test_without_the_flag_only_how_many_are_recorded_and_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(capsys, saved(tmp_path, FREED, graph(kernel())))
    assert "\narguments recorded of 2 of 3 kernel nodes\n" in out
    assert "\n2 addresses point to memory that is gone (--arguments lists them)\n" in out
    assert "offset" not in out
    assert "arguments" not in shown(capsys, saved(tmp_path, graph(kernel())))


def test_a_dump_without_arguments_says_how_to_record_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, saved(tmp_path, graph(kernel())), "--arguments")
    assert "\narguments: not recorded (record --arguments)\n" in out


@pytest.mark.parametrize(
    ("graphs", "complete", "status"),
    [
        pytest.param([HEALTHY], True, 0, id="healthy"),
        pytest.param([HEALTHY, FREED], True, 1, id="freed"),
        pytest.param([FREED, MAY_BE, graph(kernel())], False, 1, id="freed, whatever else is not known"),
        pytest.param([HEALTHY, MAY_BE], True, 3, id="a word that may be an address"),
        pytest.param([HEALTHY, graph(kernel())], True, 3, id="not recorded of one kernel"),
        pytest.param([HEALTHY], False, 3, id="an incomplete dump"),
        pytest.param([], True, 3, id="an empty dump"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_the_gate_fails_on_what_is_gone_and_passes_only_what_is_known(  # noqa: PLR0913  a case, and two fixtures
    graphs: list[GraphSignature],
    complete: bool,
    status: int,
    form: str,
    tmp_path: Path,
    *,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = saved(tmp_path, *graphs, complete=complete)
    shown(capsys, path, "--fail-on", "gone", "--format", form, status=status)
    assert shown(capsys, path, "--format", form, status=0)


def test_the_gate_names_what_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, MAY_BE, graph(kernel(), kernel()), complete=False)
    assert main(["show", path, "--fail-on", "gone"]) == 3
    found = capsys.readouterr()
    assert "\n1 address may point to memory that is gone:\n" in found.out
    begin = "sigcontract: show: --fail-on gone: undetermined: "
    incomplete = "graphs after the last write are missing; record again and let the program finish"
    assert found.err.splitlines() == [
        f"{begin}the dump is incomplete: {incomplete}",
        f"{begin}arguments of 2 kernel nodes are not recorded; record with --arguments",
        f"{begin}1 word that may point to memory that is gone; see show --arguments",
    ]
    assert main(["show", saved(tmp_path), "--fail-on", "gone"]) == 3
    assert capsys.readouterr().err == f"{begin}the dump has no graphs; record again\n"


def test_addresses_that_point_and_that_may_point_to_it_are_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, FREED, MAY_BE)
    out = shown(capsys, path, "--fail-on", "gone", status=1)
    assert "\n2 addresses point, and 1 may point, to memory that is gone:\n" in out


def test_the_gate_looks_at_the_chosen_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, HEALTHY, FREED)
    assert "free block" not in shown(capsys, path, "--fail-on", "gone", "--graph", "g0")
    assert "g1: nodes[0] and 1 more (probe), offset 0: free block" in shown(
        capsys, path, "--fail-on", "gone", "--graph", "g1", status=1
    )


def test_the_gate_is_of_dumps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "nvidia-h200-cuda-13.0", "--fail-on", "gone"]) == 2
    assert "--fail-on gone takes a dump" in capsys.readouterr().err


def test_json_has_arguments_addresses_and_what_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = given(kernel(), pointer_to(7, 64, block(state="free", pool="default")), scalar(16))
    path = saved(tmp_path, graph(node))
    found: dict[str, Any] = json.loads(shown(capsys, path, "--arguments", "--format", "json"))
    jsonschema.validate(found, schema("sigcontract.show", 1))
    (drawn,) = found["graphs"]
    assert drawn["arguments_recorded"] == 1
    assert drawn["gone"] == [
        {
            "path": "nodes[0]",
            "subject": "probe",
            "offset_bytes": 0,
            "operand": None,
            "reason": "free block",
            "certain": True,
            "stack": [],
        }
    ]
    (row,) = drawn["blocks"][0]["rows"]
    assert row["arguments"] == [
        {"offset_bytes": 0, "size_bytes": 8, "value": "00" * 8, "words": []},
        {
            "offset_bytes": 8,
            "size_bytes": 4,
            "value": "10000000",
            "words": [{"offset_bytes": 0, "size_bytes": 4, "text": "16"}],
        },
    ]
    assert row["addresses"] == [
        {
            "offset_bytes": 0,
            "operand": None,
            "allocation": 1,
            "allocation_offset_bytes": 64,
            "allocation_size_bytes": 4096,
            "memory": "device",
            "device_ordinal": 0,
            "block": {
                "allocator": "torch",
                "state": "free",
                "pool": "default",
                "size_bytes": 512,
                "offset_bytes": 0,
                "stack": [],
            },
            "gone": "free block",
        }
    ]
    (row,) = json.loads(shown(capsys, path, "--format", "json"))["graphs"][0]["blocks"][0]["rows"]
    assert (row["arguments"], row["addresses"]) == (None, None)


SHARED_STRUCT = [given(kernel(name=f"k{index}"), struct_of("<40i", *range(40))) for index in range(9)]
DEEP = [
    given(kernel(), pointer_to(1, index, block(state="free", pool="default", stack=("f.py:1 f",) * 40)))
    for index in range(9)
]


@pytest.mark.parametrize(("nodes", "more"), [(SHARED_STRUCT, ["--arguments"]), (DEEP, ["--arguments"]), (DEEP, [])])
def test_json_of_arguments_that_every_node_repeats_has_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nodes: Any, more: list[str]
) -> None:
    monkeypatch.setattr("sigcontract.report.dump_view.MAX_DOCUMENT_BYTES", 4000)
    path = saved(tmp_path, graph(nodes[0]), graph(*nodes))
    assert main(["show", path, "--format", "json", *more]) == 2
    assert capsys.readouterr().err == (
        "sigcontract: error[size]: the arguments of all nodes are more than 4000 bytes of JSON; "
        "show fewer graphs (--graph), or text\n"
    )
    assert len(shown(capsys, path, "--format", "json", "--graph", "g0", *more)) > 0
    assert len(shown(capsys, path, *more)) > 0


def test_the_page_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    freed = block(state="free", pool="default", stack=("model.py:33 forward",))
    scale = kernel(name="scale")
    drawn = graph(
        given(scale, pointer_to(1), pointer_to(2, 0, freed)), given(scale, pointer_to(1)), given(scale, unallocated())
    )
    whole = dump(drawn)
    save(replace(whole, graphs=(replace(whole.graphs[0], label="decode/bs=4"),)), tmp_path / "server.dump.json")
    out = shown(capsys, str(tmp_path / "server.dump.json"), "--arguments")
    page = (ROOT / "docs" / "tasks" / "arguments.md").read_text(encoding="utf-8")
    (printed,) = (part for part in page.split("```") if part.startswith("text\narguments recorded"))
    assert printed.removeprefix("text\n") in out
