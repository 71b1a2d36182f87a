"""The pytest plugin, run as its users run it: in the same process, in a process of its own, and under xdist."""

from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from msgspec.structs import replace

import sigcontract as sc
import sigcontract.testing.fixture  # here, so that not every run inside imports it anew
from sigcontract.pytest_plugin import pytest_assertrepr_compare
from sigcontract.testing import inequality_lines
from tests.architecture.source import ROOT
from tests.compare.dumps import dump, kernel, without_code
from tests.update import build

#: Where the installed metadata is older than the entry point, the plugin is named.
INSTALLED = "sigcontract" in {entry.name for entry in entry_points(group="pytest11")}
#: Other plugins take longer to load than the tests inside take to run.
PLUGINS = (
    *(() if INSTALLED else ("-p", "sigcontract.pytest_plugin")),
    *(part for name in ("hypothesispytest", "benchmark", "pytest_cov") for part in ("-p", f"no:{name}")),
)
NORM, GEMM = kernel(name="norm", func=1), kernel(name="gemm_64", func=2)
BEFORE = build.graph(NORM, GEMM)
AFTER = build.graph(NORM, replace(GEMM, name="gemm_128", function=replace(build.FACTS, code_sha256="cd" * 32)))

CHECKS = """
import sigcontract as sc

DUMP = sc.load("captured.json")

def test_decode(graph_signature):
    graph_signature.check(DUMP, "decode")
"""


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "120")


def captured(pytester: pytest.Pytester, *graphs: sc.GraphSignature, **changed: object) -> None:
    """Write what the tests inside will find captured."""
    sc.save(dump(*graphs, **changed), pytester.path / "captured.json")


def ran(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGINS, *arguments)


def golden_at(pytester: pytest.Pytester, name: str = "decode", module: str = "test_decode") -> Path:
    return pytester.path / "goldens" / module / f"{name}.json"


def accepted(pytester: pytest.Pytester) -> None:
    for pending in pytester.path.rglob("*.json.new"):
        pending.rename(pending.with_suffix(""))


@pytest.fixture
def agreed(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a folder with one test and its accepted golden."""
    captured(pytester, BEFORE)
    pytester.makepyfile(test_decode=CHECKS)
    ran(pytester)
    accepted(pytester)
    return pytester


def test_pyproject_declares_the_entry_point() -> None:
    import tomllib  # noqa: PLC0415

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"sigcontract": "sigcontract.pytest_plugin"}
    assert project["optional-dependencies"]["pytest"]


def test_the_plugin_imports_nothing_but_pytest_until_a_test_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            heavy = {"msgspec", "pydantic", "cuda", "cupti", "rich", "torch", "zstandard", "pycxxfilt"}
            assert heavy & set(sys.modules) == set()
            ours = {name for name in sys.modules if name.partition(".")[0] == "sigcontract"}
            assert ours == {
                "sigcontract", "sigcontract.doors", "sigcontract.pytest_plugin", "sigcontract.testing",
                "sigcontract.testing.ledger",
            }
        """
    )
    pytester.runpytest_subprocess(*PLUGINS).assert_outcomes(passed=1)


def test_a_missing_golden_fails_and_is_written_for_review(pytester: pytest.Pytester) -> None:
    captured(pytester, BEFORE)
    pytester.makepyfile(test_decode=CHECKS)
    result = ran(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: no golden yet for graph 'g0'",
            "E*g0: 2 nodes (2 kernel), 1 edge",
            "E*golden   goldens/test_decode/decode.json",
            "E*pending  goldens/test_decode/decode.json.new",
            "E*review   sigcontract review goldens/test_decode/decode.json.new",
            "pending: 1; review with: sigcontract review",
        ]
    )
    golden = golden_at(pytester)
    assert not golden.exists()
    assert sc.digest(sc.load(f"{golden}.new", verify=True, expect=sc.SignatureDump).graph("g0"))  # a valid dump
    accepted(pytester)
    ran(pytester).assert_outcomes(passed=1)


