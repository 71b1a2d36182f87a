"""The fewest executables for the graphs of a dump, if every update that a history proves were taken.

Two graphs go together where the update is safe from each to the other, once the executable has run: then any walk
between graphs of which all pairs go together is safe. Exact, for dumps of some dozen graphs. No device is needed.

Example: ``python -m lab.cover examples/torch-block.dump.json``.
"""

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import sigcontract as sc
from sigcontract.profiles import named_profile
from sigcontract.update import key

if TYPE_CHECKING:
    from sigcontract.model import DriverProfile, GraphSignature, SignatureDump

__all__ = ["fewest_groups", "main", "proven_pairs"]


def proven_pairs(graphs: Sequence["GraphSignature"], profile: "DriverProfile | None") -> set[tuple[int, int]]:
    """Return the pairs, lower index first, between which the update is safe in both directions."""
    states = [sc.ExecState.instantiated(graph, profile).used() for graph in graphs]

    def safe(held: int, candidate: int) -> bool:
        prediction = sc.predict_update(graphs[held], graphs[candidate], profile, states[held])
        return prediction.result is sc.UpdateResult.SUCCESS and prediction.verdict.safe

    return {(a, b) for a, b in combinations(range(len(graphs)), 2) if safe(a, b) and safe(b, a)}


def fewest_groups(count: int, pairs: set[tuple[int, int]]) -> list[list[int]]:
    """Return the fewest groups of ``range(count)`` in which every two are a pair: branch and bound, exponential."""
    best: list[list[int]] = [[index] for index in range(count)]

    def place(index: int, groups: list[list[int]]) -> None:
        nonlocal best
        if index == count:
            if len(groups) < len(best):
                best = [list(group) for group in groups]
            return
        for group in groups:
            if all((other, index) in pairs for other in group):
                group.append(index)
                place(index + 1, groups)
                group.pop()
        if len(groups) + 1 < len(best):
            place(index + 1, [*groups, [index]])

    place(0, [])
    return best


def report(dump: "SignatureDump") -> str:
    """Return one line for each executable, after those of the policies of today."""
    profile = named_profile(dump)
    graphs = [entry.graph for entry in dump.graphs]
    lines = [
        f"{policy}: {len({key(policy, graph, profile) for graph in graphs})} executables"
        for policy in ("share", "share-functions")
    ]
    groups = fewest_groups(len(graphs), proven_pairs(graphs, profile))
    lines.append(f"every proven update: {len(groups)} executables")
    lines.extend(f"  {', '.join(dump.graphs[index].label for index in group)}" for group in groups)
    return "\n".join(lines)


def main() -> int:
    """Print the groups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", type=Path)
    print(report(sc.load(parser.parse_args().dump, expect=sc.SignatureDump)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
