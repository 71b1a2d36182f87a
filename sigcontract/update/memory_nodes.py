"""Refusals and differences of pairs of nodes other than kernels. None depends on the profile."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from sigcontract.model import (
    STREAM_WAIT_VALUE_FLUSH,
    BatchMemOpNode,
    ConditionalNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    MemcpyNode,
    MemcpyOperand,
    MemOp,
    MemoryType,
    MemsetNode,
    NodeSignature,
    OpaqueNode,
    PointerFacts,
    Record,
    StreamMemOp,
    UpdateResult,
)
from sigcontract.update.attributes import Difference, by_rule, field_text
from sigcontract.update.pairing import Doubt, NodeRefusal, subject_of
from sigcontract.update.rules import RULE_OF_FIELD

__all__ = [
    "ARRAY",
    "HOST",
    "OWNED",
    "UNIFIED",
    "WAITS",
    "is_cuda_allocation",
    "is_two_dimensional",
    "may_be_managed",
    "node_barriers",
    "node_differences",
    "owner_of",
]

_PARAMETERS: Final = UpdateResult.ERROR_PARAMETERS_CHANGED
_UNSUPPORTED: Final = UpdateResult.ERROR_NOT_SUPPORTED

# Plain integers: IntEnum members are slow to look up.
HOST, DEVICE, ARRAY, UNIFIED = map(int, MemoryType)
#: CUmemorytypes of operands whose owner must not change.
OWNED: Final = (DEVICE, UNIFIED)
WAITS: Final = (StreamMemOp.WAIT_VALUE_32, StreamMemOp.WAIT_VALUE_64)
#: PointerFacts.memory_type of an address outside of any live CUDA allocation.
_UNKNOWN_MEMORY: Final = 0
#: Fields that identify the owner of an operand to the driver.
_COPY_OWNER: Final = ("device_ordinal", "context")
_MEMSET_OWNER: Final = ("device_ordinal",)

_SIDES: Final = ("source", "destination")
#: Fields that locate an operand; ``memory_type`` is already equal, ``pointer`` has its own rules.
_LOCATION: Final = tuple(name for name in MemcpyOperand.__struct_fields__ if name not in ("memory_type", "pointer"))
_Addresses = tuple[int, int]
_Pointers = tuple[PointerFacts | None, PointerFacts | None]
#: Refusals and possible refusals of a pair of nodes.
_Barriers = Iterator[NodeRefusal | Doubt]


def node_barriers(held: NodeSignature, candidate: NodeSignature) -> _Barriers:
    """Yield the driver's refusals and doubts about two nodes of one type, in its order."""
    if isinstance(held, OpaqueNode) or isinstance(candidate, OpaqueNode):
        # Either may be opaque: documents also hold types without a record.
        yield Doubt("node.opaque", "", subject_of(held), subject_of(candidate))
    elif type(candidate) in _BARRIERS:
        yield from _BARRIERS[type(candidate)](held, candidate)


def node_differences(held: NodeSignature, candidate: NodeSignature) -> Iterator[Difference]:
    """Yield the differences between two paired nodes that the driver accepts."""
    if held != candidate and type(held) is type(candidate):
        yield from _DIFFERENCES.get(type(candidate), _every_field)(held, candidate)


