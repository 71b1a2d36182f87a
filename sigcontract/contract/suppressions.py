"""Suppressions: which findings they let pass, until when, and which are unused."""

from datetime import date

from sigcontract.contract.contract_file import NEVER_PASS, ContractFile
from sigcontract.contract.patterns import Demangler, kernel_matches, matches
from sigcontract.model import Finding, Suppression, SuppressionUse, Verdict

__all__ = ["Suppressions"]


class Suppressions:
    """The suppressions of a contract on a date. An expired one lets nothing pass."""

    def __init__(self, file: ContractFile, today: date, demangle: Demangler) -> None:
        self._file = file
        self._demangle = demangle
        self._rows = file.contract.suppress
        self._expired = [date.fromisoformat(row.expires) < today for row in self._rows]
        self._hidden = [0] * len(self._rows)
        self._stale_kept = [0] * len(self._rows)

    def of_finding(self, finding: Finding, labels: tuple[str, ...]) -> int | None:
        """Return the suppression that lets a finding on a graph of these labels pass, and count it."""
        paths = (finding.path, *finding.also)
        for index, row in enumerate(self._rows):
            if self._expired[index] or row.rule != finding.rule or not self._is_of(row, labels):
                continue
            if row.kernel is not None and not self._names(row.kernel, finding.subject):
                continue
            # All paths or none: a pattern must not hide paths it does not match.
            listed = finding.count == len(paths)
            if row.path is not None and not (listed and all(matches(row.path, path) for path in paths)):
                continue
            if finding.verdict is Verdict.STALE and not row.stale:
                self._stale_kept[index] += 1
                continue
            self._hidden[index] += 1
            return index
        return None

    def of_clause(self, rule: str, label: str | None) -> int | None:
        """Return the suppression that lets a failed clause pass, and count it."""
        if rule in NEVER_PASS:
            return None
        for index, row in enumerate(self._rows):
            about_nodes = row.kernel is not None or row.path is not None
            labels = () if label is None else (label,)
            if self._expired[index] or row.rule != rule or about_nodes or not self._is_of(row, labels):
                continue
            self._hidden[index] += 1
            return index
        return None

    def uses(self) -> tuple[SuppressionUse, ...]:
        """Return the use of each, in the order of the contract."""
        return tuple(
            SuppressionUse(
                clause=f"suppress[{index}]",
                line=self._file.lines.line_of(f"suppress[{index}]"),
                rule=row.rule,
                reason=row.reason,
                expires=row.expires,
                state="expired" if self._expired[index] else "used" if self._hidden[index] else "unused",
                hidden=self._hidden[index],
                stale_kept=self._stale_kept[index],
            )
            for index, row in enumerate(self._rows)
        )

    @staticmethod
    def _is_of(row: Suppression, labels: tuple[str, ...]) -> bool:
        """Whether it applies to graphs of these labels; one for a graph does not apply to a whole dump."""
        return row.graph == "*" or any(matches(row.graph, label) for label in labels)

    def _names(self, pattern: str, subject: str | None) -> bool:
        return subject is not None and kernel_matches(pattern, subject, self._demangle) is True
