"""Refusals and differences of pairs of nodes other than kernels. None depends on the profile."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

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
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.pairing import Doubt, NodeRefusal, subject_of
from sigcontract.update.rules import RULE_OF_FIELD

__all__ = [
    "ARRAY",
    "HOST",
    "OWNED",
    "UNIFIED",
    "WAITS",
    "is_cuda_allocation",
    "may_be_managed",
    "node_differences",
    "node_refusal",
]

_PARAMETERS: Final = UpdateResult.ERROR_PARAMETERS_CHANGED
_UNSUPPORTED: Final = UpdateResult.ERROR_NOT_SUPPORTED

# Plain integers, bound once: members of an IntEnum are slow to look up.
HOST, DEVICE, ARRAY, UNIFIED = map(int, MemoryType)
#: CUmemorytype whose operands have an owner that may not change.
OWNED: Final = (DEVICE, UNIFIED)
WAITS: Final = (StreamMemOp.WAIT_VALUE_32, StreamMemOp.WAIT_VALUE_64)
#: PointerFacts.memory_type of an address outside of any live CUDA allocation.
_UNKNOWN_MEMORY: Final = 0
#: The properties of an address that the driver compares as its owner.
_MEMCPY_OWNER: Final = ("device_ordinal", "context")
_MEMSET_OWNER: Final = ("device_ordinal",)

_SIDES: Final = ("source", "destination")
#: Fields that locate the bytes of an operand; ``memory_type`` is equal by then, ``pointer`` has rules of its own.
_LOCATION: Final = tuple(name for name in MemcpyOperand.__struct_fields__ if name not in ("memory_type", "pointer"))
_Answer = NodeRefusal | tuple[Doubt, ...]


def node_refusal(held: NodeSignature, candidate: NodeSignature) -> _Answer:
    """Return why the driver refuses two nodes of one type, or why that is undetermined, or nothing."""
    if isinstance(held, OpaqueNode) or isinstance(candidate, OpaqueNode):
        # Either may be, since a document may know a type that it has no record for by its number alone.
        return (Doubt("node.opaque", "", subject_of(held), subject_of(candidate)),)
    refusal = _REFUSALS.get(type(candidate))
    return () if refusal is None else refusal(held, candidate)


def node_differences(held: NodeSignature, candidate: NodeSignature) -> Iterator[Difference]:
    """Yield what differs between two nodes that the driver pairs and does not refuse."""
    if held != candidate and type(held) is type(candidate):
        yield from _DIFFERENCES.get(type(candidate), _every_field)(held, candidate)


def _text(value: object) -> int | str | None:
    return value if value is None or isinstance(value, int | str) else str(value)


def _changed(old: Record, new: Record, names: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield name, before, after


def _fields(old: Record, new: Record, at: str, names: tuple[str, ...]) -> Iterator[Difference]:
    """Compare fields that have one rule each."""
    for name, before, after in _changed(old, new, names):
        rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
        yield by_rule(rule.id, f"{at}.{name}", _text(before), _text(after))


def _every_field(old: Record, new: Record) -> Iterator[Difference]:
    return _fields(old, new, "", tuple(name for name in old.__struct_fields__ if name != "graph"))


def _owner(old: PointerFacts | None, new: PointerFacts | None, at: str, names: tuple[str, ...]) -> NodeRefusal | None:
    if old is not None and new is not None:
        for name, before, after in _changed(old, new, names):
            if before is not None and after is not None:
                return NodeRefusal("memory.owner", _PARAMETERS, f"{at}.pointer.{name}", _text(before), _text(after))
    return None


def _memcpy_refusal(old: MemcpyNode, new: MemcpyNode) -> _Answer:
    sides = [(f".{at}", getattr(old, at), getattr(new, at)) for at in _SIDES]
    for at, a, b in sides:
        if a.memory_type != b.memory_type:
            return NodeRefusal("memcpy.memory-type", _PARAMETERS, f"{at}.memory_type", a.memory_type, b.memory_type)
    if max(old.height, old.depth, new.height, new.depth) > 1:
        shapes = (("", old, new, ("height", "depth", "width_bytes")), *((*side, _LOCATION) for side in sides))
        for at, a, b, names in shapes:
            for name, before, after in _changed(a, b, names):
                return NodeRefusal("memcpy.shape", _PARAMETERS, f"{at}.{name}", before, after)
    doubts: list[Doubt] = []
    for at, a, b in sides:
        answer = _operand_answer(a, b, at) if a.memory_type in OWNED else ()
        if isinstance(answer, NodeRefusal):
            return answer
        doubts.extend(answer)
    return tuple(doubts)


def _operand_answer(old: MemcpyOperand, new: MemcpyOperand, at: str) -> _Answer:
    """Return the driver's answer to another owner. A unified operand outside of CUDA allocations fits any context."""
    if old.memory_type != UNIFIED or (is_cuda_allocation(old.pointer) and is_cuda_allocation(new.pointer)):
        return _owner(old.pointer, new.pointer, at, _MEMCPY_OWNER) or ()
    if not is_cuda_allocation(old.pointer) and not is_cuda_allocation(new.pointer):
        return ()
    context = _context(old.pointer if is_cuda_allocation(old.pointer) else new.pointer)
    if context is None:
        return (Doubt("memory.unknown", f"{at}.address", f"{old.address:#x}", f"{new.address:#x}"),)
    if context == 0:
        kinds = (_memory_type(old.pointer), _memory_type(new.pointer))
        return NodeRefusal("memory.owner", _PARAMETERS, f"{at}.pointer.memory_type", *kinds)
    return ()


