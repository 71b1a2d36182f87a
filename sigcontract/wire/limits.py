"""Limits on inputs, far above real dumps and low enough for small machines."""

__all__ = [
    "MAX_ATTRIBUTES",
    "MAX_DOCUMENT_BYTES",
    "MAX_EXPANDED_EDGES",
    "MAX_EXPANDED_NODES",
    "MAX_EXTENSION_BYTES",
    "MAX_EXTENSION_VALUES",
    "MAX_FAULTS",
    "MAX_GRAPH_DEPTH",
    "MAX_HELD_EDGES",
    "MAX_HELD_NODES",
    "MAX_LISTED_BYTES",
    "MAX_LISTED_VALUES",
    "MAX_NESTING",
    "MAX_PARAMETERS",
]

#: Size of a decompressed document, in bytes. A dump of 100,000 distinct nodes is 16 MB.
MAX_DOCUMENT_BYTES = 256 * 2**20

#: Nodes and nested graphs of a dump, each use counted: 40 rows that each use the previous twice make 2**40.
MAX_EXPANDED_NODES = 10_000_000

#: Of these, the ones in graphs that nodes hold: all that a file of 3 kB may grow to. Comparing them takes a minute.
MAX_HELD_NODES = 1_000_000

#: Edges of one dump, each use of its graph counted, and of these the ones in graphs that nodes hold.
MAX_EXPANDED_EDGES = 40_000_000
MAX_HELD_EDGES = 4_000_000

#: Launch attributes of one node. CUDA 13 has 18.
MAX_ATTRIBUTES = 256

#: Parameters of one kernel: CUDA takes 32,764 bytes of them at most, and a parameter has at least one byte.
MAX_PARAMETERS = 32_764

#: Arrays and objects inside each other, on the bytes. A dump without extensions has 7; decoders recurse once per level.
MAX_NESTING = 64

#: The extensions of a dump, encoded, and the values and keys in them: an empty object of two bytes takes 64 in memory.
MAX_EXTENSION_BYTES = 16 * 2**20
MAX_EXTENSION_VALUES = 400_000

#: Child graphs inside child graphs. Comparison and hashing recurse once per level.
MAX_GRAPH_DEPTH = 32

#: Most faults listed per file.
MAX_FAULTS = 1000

#: Largest document, in bytes, of which every fault is listed.
MAX_LISTED_BYTES = 2**20

#: Values searched for faults at a time. A single byte can be a fault, which takes 1.3 kB.
MAX_LISTED_VALUES = 1000
