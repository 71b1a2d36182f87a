"""What two paired nodes forbid, and what each difference between them means: every field by its rule."""

from typing import TYPE_CHECKING, Final, Literal

from sigcontract.compare.effects import Difference, Effects, attribute_path, value_text
from sigcontract.compare.pairing import Doubt, NodeRefusal
from sigcontract.compare.rules import RULE_OF_FIELD, RULES
from sigcontract.model.attributes import AttributeId, ClusterDim, DeviceUpdatableNode, LaunchAttribute
from sigcontract.model.findings import UpdateResult, Verdict
from sigcontract.model.graph import ConditionalNode, NodeSignature
from sigcontract.model.nodes import (
    BatchMemOpNode,
    ExtSemasSignalNode,
    ExtSemasWaitNode,
    KernelNodeSignature,
    MemAllocNode,
    MemcpyNode,
    MemcpyOperand,
    MemFreeNode,
    MemOp,
    MemsetNode,
    OpaqueNode,
    PointerFacts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sigcontract.model.function import FunctionFacts
    from sigcontract.model.profile import DriverProfile
    from sigcontract.model.record import Record

__all__ = [
    "ARRAY",
    "OWNED",
    "WAITS",
    "WAIT_FLUSH",
    "NodeJudge",
    "contradiction",
    "effective_cluster",
    "function_identity",
]

#: same: proven in one load epoch. reused: one handle, two functions. unknown: no handle to prove anything by.
Identity = Literal["same", "other", "reused", "unknown"]

_PARAMETERS: Final = UpdateResult.ERROR_PARAMETERS_CHANGED
_ATTRIBUTES: Final = UpdateResult.ERROR_ATTRIBUTES_CHANGED

#: CUmemorytype whose operands have an owner that may not change: device and unified.
OWNED: Final = (2, 4)
ARRAY: Final = 3
WAITS: Final = (1, 4)  # CU_STREAM_MEM_OP_WAIT_VALUE_32, _64
WAIT_FLUSH: Final = 1 << 30  # CU_STREAM_WAIT_VALUE_FLUSH
_ONE_BLOCK: Final = "1x1x1"


class NodeJudge:
    """Judges pairs of nodes of one type under one profile and one set of instantiation flags.

    Parameters
    ----------
    profile
        The driver's profile, or None: then only what is documented or reported is known.
    flags
        CUgraphInstantiate_flags of the exec.
    """

    def __init__(self, profile: "DriverProfile | None", flags: int) -> None:
        self._profile = profile
        self.effects = Effects(profile, flags)

    # What the driver refuses.

    def refusal(self, held: NodeSignature, candidate: NodeSignature) -> NodeRefusal | tuple[Doubt, ...]:
        """Return why the driver refuses the pair, or why that cannot be told, or nothing."""
        if isinstance(held, KernelNodeSignature) and isinstance(candidate, KernelNodeSignature):
            return self._kernel_refusal(held, candidate)
        if isinstance(candidate, OpaqueNode):
            return (_doubt("node.opaque", "", candidate.type, candidate.type),)
        if isinstance(held, MemcpyNode) and isinstance(candidate, MemcpyNode):
            return _memcpy_refusal(held, candidate) or ()
        if isinstance(held, MemsetNode) and isinstance(candidate, MemsetNode):
            return _memset_refusal(held, candidate) or ()
        if isinstance(held, ExtSemasSignalNode | ExtSemasWaitNode | MemAllocNode | MemFreeNode):
            return _fixed_refusal(held, candidate) or ()
        if isinstance(held, BatchMemOpNode) and isinstance(candidate, BatchMemOpNode):
            return _batch_refusal(held, candidate)
        if isinstance(held, ConditionalNode) and isinstance(candidate, ConditionalNode):
            return _conditional_refusal(held, candidate)
        return ()

    def _kernel_refusal(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature
    ) -> NodeRefusal | tuple[Doubt, ...]:
        old, new = self.effects.entries(held.attributes), self.effects.entries(candidate.attributes)
        doubts: list[Doubt] = []
        for attribute_id in self.effects.refusing(old, new):
            before, after = old.get(attribute_id), new.get(attribute_id)
            path, texts = attribute_path(attribute_id), (value_text(before), value_text(after))
            if before is None or after is None or before.value is None or after.value is None:
                doubts.append(_doubt("kernel.attribute-unknown", path, *texts))
            elif before.value != after.value:
                return NodeRefusal(self.effects.of(attribute_id).rule.id, _ATTRIBUTES, path, *texts)
        updatable = AttributeId.DEVICE_UPDATABLE_KERNEL_NODE
        before, after = old.get(updatable), new.get(updatable)
        path, texts = attribute_path(updatable), (value_text(before), value_text(after))
        if _is_device_updatable(before) or _is_device_updatable(after):
            return NodeRefusal("kernel.device-updatable", None, path, *texts)
        if before is None or after is None or before.value is None or after.value is None:
            doubts.append(_doubt("kernel.attribute-unknown", path, *texts))
        if held.context != candidate.context:
            contexts = f"{held.context:#x}", f"{candidate.context:#x}"
            if held.context and candidate.context:
                result = UpdateResult.ERROR_UNSUPPORTED_FUNCTION_CHANGE
                return NodeRefusal("kernel.context", result, ".context", *contexts)
            doubts.append(_doubt("kernel.context-unknown", ".context", *contexts))
        return tuple(doubts)

    def unknowns(self, node: NodeSignature) -> "Iterator[Difference]":
        """Yield what keeps a node from being the same as any other, itself included."""
        if isinstance(node, KernelNodeSignature):
            entries = self.effects.entries(node.attributes)
            for attribute_id in (*self.effects.refusing(entries), AttributeId.DEVICE_UPDATABLE_KERNEL_NODE):
                entry = entries.get(attribute_id)
                if entry is None or entry.value is None:
                    text = value_text(entry)
                    yield _plain("kernel.attribute-unknown", attribute_path(attribute_id), text, text)
            yield from self.differences(node, node, node)
        else:
            answer = self.refusal(node, node)
            for doubt in () if isinstance(answer, NodeRefusal) else answer:
                yield _plain(*doubt)

    # What an accepted update then does.

    def differences(
        self, held: NodeSignature, candidate: NodeSignature, fixed: NodeSignature
    ) -> "Iterator[Difference]":
        """Yield what differs between two nodes that the driver pairs and does not refuse.

        Parameters
        ----------
        held
            The node that the exec holds.
        candidate
            The node that it is updated to.
        fixed
            The node at the exec's first upload or launch: stale values are those of this one.
        """
        if isinstance(candidate, KernelNodeSignature):
            if isinstance(held, KernelNodeSignature) and isinstance(fixed, KernelNodeSignature):
                yield from self._kernel(held, candidate, fixed)
        elif held is candidate or held == candidate:
            return
        elif isinstance(held, MemcpyNode) and isinstance(candidate, MemcpyNode):
            yield from _memcpy(held, candidate)
        elif isinstance(held, MemsetNode) and isinstance(candidate, MemsetNode):
            yield from _memset(held, candidate)
        elif isinstance(held, BatchMemOpNode) and isinstance(candidate, BatchMemOpNode):
            for place, (old, new) in enumerate(zip(held.operations, candidate.operations, strict=True)):
                yield from _mem_op(old, new, f".operations[{place}]")
        elif isinstance(held, ConditionalNode) and isinstance(candidate, ConditionalNode):
            yield from _fields(held, candidate, "", ("handle",))
        else:
            names = tuple(name for name in held.__struct_fields__ if name != "graph")
            yield from _fields(held, candidate, "", names)

    def _kernel(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, fixed: KernelNodeSignature
    ) -> "Iterator[Difference]":
        held_identity = function_identity(held, candidate)
        fixed_identity = held_identity if fixed is held else function_identity(fixed, candidate)
        if (held_identity, fixed_identity) != ("same", "same"):
            difference = self._function(held, candidate, held_identity, fixed_identity)
            if difference is not None:
                yield difference
        if held.grid_dim != candidate.grid_dim:
            yield _plain("kernel.grid-dim", ".grid_dim", str(held.grid_dim), str(candidate.grid_dim))
        if held.block_dim != candidate.block_dim:
            yield _plain("kernel.block-dim", ".block_dim", str(held.block_dim), str(candidate.block_dim))
        if held.dynamic_shared_mem_bytes != candidate.dynamic_shared_mem_bytes:
            sizes = held.dynamic_shared_mem_bytes, candidate.dynamic_shared_mem_bytes
            yield _plain("kernel.dynamic-shared-mem", ".dynamic_shared_mem_bytes", *sizes)
        one_function = held_identity == fixed_identity == "same"
        cluster = self._cluster(held, candidate, fixed, one_function=one_function)
        if cluster is not None:
            yield cluster
        yield from self.effects.differences(held.attributes, candidate.attributes, fixed.attributes)

    def _function(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, since_held: Identity, since_fixed: Identity
    ) -> Difference | None:
        if "unknown" in (since_held, since_fixed):
            return _plain("kernel.function-unknown", ".func", *_functions(held, candidate, since_held))
        cooperative = self.effects.entries(candidate.attributes).get(AttributeId.COOPERATIVE)
        if cooperative is None or cooperative.value != 0:
            rule = RULES["kernel.cooperative-function"]
            known = "unknown" if self._profile is None else self._profile.cooperative_function_update
            verdict = {"applied": Verdict.UPDATABLE, "stale": Verdict.STALE}.get(known, rule.verdict)
            if verdict is Verdict.STALE and since_fixed == "same":
                verdict = Verdict.UNDETERMINED  # back to the first function: it may be what still runs, or not
            evidence = rule.evidence if known == "unknown" else "measured"
            return Difference(rule.id, ".func", verdict, evidence, *_functions(held, candidate, since_held))
        if since_held == "same":
            return None
        rule_id = "kernel.handle-reused" if since_held == "reused" else "kernel.function"
        return _plain(rule_id, ".func", *_functions(held, candidate, since_held))

    def _cluster(
        self,
        held: KernelNodeSignature,
        candidate: KernelNodeSignature,
        fixed: KernelNodeSignature,
        *,
        one_function: bool,
    ) -> Difference | None:
        rule, path = RULES["kernel.cluster-dim"], attribute_path(AttributeId.CLUSTER_DIMENSION)
        before, after, first = (effective_cluster(node) for node in (held, candidate, fixed))
        followed = self._profile is not None and self._profile.cluster_fixed_at == "never"
        if before is None or after is None or first is None:
            unknown = RULES["kernel.attribute-unknown"]
            texts = before or _cluster_state(held), after or _cluster_state(candidate)
            if followed:
                return Difference(unknown.id, path, Verdict.UPDATABLE, "measured", *texts)
            return Difference(unknown.id, path, unknown.verdict, unknown.evidence, *texts)
        if before == after == first:
            return None
        if followed:
            return Difference(rule.id, path, Verdict.UPDATABLE, "measured", before, after) if before != after else None
        measured = self._profile is not None and self._profile.cluster_fixed_at != "unknown"
        evidence = "measured" if measured else rule.evidence
        if first != after and not _one_block_each(first, after):
            return Difference(rule.id, path, Verdict.STALE, evidence, first, after)
        if not one_function and before != first and not _one_block_each(before, first):
            return Difference(*_plain("kernel.cluster-carried", path, before, after))
        if first == after:
            return Difference(rule.id, path, Verdict.HARMLESS, evidence, before, after)
        return self._one_block(held, candidate, fixed, first, after)

    def _one_block(
        self,
        held: KernelNodeSignature,
        candidate: KernelNodeSignature,
        fixed: KernelNodeSignature,
        first: str,
        after: str,
    ) -> Difference:
        rule, path = RULES["kernel.cluster-one"], attribute_path(AttributeId.CLUSTER_DIMENSION)
        must = any(n.function is not None and n.function.cluster_size_must_be_set for n in (held, candidate, fixed))
        if self._profile is not None and self._profile.update_rule == "cuda-13.0" and not must:
            return Difference(rule.id, path, Verdict.HARMLESS, "measured", first, after)
        return Difference(rule.id, path, rule.verdict, rule.evidence, first, after)


def function_identity(a: KernelNodeSignature, b: KernelNodeSignature) -> Identity:
    """Tell whether two nodes of one process run one function.

    Handles prove it inside one load epoch; a handle whose name or facts have changed is another function. Without a
    handle, other names or facts prove that the functions differ, and nothing proves that they are one.
    """
    known = bool((a.kern or a.func) and (b.kern or b.func))
    if known and (a.kern != b.kern or a.func != b.func):
        return "other"
    if a.name != b.name or contradiction(a.function, b.function) is not None:
        return "reused" if known else "other"
    return "same" if known else "unknown"


def contradiction(a: "FunctionFacts | None", b: "FunctionFacts | None") -> str | None:
    """Return the first fact that is known on both sides and differs, or None. An unknown fact contradicts nothing."""
    if a is None or b is None or a is b or a == b:
        return None
    for name in a.__struct_fields__:
        old, new = getattr(a, name), getattr(b, name)
        if old is not None and new is not None and old != new:
            return name
    return None


def effective_cluster(node: KernelNodeSignature) -> str | None:
    """Return the cluster that a fresh exec launches, as ``2x1x1`` or ``none``; None where it is not known.

    What ``__cluster_dims__`` compiled in, which no launch can differ from, else the attribute. The measured driver's
    getter reports the compiled one as the attribute.
    """
    required = None if node.function is None else node.function.required_cluster_dim
    if required is not None and (required.x or required.y or required.z):
        return str(required)
    entry = node.attribute(AttributeId.CLUSTER_DIMENSION)
    if entry is None or not isinstance(entry.value, ClusterDim):
        return None
    return "none" if entry.value.dim is None else str(entry.value.dim)


def _one_block_each(a: str, b: str) -> bool:
    return {a, b} == {"none", _ONE_BLOCK}


def _cluster_state(node: KernelNodeSignature) -> int | str:
    return value_text(node.attribute(AttributeId.CLUSTER_DIMENSION))


def _is_device_updatable(entry: LaunchAttribute | None) -> bool:
    return entry is not None and isinstance(entry.value, DeviceUpdatableNode) and entry.value.device_updatable != 0


def _functions(a: KernelNodeSignature, b: KernelNodeSignature, identity: Identity) -> tuple[str, str]:
    """Return how to tell two functions apart, in the words that differ."""
    if a.name != b.name:
        return a.name, b.name
    fact = contradiction(a.function, b.function)
    if identity == "reused" and fact is not None:
        return f"{fact} {getattr(a.function, fact)}", f"{fact} {getattr(b.function, fact)}"
    return f"kern {a.kern:#x}, func {a.func:#x}", f"kern {b.kern:#x}, func {b.func:#x}"


def _doubt(rule_id: str, field: str, old: int | str | None, new: int | str | None) -> Doubt:
    return Doubt(rule_id, field, old, new)


def _plain(rule_id: str, field: str, old: int | str | None, new: int | str | None) -> Difference:
    """Return a difference that means what the table says."""
    rule = RULES[rule_id]
    return Difference(rule_id, field, rule.verdict, rule.evidence, old, new)


def _text(value: object) -> int | str | None:
    return value if value is None or isinstance(value, int | str) else str(value)


def _fields(old: "Record", new: "Record", at: str, names: tuple[str, ...]) -> "Iterator[Difference]":
    """Compare fields whose rule always means the same."""
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
            yield _plain(rule.id, f"{at}.{name}", _text(before), _text(after))


def _owner(memory_type: int, old: PointerFacts | None, new: PointerFacts | None, at: str) -> NodeRefusal | None:
    if memory_type not in OWNED or old is None or new is None or old == new:
        return None
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before is not None and after is not None and before != after:
            return NodeRefusal("memory.owner", _PARAMETERS, f"{at}.pointer.{name}", _text(before), _text(after))
    return None


def _memcpy_refusal(old: MemcpyNode, new: MemcpyNode) -> NodeRefusal | None:
    for at in ("source", "destination"):
        before, after = getattr(old, at).memory_type, getattr(new, at).memory_type
        if before != after:
            return NodeRefusal("memcpy.memory-type", _PARAMETERS, f".{at}.memory_type", before, after)
    if max(old.height, old.depth, new.height, new.depth) > 1:
        for name in ("height", "depth", "width_bytes"):
            before, after = getattr(old, name), getattr(new, name)
            if before != after:
                return NodeRefusal("memcpy.shape", _PARAMETERS, f".{name}", before, after)
        for at in ("source", "destination"):
            for name in (field for field in MemcpyOperand.__struct_fields__ if field != "pointer"):
                before, after = getattr(getattr(old, at), name), getattr(getattr(new, at), name)
                if before != after:
                    return NodeRefusal("memcpy.shape", _PARAMETERS, f".{at}.{name}", before, after)
    for at in ("source", "destination"):
        a, b = getattr(old, at), getattr(new, at)
        refusal = _owner(a.memory_type, a.pointer, b.pointer, f".{at}")
        if refusal is not None:
            return refusal
    return None


def _memset_refusal(old: MemsetNode, new: MemsetNode) -> NodeRefusal | None:
    if (old.height > 1) != (new.height > 1):
        return NodeRefusal("memset.shape", _PARAMETERS, ".height", old.height, new.height)
    if old.height > 1:
        for name in ("height", "width", "element_size_bytes"):
            before, after = getattr(old, name), getattr(new, name)
            if before != after:
                return NodeRefusal("memset.shape", _PARAMETERS, f".{name}", before, after)
        if old.pitch_bytes != new.pitch_bytes:
            pitches = old.pitch_bytes, new.pitch_bytes
            return NodeRefusal("memset.pitch-2d", _PARAMETERS, ".pitch_bytes", *pitches)
    return _owner(OWNED[0], old.pointer, new.pointer, "")


def _fixed_refusal(old: "Record", new: "Record") -> NodeRefusal | None:
    """Refuse any difference of a node whose recorded parameters an exec cannot change."""
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            rule = RULE_OF_FIELD[f"{type(old).__name__}.{name}"]
            result = _PARAMETERS if rule.id == "semaphores.count" else None
            return NodeRefusal(rule.id, result, f".{name}", _text(before), _text(after))
    return None


def _batch_refusal(old: BatchMemOpNode, new: BatchMemOpNode) -> NodeRefusal | tuple[Doubt, ...]:
    if old.context != new.context:
        return NodeRefusal("batch-mem-op.context", None, ".context", f"{old.context:#x}", f"{new.context:#x}")
    if len(old.operations) != len(new.operations):
        return NodeRefusal("batch-mem-op.count", None, ".operations", len(old.operations), len(new.operations))
    for place, (before, after) in enumerate(zip(old.operations, new.operations, strict=True)):
        if before.operation != after.operation:
            at = f".operations[{place}].operation"
            return NodeRefusal("batch-mem-op.operation", None, at, before.operation, after.operation)
        if before.flags != after.flags and not _wait_type_only(before, after):
            at = f".operations[{place}].flags"
            return NodeRefusal("batch-mem-op.flags", None, at, before.flags, after.flags)
    if old.flags != new.flags:
        return (_doubt("batch-mem-op.batch-flags", ".flags", old.flags, new.flags),)
    return ()


def _wait_type_only(old: MemOp, new: MemOp) -> bool:
    return old.operation in WAITS and not (old.flags ^ new.flags) & WAIT_FLUSH


def _conditional_refusal(old: ConditionalNode, new: ConditionalNode) -> NodeRefusal | tuple[Doubt, ...]:
    if old.kind is not None and new.kind is not None and old.kind != new.kind:
        return NodeRefusal("conditional.kind", None, ".kind", old.kind, new.kind)
    if old.bodies is not None and new.bodies is not None and len(old.bodies) != len(new.bodies):
        return NodeRefusal("conditional.bodies", None, ".bodies", len(old.bodies), len(new.bodies))
    doubts = []
    if old.kind is None or new.kind is None:
        doubts.append(_doubt("conditional.unreadable", ".kind", old.kind, new.kind))
    if old.bodies is None or new.bodies is None:
        counts = (None if bodies is None else len(bodies) for bodies in (old.bodies, new.bodies))
        doubts.append(_doubt("conditional.unreadable", ".bodies", *counts))
    else:
        for branch, (before, after) in enumerate(zip(old.bodies, new.bodies, strict=True)):
            if before is None or after is None:
                states = ("unreadable" if body is None else "readable" for body in (before, after))
                doubts.append(_doubt("conditional.unreadable", f".bodies[{branch}]", *states))
    return tuple(doubts)


def _memcpy(old: MemcpyNode, new: MemcpyNode) -> "Iterator[Difference]":
    yield from _fields(old, new, "", ("width_bytes",))
    for name in ("height", "depth"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield _plain("memcpy.one-row", f".{name}", before, after)
    for at in ("source", "destination"):
        a, b = getattr(old, at), getattr(new, at)
        names = tuple(name for name in a.__struct_fields__ if name not in ("pointer", "address"))
        yield from _address(a.memory_type, a.address, b.address, (a.pointer, b.pointer), f".{at}.address")
        yield from _fields(a, b, f".{at}", names)


def _memset(old: MemsetNode, new: MemsetNode) -> "Iterator[Difference]":
    yield from _address(OWNED[0], old.destination, new.destination, (old.pointer, new.pointer), ".destination")
    yield from _fields(old, new, "", ("value",))
    for name in ("width", "element_size_bytes", "height"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield _plain("memset.size", f".{name}", before, after)
    yield from _fields(old, new, "", ("pitch_bytes",))


def _address(
    memory_type: int, old: int, new: int, pointers: tuple[PointerFacts | None, PointerFacts | None], at: str
) -> "Iterator[Difference]":
    addresses = f"{old:#x}", f"{new:#x}"
    if memory_type in OWNED and pointers[0] != pointers[1]:
        yield _plain("memory.owner-unproven", at, *addresses)
    elif old == new:
        return
    elif memory_type == ARRAY:
        yield _plain("memory.owner-unproven", at, *addresses)
    elif memory_type in OWNED and not _is_owner_known(pointers[0]):
        yield _plain("memory.owner-unknown", at, *addresses)
    else:
        yield _plain("memset.destination" if at == ".destination" else "memcpy.address", at, *addresses)


def _is_owner_known(pointer: PointerFacts | None) -> bool:
    return pointer is not None and pointer.context is not None and pointer.device_ordinal is not None


def _mem_op(old: MemOp, new: MemOp, at: str) -> "Iterator[Difference]":
    yield from _fields(old, new, at, ("address", "value"))
    if old.flags != new.flags:
        yield _plain("batch-mem-op.wait-type", f"{at}.flags", old.flags, new.flags)
