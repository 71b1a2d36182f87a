"""The fixture ``graph_signature``: a test's golden checks and structural assertions."""

import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from sigcontract.driver import default_driver, environment, read_graph, read_profile
from sigcontract.errors import DriverUnavailableError, FileError, NotComparableError, UsageError
from sigcontract.golden import compare_with_golden, golden_bytes, golden_file, golden_of, pending_file
from sigcontract.model import GraphSignature, GroupsReport, SignatureDump
from sigcontract.profiles import named_profile
from sigcontract.report import counted, disagreement_text, render_groups
from sigcontract.testing.dumps import UNKNOWN_ENVIRONMENT, dump_of
from sigcontract.testing.ledger import Checked, Ledger
from sigcontract.testing.structure import GraphStructure
from sigcontract.update import MEMORY_SOURCE, gaps, group_dumps, no_graph
from sigcontract.wire import write_bytes

__all__ = ["CheckSettings", "GraphSignatureFixture"]

#: Remedy for a recording that equals its golden, but is undetermined in a strict run.
_STRICT: Final = "read the graph with observations of its launches (sigcontract.driver.observe), and rewrite the golden"


class CheckSettings(NamedTuple):
    """Options of the run.

    Attributes
    ----------
    writes
        Whether a failed check writes a pending file.
    strict
        Whether an undetermined check fails.
    requires_gpu
        Whether a test that needs a device fails, rather than skips, without one.
    directory
        Directory to which paths in messages are relative.
    """

    writes: bool
    strict: bool
    requires_gpu: bool
    directory: Path


