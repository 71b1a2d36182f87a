"""What one input may cost. Each limit is far above real dumps and far below what hurts a small machine."""

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_EXPANDED_NODES",
    "MAX_FAULTS",
    "MAX_GRAPH_DEPTH",
    "MAX_HELD_NODES",
    "MAX_LISTED_BYTES",
]

#: A document, after decompression. A dump of 100,000 distinct nodes is 16 MB.
MAX_DOCUMENT_BYTES = 256 * 2**20

#: Nodes and held graphs of one dump, each use counted: 40 rows that each hold two of the last make 2**40.
MAX_EXPANDED_NODES = 10_000_000

#: Of these, the ones in graphs that nodes hold: all that a file of 3 kB may grow to. Comparing them takes a minute.
MAX_HELD_NODES = 1_000_000

#: Child graphs inside child graphs. Comparison and hashing recurse once per level.
MAX_GRAPH_DEPTH = 32

#: Faults that are listed for one file.
MAX_FAULTS = 1000

#: Documents of which every fault is listed. Two bytes can be a fault, which costs 1.3 kB before it can be counted.
MAX_LISTED_BYTES = 2**20
