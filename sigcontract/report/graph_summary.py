"""What ``show`` says of many nodes at once, so that their rows need not repeat it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

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


def usual_attributes(kernels: Sequence[KernelNodeSignature]) -> frozenset[LaunchAttribute]:
    """Return the set attributes that all of two or more kernel nodes have alike."""
    if len(kernels) < 2:  # noqa: PLR2004  of one node nothing is usual
        return frozenset()
    first, *others = map(frozenset[LaunchAttribute], {node.attributes for node in kernels})
    return frozenset(entry for entry in first.intersection(*others) if is_set(entry))


def unknown(kernels: Sequence[KernelNodeSignature]) -> Counter[tuple[str, str]]:
    """Count kernel nodes by what is not known of them, as (state, what): such is never equal to anything."""
    found: Counter[tuple[str, str]] = Counter()
    for attributes, count in Counter(node.attributes for node in kernels).items():
        for entry in attributes:
            if entry.value is None:
                found[entry.state, entry.name] += count
    found["unknown", "function"] = sum(not node.kern and not node.func for node in kernels)
    return +found


def summary_lines(kernels: Sequence[KernelNodeSignature], *, parts: bool = True) -> Iterator[str]:
    """Yield what holds for every one of the nodes; with ``parts`` also what is not known of some of them."""
    usual = sorted(usual_attributes(kernels), key=lambda entry: entry.id)
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
