"""Whether a recording agrees with its golden."""

from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from sigcontract.compare import DumpComparison, compare_dumps, gate
from sigcontract.errors import FileError, RecordError
from sigcontract.golden.document import read_golden
from sigcontract.model import SignatureDump, Verdict
from sigcontract.wire import header_of

__all__ = ["Agreement", "State", "compare_with_golden"]

#: same: the recording equals the golden. missing: no golden. unreadable: not a valid golden of this release. different:
#: the two differ. undetermined: equal as recorded, and unknowns count.
State = Literal["same", "missing", "unreadable", "different", "undetermined"]


class Agreement(NamedTuple):
    """A recording compared with its golden.

    Attributes
    ----------
    state
        Whether they agree.
    recorded
        The recording, from `golden_of`.
    golden
        The golden; None if missing or unreadable.
    comparison
        How the two differ; None without a golden.
    error
        Why the golden is unreadable.
    open
        Undetermined rules, such as ``function.code-unknown``.
    """

    state: State
    recorded: SignatureDump
    golden: SignatureDump | None = None
    comparison: DumpComparison | None = None
    error: RecordError | FileError | None = None
    open: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the check passes."""
        return self.state == "same"


def compare_with_golden(
    recorded: SignatureDump, golden: Path, *, environment_known: bool = True, strict: bool = False
) -> Agreement:
    """Compare a recording with its golden.

    They agree if the portable digests of each label are equal: what was recorded is the same, unreadable values
    included. If digests differ, they still agree if no finding of `compare_dumps` fails the gate ``any``: node order
    and attributes without effect do not. The environment is compared, as it may be the reason, but does not decide.

    Parameters
    ----------
    recorded
        The recording, from `golden_of`.
    golden
        The golden file.
    environment_known
        Whether the recording has its process's environment; else the golden's is assumed.
    strict
        Whether undetermined rules fail the check.
    """
    try:
        expected = read_golden(golden)
    except FileError as error:
        return Agreement("unreadable" if golden.exists() else "missing", recorded, error=error)
    except RecordError as error:
        return Agreement("unreadable", recorded, error=error)
    where, profile = recorded.environment, recorded.profile
    if not environment_known:
        where, profile = expected.environment, expected.profile
    # A different time: dumps of one moment would be taken for one capture, and unknowns for equal.
    where = replace(where, created_at=f"after {expected.environment.created_at}")
    compared = replace(recorded, environment=where, profile=profile)
    comparison = compare_dumps(expected, compared)
    findings = [finding for graph in comparison.diff.graphs for finding in graph.findings]
    open_rules = tuple(sorted({finding.rule for finding in findings if finding.verdict is Verdict.UNDETERMINED}))
    answer = gate(replace(comparison.diff, environment=()), "any")
    if answer != "passed" and _digests(expected) != _digests(compared):
        return Agreement("different", recorded, expected, comparison)
    if strict and answer != "passed":
        return Agreement("undetermined", recorded, expected, comparison, open=open_rules)
    return Agreement("same", recorded, expected, comparison, open=open_rules)


def _digests(dump: SignatureDump) -> dict[str, str]:
    return {graph.label: graph.portable_digest for graph in header_of(dump).graphs}