def _context(pointer: PointerFacts | None) -> int | None:
    return None if pointer is None else pointer.context


def _memory_type(pointer: PointerFacts | None) -> int | None:
    return None if pointer is None else pointer.memory_type


def is_cuda_allocation(pointer: PointerFacts | None) -> bool:
    """Whether an address is in a CUDA allocation, or was not recorded."""
    return pointer is None or pointer.memory_type != _UNKNOWN_MEMORY


def _memset_refusal(old: MemsetNode, new: MemsetNode) -> _Answer:
    if (old.height > 1) != (new.height > 1):
        return NodeRefusal("memset.shape", _PARAMETERS, ".height", old.height, new.height)
    if old.height > 1:
        for name, before, after in _changed(old, new, ("height", "width", "element_size_bytes", "pitch_bytes")):
            rule = "memset.pitch-2d" if name == "pitch_bytes" else "memset.shape"
            return NodeRefusal(rule, _PARAMETERS, f".{name}", before, after)
    if old.destination != new.destination and new.pointer is not None and new.pointer.memory_type == _UNKNOWN_MEMORY:
        addresses = f"{old.destination:#x}", f"{new.destination:#x}"
        return NodeRefusal("memset.unallocated", UpdateResult.ERROR, ".destination", *addresses)
    return _owner(old.pointer, new.pointer, "", _MEMSET_OWNER) or ()


def _fixed_refusal(old: Record, new: Record) -> _Answer:
    """Refuse any difference between nodes whose parameters an update cannot change."""
    for name, before, after in _changed(old, new, old.__struct_fields__):
        rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
        return NodeRefusal(rule.id, _PARAMETERS, f".{name}", _text(before), _text(after))
    return ()


def _batch_refusal(old: BatchMemOpNode, new: BatchMemOpNode) -> _Answer:
    if old.context != new.context:
        return NodeRefusal("batch-mem-op.context", None, ".context", f"{old.context:#x}", f"{new.context:#x}")
    if len(old.operations) != len(new.operations):
        return NodeRefusal("batch-mem-op.count", _PARAMETERS, ".operations", len(old.operations), len(new.operations))
    for index, (before, after) in enumerate(zip(old.operations, new.operations, strict=True)):
        if before.operation != after.operation:
            at = f".operations[{index}].operation"
            return NodeRefusal("batch-mem-op.operation", _PARAMETERS, at, before.operation, after.operation)
        if before.flags != after.flags and not _wait_type_only(before, after):
            at = f".operations[{index}].flags"
            return NodeRefusal("batch-mem-op.flags", None, at, before.flags, after.flags)
    if old.flags != new.flags:
        return (Doubt("batch-mem-op.batch-flags", ".flags", old.flags, new.flags),)
    return ()


def _wait_type_only(old: MemOp, new: MemOp) -> bool:
    return old.operation in WAITS and not (old.flags ^ new.flags) & STREAM_WAIT_VALUE_FLUSH


def _conditional_refusal(old: ConditionalNode, new: ConditionalNode) -> _Answer:
    if old.kind is not None and new.kind is not None and old.kind != new.kind:
        return NodeRefusal("conditional.kind", _UNSUPPORTED, ".kind", old.kind, new.kind)
    if old.bodies is not None and new.bodies is not None and len(old.bodies) != len(new.bodies):
        return NodeRefusal("conditional.bodies", _UNSUPPORTED, ".bodies", len(old.bodies), len(new.bodies))
    doubts = []
    if old.kind is None or new.kind is None:
        doubts.append(Doubt("conditional.unreadable", ".kind", old.kind, new.kind))
    if old.bodies is None or new.bodies is None:
        counts = (None if bodies is None else len(bodies) for bodies in (old.bodies, new.bodies))
        doubts.append(Doubt("conditional.unreadable", ".bodies", *counts))
    else:
        for branch, (before, after) in enumerate(zip(old.bodies, new.bodies, strict=True)):
            if before is None or after is None:
                states = ("unreadable" if body is None else "readable" for body in (before, after))
                doubts.append(Doubt("conditional.unreadable", f".bodies[{branch}]", *states))
    return tuple(doubts)


