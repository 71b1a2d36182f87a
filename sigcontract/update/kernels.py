"""Refusals and differences of two paired nodes: every field by its rule."""

from typing import TYPE_CHECKING, Final, Literal

from sigcontract.model import (
    PREFERRED_CLUSTERS_SINCE,
    AttributeId,
    Dim3,
    KernelNodeSignature,
    NodeSignature,
    UpdateResult,
    Verdict,
)
from sigcontract.update.attributes import AttributeSet, Difference, Effects, attribute_path, by_rule, value_text
from sigcontract.update.memory_nodes import node_differences, node_refusal
from sigcontract.update.pairing import Doubt, NodeRefusal
from sigcontract.update.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sigcontract.model import (
        DriverProfile,
        FunctionFacts,
    )

__all__ = ["NodeJudge", "contradiction", "effective_cluster", "function_identity", "may_prefer_cluster"]

#: same: proven in one load epoch. reused: one handle, two functions. unknown: no handle to compare.
Identity = Literal["same", "other", "reused", "unknown"]

_FUNCTION_CHANGE: Final = UpdateResult.ERROR_UNSUPPORTED_FUNCTION_CHANGE
_NO_CLUSTER: Final = Dim3(x=0, y=0, z=0)
_ONE_BLOCK: Final = "1x1x1"
#: The first binary_version, major * 10 + minor, of a device with preferred clusters.
_FIRST_PREFERRED_CLUSTER: Final = PREFERRED_CLUSTERS_SINCE[0] * 10 + PREFERRED_CLUSTERS_SINCE[1]
_CLUSTER: Final = attribute_path(AttributeId.CLUSTER_DIMENSION)


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
        self.profile: Final = profile
        self._cooperative_refused = profile is not None and profile.cooperative_function_update == "rejected"
        #: Whether an update carries the cluster at any time.
        self.cluster_follows = profile is not None and profile.cluster_fixed_at == "never"
        self.effects = Effects(profile, flags)
        self._launches: dict[tuple[int, ...], tuple[object, list[Difference]]] = {}
        self._preference_counts = self.effects.of(AttributeId.PREFERRED_CLUSTER_DIMENSION).kind != "none"

    # Refusals.

    def refusal(self, held: NodeSignature, candidate: NodeSignature) -> NodeRefusal | tuple[Doubt, ...]:
        """Return why the driver refuses two nodes of one type, or why that is undetermined, or nothing."""
        if isinstance(held, KernelNodeSignature) and isinstance(candidate, KernelNodeSignature):
            return self._kernel_refusal(held, candidate)
        return node_refusal(held, candidate)

    def _kernel_refusal(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature
    ) -> NodeRefusal | tuple[Doubt, ...]:
        effects = self.effects
        answer = effects.refusal(effects.set_of(held.attributes), effects.set_of(candidate.attributes))
        if isinstance(answer, NodeRefusal):
            return answer
        if self._cooperative_refused and self.is_cooperative(candidate):
            identity = function_identity(held, candidate)
            if identity in ("other", "reused"):
                texts = _functions(held, candidate, identity)
                return NodeRefusal("kernel.cooperative-function-rejected", None, ".func", *texts)
        if held.context == candidate.context and (held.context or function_identity(held, candidate) == "same"):
            return answer
        contexts = f"{held.context:#x}", f"{candidate.context:#x}"
        if held.context and candidate.context:
            return NodeRefusal("kernel.context", _FUNCTION_CHANGE, ".context", *contexts)
        return (*answer, Doubt("kernel.context-unknown", ".context", *contexts))

    def unknowns(self, node: NodeSignature) -> "Iterator[Difference]":
        """Yield the unknowns that keep a node from equalling any other, itself included."""
        if isinstance(node, KernelNodeSignature):
            for doubt in self.effects.doubts(self.effects.set_of(node.attributes)):
                yield by_rule(*doubt)
            if not (node.context or node.kern or node.func):
                yield by_rule("kernel.context-unknown", ".context", "0x0", "0x0")
            yield from self.differences(node, node, node)
        else:
            answer = self.refusal(node, node)
            for doubt in () if isinstance(answer, NodeRefusal) else answer:
                yield by_rule(*doubt)

    # Effects of an accepted update.

    def differences(self, held: NodeSignature, candidate: NodeSignature, fixed: NodeSignature) -> list[Difference]:
        """Return the differences between two nodes that the driver pairs and does not refuse.

        Parameters
        ----------
        held
            The node that the exec holds.
        candidate
            The node that the update gives it.
        fixed
            The node at the exec's first upload or launch, which stale values come from.
        """
        if (
            isinstance(held, KernelNodeSignature)
            and isinstance(candidate, KernelNodeSignature)
            and isinstance(fixed, KernelNodeSignature)
        ):
            return self._kernel(held, candidate, fixed)
        return list(node_differences(held, candidate))

    def _kernel(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, fixed: KernelNodeSignature
    ) -> list[Difference]:
        found: list[Difference] = []
        held_identity = function_identity(held, candidate)
        fixed_identity = held_identity if fixed is held else function_identity(fixed, candidate)
        one_function = held_identity == fixed_identity == "same"
        if not one_function:
            found.extend(self._function(held, candidate, held_identity, fixed_identity))
        if held.grid_dim != candidate.grid_dim:
            found.append(by_rule("kernel.grid-dim", ".grid_dim", str(held.grid_dim), str(candidate.grid_dim)))
        if held.block_dim != candidate.block_dim:
            found.append(by_rule("kernel.block-dim", ".block_dim", str(held.block_dim), str(candidate.block_dim)))
        if held.dynamic_shared_mem_bytes != candidate.dynamic_shared_mem_bytes:
            sizes = held.dynamic_shared_mem_bytes, candidate.dynamic_shared_mem_bytes
            found.append(by_rule("kernel.dynamic-shared-mem", ".dynamic_shared_mem_bytes", *sizes))
        parts = held.attributes, candidate.attributes, held.function, candidate.function
        key = (id(parts[0]), id(parts[1]), id(parts[2]), id(parts[3])) if fixed is held and one_function else None
        known = self._launches.get(key) if key else None
        if known is None:
            known = parts, self._launch(held, candidate, fixed, one_function=one_function)
            if key:
                self._launches[key] = known  # with the parts, so that their numbers stay their own
        found.extend(known[1])
        return found

    def _launch(
        self,
        held: KernelNodeSignature,
        candidate: KernelNodeSignature,
        fixed: KernelNodeSignature,
        *,
        one_function: bool,
    ) -> list[Difference]:
        """Compare the effective cluster and the attributes."""
        found: list[Difference] = []
        old, new = self.effects.set_of(held.attributes), self.effects.set_of(candidate.attributes)
        first = old if fixed is held else self.effects.set_of(fixed.attributes)
        before, after = _effective(held, old.cluster), _effective(candidate, new.cluster)
        launched = before if fixed is held else _effective(fixed, first.cluster)
        if before is None or after is None or launched is None:
            found.append(self._cluster_unknown(held, candidate, before, after))
        elif not before == after == launched:
            must = any(n.function is not None and n.function.cluster_size_must_be_set for n in (held, candidate, fixed))
            found.append(self._cluster(before, after, launched, one_function=one_function, must=must))
        prefers = self._preference_counts and (
            may_prefer_cluster(held) or may_prefer_cluster(candidate) or may_prefer_cluster(fixed)
        )
        found.extend(self.effects.differences(old, new, first, prefers_cluster=prefers))
        return found

    def _function(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, since_held: Identity, since_fixed: Identity
    ) -> "Iterator[Difference]":
        texts = _functions(held, candidate, since_held)
        if "unknown" in (since_held, since_fixed):
            yield by_rule("kernel.function-unknown", ".func", *texts)
        elif self.is_cooperative(candidate):
            rule = RULES["kernel.cooperative-function"]
            effect = "unknown" if self.profile is None else self.profile.cooperative_function_update
            verdict = {"applied": Verdict.UPDATABLE, "stale": Verdict.STALE}.get(effect, rule.verdict)
            if verdict is Verdict.STALE and since_fixed == "same":
                verdict = Verdict.UNDETERMINED  # back to the first function: it may be what still runs, or not
            evidence = rule.evidence if effect == "unknown" else "measured"
            yield Difference(rule.id, ".func", verdict, evidence, *texts)
        elif since_held != "same":
            yield by_rule("kernel.handle-reused" if since_held == "reused" else "kernel.function", ".func", *texts)

    def is_cooperative(self, node: KernelNodeSignature) -> bool:
        """Whether a node is or may be cooperative."""
        entry = self.effects.set_of(node.attributes).entries.get(AttributeId.COOPERATIVE)
        return entry is None or entry.value != 0

    def is_free(self, node: KernelNodeSignature) -> bool:
        """Whether an update may change a node's function.

        Not that of a cooperative node, nor one that alone proves that the context is the same.
        """
        return node.context != 0 and not self.is_cooperative(node)

    def _cluster_unknown(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, before: str | None, after: str | None
    ) -> Difference:
        rule = RULES["kernel.attribute-unknown"]
        texts = before or _cluster_state(held), after or _cluster_state(candidate)
        if self.cluster_follows:
            return Difference(rule.id, _CLUSTER, Verdict.UPDATABLE, "measured", *texts)
        return Difference(rule.id, _CLUSTER, rule.verdict, rule.evidence, *texts)

    def _cluster(self, before: str, after: str, launched: str, *, one_function: bool, must: bool) -> Difference:
        """Judge the effective clusters of the held, new and first launched nodes, of which two or three differ.

        ``must``: one of their functions requires a cluster size (CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET).
        """
        rule = RULES["kernel.cluster-dim"]
        measured = self.profile is not None and self.profile.cluster_fixed_at != "unknown"
        evidence = "measured" if measured else rule.evidence
        if self.cluster_follows:
            verdict = Verdict.UPDATABLE if before != after else Verdict.HARMLESS
            return Difference(rule.id, _CLUSTER, verdict, evidence, before, after)
        if launched != after and not _one_block_each(launched, after):
            return Difference(rule.id, _CLUSTER, Verdict.STALE, evidence, launched, after)
        if not one_function and before != launched and not _one_block_each(before, launched):
            return by_rule("kernel.cluster-carried", _CLUSTER, before, after)
        if launched == after:
            return Difference(rule.id, _CLUSTER, Verdict.HARMLESS, evidence, before, after)
        rule = RULES["kernel.cluster-one"]
        if self.profile is not None and self.profile.update_rule == "cuda-13.0" and not must:
            return Difference(rule.id, _CLUSTER, Verdict.HARMLESS, "measured", launched, after)
        return Difference(rule.id, _CLUSTER, rule.verdict, rule.evidence, launched, after)


