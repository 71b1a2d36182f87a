"""Adversarial documents of any size, each of a kind that was once more costly than it is large."""

from collections.abc import Callable
from typing import Any

import msgspec

from sigcontract.model.record import MAX_EXACT_INT
from sigcontract.wire.limits import MAX_ATTRIBUTES, MAX_PARAMETERS

__all__ = ["FAMILIES", "WITH_ARGUMENTS", "document", "encoded"]

_DIGEST = "sha256:" + "0" * 64
_DIM = {"x": 1, "y": 1, "z": 1}
_FACTS = {
    "parameters": None,
    **dict.fromkeys(
        (
            "max_threads_per_block",
            "static_shared_mem_bytes",
            "const_mem_bytes",
            "local_mem_bytes",
            "registers",
            "ptx_version",
            "binary_version",
            "cache_mode_ca",
            "max_dynamic_shared_mem_bytes",
            "preferred_shared_mem_carveout",
            "cluster_size_must_be_set",
        )
    ),
    "required_cluster_dim": None,
    "non_portable_cluster_size_allowed": None,
    "cluster_scheduling_policy_preference": None,
    "code_sha256": None,
}
_EMPTY = {"node": "empty"}


def document(graphs: list[tuple[list[int], list[Any]]], nodes: list[Any], labels: list[int], **more: Any) -> Any:
    """Return a dump of version 2 as plain values: graphs as nodes and edges, labels as the graphs they stand for."""
    return {
        "document": "sigcontract.dump",
        "version": 2,
        "header": [
            {"label": f"g{index}", "graph": graph, "node_count": len(graphs[graph][0]), "portable_digest": _DIGEST}
            for index, graph in enumerate(labels)
        ],
        "environment": {
            "sigcontract_version": "0",
            "created_at": "",
            "hostname": None,
            "process_id": None,
            "rank": None,
            "world_size": None,
            "cuda_driver_version": None,
            "display_driver_version": None,
            "devices": [],
            "libraries": [],
        },
        "profile": None,
        "complete": True,
        "functions": [],
        "attribute_sets": [],
        "nodes": nodes,
        "graphs": [{"nodes": rows, "dependencies": edges} for rows, edges in graphs],
        "extensions": {},
    } | more


def encoded(value: Any, *, text: bool = True) -> bytes:
    """Return plain values as a document."""
    return msgspec.json.encode(value) if text else msgspec.msgpack.encode(value)


def _function(number: int, name: str = "k") -> dict[str, Any]:
    return {"name": name, "kern": number, "func": number, "context": 1, "function": _FACTS}


def _kernel(function: int = 0, attributes: int = 0, x: int = 1) -> dict[str, Any]:
    return {
        "node": "kernel",
        "function": function,
        "attributes": attributes,
        "grid_dim": _DIM | {"x": x},
        "block_dim": _DIM,
        "dynamic_shared_mem_bytes": 0,
    }


def _chain(size: int) -> Any:
    edges: list[list[int]] = [[]] + [[index] for index in range(size - 1)]
    kernels = [_kernel(x=index) for index in range(size)]
    return document([([*range(size)], edges)], kernels, [0], functions=[_function(1)], attribute_sets=[[]])


def _dense(size: int) -> Any:
    side = int((2 * size) ** 0.5) + 1
    edges = [[*range(index)] for index in range(side)]
    return document([([0] * side, edges)], [_EMPTY], [0])


def _forward(size: int) -> Any:
    """Edges that lead forward, which asks for a search of cycles."""
    return document([([0] * size, [[index + 1] for index in range(size - 1)] + [[]])], [_EMPTY], [0])


def _labels(size: int) -> Any:
    """One dense graph under very many labels."""
    side = int((2 * size) ** 0.5) + 1
    kernels = {"functions": [_function(1)], "attribute_sets": [[]]}
    return document([([0] * side, [[*range(index)] for index in range(side)])], [_kernel()], [0] * size, **kernels)


def _functions(size: int) -> Any:
    nodes = [_kernel(function=index) for index in range(size)]
    rows = {"functions": [_function(index + 1, f"k{index}") for index in range(size)], "attribute_sets": [[]]}
    return document([([*range(size)], [[]] * size)], nodes, [0], **rows)


