"""The pytest plugin: fixture ``graph_signature``, its options, and the summary of goldens after a run.

pytest loads it wherever sigcontract is installed, so it imports only pytest until a test requests the fixture. Under
pytest-xdist, workers attach what they checked to their reports, and the controller collects it.
"""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sigcontract.testing import Checked, Ledger

if TYPE_CHECKING:
    from sigcontract.testing import GraphSignatureFixture

__all__ = ["graph_signature"]

_LEDGER = pytest.StashKey[Ledger]()
_FIXTURE = pytest.StashKey["GraphSignatureFixture"]()
#: Keys of what reports and workers carry.
_CHECKS, _COLLECTED = "sigcontract_checks", "sigcontract_collected"
#: Most files that the summary lists.
_LISTED = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("sigcontract", "golden CUDA graphs")
    group.addoption(
        "--sigcontract-update",
        choices=("auto", "new", "no"),
        default="auto",
        help="what a failed check writes: NAME.json.new for `sigcontract review` (new), nothing (no), or new except "
        "in CI (auto, the default)",
    )
    group.addoption(
        "--sigcontract-unreferenced",
        choices=("ignore", "warn", "reject", "delete"),
        default="warn",
        help="goldens that no test checked in a module whose tests all ran and passed: list them (warn, the "
        "default), fail the run (reject), or delete them",
    )
    group.addoption(
        "--sigcontract-strict",
        action="store_true",
        help="fail checks that missing data leaves undetermined, such as machine code that was not observed",
    )
    group.addoption(
        "--sigcontract-require-gpu",
        action="store_true",
        help="fail, rather than skip, tests that need a CUDA device where none is present",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start collecting results."""
    selected = any("::" in str(argument) for argument in config.args)
    last_failed = bool(config.getoption("lf", default=False))
    ledger = config.stash[_LEDGER] = Ledger(whole=not selected and not last_failed)
    config.pluginmanager.register(_Account(config, ledger), "sigcontract-account")


@pytest.fixture
def graph_signature(request: pytest.FixtureRequest) -> "GraphSignatureFixture":
    """Check graphs against golden files and make assertions about their structure."""
    from sigcontract.golden import in_ci  # noqa: PLC0415  only when a test requests it
    from sigcontract.testing import CheckSettings, GraphSignatureFixture  # noqa: PLC0415  likewise

    config = request.config
    update = config.getoption("--sigcontract-update")
    settings = CheckSettings(
        writes=update == "new" or (update == "auto" and not in_ci()),
        strict=config.getoption("--sigcontract-strict"),
        requires_gpu=config.getoption("--sigcontract-require-gpu"),
        directory=config.invocation_params.dir,
    )
    fixture = GraphSignatureFixture(request.node.nodeid, request.path, settings, config.stash[_LEDGER])
    request.node.stash[_FIXTURE] = fixture
    return fixture


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain why two dumps or graphs are not equal by their diff."""
    if op != "==" or not (_is_record(left) and _is_record(right)):
        return None
    from sigcontract.testing import inequality_lines  # noqa: PLC0415  only for a test that compares records

    return inequality_lines(left, right)


def _is_record(value: object) -> bool:
    """Return whether a value is of a class of this package, without importing any."""
    return type(value).__module__.startswith("sigcontract.model.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the test checked to its last report."""
    report = yield
    fixture = item.stash.get(_FIXTURE, None)
    if fixture is not None and report.when == "teardown":
        setattr(report, _CHECKS, [check.as_fields() for check in fixture.checks])
    return report


class _Account:
    """Hooks that collect the reports of a run and summarize them at the end."""

    def __init__(self, config: pytest.Config, ledger: Ledger) -> None:
        self._config = config
        self._ledger = ledger
        self._unreferenced: list[str] = []
        self._unjudged: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Record all tests before other plugins deselect some."""
        for item in items:
            self._ledger.collected.setdefault(str(item.path), []).append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a passed test and what it checked. Workers do too, since their next test may check the same golden."""
        if report.when == "call" and report.passed:
            self._ledger.passed.add(report.nodeid)
        self._ledger.add(map(Checked.of_fields, getattr(report, _CHECKS, [])))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a pytest-xdist worker collected."""
        self._ledger.collected.update(getattr(node, "workeroutput", {}).get(_COLLECTED, {}))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Check what only a whole run shows, and fail the run for it."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_COLLECTED] = self._ledger.collected
            return
        mode = self._config.getoption("--sigcontract-unreferenced")
        if mode != "ignore":
            self._find_unreferenced()
        if mode == "delete":
            for path in self._unreferenced:
                Path(path).unlink()
        rejected = mode == "reject" and self._unreferenced
        if session.exitstatus == pytest.ExitCode.OK and (self._ledger.clashes or rejected):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    # The annotation is quoted: pytest 8.2 has no such name.
    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Write the summary of goldens."""
        lines = list(self._lines())
        if lines:
            terminalreporter.section("golden graphs")
            for line in lines:
                terminalreporter.write_line(line)

    def _find_unreferenced(self) -> None:
        from sigcontract.golden import FOLDER, unreferenced_files  # noqa: PLC0415  names of files only

        judged, others = self._ledger.judged_modules()
        for module in map(Path, judged):
            checked = [Path(golden) for golden in self._ledger.checked]
            self._unreferenced += map(str, unreferenced_files(module, checked))
        self._unjudged = [module for module in others if (Path(module).parent / FOLDER / Path(module).stem).is_dir()]
        for folder in sorted({Path(module).parent for module in self._ledger.collected} if self._ledger.whole else ()):
            for goldens in sorted((folder / FOLDER).glob("*/")):
                if not (folder / f"{goldens.name}.py").exists():
                    self._unreferenced += map(str, unreferenced_files(folder / f"{goldens.name}.py", ()))

    def _lines(self) -> Iterator[str]:
        for golden, tests in self._ledger.clashes:
            yield f"error: {' and '.join(tests)} check the same golden, {self._shown(golden)}; give each its own name"
        mode = self._config.getoption("--sigcontract-unreferenced")
        what = {"delete": "deleted, no test checked it", "reject": "error: no test checks it"}
        for path in self._unreferenced[:_LISTED]:
            yield f"{self._shown(path)}: {what.get(mode, 'no test checks it')}"
        if len(self._unreferenced) > _LISTED:
            yield f"and {len(self._unreferenced) - _LISTED} more"
        if self._unreferenced and mode == "warn":
            yield "delete them with --sigcontract-unreferenced delete"
        if mode in ("delete", "reject"):
            for module in self._unjudged:
                yield f"{self._shown(module)}: not searched for unused goldens: some of its tests did not run or failed"
        for rule, count in sorted(self._ledger.open.items()):
            share = f"{count} of {len(self._ledger.checked)} goldens"
            yield f"{share} leave {rule} undetermined (`sigcontract rules {rule}`)"
        pending = self._ledger.pending
        if pending:
            yield f"pending: {len(pending)}; review with: sigcontract review"

    def _shown(self, path: str) -> str:
        return os.path.relpath(path, self._config.invocation_params.dir)