def function_identity(a: KernelNodeSignature, b: KernelNodeSignature) -> Identity:
    """Return whether two nodes of one process run the same function.

    Handles prove it inside one load epoch; a handle whose name or facts have changed is another function. Without a
    handle, other names or facts prove that the functions differ, and nothing proves that they are one.
    """
    if a.kern != b.kern or a.func != b.func:
        if (a.kern or a.func) and (b.kern or b.func):
            return "other"
        known = False
    else:
        known = (a.kern or a.func) != 0
    if a.name == b.name and (a.function == b.function or contradiction(a.function, b.function) is None):
        return "same" if known else "unknown"
    return "reused" if known else "other"


def contradiction(a: "FunctionFacts | None", b: "FunctionFacts | None") -> str | None:
    """Return the first fact that is known on both sides and differs, or None. Unknown facts contradict nothing."""
    if a is None or b is None:
        return None
    for name in a.__struct_fields__:
        old, new = getattr(a, name), getattr(b, name)
        if old is not None and new is not None and old != new:
            return name
    return None


def effective_cluster(node: KernelNodeSignature, attributes: AttributeSet) -> str | None:
    """Return the cluster that a fresh exec launches, as ``2x1x1`` or ``none``; None if unknown.

    What ``__cluster_dims__`` compiled in, which no launch can differ from, else the attribute. The measured driver's
    getter reports the compiled one as the attribute.
    """
    return _effective(node, attributes.cluster)


