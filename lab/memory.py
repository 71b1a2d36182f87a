"""The memory that generated graphs work on: kinds of memory, each with constant bytes and a part for every slot."""

from collections.abc import Iterable
from dataclasses import dataclass

from lab.specs import Host, Memcpy, Memset, NodeSpec

__all__ = [
    "HOST_SPACES",
    "PATTERN_BYTES",
    "SLOTS",
    "SLOT_BYTES",
    "SPACES",
    "SPACE_BYTES",
    "ZERO_BYTES",
    "Space",
    "spaces_of",
]

SLOTS = 64
SLOT_BYTES = 2048
PATTERN_BYTES = 8192
ZERO_BYTES = 4096  # constant zeros, for waits that are always satisfied
SPACE_BYTES = PATTERN_BYTES + ZERO_BYTES + SLOTS * SLOT_BYTES

#: Kinds of memory that copies go between: cudaMalloc'd, from a pool, mapped, managed; pinned and pageable host.
SPACES = ("device", "pool", "mapped", "managed", "pinned", "pageable")
HOST_SPACES = frozenset({"pinned", "pageable"})


@dataclass(frozen=True)
class Space:
    """One kind of memory: constant bytes to copy from, zeros, then a part for each slot."""

    name: str
    base: int

    @property
    def host(self) -> bool:
        """Whether the driver calls it host memory."""
        return self.name in HOST_SPACES

    def pattern(self, *, alternate: bool) -> int:
        """Address of constant bytes, of which there are two."""
        return self.base + (PATTERN_BYTES // 2 if alternate else 0)

    def zeros(self, slot: int) -> int:
        """Address of eight constant zero bytes."""
        return self.base + PATTERN_BYTES + 8 * slot

    def part(self, slot: int, *, alternate: bool = False) -> int:
        """Address of a slot's memory, of which there are two halves."""
        return self.base + PATTERN_BYTES + ZERO_BYTES + slot * SLOT_BYTES + (SLOT_BYTES // 2 if alternate else 0)

    @property
    def parts(self) -> int:
        """Address of the first slot's memory."""
        return self.part(0)


def spaces_of(nodes: Iterable[NodeSpec]) -> tuple[str, ...]:
    """Return the kinds of memory that nodes write to, besides the device's."""
    names = {"device"}
    for node in nodes:
        if isinstance(node, Memset) and node.space != "alloc":
            names.add(node.space)
        elif isinstance(node, Memcpy):
            names.add(node.target)
        elif isinstance(node, Host):
            names.add("semaphores")
    return tuple(sorted(names))
