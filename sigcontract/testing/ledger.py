"""Which test checked which golden in a run, to find goldens checked twice or never.

Imports nothing of sigcontract: pytest loads it in every run.
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
        Rules that the check left undetermined.
    pending
        The file written for review; empty if none.
    """

    golden: str
    test: str
    open: tuple[str, ...] = ()
    pending: str = ""

    def as_fields(self) -> list[Any]:
        """Return the fields as lists and strings, to send from a pytest-xdist worker."""
        return [self.golden, self.test, list(self.open), self.pending]

    @classmethod
    def of_fields(cls, fields: list[Any]) -> "Checked":
        """Return the inverse of `as_fields`."""
        golden, test, left_open, pending = fields
        return cls(golden, test, tuple(left_open), pending)


@dataclass
class Ledger:
    """Checks of a pytest run, and the tests it collected and passed."""

    #: Every check so far, by golden.
    checked: defaultdict[str, list[Checked]] = field(default_factory=lambda: defaultdict(list))
    #: Tests of each module, as collected before any was deselected.
    collected: dict[str, list[str]] = field(default_factory=dict)
    #: Tests whose call passed.
    passed: set[str] = field(default_factory=set)
    #: Whether every test of the modules was collected.
    whole: bool = True

    def add(self, checks: Iterable[Checked]) -> None:
        """Add a test's checks, once per test and golden: a flaky test may run again."""
        for check in checks:
            known = self.checked[check.golden]
            known[:] = [other for other in known if other.test != check.test] + [check]

    @property
    def clashes(self) -> list[tuple[str, list[str]]]:
        """Goldens checked by several tests, with the tests."""
        tests = ((golden, [check.test for check in checks]) for golden, checks in self.checked.items())
        return sorted((golden, names) for golden, names in tests if len(names) > 1)

    @property
    def open(self) -> dict[str, int]:
        """Rules left undetermined, with the number of goldens."""
        counts: defaultdict[str, int] = defaultdict(int)
        for checks in self.checked.values():
            for rule in {rule for check in checks for rule in check.open}:
                counts[rule] += 1
        return dict(counts)

    @property
    def pending(self) -> list[str]:
        """Files written for review."""
        return sorted({check.pending for checks in self.checked.values() for check in checks if check.pending})

    def judged_modules(self) -> tuple[list[str], list[str]]:
        """Return modules whose tests all passed, so their unused goldens are known, and the other modules."""
        complete = [module for module, tests in self.collected.items() if self.whole and self.passed.issuperset(tests)]
        return sorted(complete), sorted(self.collected.keys() - set(complete))
