"""Read kernel nodes in bulk: one pass of calls per field over all nodes, equal rows decoded once.

Calls dominate the cost of reading a graph, and Python's share of a call dominates the driver's. So arguments are built
in bulk, results share one buffer, and each distinct row of bytes becomes one record.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from struct import Struct
from typing import Any

from sigcontract.driver.cuda import (
    ATTRIBUTE_VALUE_BYTES,
    KERNEL_NODE_PARAMS_BYTES,
    LaunchObservations,
    ReadApi,
)
from sigcontract.driver.reading.arguments import ArgumentReader
from sigcontract.driver.reading.attribute_values import (
    ATTRIBUTE_CUDA_VERSION,
    ZERO_WHERE_NOT_PASSED,
    decode_attribute,
    exact,
)
from sigcontract.driver.reading.function_facts import read_facts, read_name
from sigcontract.model import (
    AttributeState,
    Dim3,
    FunctionFacts,
    KernelNodeSignature,
    LaunchAttribute,
)

__all__ = ["KernelNodeReader"]

#: CUDA_KERNEL_NODE_PARAMS_v2 without kernelParams and extra.
_PARAMS = Struct("<QIIIIIIIxxxx16xQQ")

#: Nodes per pass: bounds the buffers (9 attributes of 64 bytes per node) at no cost in speed.
_CHUNK = 8192

#: Attributes of the launch that created a node: pairs of id and 64 bytes.
_Observed = tuple[tuple[int, bytes], ...] | None
_Function = tuple[str, FunctionFacts]
#: Parameters, observed attributes, and the value of each attribute that differs between nodes; None: refused.
_Row = tuple[Any, ...]


class KernelNodeReader:
    """Reads kernel nodes for one `read_graph`, and caches functions and rows for its duration.

    Parameters
    ----------
    api
        The driver.
    observations
        Observed launches, or None.
    arguments
        Adds the arguments; None: they are not read.
    """

    def __init__(
        self, api: ReadApi, observations: LaunchObservations | None, arguments: ArgumentReader | None = None
    ) -> None:
        self._api = api
        self._observations = observations
        self._arguments = arguments
        self._driver_version = api.driver_version()
        self._functions: dict[tuple[int, int], _Function] = {}
        self._readable: set[int] = set()

    def read(self, nodes: Sequence[int]) -> list[KernelNodeSignature]:
        """Return the signatures of CUgraphNodes, all of which must be kernel nodes."""
        signatures: list[KernelNodeSignature] = []
        for start in range(0, len(nodes), _CHUNK):
            signatures += self._read_chunk(nodes[start : start + _CHUNK])
        return signatures

    def _read_chunk(self, nodes: Sequence[int]) -> Iterable[KernelNodeSignature]:
        if self._arguments is None:
            return self._records(nodes, self._api.kernel_params(nodes))
        params, addresses = self._api.kernel_params_and_arguments(nodes)
        return self._arguments.with_arguments(list(self._records(nodes, params)), addresses)

    def _records(self, nodes: Sequence[int], all_params: bytes) -> Iterable[KernelNodeSignature]:
        params = _rows(all_params, KERNEL_NODE_PARAMS_BYTES)
        self._meet_functions(dict(zip(params, nodes, strict=True)))
        ids = sorted(self._readable)
        same: dict[int, bytes] = {}
        differing: list[tuple[int, Sequence[bytes | None]]] = []
        for attribute_id, column in zip(ids, self._api.kernel_attributes(nodes, ids), strict=True):
            first = column.values[:ATTRIBUTE_VALUE_BYTES]
            if any(column.results):
                values = _rows(column.values, ATTRIBUTE_VALUE_BYTES)
                answers = zip(column.results, values, strict=True)
                differing.append((attribute_id, [None if result else value for result, value in answers]))
            elif column.values == first * len(nodes):
                same[attribute_id] = first
            else:
                differing.append((attribute_id, _rows(column.values, ATTRIBUTE_VALUE_BYTES)))
        observed = repeat(None) if self._observations is None else map(self._observed, nodes)
        built = _Records(self, same, [attribute_id for attribute_id, _values in differing])
        rows = zip(params, observed, *(values for _id, values in differing), strict=False)
        return map(built.__getitem__, rows)

    def _meet_functions(self, nodes: Mapping[bytes, int]) -> None:
        """Read the properties of new functions, and query every attribute of one node of each.

        An attribute that none of these nodes returns is taken as unreadable for all: readability depends on the
        driver, not on the node (measured), and querying each node in vain would double the cost of a read.

        Parameters
        ----------
        nodes
            One node per distinct row of parameters.
        """
        new: dict[tuple[int, int], int] = {}
        for row, node in nodes.items():
            func, *_, kern, _context = _PARAMS.unpack(row)
            if (func, kern) not in self._functions:
                new[func, kern] = node
        for func, kern in new:
            name = read_name(self._api, func, kern)
            self._functions[func, kern] = name, read_facts(self._api, func, kern, self._observations)
        ids = list(ATTRIBUTE_CUDA_VERSION)
        columns = self._api.kernel_attributes(list(new.values()), ids) if new else []
        self._readable.update(
            attribute_id for attribute_id, column in zip(ids, columns, strict=False) if not all(column.results)
        )

    def _observed(self, node: int) -> _Observed:
        attributes = self._observations.attributes(node) if self._observations is not None else None
        return None if attributes is None else tuple(sorted(attributes.items()))

    def build(self, row: _Row, given: dict[int, bytes]) -> KernelNodeSignature:
        """Build the record of one distinct row; `given` holds its attribute values."""
        params, observed, *_values = row
        func, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, kern, context = _PARAMS.unpack(params)
        name, facts = self._functions[func, kern]
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
        """Return one entry per id: the node's value, else the observed one, else why there is none."""
        entries = []
        for attribute_id in sorted(ATTRIBUTE_CUDA_VERSION.keys() | (launched or {}).keys()):
            known = ATTRIBUTE_CUDA_VERSION.get(attribute_id, 0) <= self._driver_version
            if attribute_id in given:
                value = decode_attribute(attribute_id, given[attribute_id])
                entry = LaunchAttribute(id=attribute_id, state="value", origin="node", value=value)
            elif (seen := _seen(attribute_id, launched, known=known)) is not None:
                value = decode_attribute(attribute_id, seen)
                entry = LaunchAttribute(id=attribute_id, state="value", origin="launch", value=value)
            else:
                state: AttributeState = "unreadable" if known else "unsupported"
                entry = LaunchAttribute(id=attribute_id, state=state, origin="node", value=None)
            entries.append(entry)
        return tuple(entries)


