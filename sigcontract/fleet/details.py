"""How classes differ: decode one dump per class, check its digests, find the causes."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sigcontract.compare import Cause, GraphChanges, causes_of, compare_dumps
from sigcontract.errors import NotComparableError, SigcontractError
from sigcontract.fleet.classes import Classes
from sigcontract.fleet.members import Members
from sigcontract.fleet.sources import Progress, Source, Unreadable
from sigcontract.model import (
    FleetCause,
    FleetCell,
    FleetChange,
    FleetGap,
    FleetGapKind,
    FleetRow,
    SignatureDump,
)
from sigcontract.profiles import named_profile
from sigcontract.update import RULES, same
from sigcontract.wire import escaped_name

__all__ = ["MOST_COMPARED", "Decoded", "Details", "details_of", "representatives", "unknown_gaps", "unverified"]

#: Most dumps decoded to find how classes differ.
MOST_COMPARED = 64
#: Most paths listed per cause.
_PATHS = 9
_HELD = 2

_Value = int | str | None


class Decoded:
    """Decodes dumps by row, and holds at most two: memory is bounded by the largest dump."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._held: OrderedDict[int, SignatureDump] = OrderedDict()

    def __call__(self, row: int, *, verify: bool = False) -> SignatureDump:
        """Return the dump, decoded. Raises as `sigcontract.load`."""
        if row not in self._held or verify:
            while len(self._held) >= _HELD:
                self._held.popitem(last=False)
            self._held[row] = self._sources[row].load(verify=verify)
        self._held.move_to_end(row)
        return self._held[row]


def representatives(classes: Iterable[Classes]) -> list[int]:
    """Return one row per class, the first, starting with differing graphs."""
    return list(dict.fromkeys(rows[0] for each in classes for rows in each.rows))[:MOST_COMPARED]


def unverified(
    decoded: Decoded, members: Members, rows: Sequence[int], progress: Progress
) -> Iterator[tuple[int, Unreadable]]:
    """Decode dumps, check their digests, and yield those that do not match their headers."""
    for number, row in enumerate(rows, 1):
        progress("dumps", number, len(rows))
        try:
            decoded(row, verify=True)
        except SigcontractError as error:
            yield row, Unreadable(members.sources[row].name, escaped_name(str(error)))


def unknown_gaps(decoded: Decoded, members: Members, classes: Sequence[Classes]) -> Iterator[FleetGap]:
    """Yield unknowns of graphs with equal digests: a digest covers only what was recorded."""
    shown = set(representatives(classes))
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    by_row: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    for each in classes:
        for rows in each.rows:
            if len(rows) > 1 and rows[0] in shown:
                by_row.setdefault(rows[0], []).extend((label, rows) for label in each.labels)
    for row, graphs in by_row.items():
        dump = decoded(row)
        profile = named_profile(dump)
        entries = {entry.label: entry.graph for entry in dump.graphs}
        for label, rows in graphs:
            for reason in same("portable", entries[label], entries[label], profile).reasons:
                found.setdefault((reason.rule, rows), []).append(label)
    for (rule, rows), labels in found.items():
        count = "1 graph" if len(set(labels)) == 1 else f"{len(set(labels))} graphs"
        kind: FleetGapKind = "code-unknown" if rule == "function.code-unknown" else "value-unknown"
        yield members.gap(kind, rows, f"{members.describe(rows)}: {count} equal as recorded; {rule}: {RULES[rule].why}")


class Details(NamedTuple):
    """How the classes of some graphs differ: causes by class, table rows, and gaps."""

    causes: dict[int, tuple[FleetCause, ...]]
    rows: tuple[FleetRow, ...]
    gaps: tuple[FleetGap, ...]


