"""Which allocation an address belongs to: one driver call per mapped allocation, not one per address."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Protocol

from sigcontract.driver.cuda import ReadApi
from sigcontract.driver.reading.attribute_values import exact
from sigcontract.model import (
    Allocation,
    AllocatorBlock,
    PointerTarget,
)

__all__ = ["AllocationTable", "AllocatorBlocks"]

#: Words below 4 GiB are sizes and counts. The lowest memory measured is that of pools, from 12 GiB on.
_LOWEST_ADDRESS = 1 << 32
#: End of user space on x86-64 (47 bits) and AArch64 (48 bits); larger words are floats and packed integers.
_END_OF_ADDRESSES = 1 << 48
#: Addresses that agree in all but their lower 40 bits share a region of 1 TiB.
_REGION_BITS = 40


class AllocatorBlocks(Protocol):
    """The blocks of a framework's caching allocator, at one moment."""

    def block_at(self, address: int) -> AllocatorBlock | None:
        """Return the block that contains an address, or None if it is in no segment of the allocator."""
        ...


class AllocationTable:
    """The allocations of this process, as far as addresses led to them. For one read.

    What the driver answered once is taken as true for the life of the table: memory freed or allocated during the read
    may be reported as it was before. A new table asks again.

    Parameters
    ----------
    api
        The driver.
    blocks
        Blocks of a framework's allocator, joined to the targets; None: not known.

    Attributes
    ----------
    refused
        Addresses that the driver refused to answer for: not known to be in an allocation, nor to be in none.
    """

    def __init__(self, api: ReadApi, blocks: AllocatorBlocks | None) -> None:
        self._api = api
        self._blocks = blocks
        self._ranges = _Ranges()
        self._graph_ranges = _Ranges()
        self._targets: dict[int, PointerTarget | None] = {}
        self._regions = {api.code_address() >> _REGION_BITS}
        self.refused: set[int] = set()

    def add_graph_memory(self, address: int, size_bytes: int, device_ordinal: int | None) -> None:
        """Add the memory of a mem alloc node. The driver reports none before a launch, nor once the graph freed it."""
        found = self._api.allocation_attributes(address)
        known = found is not None and found.memory_type != 0
        allocation = Allocation(
            address=address,
            size_bytes=size_bytes,
            memory_type=found.memory_type if found is not None and known else None,
            device_ordinal=found.device_ordinal if found is not None and known else device_ordinal,
            managed=found.managed if found is not None and known else None,
            pooled=found.pooled if found is not None and known else None,
        )
        self._regions.add(address >> _REGION_BITS)
        self._graph_ranges.insert(address, address + size_bytes, allocation)

    def pointers(self, words: Iterable[int]) -> dict[int, PointerTarget | None]:
        """Return the words that are addresses, or look like one, with their targets.

        A word is an address if the driver knows its allocation. It looks like one if it is at least 1 TiB and in a
        region of 1 TiB, aligned, that also holds libcuda or an allocation known so far: cuMemAlloc, managed and
        page-locked memory and reservations are where Linux maps libraries, so memory that was freed leaves addresses in
        the same region. Memory of pools and of graphs is below 1 TiB and, once freed, no address: two 32-bit integers
        side by side make a word there if the upper one is less than 256, as most counts are. They fall into a region
        above only if it is one of 256 values.
        """
        # In the order of nodes, in which many ascend, words are sorted in half the time of a set's order.
        candidates = sorted([word for word in dict.fromkeys(words) if _LOWEST_ADDRESS <= word < _END_OF_ADDRESSES])
        # The target of each first: that adds the regions that hold memory.
        targets = self._targets
        self._find([word for word in candidates if word not in targets])
        regions = self._regions - {0}
        return {
            word: target
            for word in candidates
            if (target := targets[word]) is not None or word >> _REGION_BITS in regions
        }

    def target(self, address: int) -> PointerTarget | None:
        """Return where an address leads; None if to no allocation, or if the driver refuses to answer."""
        if address and address not in self._targets:
            self._find([address])
        return self._targets.get(address)

    def _find(self, addresses: Sequence[int]) -> None:
        """Find the targets of addresses, which ascend: one search for all that are in one allocation."""
        targets = self._targets
        index = 0
        while index < len(addresses):
            allocation, end = self._allocation_at(addresses[index])
            found = addresses[index : bisect_left(addresses, end, index)]
            index += len(found)
            if allocation is None:
                targets.update(dict.fromkeys(found))
                continue
            start = allocation.address
            blocks = repeat(None) if self._blocks is None else map(self._blocks.block_at, found)
            for address, block in zip(found, blocks, strict=False):
                targets[address] = PointerTarget(allocation=allocation, offset_bytes=address - start, block=block)

    def _allocation_at(self, address: int) -> tuple[Allocation | None, int]:
        """Return the allocation of an address, and an end before which all addresses from there on are in it."""
        known = self._graph_ranges.find(address)
        if known is not None:
            return known
        allocation, end = self._ranges.find(address) or self._ask(address)
        return allocation, self._graph_ranges.first_start(address, end)

    def _ask(self, address: int) -> tuple[Allocation | None, int]:
        found = self._api.allocation_attributes(address)
        if found is None:
            self.refused.add(address)
            return None, address + 1
        if found.memory_type == 0:  # success, whatever RANGE is: no allocation
            return None, address + 1
        has_range = found.start <= address < found.start + found.size_bytes
        allocation = Allocation(
            address=exact(found.start if has_range else address, "RANGE_START_ADDR"),
            size_bytes=exact(found.size_bytes, "RANGE_SIZE") if has_range else None,
            memory_type=found.memory_type,
            device_ordinal=found.device_ordinal,
            managed=found.managed,
            pooled=found.pooled,
        )
        self._regions.add(address >> _REGION_BITS)
        # The range of a reservation has parts that are not mapped, so the answer holds for this mapping alone.
        start = max(found.start, found.mapping_start)
        end = min(found.start + found.size_bytes, found.mapping_start + found.mapping_size_bytes)
        if not has_range or not start <= address < end:
            return allocation, address + 1
        self._ranges.insert(start, end, allocation)
        return allocation, end


class _Ranges:
    """Allocations by disjoint ranges of addresses, in ascending order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._allocations: list[Allocation] = []

    def find(self, address: int) -> tuple[Allocation, int] | None:
        """Return the allocation of an address, and the end of its range."""
        index = bisect_right(self._starts, address) - 1
        return (self._allocations[index], self._ends[index]) if index >= 0 and address < self._ends[index] else None

    def first_start(self, address: int, end: int) -> int:
        """Return where the first range between an address and an end starts; the end if none does."""
        index = bisect_right(self._starts, address)
        return min(self._starts[index], end) if index < len(self._starts) else end

    def insert(self, start: int, end: int, allocation: Allocation) -> None:
        """Add a range. Those that it overlaps were freed or unmapped since, and go."""
        overlap = slice(bisect_right(self._ends, start), bisect_left(self._starts, end))
        self._starts[overlap] = [start]
        self._ends[overlap] = [end]
        self._allocations[overlap] = [allocation]