def _memcpy(old: MemcpyNode, new: MemcpyNode) -> Iterator[Difference]:
    yield from _fields(old, new, "", ("width_bytes",))
    for name, before, after in _changed(old, new, ("height", "depth")):
        yield by_rule("memcpy.one-row", f".{name}", before, after)
    beside_managed = may_be_managed(old) or may_be_managed(new)
    for at in _SIDES:
        a, b = getattr(old, at), getattr(new, at)
        if beside_managed and a.memory_type == HOST and a != b and not _has_equal_staging(a.pointer, b.pointer):
            yield by_rule("memory.unknown", f".{at}.address", f"{a.address:#x}", f"{b.address:#x}")
        else:
            yield from _address(a.memory_type, a.address, b.address, (a.pointer, b.pointer), f".{at}.address")
        yield from _fields(a, b, f".{at}", tuple(name for name in _LOCATION if name != "address"))


def _memset(old: MemsetNode, new: MemsetNode) -> Iterator[Difference]:
    yield from _address(DEVICE, old.destination, new.destination, (old.pointer, new.pointer), ".destination")
    yield from _fields(old, new, "", ("value",))
    for name, before, after in _changed(old, new, ("width", "element_size_bytes", "height")):
        yield by_rule("memset.size", f".{name}", before, after)
    yield from _fields(old, new, "", ("pitch_bytes",))


def _batch(old: BatchMemOpNode, new: BatchMemOpNode) -> Iterator[Difference]:
    for index, (before, after) in enumerate(zip(old.operations, new.operations, strict=True)):
        at = f".operations[{index}]"
        yield from _fields(before, after, at, ("address", "value"))
        if before.flags != after.flags:
            yield by_rule("batch-mem-op.wait-type", f"{at}.flags", before.flags, after.flags)


def _conditional(old: ConditionalNode, new: ConditionalNode) -> Iterator[Difference]:
    return _fields(old, new, "", ("handle",))


def _address(
    memory_type: int, old: int, new: int, pointers: tuple[PointerFacts | None, PointerFacts | None], at: str
) -> Iterator[Difference]:
    addresses = f"{old:#x}", f"{new:#x}"
    if (
        memory_type == UNIFIED
        and (old != new or pointers[0] != pointers[1])
        and not all(map(is_cuda_allocation, pointers))
    ):
        yield by_rule("memory.unknown", at, *addresses)
    elif memory_type in OWNED and pointers[0] != pointers[1]:
        known = _is_owner_known(pointers[0]) and _is_owner_known(pointers[1])
        yield by_rule("memory.kind" if known else "memory.owner-unproven", at, *addresses)
    elif old == new:
        return
    elif memory_type == ARRAY:
        yield by_rule("memory.owner-unproven", at, *addresses)
    elif memory_type in OWNED and not _is_owner_known(pointers[0]):
        yield by_rule("memory.owner-unknown", at, *addresses)
    else:
        yield by_rule("memset.destination" if at == ".destination" else "memcpy.address", at, *addresses)


def may_be_managed(node: MemcpyNode) -> bool:
    """Whether an operand of a memcpy may be managed memory: the driver does not stage its copy to the host."""
    return any(
        side.memory_type in OWNED and (side.pointer is None or side.pointer.managed is not False)
        for side in (node.source, node.destination)
    )


def _has_equal_staging(old: PointerFacts | None, new: PointerFacts | None) -> bool:
    """Whether the staging of one host address serves the other: not if pinned memory may become pageable."""
    pageable = old is not None and old.memory_type == _UNKNOWN_MEMORY
    return pageable or (new is not None and new.memory_type not in {None, _UNKNOWN_MEMORY})


def _is_owner_known(pointer: PointerFacts | None) -> bool:
    return pointer is not None and pointer.context is not None and pointer.device_ordinal is not None


#: By the type of both nodes; a missing type is never refused.
_REFUSALS: Final[Mapping[type, Callable[[Any, Any], _Answer]]] = {
    MemcpyNode: _memcpy_refusal,
    MemsetNode: _memset_refusal,
    ExtSemasSignalNode: _fixed_refusal,
    ExtSemasWaitNode: _fixed_refusal,
    BatchMemOpNode: _batch_refusal,
    ConditionalNode: _conditional_refusal,
}

#: By the type of both nodes; for a missing type, every field is compared by its own rule.
_DIFFERENCES: Final[Mapping[type, Callable[[Any, Any], Iterator[Difference]]]] = {
    MemcpyNode: _memcpy,
    MemsetNode: _memset,
    BatchMemOpNode: _batch,
    ConditionalNode: _conditional,
}