def _long_name(size: int) -> Any:
    """One function of a very long name, which all nodes run."""
    name = "void k<" + "\x07,x " * min(16 * size, 16_000) + ">(int)"
    rows = {"functions": [_function(1, name)], "attribute_sets": [[]]}
    return document([([*range(size)], [[]] * size)], [_kernel(x=index) for index in range(size)], [0], **rows)


def _parameters(size: int) -> Any:
    """One function of very many parameters, which all nodes run."""
    layout = [{"offset_bytes": 4 * index, "size_bytes": 4} for index in range(min(size, MAX_PARAMETERS))]
    rows = {"functions": [_function(1) | {"function": _FACTS | {"parameters": layout}}], "attribute_sets": [[]]}
    return document([([*range(size)], [[]] * size)], [_kernel(x=index) for index in range(size)], [0], **rows)


def _shared_attributes(size: int) -> Any:
    """Make the longest list of attributes, which all nodes share."""
    entries = [
        {"id": 1000 + index, "state": "unreadable", "origin": "node", "value": None} for index in range(MAX_ATTRIBUTES)
    ]
    nodes = [_kernel(x=index) for index in range(size)]
    rows = {"functions": [_function(1)], "attribute_sets": [entries]}
    return document([([*range(size)], [[]] * size)], nodes, [0], **rows)


def _allocations(size: int) -> Any:
    """Make records of numbers of which very many pairs have one hash."""
    nodes = []
    for index in range(size):
        bits = [-1 if index >> bit & 1 else -2 for bit in range(18)]
        accesses = [
            {"location_type": bits[at], "location_id": bits[at + 1], "flags": bits[at + 2]} for at in range(0, 18, 3)
        ]
        more = {"handle_types": 0, "location_type": 0, "location_id": 0, "accesses": accesses}
        nodes.append({"node": "mem_alloc", "size_bytes": 1, "address": 1, "allocation_type": 1} | more)
    return document([([*range(size)], [[]] * size)], nodes, [0])


def _children(size: int) -> Any:
    """One graph that very many nodes hold."""
    inner: tuple[list[int], list[Any]] = ([0], [[]])
    outer: tuple[list[int], list[Any]] = ([1 + index for index in range(size)], [[]] * size)
    held = [{"node": "conditional", "kind": index, "handle": None, "bodies": [0]} for index in range(size)]
    return document([inner, outer], [_EMPTY, *held], [1])


def _graphs(size: int) -> Any:
    """Very many graphs of one node each, no two the same."""
    nodes = [_kernel(x=index) for index in range(size)]
    rows = {"functions": [_function(1)], "attribute_sets": [[]]}
    return document([([index], [[]]) for index in range(size)], nodes, [*range(size)], **rows)


def _extensions(size: int) -> Any:
    return document([], [], [], extensions={"x": [{}] * size, "y" * size: {str(index): 1 for index in range(size)}})


def _handles(size: int) -> Any:
    """Functions whose numbers differ in their highest bits alone."""
    rows = [_function(MAX_EXACT_INT - (index << 32), "k") for index in range(size)]
    nodes = [_kernel(function=index) for index in range(size)]
    return document([([*range(size)], [[]] * size)], nodes, [0], functions=rows, attribute_sets=[[]])


def _detours(size: int) -> Any:
    """Nodes that depend on all nodes of a dense part, which another dump does not have."""
    side = int(size**0.5) + 2
    edges = [[*range(index)] for index in range(side)] + [[side - 1]] * (2 * side)
    rows = {"functions": [_function(9, "r"), _function(1)], "attribute_sets": [[]]}
    return document([([0] * side + [1] * (2 * side), edges)], [_kernel(), _kernel(function=1)], [0], **rows)


# Version 3: arguments of kernels, and the rows that they share.

_ZEROS = "00" * 8


