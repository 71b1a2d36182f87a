"""Hypothesis strategies for every record, from the types that its fields declare."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import inspect as types

from sigcontract.model.arguments import (
    Allocation,
    AllocatorBlock,
    ArgumentPointer,
    KernelArgument,
    PointerTarget,
)
from sigcontract.model.attributes import LaunchAttribute
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import ChildGraphNode, ConditionalNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import KernelNodeSignature
from sigcontract.model.profile import AttributeProfile, DriverProfile
from sigcontract.model.record import Record

__all__ = ["LAWS", "arguments", "graphs", "json_values", "records"]

#: How laws are run: the same examples every time, and no deadline, since machines are shared.
LAWS = settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_TEXT = st.text(max_size=12)
#: Handles of a small pool, so that some are the same.
_FEW = st.sampled_from([0, 1, 2, 0x7F00_0000_1000, 2**53 - 1])


@cache
def records(cls: type[Record]) -> SearchStrategy[Any]:
    """Return a strategy of valid records of one type."""
    if cls in _OWN:
        return _OWN[cls]()
    if cls is KernelNodeSignature:
        return _fields(cls, attributes=_ascending(records(LaunchAttribute)), arguments=st.none() | arguments())
    if cls is DriverProfile:
        return _fields(cls, attributes=_ascending(records(AttributeProfile)))
    if cls is SignatureDump:
        return _fields(
            cls,
            graphs=st.lists(records(LabeledGraph), max_size=3).map(tuple),
            extensions=st.dictionaries(_TEXT, json_values(), max_size=2),
        )
    return _fields(cls)


def json_values() -> SearchStrategy[Any]:
    """Return a strategy of what JSON can say, as extensions hold it."""
    return st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | _TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
        max_leaves=4,
    )


@st.composite
def graphs(draw: st.DrawFn, depth: int = 0) -> GraphSignature:
    """Draw a graph: some nodes the same object, edges without cycles, in either direction of node order."""
    pool = draw(st.lists(_nodes(depth), min_size=1, max_size=3))
    nodes = draw(st.lists(st.sampled_from(pool), max_size=5))
    rank = draw(st.permutations(range(len(nodes))))
    dependencies = []
    for index in range(len(nodes)):
        before = [other for other in range(len(nodes)) if rank[other] < rank[index]]
        chosen = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
        dependencies.append(tuple(draw(_edges(node)) for node in chosen))
    return GraphSignature(nodes=tuple(nodes), dependencies=tuple(dependencies))


@cache
def _edges(node: int) -> SearchStrategy[Dependency]:
    default = st.just(Dependency(node=node, from_port=0, to_port=0, type=0))
    return default | _fields(Dependency, node=st.just(node))


@cache
def _nodes(depth: int) -> SearchStrategy[NodeSignature]:
    kinds = [kind.cls for kind in _members(types.multi_type_info([NodeSignature])[0])]
    flat = [records(kind) for kind in kinds if kind not in (ChildGraphNode, ConditionalNode)]
    if depth > 1:
        return st.one_of(flat)
    inner = st.deferred(lambda: graphs(depth + 1))
    bodies = st.none() | st.lists(st.none() | inner, max_size=2).map(tuple)
    holding = [_fields(ChildGraphNode, graph=inner), _fields(ConditionalNode, bodies=bodies)]
    return st.one_of(*flat, *holding)


@st.composite
def arguments(draw: st.DrawFn) -> tuple[KernelArgument, ...]:
    """Draw the arguments of a kernel: ascending, some of them the same object."""
    found = []
    free = 0
    for argument in draw(st.lists(records(KernelArgument), max_size=3)):
        offset = free + draw(st.sampled_from([0, 4]))
        found.append(
            argument if argument.offset_bytes == offset else msgspec.structs.replace(argument, offset_bytes=offset)
        )
        free = offset + argument.size_bytes
    return tuple(found)


@st.composite
def _argument(draw: st.DrawFn) -> KernelArgument:
    words = draw(st.lists(st.booleans(), max_size=3))
    tail = draw(st.integers(0 if words else 1, 7))
    pointers = tuple(
        draw(_fields(ArgumentPointer, offset_bytes=st.just(8 * index))) for index, word in enumerate(words) if word
    )
    content = b"".join(bytes(8) if word else draw(st.binary(min_size=8, max_size=8)) for word in words)
    content += draw(st.binary(min_size=tail, max_size=tail))
    value = draw(st.none() | st.just(content.hex()))
    offset = draw(st.sampled_from([0, 8]))
    return KernelArgument(offset_bytes=offset, size_bytes=len(content), value=value, pointers=pointers)


@st.composite
def _targets(draw: st.DrawFn) -> PointerTarget:
    """Draw an address within an allocation, and within a block where there is one."""
    size = draw(st.none() | st.integers(1, 2**40))
    address = draw(st.sampled_from([0, 1, 2, 0x7F00_0000_1000]))
    allocation = draw(_fields(Allocation, address=st.just(address), size_bytes=st.just(size)))
    offset = draw(st.integers(0, (size or 2**40) - 1))
    block = None
    if draw(st.booleans()):
        length = draw(st.integers(1, 2**40))
        within = st.integers(0, length - 1)
        block = draw(_fields(AllocatorBlock, size_bytes=st.just(length), offset_bytes=within))
    return PointerTarget(allocation=allocation, offset_bytes=offset, block=block)


def _launch_attributes() -> SearchStrategy[LaunchAttribute]:
    by_name = {kind.cls.__name__: records(kind.cls) for kind in _value_types()}
    integers = st.integers(-(2**31), 2**32 - 1)
    named = {1: "AccessPolicyWindow", 4: "ClusterDim", 7: "ProgrammaticEvent", 9: "MemSyncDomainMap"}
    named |= {11: "ClusterDim", 12: "LaunchCompletionEvent", 13: "DeviceUpdatableNode", 15: "RawValue", 77: "RawValue"}
    values = {number: by_name[name] for number, name in named.items()}
    values |= dict.fromkeys((2, 3, 5, 6, 8, 10, 14, 16, 17, 18), integers)
    origins = st.sampled_from(["node", "launch"])
    known = st.sampled_from(sorted(values)).flatmap(
        lambda number: st.builds(
            LaunchAttribute, id=st.just(number), state=st.just("value"), origin=origins, value=values[number]
        )
    )
    unknown = st.builds(
        LaunchAttribute,
        id=st.sampled_from(sorted(values)),
        state=st.sampled_from(["unreadable", "unsupported"]),
        origin=origins,
        value=st.none(),
    )
    return known | unknown


#: Records whose fields depend on each other.
_OWN: dict[type[Record], Callable[[], SearchStrategy[Any]]] = {
    GraphSignature: graphs,
    LaunchAttribute: _launch_attributes,
    KernelArgument: _argument,
    PointerTarget: _targets,
}


def _value_types() -> list[types.StructType]:
    (field,) = (field for field in msgspec.structs.fields(LaunchAttribute) if field.name == "value")
    return _members(types.type_info(field.type))


def _members(info: types.Type) -> list[types.StructType]:
    """Return the records of a union."""
    if isinstance(info, types.Metadata):
        info = info.type
    assert isinstance(info, types.UnionType)
    return [member for member in info.types if isinstance(member, types.StructType)]


def _ascending(entries: SearchStrategy[Any]) -> SearchStrategy[tuple[Any, ...]]:
    unique = st.lists(entries, unique_by=lambda entry: entry.id, max_size=4)
    return unique.map(lambda found: tuple(sorted(found, key=lambda entry: entry.id)))


def _fields(cls: type[Record], **given: SearchStrategy[Any]) -> SearchStrategy[Any]:
    declared = {field.name: field.type for field in msgspec.structs.fields(cls) if field.name not in given}
    return st.builds(cls, **{name: _of(types.type_info(kind)) for name, kind in declared.items()}, **given)


def _hexadecimal(pattern: str) -> SearchStrategy[str]:
    """Return a strategy of what a pattern of hexadecimal digits describes; far quicker than `st.from_regex`."""
    found = re.fullmatch(r"\^(0x)?\[0-9a-f\]\{(\d+)\}\(\?!\[\\s\\S\]\)", pattern)
    assert found is not None, f"no strategy for {pattern}"
    prefix, size = found[1] or "", int(found[2]) // 2
    return st.binary(min_size=size, max_size=size).map(lambda data: prefix + data.hex())


def _of(info: types.Type) -> SearchStrategy[Any]:  # noqa: C901, PLR0911  one strategy per type
    match info:
        case types.Metadata():
            return _of(info.type)
        case types.NoneType():
            return st.none()
        case types.BoolType():
            return st.booleans()
        case types.IntType():
            whole = st.integers(info.ge, info.le)
            return _FEW | whole if info.ge == 0 and info.le == 2**53 - 1 else whole
        case types.StrType():
            return _hexadecimal(info.pattern) if info.pattern else _TEXT
        case types.LiteralType():
            return st.sampled_from(info.values)
        case types.EnumType():
            return st.sampled_from(list(info.cls))
        case types.UnionType():
            return st.one_of([_of(member) for member in info.types])
        case types.VarTupleType():
            return st.lists(_of(info.item_type), max_size=3).map(tuple)
        case types.StructType():
            assert issubclass(info.cls, Record)
            return records(info.cls)
        case _:
            raise TypeError(f"no strategy for {info!r}")
