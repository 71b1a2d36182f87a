"""Count kernel launches by name: the records as plain typed values.

python examples/downstream/msgspec_tool.py DUMP [HOW_MANY]
"""

import sys
from collections import Counter

import msgspec

import sigcontract as sc


class KernelCount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the result; a record of sigcontract is a field like any other."""

    launches: int
    example: sc.KernelNodeSignature


def count_kernels(dump: sc.SignatureDump) -> list[KernelCount]:
    """Count launches by kernel name over all graphs, the most frequent first."""
    launches: Counter[str] = Counter()
    examples: dict[str, sc.KernelNodeSignature] = {}
    for entry in dump.graphs:
        for node in entry.graph.kernel_nodes:
            launches[node.name] += 1
            examples.setdefault(node.name, node)
    return [KernelCount(launches=count, example=examples[name]) for name, count in launches.most_common()]


def main() -> None:
    """Print the most frequent kernels, and what one of them looks like as JSON."""
    path, *how_many = sys.argv[1:]
    counts = count_kernels(sc.load(path, expect=sc.SignatureDump))
    for count in counts[: int(how_many[0]) if how_many else 10]:
        print(f"{count.launches:6}  {count.example.grid_dim!s:>12}  {count.example.name}")
    if counts:
        # msgspec checks a foreign document against the records, bounds included.
        again = msgspec.json.decode(msgspec.json.encode(counts[0]), type=KernelCount)
        assert again == counts[0]


if __name__ == "__main__":
    main()