def _arguments_document(kernels: list[dict[str, Any]], labels: list[int], **tables: list[Any]) -> Any:
    """Return a dump of version 3 of one graph, given the arguments of each node and the tables of arguments."""
    nodes = [
        {"node": "kernel", "kernel": {"launch": 0, "grid_dim": _DIM | {"x": 1 + index}} | given}
        for index, given in enumerate(kernels)
    ]
    value = document([([*range(len(nodes))], [[]] * len(nodes))], nodes, labels, version=3)
    del value["attribute_sets"]
    return (
        value
        | {
            "functions": [{"name": "k", "kern": 1, "func": 1, "context": 1}],
            "attributes": [],
            "launches": [{"function": 0, "block_dim": _DIM, "dynamic_shared_mem_bytes": 0, "attributes": []}],
        }
        | {table: [] for table in ("allocations", "blocks", "pointers", "arguments")}
        | tables
    )


def _argument(size: int, value: str, pointers: list[int], offset: int = 0) -> dict[str, Any]:
    return {"offset_bytes": offset, "size_bytes": size, "value": value, "pointers": pointers}


def _allocation(number: int, size: int = 4096) -> dict[str, Any]:
    facts = {"memory_type": 2, "device_ordinal": 0, "managed": False, "pooled": False}
    return {"address": (number + 1) << 40, "size_bytes": size} | facts


def _struct_of_many_nodes(size: int) -> Any:
    """One long struct by value that very many nodes are given."""
    value = "ab" * (8 * min(size, 4000))
    given: list[dict[str, Any]] = [{"arguments": [0]}] * size
    return _arguments_document(given, [0], arguments=[_argument(len(value) // 2, value, [])])


def _struct_of_addresses(size: int) -> Any:
    """One struct of very many addresses, each in an allocation of its own."""
    words = min(size, 4000)
    struct = _argument(8 * words, _ZEROS * words, [8 * word for word in range(words)])
    targets = [{"target": {"allocation": word, "offset_bytes": 0}} for word in range(words)]
    allocations = [_allocation(word) for word in range(words)]
    given = [{"arguments": [0], "pointers": [*range(words)]}]
    return _arguments_document(given, [0], arguments=[struct], pointers=targets, allocations=allocations)


def _many_arguments(size: int) -> Any:
    listed = [_argument(4, f"{index:08x}", [], 4 * index) for index in range(min(size, 8000))]
    return _arguments_document([{"arguments": [*range(len(listed))]}], [0], arguments=listed)


def _labels_of_arguments(size: int) -> Any:
    """One graph with arguments under very many labels, with very many addresses in no allocation."""
    given = [{"arguments": [0], "pointers": [index]} for index in range(size)]
    addresses = [{"address": (1 << 40) + index} for index in range(size)]
    return _arguments_document(given, [0] * size, arguments=[_argument(8, _ZEROS, [0])], pointers=addresses)


def _block_of_many_nodes(size: int) -> Any:
    """Very many addresses in one free block of an allocator, which has a deep stack."""
    given = [{"arguments": [0], "pointers": [index]} for index in range(size)]
    inside = [{"allocation": 0, "offset_bytes": at, "block": {"block": 0, "offset_bytes": at}} for at in range(size)]
    held = {"allocator": "torch", "state": "free", "pool": "default", "size_bytes": size}
    return _arguments_document(
        given,
        [0],
        arguments=[_argument(8, _ZEROS, [0])],
        pointers=[{"target": target} for target in inside],
        allocations=[_allocation(0, size)],
        blocks=[held | {"stack": [f"model.py:{index} forward" for index in range(size)]}],
    )


#: Each by its name: a function from a size to a document as plain values, about proportional to the size.
FAMILIES: dict[str, Callable[[int], Any]] = {
    "allocations": _allocations,
    "block_of_many_nodes": _block_of_many_nodes,
    "chain": _chain,
    "children": _children,
    "dense": _dense,
    "detours": _detours,
    "extensions": _extensions,
    "forward": _forward,
    "functions": _functions,
    "graphs": _graphs,
    "handles": _handles,
    "labels": _labels,
    "labels_of_arguments": _labels_of_arguments,
    "long_name": _long_name,
    "many_arguments": _many_arguments,
    "parameters": _parameters,
    "shared_attributes": _shared_attributes,
    "struct_of_addresses": _struct_of_addresses,
    "struct_of_many_nodes": _struct_of_many_nodes,
}

#: Those whose kernels have arguments.
WITH_ARGUMENTS = frozenset(
    {"block_of_many_nodes", "labels_of_arguments", "many_arguments", "struct_of_addresses", "struct_of_many_nodes"}
)