def _seen(attribute_id: int, launched: dict[int, bytes] | None, *, known: bool) -> bytes | None:
    """Return the launch's value: as passed, or the default if nothing else can set it."""
    if launched is None:
        return None
    default = bytes(ATTRIBUTE_VALUE_BYTES) if known and attribute_id in ZERO_WHERE_NOT_PASSED else None
    return launched.get(attribute_id, default)


def _rows(data: bytes, stride: int) -> list[bytes]:
    return [data[start : start + stride] for start in range(0, len(data), stride)]


class _Records(dict[_Row, KernelNodeSignature]):
    """The records of one pass by row; equal rows share one record.

    Parameters
    ----------
    reader
        Builds missing records.
    same
        Values of attributes equal on all nodes; not part of a row.
    differing
        Ids of the others, in the order of their values in a row.
    """

    def __init__(self, reader: KernelNodeReader, same: dict[int, bytes], differing: Sequence[int]) -> None:
        super().__init__()
        self._reader = reader
        self._same = same
        self._differing = differing

    def __missing__(self, row: _Row) -> KernelNodeSignature:
        _params, _observed, *values = row
        given = zip(self._differing, values, strict=True)
        known = self._same | {attribute_id: value for attribute_id, value in given if value is not None}
        record = self[row] = self._reader.build(row, known)
        return record
