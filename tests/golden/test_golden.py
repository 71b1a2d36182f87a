"""Golden files: equal for equal captures, valid dumps, readable, and strict about their names."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.golden import (
    compare_with_golden,
    decode_golden,
    golden_bytes,
    golden_file,
    golden_of,
    in_ci,
    pending_file,
    pending_files,
    unreferenced_files,
)
from tests.architecture.source import ROOT
from tests.compare.dumps import again, dump, environment, kernel, of_another_process, without_code
from tests.strategies import graphs
from tests.update import build

EXAMPLES = sorted((ROOT / "examples").glob("*.dump.json"))
NORM, GEMM = kernel(name="norm", func=1), kernel(name="gemm", func=2)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_a_golden_of_a_recording_is_a_valid_dump_of_the_same_digests(path: Path, tmp_path: Path) -> None:
    recorded = sc.load(path, expect=sc.SignatureDump)
    golden = golden_of(recorded)
    file = tmp_path / "golden.json"
    file.write_bytes(golden_bytes(golden))
    read = sc.load(file, verify=True, expect=sc.SignatureDump)
    assert read == golden
    digests = {entry.label: sc.portable_digest(entry.graph) for entry in recorded.graphs}
    assert {entry.label: sc.portable_digest(entry.graph) for entry in read.graphs} == digests
    assert compare_with_golden(golden, file).state == "same"


def test_a_golden_that_an_earlier_release_wrote_still_agrees() -> None:
    """Every kind of node, its listing included: a change of words there would fail the goldens of every user."""
    recorded = golden_of(sc.load(ROOT / "examples" / "nodes.dump.json", expect=sc.SignatureDump))
    assert compare_with_golden(recorded, Path(__file__).with_name("accepted.json")).state == "same"


@given(graph=graphs())
@settings(deadline=None, derandomize=True)
def test_two_processes_of_one_capture_have_one_golden(graph: sc.GraphSignature) -> None:
    goldens = [golden_of(dump(one, process_id=number)) for number, one in enumerate((graph, of_another_process(graph)))]
    assert golden_bytes(goldens[0]) == golden_bytes(goldens[1])
    assert golden_of(goldens[0]) == goldens[0]
    assert decode_golden(golden_bytes(goldens[0])) == goldens[0]


def test_a_function_that_two_graphs_share_stays_one_and_others_stay_others() -> None:
    first, second = build.graph(NORM, GEMM), build.graph(GEMM, replace(GEMM, func=3))
    graphs = [entry.graph for entry in golden_of(dump(first, second)).graphs]
    functions = [[node.func for node in graph.kernel_nodes] for graph in graphs]
    assert functions[0][1] == functions[1][0]
    assert len({number for numbers in functions for number in numbers}) == 3


def test_a_golden_contains_nothing_of_its_process() -> None:
    text = golden_bytes(golden_of(dump(build.graph(NORM), rank=3, world_size=8))).decode()
    assert "node-a" not in text
    where = golden_of(dump(build.graph(NORM))).environment
    assert (where.hostname, where.process_id, where.rank, where.world_size) == (None, None, None, None)
    assert where.cuda_driver_version == environment().cuda_driver_version


def test_one_changed_node_is_one_changed_line_of_the_listing() -> None:
    layers = [NORM, GEMM] * 12
    wider = replace(GEMM, grid_dim=sc.Dim3(x=9, y=9, z=1))

    def listing(*nodes: sc.NodeSignature) -> list[str]:
        text = golden_bytes(golden_of(dump(build.graph(*nodes)))).decode()
        return text[text.index('"extensions"') : text.index('"functions"')].splitlines()

    before = listing(*layers)
    changed = listing(*layers[:5], wider, *layers[6:])
    inserted = listing(*layers[:5], wider, *layers[5:])
    rest = "function 2, code abababababab, cluster_scheduling_policy_preference 1, mem_sync_domain_map.remote=1"
    assert [(a.strip(), b.strip()) for a, b in zip(before, changed, strict=True) if a != b] == [
        (
            f'"kernel gemm, grid 8x1x1, block 64x1x1, shared 0, {rest}",',
            f'"kernel gemm, grid 9x9x1, block 64x1x1, shared 0, {rest}",',
        )
    ]
    assert len(inserted) == len(before) + 1


def test_keys_are_sorted_and_every_row_has_a_line() -> None:
    lines = golden_bytes(golden_of(dump(build.graph(NORM, GEMM)))).decode().splitlines()
    keys = [line.partition('":')[0][1:] for line in lines if line.startswith('"')]
    assert keys == sorted(keys)
    assert sum(line.startswith('{"attributes":') for line in lines) == 2


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        (replace(dump(build.graph(NORM)), complete=False), "the dump is incomplete"),
        (dump(), "the dump has no graphs"),
    ],
)
def test_nothing_is_agreed_to_that_was_not_recorded(spoiled: sc.SignatureDump, said: str) -> None:
    with pytest.raises(sc.NotComparableError, match=said):
        golden_of(spoiled)


def agreed(graph: sc.GraphSignature, tmp_path: Path) -> Path:
    file = tmp_path / "golden.json"
    file.write_bytes(golden_bytes(golden_of(dump(graph))))
    return file


def test_what_both_leave_open_is_named_and_keeps_a_strict_check_from_passing(tmp_path: Path) -> None:
    graph = build.graph(without_code(NORM))
    file = agreed(graph, tmp_path)
    for known in (True, False):
        found = compare_with_golden(golden_of(dump(graph)), file, environment_known=known)
        assert (found.state, found.open) == ("same", ("function.code-unknown",))
        assert compare_with_golden(golden_of(dump(graph)), file, strict=True).state == "undetermined"


def test_a_capture_of_the_same_nodes_in_another_order_agrees(tmp_path: Path) -> None:
    nodes, other = (NORM, GEMM, build.memcpy()), (NORM, build.memcpy(), GEMM)
    first, second = (build.graph(*order, edges=[[], [0], [0]]) for order in (nodes, other))
    file = agreed(first, tmp_path)
    for strict in (False, True):
        assert compare_with_golden(golden_of(again(second)), file, strict=strict).state == "same"


def test_a_strict_check_of_what_is_known_passes_whatever_the_environment(tmp_path: Path) -> None:
    file = agreed(build.graph(NORM), tmp_path)
    recorded = golden_of(again(build.graph(NORM)))
    other = replace(recorded, environment=replace(recorded.environment, cuda_driver_version=12080))
    assert compare_with_golden(other, file, strict=True).state == "same"


def test_a_bare_signature_is_compared_under_the_golden_s_environment(tmp_path: Path) -> None:
    file = agreed(build.graph(NORM), tmp_path)
    unknown = environment(cuda_driver_version=None, display_driver_version=None, devices=())
    bare = replace(golden_of(dump(build.graph(GEMM))), environment=unknown)
    found = compare_with_golden(bare, file, environment_known=False)
    assert found.state == "different"
    assert found.comparison is not None
    assert found.comparison.diff.environment == ()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("decode", "decode.json"),
        ("decode/bs=4", "decode-bs=4.json"),
        ("../../etc/passwd", "etc-passwd.json"),
        ("test_a[1-x y]", "test_a-1-x-y.json"),
        ("a\u202eb\x1b[2J", "a-b-2J.json"),
        ("x" * 300, f"{'x' * 111}-0d4e2ca9.json"),
    ],
)
def test_a_name_is_a_file_name_everywhere(name: str, file: str) -> None:
    found = golden_file(Path("tests/test_a.py"), name)
    assert found == Path("tests/goldens/test_a") / file
    assert pending_file(found).name == f"{file}.new"


@pytest.mark.parametrize("name", ["", "///", "..", "\u202e"])
def test_a_name_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(sc.UsageError, match="cannot name a golden file"):
        golden_file(Path("test_a.py"), name)


def test_pending_files_are_searched_in_folders_of_goldens_alone(tmp_path: Path) -> None:
    for name in ("goldens/a/x.json.new", "goldens/a/x.json", "other/y.json.new", ".venv/goldens/z.json.new"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    pending = tmp_path / "goldens/a/x.json.new"
    assert list(pending_files([tmp_path, pending])) == [pending]
    assert list(pending_files([tmp_path / "goldens" / "a"])) == [pending]
    with pytest.raises(sc.UsageError, match="is not a pending golden"):
        list(pending_files([tmp_path / "goldens/a/x.json"]))
    with pytest.raises(sc.UsageError, match="does not exist"):
        list(pending_files([tmp_path / "gone"]))


def test_goldens_of_a_module_that_nothing_referenced(tmp_path: Path) -> None:
    module = tmp_path / "test_a.py"
    used, unused = golden_file(module, "used"), golden_file(module, "unused")
    used.parent.mkdir(parents=True)
    for path in (used, pending_file(used), unused, pending_file(unused), used.with_name("notes.txt")):
        path.touch()
    assert unreferenced_files(module, [used]) == [unused, pending_file(unused)]


@pytest.mark.parametrize(("value", "found"), [("true", True), ("1", True), ("", False), ("false", False), ("0", False)])
def test_ci_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch, value: str, *, found: bool) -> None:
    monkeypatch.setenv("CI", value)
    assert in_ci() == found