class GraphSignatureFixture:
    """Checks graphs of one test against golden files, and makes assertions about their structure.

    A graph is a `GraphSignature`, a `SignatureDump`, or any argument of `sigcontract.driver.read_graph`. A live graph
    needs a device: without one the test skips, or fails under ``--sigcontract-require-gpu``.

    Parameters
    ----------
    test
        Node id of the test.
    module
        Its file.
    settings
        The run's options.
    ledger
        What this process has checked so far.
    """

    def __init__(self, test: str, module: Path, settings: CheckSettings, ledger: Ledger) -> None:
        self._test = test
        self._module = module
        self._settings = settings
        self._ledger = ledger
        self._unnamed = 0
        #: The checks so far.
        self.checks: list[Checked] = []

    def __repr__(self) -> str:
        return f"<graph_signature of {self._test}>"

    def check(self, graph: object, name: str | None = None) -> None:
        """Fail the test unless the graph matches its golden, ``goldens/MODULE/NAME.json`` beside the test.

        A failed check writes the recording to ``NAME.json.new`` for ``sigcontract review``; in CI only with
        ``--sigcontract-update new``.

        Parameters
        ----------
        graph
            The graph. A dump is checked with all its graphs.
        name
            Name of the golden, and label of an unlabelled graph. Default: the test's name, with ``-2``, ``-3`` for
            further checks of the same test.

        Raises
        ------
        AssertionError
            The golden is missing, unreadable, or different. The message lists the differences, causes first.
        UsageError
            Another check writes the same golden, or the name cannot name a file.
        NotComparableError
            The dump is incomplete or empty.
        """
        __tracebackhide__ = True
        name = self._default_name() if name is None else name
        golden = golden_file(self._module, name)
        self._claim(golden)
        dump = self._dump(graph, name)
        recorded = golden_of(dump)
        found = compare_with_golden(
            recorded, golden, environment_known=dump.environment != UNKNOWN_ENVIRONMENT, strict=self._settings.strict
        )
        pending = pending_file(golden)
        if found.agrees:
            self.checks.append(Checked(str(golden), self._test, open=found.open))
            if self._settings.writes:
                with suppress(OSError):  # none exists, or it cannot be removed; the check passed
                    pending.unlink()
            return
        written, what_to_do = False, _STRICT
        if found.state != "undetermined":  # accepting it would change nothing
            written, what_to_do = self._write(golden, pending, recorded)
        self.checks.append(Checked(str(golden), self._test, pending=str(pending) if written else ""))
        raise AssertionError(f"{disagreement_text(found)}\n{what_to_do}")

    def graph(self, graph: object, label: str | None = None) -> GraphStructure:
        """Return the graph for assertions about its structure.

        Parameters
        ----------
        graph
            What was captured.
        label
            The graph of a dump; optional if there is only one. For any other graph, its name in messages.

        Raises
        ------
        UsageError
            The dump has no graph of that label, or several and no label is given.
        """
        dump = self._dump(graph, label or self._test.rpartition("::")[2])
        labels = [entry.label for entry in dump.graphs]
        if isinstance(graph, SignatureDump) and label is None and len(labels) != 1:
            raise UsageError(f"the dump has {counted(len(labels), 'graph')}; pass the label of one")
        chosen = labels[0] if label is None else label
        if chosen not in labels:
            raise no_graph(chosen, labels, "the dump")
        return GraphStructure(dump.graph(chosen), chosen)

    def executables(
        self,
        graphs: SignatureDump | Mapping[str, object] | Iterable[object],
        policy: str = "share",
        *,
        at_most: int | None = None,
    ) -> int:
        """Return how many executables graphs of one process need under a policy, and assert a limit if given.

        Parameters
        ----------
        graphs
            A dump, graphs by their labels, or graphs.
        policy
            A policy of `sigcontract.SignatureRegistry`.
        at_most
            The limit.

        Raises
        ------
        AssertionError
            They need more. The message lists the groups and the differences between them.
        NotComparableError
            The dump is incomplete or empty, so the number would be too small.
        UsageError
            The policy is unknown.
        """
        __tracebackhide__ = True
        dump = graphs if isinstance(graphs, SignatureDump) else self._dump_of_several(graphs)
        if gaps([dump]):
            raise NotComparableError("the dump is incomplete or empty; record it again and let the program finish")
        profile = named_profile(dump)
        policies = group_dumps([dump], [policy], profile)
        found = policies[0].executables
        if at_most is not None and found > at_most:
            report = GroupsReport(
                dumps=("",),
                gaps=(),
                profile=None if profile is None else profile.id,
                flags=0,
                memory_source=MEMORY_SOURCE,
                policies=policies,
            )
            msg = f"expected at most {counted(at_most, 'executable')} under {policy}, found {found}"
            raise AssertionError(f"{msg}\n\n{render_groups(report, width=110)}")
        return found

    def require_gpu(self) -> None:
        """Skip the test without a CUDA device; fail it under ``--sigcontract-require-gpu``."""
        __tracebackhide__ = True
        try:
            if default_driver().device_count() == 0:
                self._without_gpu("the driver has no device")
        except DriverUnavailableError as error:
            self._without_gpu(str(error))

    def _default_name(self) -> str:
        self._unnamed += 1
        name = self._test.partition("::")[2] or self._test
        return name if self._unnamed == 1 else f"{name}-{self._unnamed}"

    def _claim(self, golden: Path) -> None:
        """Refuse a golden already checked: the second check would compare with the recording of the first."""
        shown = self._shown(golden)
        if any(check.golden == str(golden) for check in self.checks):
            raise UsageError(f"{self._test} checks the golden {shown} twice; give each check its own name")
        for check in self._ledger.checked.get(str(golden), ()):
            if check.test != self._test:
                raise UsageError(
                    f"{check.test} and {self._test} check the same golden, {shown}; give each its own name"
                )

    def _dump(self, graph: object, label: str) -> SignatureDump:
        if isinstance(graph, SignatureDump):
            return graph
        if isinstance(graph, GraphSignature):
            return dump_of({label: graph}, UNKNOWN_ENVIRONMENT, None)
        __tracebackhide__ = True
        return self._live({label: graph})

    def _dump_of_several(self, graphs: Mapping[str, object] | Iterable[object]) -> SignatureDump:
        given = (
            graphs if isinstance(graphs, Mapping) else {f"graph {index}": graph for index, graph in enumerate(graphs)}
        )
        signatures = {label: graph for label, graph in given.items() if isinstance(graph, GraphSignature)}
        if len(signatures) == len(given):
            return dump_of(signatures, UNKNOWN_ENVIRONMENT, None)
        if signatures:
            raise UsageError("signatures and live graphs may be of different processes; pass one kind")
        return self._live(given)

    def _live(self, graphs: Mapping[str, object]) -> SignatureDump:
        __tracebackhide__ = True
        try:
            driver = default_driver()
            signatures = {label: read_graph(graph, driver=driver) for label, graph in graphs.items()}
            return dump_of(signatures, environment(driver), read_profile(driver).id)
        except DriverUnavailableError as error:
            self._without_gpu(str(error))

    def _without_gpu(self, reason: str) -> NoReturn:
        __tracebackhide__ = True
        if self._settings.requires_gpu:
            pytest.fail(f"the test needs a CUDA device, and --sigcontract-require-gpu was given: {reason}")
        pytest.skip(f"needs a CUDA device: {reason}")

    def _write(self, golden: Path, pending: Path, recorded: SignatureDump) -> tuple[bool, str]:
        """Write the pending file if enabled; return whether it exists, and what to do next."""
        head = f"golden   {self._shown(golden)}\n"
        if not self._settings.writes:
            return False, (
                f"{head}pending  not written, as CI is set or --sigcontract-update no was given; run the test where a "
                "person\n         can review it, or keep the file of --sigcontract-update new as an artifact"
            )
        try:
            pending.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(pending, golden_bytes(recorded))
        except OSError as error:
            reason = str(error) if isinstance(error, FileError) else f"{error.strerror}; check its permissions"
            return False, f"{head}pending  not written: {reason}"
        shown = self._shown(pending)
        return True, f"{head}pending  {shown}\nreview   sigcontract review {shlex.quote(shown)}"

    def _shown(self, path: Path) -> str:
        return os.path.relpath(path, self._settings.directory)