def _effective(node: KernelNodeSignature, attribute: str | None) -> str | None:
    required = None if node.function is None else node.function.required_cluster_dim
    return attribute if required is None or required == _NO_CLUSTER else str(required)


def may_prefer_cluster(node: KernelNodeSignature) -> bool:
    """Whether a node's device may follow a preferred cluster, which needs compute capability 10.0.

    Machine code runs only on devices of its own major compute capability, so the loaded code identifies the device
    even without a profile (CUDA programming guide: binary compatibility; thread block clusters).
    """
    version = None if node.function is None else node.function.binary_version
    return version is None or version >= _FIRST_PREFERRED_CLUSTER


def _one_block_each(a: str, b: str) -> bool:
    return {a, b} == {"none", _ONE_BLOCK}


def _cluster_state(node: KernelNodeSignature) -> int | str:
    return value_text(node.attribute(AttributeId.CLUSTER_DIMENSION))


def _functions(a: KernelNodeSignature, b: KernelNodeSignature, identity: Identity) -> tuple[str, str]:
    """Return what distinguishes two functions, each in its own words."""
    if a.name != b.name:
        return a.name, b.name
    fact = contradiction(a.function, b.function)
    if identity == "reused" and fact is not None:
        return f"{fact} {getattr(a.function, fact)}", f"{fact} {getattr(b.function, fact)}"
    return f"kern {a.kern:#x}, func {a.func:#x}", f"kern {b.kern:#x}, func {b.func:#x}"
