"""Rewrite golden dumps from a dump: done by a person, never by a check."""

from typing import NamedTuple

from msgspec.structs import replace

from sigcontract.contract.check import graph_clauses
from sigcontract.contract.contract_file import ContractFile
from sigcontract.contract.patterns import matches
from sigcontract.errors import UsageError
from sigcontract.model import SignatureDump
from sigcontract.wire import load, save

__all__ = ["Baseline", "update_baselines"]


class Baseline(NamedTuple):
    """A golden dump, its number of graphs, and whether it was rewritten."""

    path: str
    graphs: int
    changed: bool


def update_baselines(dump: SignatureDump, file: ContractFile) -> list[Baseline]:
    """Write every golden dump of a contract from a dump, each with the graphs of its clauses.

    An equal golden dump is left alone.

    Raises
    ------
    UsageError
        The dump is truncated or empty, a clause compares graphs with one golden graph, or no graph matches a golden
        dump: the result would not be what was agreed.
    FileError
        A golden dump cannot be written.
    """
    if not dump.complete or not dump.graphs:
        raise UsageError(
            "the dump is truncated or empty and cannot be a golden dump; record it again and let the program finish"
        )
    labels: dict[str, list[str]] = {}
    for path, clause in graph_clauses(file):
        name = clause.golden or file.contract.golden
        if name is None:
            continue
        if clause.golden_graph is not None:
            raise UsageError(f"{path} sets golden_graph, so the graph to store is ambiguous; write {name} yourself")
        labels.setdefault(name, []).append(clause.label)
    if not labels:
        raise UsageError(f"{file.path} names no golden dump; nothing to update")
    goldens = {name: _part_of(dump, patterns) for name, patterns in labels.items()}
    for name, golden in goldens.items():
        if not golden.graphs:
            raise UsageError(f"no graph of the dump belongs to {name}, and a golden dump must not be empty")
    return [_written(file, name, golden) for name, golden in goldens.items()]


def _part_of(dump: SignatureDump, patterns: list[str]) -> SignatureDump:
    graphs = tuple(entry for entry in dump.graphs if any(matches(pattern, entry.label) for pattern in patterns))
    return replace(dump, graphs=graphs)


def _written(file: ContractFile, name: str, golden: SignatureDump) -> Baseline:
    path = file.beside(name)
    changed = not path.exists() or load(path, expect=SignatureDump) != golden
    if changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(golden, path)
    return Baseline(str(path), len(golden.graphs), changed)