def test_another_graph_fails_with_its_causes_and_writes_it_for_review(agreed: pytest.Pytester) -> None:
    captured(agreed, AFTER)
    before = golden_at(agreed).read_bytes()
    result = ran(agreed)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: graph 'g0': differs from the golden",
            "E*g0: 2 nodes; update: updatable",
            "E*~ another kernel: gemm_128 (was _64), node 1",
            "E*golden   goldens/test_decode/decode.json",
            "E*pending  goldens/test_decode/decode.json.new",
        ]
    )
    assert golden_at(agreed).read_bytes() == before
    assert sc.load(golden_at(agreed).with_name("decode.json.new"), expect=sc.SignatureDump).graphs[0].label == "g0"


def test_a_check_that_passes_removes_what_was_pending(agreed: pytest.Pytester) -> None:
    captured(agreed, AFTER)
    ran(agreed)
    captured(agreed, BEFORE)
    ran(agreed).assert_outcomes(passed=1)
    assert list(agreed.path.rglob("*.new")) == []


def test_another_process_of_the_same_capture_agrees(agreed: pytest.Pytester) -> None:
    again = build.graph(replace(NORM, func=0x700, context=9), replace(GEMM, func=0x800, context=9))
    captured(agreed, again, process_id=5, hostname="node-z", created_at="2027-01-01T00:00:00Z")
    ran(agreed).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("ci", "option", "writes"), [("true", "auto", False), ("true", "new", True), ("", "no", False)]
)
def test_in_ci_nothing_is_written_unless_asked_for(
    agreed: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, option: str, *, writes: bool
) -> None:
    monkeypatch.setenv("CI", ci)
    captured(agreed, AFTER)
    result = ran(agreed, "--sigcontract-update", option)
    result.assert_outcomes(failed=1)
    assert bool(list(agreed.path.rglob("*.new"))) == writes
    assert ("pending  not written" in result.stdout.str()) != writes


def test_a_golden_of_another_driver_says_so_where_graphs_differ(agreed: pytest.Pytester) -> None:
    captured(agreed, BEFORE, cuda_driver_version=12080, display_driver_version="570.1")
    ran(agreed).assert_outcomes(passed=1)
    captured(agreed, AFTER, cuda_driver_version=12080, display_driver_version="570.1")
    result = ran(agreed)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*the golden is from CUDA 13.0, driver 580.159.04, NVIDIA H200, the recording from CUDA 12.8, driver*",
            "E*environment",
            "E*cuda_driver_version  13000 → 12080*",
        ]
    )


def test_a_golden_of_another_graph_says_so(agreed: pytest.Pytester) -> None:
    agreed.makepyfile(
        test_decode="""
        import sigcontract as sc

        def test_decode(graph_signature):
            graph_signature.check(sc.load("captured.json").graphs[0].graph, "decode")
        """
    )
    result = ran(agreed)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*the golden has graph 'g0': graphs were added, removed or renamed*"])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text.replace('"version":2', '"version":99'), "E*the golden is invalid [[]version]: *version 99*"),
        (lambda text: text.replace('"portable_digest":"sha256:', '"portable_digest":"sha256:00')[:-1], "E*[[]decode]*"),
        (lambda text: text.replace("kernel gemm_64", "kernel gemm_63"), "E*[[]listing]: *does not match the graphs*"),
        (lambda text: text.replace('"name":"gemm_64"', '"name":"gemm_63"'), "E*[[]digest]*"),
        (lambda _: "", "E*the golden is invalid*"),
    ],
)
def test_a_golden_that_is_none_of_this_release_fails_and_says_why(
    agreed: pytest.Pytester, spoil: "object", said: str
) -> None:
    golden = golden_at(agreed)
    assert callable(spoil)
    golden.write_text(spoil(golden.read_text(encoding="utf-8")), encoding="utf-8")
    result = ran(agreed)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([said, "E*pending  goldens/test_decode/decode.json.new"])


