"""Which test checked which golden, over a whole run: what makes two tests of one golden and unused goldens known.

Imports nothing of sigcontract: it is there in every run of pytest, whether a test uses a golden or not.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Checked", "Ledger"]


@dataclass(frozen=True)
class Checked:
    """A golden that a test checked.

    Attributes
    ----------
    golden
        Its file.
    test
        The test's node id.
    open
        Rules that the check left open.
    pending
        The file that was written for review; empty where none was.
    """

    golden: str
    test: str
    open: tuple[str, ...] = ()
    pending: str = ""

    def as_fields(self) -> list[Any]:
        """Return what travels from a worker of pytest-xdist: lists and texts."""
        return [self.golden, self.test, list(self.open), self.pending]

    @classmethod
    def of_fields(cls, fields: list[Any]) -> "Checked":
        """Return what was `as_fields`."""
        golden, test, left_open, pending = fields
        return cls(golden, test, tuple(left_open), pending)


@dataclass
class Ledger:
    """What one run of pytest checked, and which tests it collected and passed."""

    #: Every check so far, by golden.
    checked: defaultdict[str, list[Checked]] = field(default_factory=lambda: defaultdict(list))
    #: Tests of each module, as collected before any was deselected.
    collected: dict[str, list[str]] = field(default_factory=dict)
    #: Tests whose call passed.
    passed: set[str] = field(default_factory=set)
    #: Whether the collected tests are all that the modules have.
    whole: bool = True

    def add(self, checks: Iterable[Checked]) -> None:
        """Add what a test checked; once for each test and golden, as a flaky test may run again."""
        for check in checks:
            known = self.checked[check.golden]
            known[:] = [other for other in known if other.test != check.test] + [check]

    @property
    def clashes(self) -> list[tuple[str, list[str]]]:
        """Goldens that several tests checked, with the tests."""
        tests = ((golden, [check.test for check in checks]) for golden, checks in self.checked.items())
        return sorted((golden, names) for golden, names in tests if len(names) > 1)

    @property
    def open(self) -> dict[str, int]:
        """Rules that checks left open, with the number of goldens."""
        counts: defaultdict[str, int] = defaultdict(int)
        for checks in self.checked.values():
            for rule in {rule for check in checks for rule in check.open}:
                counts[rule] += 1
        return dict(counts)

    @property
    def pending(self) -> list[str]:
        """Files that were written for review."""
        return sorted({check.pending for checks in self.checked.values() for check in checks if check.pending})

    def judged_modules(self) -> tuple[list[str], list[str]]:
        """Return modules whose every test passed, so that their unused goldens are known, and the others."""
        complete = [module for module, tests in self.collected.items() if self.whole and self.passed.issuperset(tests)]
        return sorted(complete), sorted(self.collected.keys() - set(complete))
