"""Golden dumps written again, and first contracts."""

import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.contract import check_dump, first_contract, load_contract, update_baselines
from sigcontract.errors import UsageError
from sigcontract.model import LabeledGraph, SignatureDump
from sigcontract.report import demangle
from sigcontract.wire import load, save
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import TODAY, checked, written
from tests.update.build import graph

ONE, TWO = graph(kernel()), graph(kernel(grid=9))
TWO_GOLDENS = """
[[graph]]
label = "g0"
golden = "goldens/a.dump.json"
[[graph]]
label = "g1"
golden = "b.dump.json"
[[graph]]
label = "g2"
"""


def test_each_golden_dump_gets_the_graphs_of_its_clauses_and_then_agrees(tmp_path: Path) -> None:
    found = dump(ONE, TWO, ONE)
    file = load_contract(written(tmp_path, TWO_GOLDENS))
    assert [(b.path, b.graphs, b.changed) for b in update_baselines(found, file)] == [
        (str(tmp_path / "goldens" / "a.dump.json"), 1, True),
        (str(tmp_path / "b.dump.json"), 1, True),
    ]
    assert [entry.label for entry in load(tmp_path / "b.dump.json", expect=SignatureDump).graphs] == ["g1"]
    assert [baseline.changed for baseline in update_baselines(found, file)] == [False, False]


def test_a_contract_with_one_golden_dump_takes_all(tmp_path: Path) -> None:
    text = 'golden = "golden.dump.json"\n'
    assert checked(tmp_path, again(TWO), text, golden=dump(ONE)).answer == "failed"
    update_baselines(again(TWO), load_contract(str(tmp_path / "contract.toml")))
    assert checked(tmp_path, dump(TWO), text).answer == "passed"


@pytest.mark.parametrize(
    ("found", "text", "reason"),
    [
        (replace(dump(ONE), complete=False), 'golden = "a.dump.json"\n', "truncated or empty"),
        (dump(), 'golden = "a.dump.json"\n', "truncated or empty"),
        (dump(ONE), "graphs = 1\n", "names no golden dump"),
        (dump(ONE), 'golden = "a.dump.json"\n[[graph]]\ngolden_graph = "g0"\n', "sets golden_graph"),
        (dump(ONE), 'golden = "a.dump.json"\n[[graph]]\nlabel = "x"\n', "no graph of the dump belongs to a.dump.json"),
    ],
)
def test_what_is_no_baseline_is_not_written(tmp_path: Path, found: SignatureDump, text: str, reason: str) -> None:
    file = load_contract(written(tmp_path, text))
    with pytest.raises(UsageError, match=reason):
        update_baselines(found, file)
    assert [path.name for path in tmp_path.iterdir()] == ["contract.toml"]


def test_a_first_contract_is_one_that_the_dump_keeps(tmp_path: Path) -> None:
    found = replace(dump(ONE, TWO), profile="nvidia-h200-cuda-13.0")
    save(found, tmp_path / "golden.dump.json")
    path = tmp_path / "contract.toml"
    path.write_text(first_contract(found, "golden.dump.json", demangle), encoding="utf-8")
    report = check_dump(found, load_contract(str(path)), dump_name="x", today=TODAY, demangle=demangle)
    assert report.answer == "passed"
    assert {check.rule for check in report.clauses} == {
        "contract.driver",
        "contract.complete",
        "contract.graph-count",
        "contract.executables",
        "contract.golden",
    }


def test_its_comments_are_clauses_that_hold_too(tmp_path: Path) -> None:
    found = replace(dump(graph(kernel(name="_ZN3abc4gemmIfEEvPf"))), profile="nvidia-h200-cuda-13.0")
    text = first_contract(found, "golden.dump.json", demangle)
    for line in ("programmatic_edges", "[[graph.kernel]]", "name", "at_least", "vary", "rules", "[[suppress]]"):
        assert f"# {line}" in text, line
        text = text.replace(f"# {line}", line)
    for line in ("rule =", "graph =", "reason =", "expires ="):
        text = text.replace(f"# {line}", line)
    save(found, tmp_path / "golden.dump.json")
    (tmp_path / "contract.toml").write_text(text, encoding="utf-8")
    file = load_contract(str(tmp_path / "contract.toml"))
    assert file.contract.graph[0].kernel[0].name == "*gemm*"
    report = check_dump(found, file, dump_name="x", today=TODAY, demangle=demangle)
    assert report.answer == "passed"


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb\x7f", "\u202eevil", "\U000e0001", "ü"])
def test_names_of_every_kind_come_back_as_they_were(name: str) -> None:
    environment = replace(dump().environment, devices=(replace(dump().environment.devices[0], name=name),))
    found = SignatureDump(
        environment=environment,
        profile=None,
        complete=True,
        graphs=(LabeledGraph(label="g", graph=graph(kernel(name=name))),),
        extensions={},
    )
    text = first_contract(found, name, demangle)
    plain = tomllib.loads(text)
    assert (plain["golden"], plain["driver"][0]["device"]) == (name, name)
    assert all(character.isprintable() or character == "\n" for character in text)
