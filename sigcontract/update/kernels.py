"""Refusals and differences of two paired nodes: every field by its rule."""

from typing import TYPE_CHECKING, Final

from sigcontract.model import (
    PREFERRED_CLUSTERS_SINCE,
    AttributeId,
    Dim3,
    KernelNodeSignature,
    NodeSignature,
    UpdateResult,
    Verdict,
)
from sigcontract.update.arguments import argument_update
from sigcontract.update.attributes import AttributeSet, Difference, Effects, attribute_path, by_rule, value_text
from sigcontract.update.identity import Identity, function_identity, function_texts
from sigcontract.update.kernel_state import UNKNOWN, KernelState
from sigcontract.update.memory_nodes import node_barriers, node_differences
from sigcontract.update.pairing import Doubt, NodeRefusal, first_refusal
from sigcontract.update.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sigcontract.model import (
        DriverProfile,
    )

__all__ = ["NodeJudge", "effective_cluster", "may_prefer_cluster"]

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
        The driver's profile; None: only documented and reported rules apply.
    flags
        CUgraphInstantiate_flags of the exec.
    """

    def __init__(self, profile: "DriverProfile | None", flags: int) -> None:
        self.profile: Final = profile
        self._cooperative_refused = profile is not None and profile.cooperative_function_update == "rejected"
        #: Whether an update always applies the cluster.
        self.cluster_follows = profile is not None and profile.cluster_fixed_at == "never"
        #: Whether `sigcontract.update.kernel_state` was measured on this driver.
        self.has_state_model: Final = profile is not None and profile.exec_state == "stored_and_fixed"
        self.effects = Effects(profile, flags)
        self._launches: dict[tuple[int, ...], tuple[object, list[Difference]]] = {}
        self._preference_counts = self.effects.of(AttributeId.PREFERRED_CLUSTER_DIMENSION).kind != "none"

    # Refusals.

    def refusal(self, held: NodeSignature, candidate: NodeSignature) -> NodeRefusal | tuple[Doubt, ...]:
        """Return why the driver refuses two nodes of one type, or the doubts, possibly none."""
        if isinstance(held, KernelNodeSignature) and isinstance(candidate, KernelNodeSignature):
            effects = self.effects
            answer = effects.refusal(effects.set_of(held.attributes), effects.set_of(candidate.attributes))
            if isinstance(answer, NodeRefusal):
                return answer
            if held.context == candidate.context != 0 and not self._cooperative_refused:
                return answer
        return first_refusal(self.barriers(held, candidate))

    def barriers(self, held: NodeSignature, candidate: NodeSignature) -> "Iterator[NodeRefusal | Doubt]":
        """Yield the driver's refusals and doubts about two nodes of one type, in its order.

        The driver stops at the first refusal; a diff lists them all.
        """
        if isinstance(held, KernelNodeSignature) and isinstance(candidate, KernelNodeSignature):
            return self._kernel_barriers(held, candidate)
        return node_barriers(held, candidate)

    def _kernel_barriers(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature
    ) -> "Iterator[NodeRefusal | Doubt]":
        effects = self.effects
        yield from effects.barriers(effects.set_of(held.attributes), effects.set_of(candidate.attributes))
        identity = function_identity(held, candidate)
        if self._cooperative_refused and self.is_cooperative(candidate) and identity in ("other", "reused"):
            texts = function_texts(held, candidate, identity)
            yield NodeRefusal("kernel.cooperative-function-rejected", None, ".func", *texts)
        if held.context == candidate.context and (held.context or identity == "same"):
            return
        contexts = f"{held.context:#x}", f"{candidate.context:#x}"
        if held.context and candidate.context:
            yield NodeRefusal("kernel.context", _FUNCTION_CHANGE, ".context", *contexts)
        else:
            yield Doubt("kernel.context-unknown", ".context", *contexts)

    def refused(self, held: NodeSignature, candidate: NodeSignature) -> list[Difference]:
        """Return all refusals of two nodes, as differences."""
        barriers = self.barriers(held, candidate)
        return [by_rule(b.rule, b.field, b.old, b.new) for b in barriers if isinstance(b, NodeRefusal)]

    def unknowns(self, node: NodeSignature) -> "Iterator[Difference]":
        """Yield the unknowns of a node, which never match."""
        if isinstance(node, KernelNodeSignature):
            for doubt in self.effects.doubts(self.effects.set_of(node.attributes)):
                yield by_rule(*doubt)
            if not (node.context or node.kern or node.func):
                yield by_rule("kernel.context-unknown", ".context", "0x0", "0x0")
            applied = "kernel.argument"  # of redacted arguments; an update applies what they hide
            yield from (found for found in self.differences(node, node, node) if found.rule != applied)
        else:
            answer = self.refusal(node, node)
            for doubt in () if isinstance(answer, NodeRefusal) else answer:
                yield by_rule(*doubt)

    # Effects of an accepted update.

    def differences(
        self, held: NodeSignature, candidate: NodeSignature, fixed: "NodeSignature | KernelState"
    ) -> list[Difference]:
        """Return the differences between two paired nodes that the driver accepts.

        Parameters
        ----------
        held
            The held node.
        candidate
            The candidate's node.
        fixed
            The node at the exec's first upload or launch, the source of stale values; or the node's state.
        """
        if isinstance(fixed, KernelState):
            if isinstance(held, KernelNodeSignature) and isinstance(candidate, KernelNodeSignature):
                return self._kernel_after(held, candidate, fixed)
            return list(node_differences(held, candidate))
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
        found.extend(_applied(held, candidate))
        parts = held.attributes, candidate.attributes, held.function, candidate.function
        key = (*map(id, parts), one_function) if fixed is held else None
        known = self._launches.get(key) if key else None
        if known is None:
            known = parts, self._launch(held, candidate, fixed, one_function=one_function)
            if key:
                self._launches[key] = known  # with its parts, so their ids stay unique
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
            must = _needs_cluster_size(held, candidate, fixed)
            found.append(self._cluster(before, after, launched, one_function=one_function, must=must))
        found.extend(self._attributes(held, candidate, fixed))
        return found

    def _attributes(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, fixed: KernelNodeSignature
    ) -> tuple[Difference, ...]:
        set_of = self.effects.set_of
        sets = set_of(held.attributes), set_of(candidate.attributes), set_of(fixed.attributes)
        prefers = self._preference_counts and any(map(may_prefer_cluster, (held, candidate, fixed)))
        return self.effects.differences(*sets, prefers_cluster=prefers)

    # Effects on an executable whose history is known.

    def state_of(self, node: KernelNodeSignature) -> KernelState:
        """Return the state of a node after instantiation."""
        return KernelState.instantiated(node, self._cluster_of(node))

    def state_after(self, state: KernelState, held: KernelNodeSignature, candidate: KernelNodeSignature) -> KernelState:
        """Return the state of a node after an accepted update."""
        cooperative = self.is_cooperative(candidate)
        return state.updated(held, candidate, self._cluster_of(candidate), cooperative=cooperative)

    def _kernel_after(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, state: KernelState
    ) -> list[Difference]:
        """Judge an update of an executable's node by its state, or if that is not measured, by its first node."""
        if not self.has_state_model:
            return self._kernel(held, candidate, state.first)
        after = self.state_after(state, held, candidate)
        found = list(self._function_after(held, candidate, after))
        found.extend(_applied(held, candidate))
        cluster = self._cluster_after(held, candidate, after)
        if cluster is not None:
            found.append(cluster)
        found.extend(self._attributes(held, candidate, state.first))
        return found

    def _function_after(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, after: KernelState
    ) -> "Iterator[Difference]":
        since = function_identity(held, candidate)
        texts = function_texts(held, candidate, since)
        others = [node for node in after.functions if function_identity(node, candidate) != "same"]
        if since == "unknown":
            yield by_rule("kernel.function-unknown", ".func", *texts)
        elif others:
            verdict = Verdict.UNDETERMINED if since == "same" else Verdict.STALE
            texts = function_texts(others[0], candidate, function_identity(others[0], candidate))
            yield Difference("kernel.cooperative-function", ".func", verdict, "measured", *texts)
        elif since != "same" and self.is_cooperative(candidate):
            yield Difference("kernel.cooperative-function", ".func", Verdict.UPDATABLE, "measured", *texts)
        elif since != "same":
            yield by_rule("kernel.handle-reused" if since == "reused" else "kernel.function", ".func", *texts)

    def _cluster_after(  # noqa: PLR0911  one return per case of clusters
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, after: KernelState
    ) -> Difference | None:
        """Compare the clusters a launch may use with the one a fresh exec uses."""
        before, wanted = self._cluster_of(held), self._cluster_of(candidate)
        if before is None or wanted is None or UNKNOWN in after.clusters:
            return self._cluster_unknown(held, candidate, before, wanted)
        others = sorted(cluster for cluster in after.clusters if cluster != wanted)
        wrong = [cluster for cluster in others if not _one_block_each(cluster, wanted)]
        if wrong and len(wrong) == len(after.clusters):
            return Difference("kernel.cluster-dim", _CLUSTER, Verdict.STALE, "measured", wrong[0], wanted)
        if wrong:
            return by_rule("kernel.cluster-carried", _CLUSTER, wrong[0], wanted)
        grid = candidate.grid_dim
        if any(blocks % size for blocks, size in zip((grid.x, grid.y, grid.z), after.stored_extents, strict=True)):
            # With the stored cluster the kernel does not run at all.
            return Difference("kernel.cluster-dim", _CLUSTER, Verdict.STALE, "measured", after.stored, wanted)
        if others:
            found = by_rule("kernel.cluster-one", _CLUSTER, others[0], wanted)
            must = _needs_cluster_size(held, candidate, after.first)
            return found if must else found._replace(verdict=Verdict.HARMLESS, evidence="measured")
        if before != wanted:
            return Difference("kernel.cluster-dim", _CLUSTER, Verdict.UPDATABLE, "measured", before, wanted)
        return None

    def _cluster_of(self, node: KernelNodeSignature) -> str | None:
        return _effective(node, self.effects.set_of(node.attributes).cluster)

    def _function(
        self, held: KernelNodeSignature, candidate: KernelNodeSignature, since_held: Identity, since_fixed: Identity
    ) -> "Iterator[Difference]":
        texts = function_texts(held, candidate, since_held)
        if "unknown" in (since_held, since_fixed):
            yield by_rule("kernel.function-unknown", ".func", *texts)
        elif self.is_cooperative(candidate):
            rule = RULES["kernel.cooperative-function"]
            effect = "unknown" if self.profile is None else self.profile.cooperative_function_update
            verdict = {"applied": Verdict.UPDATABLE, "stale": Verdict.STALE}.get(effect, rule.verdict)
            if verdict is Verdict.STALE and since_fixed == "same":
                verdict = Verdict.UNDETERMINED  # back to the first function, which may or may not still run
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

        Not on a cooperative node, nor if the function alone proves the context.
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
        """Judge the effective clusters of the held, candidate and first launched nodes, at least two of which differ.

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


def _applied(held: KernelNodeSignature, candidate: KernelNodeSignature) -> "Iterator[Difference]":
    """Compare what every update applies: dimensions, shared memory and arguments."""
    if held.grid_dim != candidate.grid_dim:
        yield by_rule("kernel.grid-dim", ".grid_dim", str(held.grid_dim), str(candidate.grid_dim))
    if held.block_dim != candidate.block_dim:
        yield by_rule("kernel.block-dim", ".block_dim", str(held.block_dim), str(candidate.block_dim))
    if held.dynamic_shared_mem_bytes != candidate.dynamic_shared_mem_bytes:
        sizes = held.dynamic_shared_mem_bytes, candidate.dynamic_shared_mem_bytes
        yield by_rule("kernel.dynamic-shared-mem", ".dynamic_shared_mem_bytes", *sizes)
    arguments = argument_update(held.arguments, candidate.arguments)
    if arguments is not None:
        yield arguments


def _needs_cluster_size(*nodes: KernelNodeSignature) -> bool:
    """Whether a function requires a cluster size at its launch (CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)."""
    return any(node.function is not None and node.function.cluster_size_must_be_set for node in nodes)


def effective_cluster(node: KernelNodeSignature, attributes: AttributeSet) -> str | None:
    """Return the cluster of a fresh exec, as ``2x1x1`` or ``none``; None if unknown.

    The compiled cluster (``__cluster_dims__``), which launches must match, else the attribute. The measured driver's
    getter returns the compiled one as the attribute.
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