def details_of(decoded: Decoded, members: Members, classes: Classes, shown: set[int]) -> Details:
    """Compare the first dump of each class with that of the expected class, in a split of the first class.

    Parameters
    ----------
    decoded, members
        Decode and name the dumps.
    classes
        The classes of some graphs.
    shown
        Rows that may be decoded.
    """
    base = classes.rows[classes.base]
    found: dict[int, tuple[FleetCause, ...]] = {}
    nodes: dict[int, dict[str, _Nodes]] = {}
    gaps = []
    for index, rows in enumerate(classes.rows):
        if index == classes.base:
            continue
        if rows[0] not in shown or base[0] not in shown:
            detail = (
                f"{members.describe(rows)}: differs, not compared further: more than {MOST_COMPARED} distinct dumps"
            )
            gaps.append(members.gap("not-compared", rows, detail))
            continue
        try:
            changes = _changes(decoded(base[0]), decoded(rows[0]), classes.labels)
        except NotComparableError as error:
            gaps.append(members.gap("not-compared", rows, f"{members.describe(rows)}: the digests differ; {error}"))
            continue
        # Keep the causes, which are small, but not the aligned graphs.
        found[index] = _collapsed({label: causes_of(each) for label, each in changes.items()})
        nodes[index] = {label: _by_node(each) for label, each in changes.items()}
    return Details(found, tuple(_rows(members, classes, nodes)), tuple(gaps))


def _changes(old: SignatureDump, new: SignatureDump, labels: Sequence[str]) -> dict[str, GraphChanges]:
    compared = compare_dumps(old, new, pairs=[(label, label) for label in labels])
    return {
        graph.label: changes
        for graph, changes in zip(compared.diff.graphs, compared.changes, strict=True)
        if changes is not None
    }


def _collapsed(by_label: dict[str, tuple[Cause, ...]]) -> tuple[FleetCause, ...]:
    """Return each distinct cause once, with its graphs, unknowns last."""
    alike: dict[Hashable, list[tuple[str, Cause]]] = {}
    for label, of_graph in by_label.items():
        for cause in of_graph:
            alike.setdefault((cause.kind, cause.subject, cause.changes), []).append((label, cause))
    joined = [
        FleetCause(
            kind=first.kind,
            subject=first.subject,
            changes=tuple(FleetChange(**change._asdict()) for change in first.changes),
            labels=tuple(dict.fromkeys(label for label, _ in causes)),
            count=sum(cause.count for _, cause in causes),
            paths=first.paths[:_PATHS],
        )
        for causes in alike.values()
        for first in [causes[0][1]]
    ]
    return tuple(sorted(joined, key=lambda cause: cause.kind == "unknown"))


#: Old and new value of each field that differs at one node.
_Fields = dict[str, tuple[_Value, _Value]]
#: The same, by path of the node in the expected graph.
_Nodes = dict[str, _Fields]


def _rows(members: Members, classes: Classes, of_classes: dict[int, dict[str, _Nodes]]) -> Iterator[FleetRow]:
    """Yield one table row per differing graph and node; nodes that differ equally share a row."""
    for label in classes.labels:
        of_class = {index: each[label] for index, each in of_classes.items() if label in each}
        alike: dict[tuple[tuple[str, ...], tuple[FleetCell, ...]], list[str]] = {}
        for path in dict.fromkeys(path for nodes in of_class.values() for path in nodes):
            at = {index: nodes.get(path, {}) for index, nodes in of_class.items()}
            expected = {field: old for fields in at.values() for field, (old, _) in fields.items()}
            rows: dict[tuple[_Value, ...], list[int]] = {tuple(expected.values()): list(classes.rows[classes.base])}
            for index, changed in at.items():
                own = tuple(changed[field][1] if field in changed else old for field, old in expected.items())
                rows.setdefault(own, []).extend(classes.rows[index])
            cells = tuple(FleetCell(ranks=members.names(sorted(of)), values=own) for own, of in rows.items())
            alike.setdefault((tuple(expected), cells), []).append(path)
        for (fields, cells), paths in alike.items():
            yield FleetRow(
                group=classes.group, label=label, path=paths[0], count=len(paths), fields=fields, cells=cells
            )


def _by_node(changes: GraphChanges) -> _Nodes:
    """Return the differences at each node, by its path in the old graph; for an added node, in the new one."""
    nodes: _Nodes = {}
    for change in changes.changes:
        if not change.known:
            continue
        inner, _, field = change.difference.field.removeprefix(".").rpartition("nodes[")
        index, _, name = field.partition("].") if inner else ("", "", field)
        for at in change.indices:
            path = f"nodes[{at.old}]" if at.old is not None else f"+nodes[{at.new}]"
            path += f".{inner}nodes[{index}]" if inner else ""
            nodes.setdefault(path, {})[name] = change.difference.old, change.difference.new
    return nodes