def test_what_was_not_recorded_is_reported_and_fails_a_strict_run(pytester: pytest.Pytester) -> None:
    captured(pytester, build.graph(without_code(NORM)))
    pytester.makepyfile(test_decode=CHECKS)
    ran(pytester)
    accepted(pytester)
    result = ran(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 of 1 goldens leave function.code-unknown undetermined*"])
    strict = ran(pytester, "--sigcontract-strict")
    strict.assert_outcomes(failed=1)
    strict.stdout.fnmatch_lines(
        ["E*unknowns fail a strict check: function.code-unknown", "E*read the graph with observations*"]
    )


def test_an_incomplete_dump_never_agrees(pytester: pytest.Pytester) -> None:
    sc.save(replace(dump(BEFORE), complete=False), pytester.path / "captured.json")
    pytester.makepyfile(test_decode=CHECKS)
    result = ran(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*NotComparableError: the dump is incomplete*"])


def test_names_come_from_the_test_and_are_numbered(pytester: pytest.Pytester) -> None:
    captured(pytester, BEFORE)
    pytester.makepyfile(
        test_names="""
        import pytest
        import sigcontract as sc

        GRAPH = sc.load("captured.json").graphs[0].graph

        @pytest.mark.parametrize("size", [1, 2])
        def test_a(graph_signature, size):
            for _ in range(2):
                with pytest.raises(AssertionError):
                    graph_signature.check(GRAPH)

        class TestB:
            def test_b(self, graph_signature):
                with pytest.raises(AssertionError):
                    graph_signature.check(GRAPH)
                with pytest.raises(AssertionError):
                    graph_signature.check(GRAPH, "decode/bs=1 ../x")
        """
    )
    ran(pytester).assert_outcomes(passed=3)
    names = sorted(path.name for path in golden_at(pytester, module="test_names").parent.iterdir())
    assert names == [
        "TestB-test_b.json.new",
        "decode-bs=1-..-x.json.new",
        "test_a-1--2.json.new",
        "test_a-1.json.new",
        "test_a-2--2.json.new",
        "test_a-2.json.new",
    ]


def test_two_tests_of_one_golden_are_an_error_with_both_names(agreed: pytest.Pytester) -> None:
    agreed.makepyfile(test_decode=CHECKS + "\n\ndef test_again(graph_signature):\n    test_decode(graph_signature)\n")
    result = ran(agreed)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E*UsageError: test_decode.py::test_decode and test_decode.py::test_again check the same golden, goldens/*"]
    )


def test_one_test_that_checks_a_golden_twice_is_an_error(agreed: pytest.Pytester) -> None:
    agreed.makepyfile(test_decode=f"{CHECKS}    graph_signature.check(DUMP, 'decode')\n")
    result = ran(agreed)
    result.stdout.fnmatch_lines(["E*UsageError: test_decode.py::test_decode checks the golden * twice*"])


def in_workers(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*PLUGINS, "-n", "2", *arguments)


def test_under_xdist_two_workers_of_one_golden_are_an_error_with_both_names(agreed: pytest.Pytester) -> None:
    # Each test waits for the other to have begun, so that one worker cannot run both.
    met = """
from threading import Event
from pathlib import Path

def meet(own, other):
    Path(own).touch()
    for _ in range(600):
        if Path(other).exists():
            return
        Event().wait(0.1)
"""
    again = "    meet('a', 'b')\n\ndef test_again(graph_signature):\n    meet('b', 'a')\n"
    agreed.makepyfile(test_decode=f"{met}{CHECKS}{again}    graph_signature.check(DUMP, 'decode')\n")
    result = in_workers(agreed)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    names = (
        "test_decode.py::test_decode and test_decode.py::test_again",
        "test_decode.py::test_again and *test_decode",
    )
    told = [line for line in result.stdout.lines if line.startswith("error: ")]
    assert len(told) == 1
    assert any(
        fnmatch(told[0], f"error: {both} check the same golden, goldens/test_decode/decode.json; *") for both in names
    )


def test_under_xdist_checks_pass_fail_and_are_reported_once(agreed: pytest.Pytester) -> None:
    captured(agreed, BEFORE, AFTER)
    agreed.makepyfile(
        test_more="""
        import pytest
        import sigcontract as sc

        @pytest.mark.parametrize("index", range(8))
        def test_graph(graph_signature, index):
            graph_signature.check(sc.load("captured.json").graphs[index % 2].graph)
        """
    )
    agreed.makepyfile(test_decode="def test_nothing():\n    pass\n")
    first = in_workers(agreed)
    first.assert_outcomes(passed=1, failed=8)
    first.stdout.fnmatch_lines(["pending: 8; review with: sigcontract review"])
    accepted(agreed)
    second = in_workers(agreed, "--sigcontract-unreferenced", "reject")
    second.assert_outcomes(passed=9)
    assert second.ret == pytest.ExitCode.TESTS_FAILED
    second.stdout.fnmatch_lines(["goldens/test_decode/decode.json: error: no test checks it"])
    assert second.stdout.str().count("no test checks it") == 1


@pytest.fixture
def with_unused(agreed: pytest.Pytester) -> pytest.Pytester:
    """Return the folder with goldens that no test checks, one of them of a module that is gone."""
    golden = golden_at(agreed)
    golden.with_name("old.json").write_bytes(golden.read_bytes())
    golden.with_name("old.json.new").write_bytes(golden.read_bytes())
    gone = golden_at(agreed, module="test_gone")
    gone.parent.mkdir()
    gone.write_bytes(golden.read_bytes())
    return agreed


UNUSED = ["goldens/test_decode/old.json", "goldens/test_decode/old.json.new", "goldens/test_gone/decode.json"]


@pytest.mark.parametrize(
    ("mode", "status", "said"),
    [
        ("warn", 0, "no test checks it"),
        ("reject", 1, "error: no test checks it"),
        ("delete", 0, "deleted, no test checked it"),
    ],
)
def test_goldens_that_no_test_checks_are_named(with_unused: pytest.Pytester, mode: str, status: int, said: str) -> None:
    result = ran(with_unused, "--sigcontract-unreferenced", mode)
    assert result.ret == status
    result.stdout.fnmatch_lines([f"{name}: {said}" for name in UNUSED])
    left = [name for name in UNUSED if (with_unused.path / name).exists()]
    assert left == ([] if mode == "delete" else UNUSED)
    assert golden_at(with_unused).exists()


@pytest.mark.parametrize(
    "arguments",
    [["-k", "not other"], ["test_decode.py::test_decode"], ["--sigcontract-unreferenced", "ignore"], ["--lf"]],
)
def test_a_part_of_the_tests_condemns_no_golden(with_unused: pytest.Pytester, arguments: list[str]) -> None:
    body = "\n\ndef test_other():\n    from pathlib import Path\n    assert not Path('broken').exists()\n"
    with_unused.makepyfile(test_decode=CHECKS + body)
    (with_unused.path / UNUSED[2]).unlink()
    broken = with_unused.path / "broken"
    broken.touch()
    ran(with_unused)
    broken.unlink()
    result = ran(with_unused, *arguments)
    result.assert_outcomes(passed=2 if "ignore" in arguments else 1, deselected=1 if "-k" in arguments else 0)
    assert "no test checks it" not in result.stdout.str()


@pytest.mark.parametrize("body", ["assert False", "pytest.skip('today')"])
def test_a_test_that_did_not_pass_condemns_no_golden(with_unused: pytest.Pytester, body: str) -> None:
    with_unused.makepyfile(test_decode=f"import pytest\n{CHECKS}\n\ndef test_other():\n    {body}\n")
    result = ran(with_unused, "--sigcontract-unreferenced", "delete")
    assert [name for name in UNUSED if (with_unused.path / name).exists()] == UNUSED[:2]
    result.stdout.fnmatch_lines(["test_decode.py: not searched for unused goldens: some of its tests did not*"])


def test_a_live_graph_needs_a_device(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise sc.DriverUnavailableError("there is no libcuda.so.1 here", reason="no_libcuda")

    monkeypatch.setattr("sigcontract.testing.fixture.default_driver", none)
    pytester.makepyfile(
        test_live="""
        def test_check(graph_signature):
            graph_signature.check(4096)

        def test_capture(graph_signature):
            graph_signature.require_gpu()
            raise SystemError("what captures is not reached")
        """
    )
    result = ran(pytester, "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED * needs a CUDA device: there is no libcuda.so.1 here"])
    insisted = ran(pytester, "--sigcontract-require-gpu")
    insisted.assert_outcomes(failed=2)
    insisted.stdout.fnmatch_lines(["E*the test needs a CUDA device, and --sigcontract-require-gpu was given*"])


def test_names_from_files_cannot_move_the_terminal(pytester: pytest.Pytester) -> None:
    hostile = "k\x1b[2J\u202e<script>'\"" + "x" * 20_000
    captured(pytester, build.graph(replace(NORM, name=hostile)))
    pytester.makepyfile(test_decode=CHECKS)
    result = ran(pytester)
    result.assert_outcomes(failed=1)
    assert "\x1b[2J" not in result.stdout.str()
    assert "\u202e" not in result.stdout.str()
    pending = golden_at(pytester).with_name("decode.json.new")
    assert "\u202e" not in pending.read_text(encoding="utf-8")
    assert sc.load(pending, expect=sc.SignatureDump).graphs[0].graph.kernel_nodes[0].name == hostile
    accepted(pytester)
    ran(pytester).assert_outcomes(passed=1)


def test_two_graphs_that_are_not_equal_are_shown_by_their_diff(pytester: pytest.Pytester) -> None:
    captured(pytester, BEFORE, AFTER)
    pytester.makepyfile(
        """
        import sigcontract as sc

        FIRST, SECOND = (entry.graph for entry in sc.load("captured.json").graphs)

        def test_graphs():
            assert FIRST == SECOND
        """
    )
    result = ran(pytester, "-vv")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "assert two graphs differ (left → right)" in text
    assert "gemm_64" in text
    assert "gemm_128" in text
    assert "GraphSignature(" not in text


EQUALITY = dump(BEFORE, AFTER)


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        (
            replace(EQUALITY, profile="other", extensions={"a": 1}),
            ["profile: 'other' → None", "extensions: {'a': 1} → {}"],
        ),
        (
            replace(EQUALITY, environment=replace(EQUALITY.environment, hostname="x" * 80)),
            [f"environment.hostname: 'x{'x' * 57}… → 'node-a'"],
        ),
        (replace(EQUALITY, graphs=EQUALITY.graphs[::-1]), ["graphs: ['g1', 'g0'] → ['g0', 'g1']"]),
    ],
)
def test_what_a_diff_of_graphs_leaves_out_is_named(left: sc.SignatureDump, lines: list[str]) -> None:
    found = inequality_lines(left, EQUALITY)
    assert found == ["two dumps differ (left → right)", *lines]


def test_long_values_are_cut_where_they_differ() -> None:
    one, other = (
        replace(EQUALITY, environment=replace(EQUALITY.environment, hostname="n" * 5_000 + name + "n" * 5_000))
        for name in ("a", "b")
    )
    found = inequality_lines(one, other)
    assert found is not None
    old, new = found[1].removeprefix("environment.hostname: ").split(" → ")
    assert old != new
    assert len(found[1]) < 200


def test_equal_graphs_of_unequal_dumps_are_not_drawn() -> None:
    third = replace(EQUALITY.graphs[0], label="g2")
    more = replace(EQUALITY, graphs=(*EQUALITY.graphs, third))
    assert inequality_lines(EQUALITY, more) == [
        "two dumps differ (left → right)",
        "graphs: ['g0', 'g1'] → ['g0', 'g1', 'g2']",
    ]
    other = replace(EQUALITY, graphs=(*EQUALITY.graphs, replace(third, graph=AFTER)))
    found = inequality_lines(other, more)
    assert found is not None
    assert [line for line in found if "g0" in line or "g1" in line] == []
    assert any(line.startswith("g2: ") for line in found)


def test_graphs_that_cannot_be_compared_are_named_as_such() -> None:
    twice = replace(EQUALITY, graphs=(replace(EQUALITY.graphs[1], label="g0"),) * 2)
    found = inequality_lines(twice, EQUALITY)
    assert found is not None
    assert found[1].startswith("their graphs cannot be compared: ")


@pytest.mark.parametrize("other", [BEFORE, 5, None])
def test_other_comparisons_are_left_to_pytest(other: object) -> None:
    assert inequality_lines(EQUALITY, other) is None
    assert pytest_assertrepr_compare("<", EQUALITY, EQUALITY) is None
    assert pytest_assertrepr_compare("==", EQUALITY, 5) is None
