"""Whether a recording agrees with its golden."""

from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from sigcontract.compare import DumpComparison, compare_dumps, gate
from sigcontract.errors import FileError, RecordError
from sigcontract.golden.document import read_golden
from sigcontract.model import SignatureDump, Verdict
from sigcontract.wire import header_of

__all__ = ["Agreement", "State", "hold_against_golden"]

#: same: the recording is that of the golden. missing: there is no golden. unreadable: there is one, which is no valid
#: golden of this release. different: the two differ. undetermined: equal as recorded, and what is not recorded counts.
State = Literal["same", "missing", "unreadable", "different", "undetermined"]


class Agreement(NamedTuple):
    """A recording held against its golden.

    Attributes
    ----------
    state
        Whether they agree.
    recorded
        The recording, as `golden_of` gives it.
    golden
        The golden; None where it is missing or unreadable.
    comparison
        How the two differ; None without a golden.
    error
        Why the golden is unreadable.
    open
        Rules whose answer both recordings leave open, such as ``function.code-unknown``.
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


def hold_against_golden(
    recorded: SignatureDump, golden: Path, *, environment_known: bool = True, strict: bool = False
) -> Agreement:
    """Hold a recording against its golden.

    They agree if each label has a graph of the same portable digest: what was recorded is the same, unreadable values
    included. Where digests differ they still agree if nothing that `compare_dumps` finds fails the gate ``any``:
    the order in which nodes were captured does not, nor what has no effect. The environment decides nothing; it is
    part of the comparison, for it may be the reason.

    Parameters
    ----------
    recorded
        The recording, as `golden_of` gives it.
    golden
        The golden's file.
    environment_known
        Whether the environment of the recording is that of its process; else that of the golden is assumed.
    strict
        Whether what both leave open keeps them from agreeing.
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
    # Of another moment, whatever the two say: equal dumps would be taken for one, and what is open for known.
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
