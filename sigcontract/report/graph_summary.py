"""What many nodes have in common, which ``show`` prints once instead of in each row."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from sigcontract.model import (
    GraphSignature,
    KernelNodeSignature,
    LaunchAttribute,
)
from sigcontract.report.node_rows import attribute_text, is_set
from sigcontract.report.phrases import counted

__all__ = ["kernels_of", "summary_lines", "unknown", "usual_attributes"]


def kernels_of(graphs: Iterable[GraphSignature]) -> list[KernelNodeSignature]:
    """Return the kernel nodes of graphs, those of child graphs and readable bodies included."""
    return [node for graph in graphs for _, node in graph.walk() if isinstance(node, KernelNodeSignature)]


def usual_attributes(kernels: Sequence[KernelNodeSignature]) -> Mapping[int, LaunchAttribute]:
    """Return, by id, the set attributes that all of two or more kernel nodes have alike."""
    if len(kernels) < 2:  # noqa: PLR2004  of one node nothing is usual
        return {}
    (first, _), *others = _distinct_attributes(kernels)
    usual = {entry.id: entry for entry in first if is_set(entry)}
    for attributes, _ in others:
        alike = [entry for entry in attributes if usual.get(entry.id) == entry]
        if len(alike) < len(usual):
            usual = {entry.id: entry for entry in alike}
    return usual


def _distinct_attributes(kernels: Sequence[KernelNodeSignature]) -> list[tuple[tuple[LaunchAttribute, ...], int]]:
    """Return each distinct list of attributes, and how many nodes have it.

    By identity first, then by bytes: a file can have very many records of one hash.
    """
    lists = {id(node.attributes): node.attributes for node in kernels}
    counts: dict[bytes, tuple[tuple[LaunchAttribute, ...], int]] = {}
    for number, count in Counter(id(node.attributes) for node in kernels).items():
        content = msgspec.msgpack.encode(lists[number])
        first, before = counts.get(content, (lists[number], 0))
        counts[content] = first, before + count
    return list(counts.values())


def unknown(kernels: Sequence[KernelNodeSignature]) -> Counter[tuple[str, str]]:
    """Count kernel nodes by what is not known of them, as (state, what): such is never equal to anything."""
    found: Counter[tuple[str, str]] = Counter()
    for attributes, count in _distinct_attributes(kernels):
        for entry in attributes:
            if entry.value is None:
                found[entry.state, entry.name] += count
    found["unknown", "function"] = sum(not node.kern and not node.func for node in kernels)
    return +found


def summary_lines(kernels: Sequence[KernelNodeSignature], *, parts: bool = True) -> Iterator[str]:
    """Yield what holds for every one of the nodes; with ``parts`` also what is not known of some of them."""
    usual = [entry for _, entry in sorted(usual_attributes(kernels).items())]
    if usual:
        yield f"on every kernel node: {', '.join(map(attribute_text, usual))}"
    names: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for (state, name), count in sorted(unknown(kernels).items()):
        names[state, count].append(name)
    for (state, count), listed in sorted(names.items()):
        if count == len(kernels):
            yield f"{state} on every kernel node: {', '.join(listed)}"
        elif parts:
            yield f"{state} on {count} of {counted(len(kernels), 'kernel node')}: {', '.join(listed)}"
