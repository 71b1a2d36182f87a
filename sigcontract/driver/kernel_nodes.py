"""Kernel nodes, many at a time: one pass of calls per field over all nodes, equal rows decoded once.

Calls dominate the cost of reading a graph, and Python's part of a call dominates the driver's. So arguments are made
in bulk, results land in one buffer, and a record is built once per distinct row of bytes.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from struct import Struct

from sigcontract.driver.api import LaunchObservations, ReadApi
from sigcontract.driver.attribute_values import (
    ATTRIBUTE_CUDA_VERSION,
    ZERO_WHERE_NOT_PASSED,
    decode_attribute,
    exact,
)
from sigcontract.driver.function_facts import read_facts, read_name
from sigcontract.driver.layouts import ATTRIBUTE_VALUE_BYTES, KERNEL_NODE_PARAMS_BYTES
from sigcontract.model.attributes import AttributeState, LaunchAttribute
from sigcontract.model.dims import Dim3
from sigcontract.model.function import FunctionFacts
from sigcontract.model.nodes import KernelNodeSignature

__all__ = ["KernelNodeReader"]

#: CUDA_KERNEL_NODE_PARAMS_v2 without kernelParams and extra.
_PARAMS = Struct("<QIIIIIIIxxxx16xQQ")

#: Nodes per pass: bounds the buffers (9 attributes of 64 bytes a node) without costing speed.
_CHUNK = 8192

#: What the launch that made a node carried: pairs of id and 64 bytes.
_Observed = tuple[tuple[int, bytes], ...] | None
_Function = tuple[str, FunctionFacts]
_Row = tuple[bytes, bytes, tuple[int, ...] | None, _Observed]


class KernelNodeReader:
    """Reads kernel nodes for one `read_graph`: what it learns of functions and rows holds for that long.

    Parameters
    ----------
    api
        The driver.
    observations
        What was seen at the launches, or None.
    """

    def __init__(self, api: ReadApi, observations: LaunchObservations | None) -> None:
        self._api = api
        self._observations = observations
        self._driver_version = api.driver_version()
        self._functions: dict[tuple[int, int], _Function] = {}
        self._readable: set[int] = set()

    def read(self, nodes: Sequence[int]) -> list[KernelNodeSignature]:
        """Return the signatures of these CUgraphNodes, all of them kernel nodes."""
        signatures: list[KernelNodeSignature] = []
        for start in range(0, len(nodes), _CHUNK):
            signatures += self._read_chunk(nodes[start : start + _CHUNK])
        return signatures

    def _read_chunk(self, nodes: Sequence[int]) -> Iterable[KernelNodeSignature]:
        params = _rows(self._api.kernel_params(nodes), KERNEL_NODE_PARAMS_BYTES)
        self._meet_functions(nodes, params)
        ids = sorted(self._readable)
        block = self._api.kernel_attributes(nodes, ids)
        values = _rows(block.values, len(ids) * ATTRIBUTE_VALUE_BYTES) if ids else [b""] * len(nodes)
        refused = zip(*block.results, strict=True) if any(map(any, block.results)) else repeat(None)
        observed = repeat(None) if self._observations is None else map(self._observed, nodes)
        built = _Rows(self, ids)
        return map(built.__getitem__, zip(params, values, refused, observed, strict=False))

    def _meet_functions(self, nodes: Sequence[int], params: Sequence[bytes]) -> None:
        """Read the facts of functions not met before, and ask the first node of each for every attribute.

        What no such node is given is unreadable for every node: readability is the driver's, not the node's
        (measured), and to ask each node in vain would double the cost of a read.
        """
        first = {row: node for node, row in zip(reversed(nodes), reversed(params), strict=True)}
        new: dict[tuple[int, int], int] = {}
        for row, node in first.items():
            func, *_, kern, _context = _PARAMS.unpack(row)
            if (func, kern) not in self._functions:
                new.setdefault((func, kern), node)
        for func, kern in new:
            name = read_name(self._api, func, kern)
            self._functions[func, kern] = name, read_facts(self._api, func, kern, self._observations)
        ids = list(ATTRIBUTE_CUDA_VERSION)
        results = self._api.kernel_attributes(list(new.values()), ids).results if new else []
        self._readable.update(
            attribute_id for attribute_id, answers in zip(ids, results, strict=False) if not all(answers)
        )

    def _observed(self, node: int) -> _Observed:
        attributes = self._observations.attributes(node) if self._observations is not None else None
        return None if attributes is None else tuple(sorted(attributes.items()))

    def build(self, row: _Row, ids: Sequence[int]) -> KernelNodeSignature:
        """Build the record of one distinct row; `ids` are the attributes whose values it holds."""
        params, values, refused, observed = row
        func, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, kern, context = _PARAMS.unpack(params)
        name, facts = self._functions[func, kern]
        given = {
            attribute_id: value
            for attribute_id, value, result in zip(
                ids, _rows(values, ATTRIBUTE_VALUE_BYTES), refused or repeat(0), strict=False
            )
            if result == 0
        }
        return KernelNodeSignature(
            name=name,
            kern=exact(kern, "CUkernel"),
            func=exact(func, "CUfunction"),
            context=exact(context, "CUcontext"),
            grid_dim=Dim3(x=grid_x, y=grid_y, z=grid_z),
            block_dim=Dim3(x=block_x, y=block_y, z=block_z),
            dynamic_shared_mem_bytes=shared,
            attributes=self._attributes(given, None if observed is None else dict(observed)),
            function=facts,
        )

    def _attributes(self, given: dict[int, bytes], launched: dict[int, bytes] | None) -> tuple[LaunchAttribute, ...]:
        """Return one entry per id: the node's answer, else what was seen at the launch, else why there is none."""
        entries = []
        for attribute_id in sorted(ATTRIBUTE_CUDA_VERSION.keys() | (launched or {}).keys()):
            known = ATTRIBUTE_CUDA_VERSION.get(attribute_id, 0) <= self._driver_version
            if attribute_id in given:
                value = decode_attribute(attribute_id, given[attribute_id])
                entry = LaunchAttribute(id=attribute_id, state="value", origin="node", value=value)
            elif (seen := _seen(attribute_id, launched if known else None)) is not None:
                value = decode_attribute(attribute_id, seen)
                entry = LaunchAttribute(id=attribute_id, state="value", origin="launch", value=value)
            else:
                state: AttributeState = "unreadable" if known else "unsupported"
                entry = LaunchAttribute(id=attribute_id, state=state, origin="node", value=None)
            entries.append(entry)
        return tuple(entries)


def _seen(attribute_id: int, launched: dict[int, bytes] | None) -> bytes | None:
    if launched is None:
        return None
    default = bytes(ATTRIBUTE_VALUE_BYTES) if attribute_id in ZERO_WHERE_NOT_PASSED else None
    return launched.get(attribute_id, default)


def _rows(data: bytes, stride: int) -> list[bytes]:
    return [data[start : start + stride] for start in range(0, len(data), stride)]


class _Rows(dict[_Row, KernelNodeSignature]):
    """The records of one chunk by the bytes that they come from: equal rows are one object."""

    def __init__(self, reader: KernelNodeReader, ids: Sequence[int]) -> None:
        super().__init__()
        self._reader = reader
        self._ids = ids

    def __missing__(self, row: _Row) -> KernelNodeSignature:
        record = self[row] = self._reader.build(row, self._ids)
        return record