def _changed(old: Record, new: Record, names: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield name, before, after


def _fields(old: Record, new: Record, at: str, names: tuple[str, ...]) -> Iterator[Difference]:
    """Compare fields with one rule each."""
    for name, before, after in _changed(old, new, names):
        rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
        yield by_rule(rule.id, f"{at}.{name}", field_text(before), field_text(after))


def _every_field(old: Record, new: Record) -> Iterator[Difference]:
    return _fields(old, new, "", tuple(name for name in old.__struct_fields__ if name != "graph"))


def _owner(old: PointerFacts | None, new: PointerFacts | None, at: str, names: tuple[str, ...]) -> _Barriers:
    if old is not None and new is not None:
        for name, before, after in _changed(old, new, names):
            if before is not None and after is not None:
                yield NodeRefusal("memory.owner", _PARAMETERS, f"{at}.pointer.{name}", *_shown(name, before, after))


def _memcpy_barriers(old: MemcpyNode, new: MemcpyNode) -> _Barriers:
    sides = [(f".{at}", getattr(old, at), getattr(new, at)) for at in _SIDES]
    for at, a, b in sides:
        if a.memory_type != b.memory_type:
            yield NodeRefusal("memcpy.memory-type", _PARAMETERS, f"{at}.memory_type", a.memory_type, b.memory_type)
    if is_two_dimensional(old, new):
        shapes = (("", old, new, ("height", "depth", "width_bytes")), *((*side, _LOCATION) for side in sides))
        for at, a, b, names in shapes:
            for name, before, after in _changed(a, b, names):
                yield NodeRefusal("memcpy.shape", _PARAMETERS, f"{at}.{name}", before, after)
    for at, a, b in sides:
        if a.memory_type in OWNED:
            yield from _operand_barriers(a, b, at)


def _operand_barriers(old: MemcpyOperand, new: MemcpyOperand, at: str) -> _Barriers:
    """Yield the driver's answer to another owner; memory unknown to CUDA fits any context of a unified operand."""
    if old.memory_type != UNIFIED or (is_cuda_allocation(old.pointer) and is_cuda_allocation(new.pointer)):
        yield from _owner(old.pointer, new.pointer, at, _COPY_OWNER)
        return
    if not is_cuda_allocation(old.pointer) and not is_cuda_allocation(new.pointer):
        return
    context = _context(old.pointer if is_cuda_allocation(old.pointer) else new.pointer)
    if context is None:
        yield Doubt("memory.unknown", f"{at}.address", f"{old.address:#x}", f"{new.address:#x}")
    elif context == 0:
        kinds = (_memory_type(old.pointer), _memory_type(new.pointer))
        yield NodeRefusal("memory.owner", _PARAMETERS, f"{at}.pointer.memory_type", *kinds)


def _context(pointer: PointerFacts | None) -> int | None:
    return None if pointer is None else pointer.context


def _memory_type(pointer: PointerFacts | None) -> int | None:
    return None if pointer is None else pointer.memory_type


def is_cuda_allocation(pointer: PointerFacts | None) -> bool:
    """Whether an address is in a CUDA allocation, or was not recorded."""
    return pointer is None or pointer.memory_type != _UNKNOWN_MEMORY


def is_two_dimensional(old: NodeSignature, new: NodeSignature) -> bool:
    """Whether either of two nodes is a 2D or 3D copy, in which nothing may change."""
    return any(isinstance(node, MemcpyNode) and max(node.height, node.depth) > 1 for node in (old, new))


def owner_of(pointer: PointerFacts | None) -> PointerFacts | None:
    """Return what identifies the owner of an address to the driver: not the allocation that it leads into."""
    return pointer if pointer is None or pointer.target is None else replace(pointer, target=None)


def _memset_barriers(old: MemsetNode, new: MemsetNode) -> _Barriers:
    if (old.height > 1) != (new.height > 1):
        yield NodeRefusal("memset.shape", _PARAMETERS, ".height", old.height, new.height)
    elif old.height > 1:
        for name, before, after in _changed(old, new, ("height", "width", "element_size_bytes", "pitch_bytes")):
            rule = "memset.pitch-2d" if name == "pitch_bytes" else "memset.shape"
            yield NodeRefusal(rule, _PARAMETERS, f".{name}", before, after)
    if old.destination != new.destination and new.pointer is not None and new.pointer.memory_type == _UNKNOWN_MEMORY:
        addresses = f"{old.destination:#x}", f"{new.destination:#x}"
        yield NodeRefusal("memset.unallocated", UpdateResult.ERROR, ".destination", *addresses)
    yield from _owner(old.pointer, new.pointer, "", _MEMSET_OWNER)


def _fixed_barriers(old: Record, new: Record) -> _Barriers:
    """Refuse every difference of a node whose parameters an exec cannot change."""
    for name, before, after in _changed(old, new, old.__struct_fields__):
        rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
        yield NodeRefusal(rule.id, _PARAMETERS, f".{name}", field_text(before), field_text(after))


def _batch_barriers(old: BatchMemOpNode, new: BatchMemOpNode) -> _Barriers:
    if old.context != new.context:
        yield NodeRefusal("batch-mem-op.context", None, ".context", f"{old.context:#x}", f"{new.context:#x}")
    if len(old.operations) != len(new.operations):
        yield NodeRefusal("batch-mem-op.count", _PARAMETERS, ".operations", len(old.operations), len(new.operations))
    else:
        for index, (before, after) in enumerate(zip(old.operations, new.operations, strict=True)):
            if before.operation != after.operation:
                at = f".operations[{index}].operation"
                yield NodeRefusal("batch-mem-op.operation", _PARAMETERS, at, before.operation, after.operation)
            if before.flags != after.flags and not _wait_type_only(before, after):
                at = f".operations[{index}].flags"
                yield NodeRefusal("batch-mem-op.flags", None, at, before.flags, after.flags)
    if old.flags != new.flags:
        yield Doubt("batch-mem-op.batch-flags", ".flags", old.flags, new.flags)


def _wait_type_only(old: MemOp, new: MemOp) -> bool:
    return old.operation in WAITS and not (old.flags ^ new.flags) & STREAM_WAIT_VALUE_FLUSH


def _conditional_barriers(old: ConditionalNode, new: ConditionalNode) -> _Barriers:
    if old.kind is None or new.kind is None:
        yield Doubt("conditional.unreadable", ".kind", old.kind, new.kind)
    elif old.kind != new.kind:
        yield NodeRefusal("conditional.kind", _UNSUPPORTED, ".kind", old.kind, new.kind)
    if old.bodies is None or new.bodies is None:
        counts = (None if bodies is None else len(bodies) for bodies in (old.bodies, new.bodies))
        yield Doubt("conditional.unreadable", ".bodies", *counts)
    elif len(old.bodies) != len(new.bodies):
        yield NodeRefusal("conditional.bodies", _UNSUPPORTED, ".bodies", len(old.bodies), len(new.bodies))
    else:
        for branch, (before, after) in enumerate(zip(old.bodies, new.bodies, strict=True)):
            if before is None or after is None:
                states = ("unreadable" if body is None else "readable" for body in (before, after))
                yield Doubt("conditional.unreadable", f".bodies[{branch}]", *states)


def _memcpy(old: MemcpyNode, new: MemcpyNode) -> Iterator[Difference]:
    yield from _fields(old, new, "", ("width_bytes",))
    for name, before, after in _changed(old, new, ("height", "depth")):
        yield by_rule("memcpy.one-row", f".{name}", before, after)
    beside_managed = may_be_managed(old) or may_be_managed(new)
    for at in _SIDES:
        a, b = getattr(old, at), getattr(new, at)
        if beside_managed and a.memory_type == HOST and not _has_equal_staging(a.pointer, b.pointer):
            for name, before, after in _changed(a, b, _LOCATION):
                texts = map(hex, (before, after)) if name == "address" else (before, after)
                yield by_rule("memory.unknown", f".{at}.{name}", *texts)
            yield from _pointer("memory.unknown", (owner_of(a.pointer), owner_of(b.pointer)), f".{at}")
        else:
            yield from _operand(a.memory_type, (a.address, b.address), (a.pointer, b.pointer), f".{at}", "address")
            yield from _fields(a, b, f".{at}", tuple(name for name in _LOCATION if name != "address"))


def _memset(old: MemsetNode, new: MemsetNode) -> Iterator[Difference]:
    addresses = old.destination, new.destination
    yield from _operand(DEVICE, addresses, (old.pointer, new.pointer), "", "destination")
    yield from _fields(old, new, "", ("value",))
    for name, before, after in _changed(old, new, ("width", "element_size_bytes", "height")):
        yield by_rule("memset.size", f".{name}", before, after)
    yield from _fields(old, new, "", ("pitch_bytes",))


def _batch(old: BatchMemOpNode, new: BatchMemOpNode) -> Iterator[Difference]:
    if len(old.operations) != len(new.operations):
        return  # refused; there are no pairs of operations to judge
    for index, (before, after) in enumerate(zip(old.operations, new.operations, strict=True)):
        at = f".operations[{index}]"
        yield from _fields(before, after, at, ("address", "value"))
        if before.flags != after.flags:
            yield by_rule("batch-mem-op.wait-type", f"{at}.flags", before.flags, after.flags)


def _conditional(old: ConditionalNode, new: ConditionalNode) -> Iterator[Difference]:
    return _fields(old, new, "", ("handle",))


def _operand(memory_type: int, addresses: _Addresses, pointers: _Pointers, at: str, name: str) -> Iterator[Difference]:
    """Judge the address of an operand, the field ``name``, with the facts about its memory."""
    pointers = owner_of(pointers[0]), owner_of(pointers[1])
    rule = "memset.destination" if name == "destination" else "memcpy.address"
    if memory_type == UNIFIED and not all(map(is_cuda_allocation, pointers)):
        rule = "memory.unknown"
        yield from _pointer(rule, pointers, at)
    elif memory_type in OWNED and pointers[0] != pointers[1]:
        known = _is_owner_known(pointers[0]) and _is_owner_known(pointers[1])
        yield from _pointer("memory.kind" if known else "memory.owner-unproven", pointers, at)
    elif memory_type == ARRAY:
        rule = "memory.owner-unproven"
    elif memory_type in OWNED and not _is_owner_known(pointers[0]):
        rule = "memory.owner-unknown"
    if addresses[0] != addresses[1]:
        yield by_rule(rule, f"{at}.{name}", *map(hex, addresses))


def _pointer(rule: str, pointers: _Pointers, at: str) -> Iterator[Difference]:
    old, new = pointers
    if old is None or new is None:
        if old is not new:
            yield by_rule(rule, f"{at}.pointer", *("unknown" if facts is None else "known" for facts in pointers))
        return
    for name, before, after in _changed(old, new, old.__struct_fields__):
        yield by_rule(rule, f"{at}.pointer.{name}", *_shown(name, before, after))


def _shown(name: str, *values: object) -> Iterator[int | str | None]:
    """Yield values of a PointerFacts field as text: contexts in hexadecimal."""
    for value in values:
        yield f"{value:#x}" if name == "context" and isinstance(value, int) else field_text(value)


def may_be_managed(node: MemcpyNode) -> bool:
    """Whether an operand of a memcpy may be managed memory, whose copies the driver does not stage."""
    return any(
        side.memory_type in OWNED and (side.pointer is None or side.pointer.managed is not False)
        for side in (node.source, node.destination)
    )


def _has_equal_staging(old: PointerFacts | None, new: PointerFacts | None) -> bool:
    """Whether two host addresses are staged alike: not if pinned memory may become pageable."""
    pageable = old is not None and old.memory_type == _UNKNOWN_MEMORY
    return pageable or (new is not None and new.memory_type not in {None, _UNKNOWN_MEMORY})


def _is_owner_known(pointer: PointerFacts | None) -> bool:
    return pointer is not None and pointer.context is not None and pointer.device_ordinal is not None


#: By type of both nodes; other types are never refused.
_BARRIERS: Final[Mapping[type, Callable[[Any, Any], _Barriers]]] = {
    MemcpyNode: _memcpy_barriers,
    MemsetNode: _memset_barriers,
    ExtSemasSignalNode: _fixed_barriers,
    ExtSemasWaitNode: _fixed_barriers,
    BatchMemOpNode: _batch_barriers,
    ConditionalNode: _conditional_barriers,
}

#: By type of both nodes; for other types, every field is compared by its own rule.
_DIFFERENCES: Final[Mapping[type, Callable[[Any, Any], Iterator[Difference]]]] = {
    MemcpyNode: _memcpy,
    MemsetNode: _memset,
    BatchMemOpNode: _batch,
    ConditionalNode: _conditional,
}
