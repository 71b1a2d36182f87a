"""What an update does with each launch attribute on one driver and device, and the verdict on a difference."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from sigcontract.model import (
    AttributeId,
    AttributeProfile,
    ClusterDim,
    DriverProfile,
    Evidence,
    InstantiateFlag,
    LaunchAttribute,
    Record,
    UpdateResult,
    Verdict,
)
from sigcontract.update.long_texts import fitting_values
from sigcontract.update.pairing import Doubt, NodeRefusal, first_refusal, is_device_updatable
from sigcontract.update.rules import ATTRIBUTE_RULES, RULES, Rule

__all__ = [
    "ABSENT",
    "AttributeSet",
    "Difference",
    "Effects",
    "attribute_path",
    "by_rule",
    "evidence_under",
    "field_text",
    "value_text",
]

#: Shown for an attribute without an entry.
ABSENT: Final = "not asked for"

#: none: without effect here. hint: documented as a hint. applied, stale, rejected: by the profile or NVIDIA.
Kind = Literal["none", "hint", "applied", "stale", "rejected", "unknown"]

Attributes = tuple[LaunchAttribute, ...]

_LAUNCH_ONLY = frozenset(
    {
        AttributeId.PROGRAMMATIC_STREAM_SERIALIZATION,
        AttributeId.PROGRAMMATIC_EVENT,
        AttributeId.LAUNCH_COMPLETION_EVENT,
    }
)
_NOT_OF_KERNELS = frozenset({AttributeId.IGNORE, AttributeId.SYNCHRONIZATION_POLICY})
_HINTS = frozenset({AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT, AttributeId.NVLINK_UTIL_CENTRIC_SCHEDULING})
_PREFERRED_CLUSTER: Final[frozenset[int]] = frozenset({AttributeId.PREFERRED_CLUSTER_DIMENSION})
#: Ids whose absence from a record is a gap. Unknown ids cannot be queried.
_EXPECTED = frozenset(AttributeId) - {AttributeId.IGNORE}
#: Verdict on a known change.
_VERDICTS: Final[Mapping[Kind, Verdict]] = {
    "none": Verdict.HARMLESS,
    "hint": Verdict.HARMLESS,
    "applied": Verdict.UPDATABLE,
    "stale": Verdict.STALE,
    "rejected": Verdict.REJECTED,
    "unknown": Verdict.UNDETERMINED,
}
#: Attributes judged as refusals, or with the function.
_JUDGED_ELSEWHERE = frozenset(
    {AttributeId.COOPERATIVE, AttributeId.CLUSTER_DIMENSION, AttributeId.DEVICE_UPDATABLE_KERNEL_NODE}
)


class Difference(NamedTuple):
    """One difference between two paired nodes, without the path of the nodes in a graph.

    Attributes
    ----------
    rule
        Id of the rule.
    field
        Path below the node, such as ``.grid_dim``.
    verdict
        Verdict for this pair.
    evidence
        How the verdict is known.
    old, new
        The two values, as text.
    """

    rule: str
    field: str
    verdict: Verdict
    evidence: Evidence
    old: int | str | None
    new: int | str | None


class Effect(NamedTuple):
    """What an update does with a changed value of one attribute.

    Attributes
    ----------
    kind
        The effect.
    rule
        The rule that states it.
    evidence
        How it is known: measured if the profile decides.
    """

    kind: Kind
    rule: Rule
    evidence: Evidence


class AttributeSet:
    """The attributes of a node by id. Equal attributes share one instance, compared by identity.

    Attributes
    ----------
    attributes
        As recorded.
    entries
        By CUlaunchAttributeID.
    cluster
        The cluster dimension as ``2x1x1`` or ``none``; None if unknown.
    """

    __slots__ = ("attributes", "cluster", "entries")

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.entries: Mapping[int, LaunchAttribute] = {entry.id: entry for entry in attributes}
        cluster = self.entries.get(AttributeId.CLUSTER_DIMENSION)
        known = cluster is not None and isinstance(cluster.value, ClusterDim)
        self.cluster = str(value_text(cluster)) if known else None


class Effects:
    """The effects of every launch attribute under one profile and one set of instantiation flags.

    Parameters
    ----------
    profile
        The driver's profile; None: only documented and reported rules apply.
    flags
        CUgraphInstantiate_flags of the exec.
    """

    def __init__(self, profile: DriverProfile | None, flags: int) -> None:
        self._profile = profile
        self._flags = flags
        self._known: dict[int, Effect] = {}
        self._last = AttributeSet(())
        # By bytes: a hostile file may hold many records of one hash.
        self._sets: dict[bytes, AttributeSet] = {msgspec.msgpack.encode(()): self._last}
        # By object id; the object is kept alive, so the id stays unique.
        self._set_of: dict[int, tuple[Attributes, AttributeSet]] = {}
        self._barriers: dict[tuple[AttributeSet, AttributeSet], tuple[NodeRefusal | Doubt, ...]] = {}
        self._refusals: dict[tuple[AttributeSet, AttributeSet], NodeRefusal | tuple[Doubt, ...]] = {}
        self._differences: dict[tuple[AttributeSet, AttributeSet, AttributeSet, bool], tuple[Difference, ...]] = {}

    def of(self, attribute_id: int) -> Effect:
        """Return the effect of an update on that CUlaunchAttributeID."""
        effect = self._known.get(attribute_id)
        if effect is None:
            effect = self._known[attribute_id] = _effect(self._profile, self._flags, attribute_id)
        return effect

    def is_hint(self, rule_id: str) -> bool:
        """Whether a rule is about a hint, whose value a fresh exec follows."""
        return any(ATTRIBUTE_RULES[i].id == rule_id and self.of(i).kind == "hint" for i in _HINTS)

    def set_of(self, attributes: Attributes) -> AttributeSet:
        """Return the attributes by id; equal ones share one instance."""
        found = self._set_of.get(id(attributes))
        if found is None:
            shared = self._last
            if attributes != shared.attributes:  # most nodes have the attributes of the previous node
                content = msgspec.msgpack.encode(attributes)
                known = self._sets.get(content)
                self._last = shared = known or self._sets.setdefault(content, AttributeSet(attributes))
            found = self._set_of[id(attributes)] = attributes, shared
        return found[1]

    def refusal(self, held: AttributeSet, candidate: AttributeSet) -> NodeRefusal | tuple[Doubt, ...]:
        """Return the attribute change that the driver refuses, or the doubts."""
        key = held, candidate
        found = self._refusals.get(key)
        if found is None:
            found = self._refusals[key] = first_refusal(self.barriers(held, candidate))
        return found

    def doubts(self, attributes: AttributeSet) -> Iterator[Doubt]:
        """Yield the unknown attributes that decide whether the driver refuses.

        A hint whose change can only be refused is not one: what the exec runs does not depend on it.
        """
        for attribute_id in self._deciding(attributes.entries):
            entry = attributes.entries.get(attribute_id)
            hint = attribute_id in _HINTS and self._can_only_refuse(attribute_id, entry, entry)
            if (entry is None or entry.value is None) and not hint:
                yield _unknown(attribute_id, entry, entry)

    def differences(
        self, held: AttributeSet, candidate: AttributeSet, fixed: AttributeSet, *, prefers_cluster: bool = True
    ) -> tuple[Difference, ...]:
        """Compare every attribute except the cluster and those whose change the driver refuses.

        Parameters
        ----------
        held
            Attributes of the held node.
        candidate
            Attributes of the candidate's node.
        fixed
            Attributes of the node at the exec's first upload or launch.
        prefers_cluster
            Whether the nodes' device may follow a preferred cluster.
        """
        key = held, candidate, fixed, prefers_cluster
        found = self._differences.get(key)
        if found is None:
            idle = frozenset() if prefers_cluster else _PREFERRED_CLUSTER
            entries = held.entries, candidate.entries, fixed.entries
            found = self._differences[key] = tuple(self._compare(*entries, idle))
        return found

    def _deciding(self, *nodes: Mapping[int, LaunchAttribute]) -> list[int]:
        """Return the ids that decide whether the driver refuses: documented ones, and by flags and profile."""
        more = _EXPECTED.union(*nodes) - _JUDGED_ELSEWHERE
        return [
            AttributeId.COOPERATIVE,
            *sorted(i for i in more if self.of(i).kind == "rejected"),
            AttributeId.DEVICE_UPDATABLE_KERNEL_NODE,
        ]

    def barriers(self, held: AttributeSet, candidate: AttributeSet) -> tuple[NodeRefusal | Doubt, ...]:
        """Return a refusal or doubt for every attribute whose change the driver refuses or may refuse."""
        key = held, candidate
        found = self._barriers.get(key)
        if found is None:
            found = self._barriers[key] = tuple(self._search_barriers(held, candidate))
        return found

    def _search_barriers(self, held: AttributeSet, candidate: AttributeSet) -> Iterator[NodeRefusal | Doubt]:
        for attribute_id in self._deciding(held.entries, candidate.entries):
            old, new = held.entries.get(attribute_id), candidate.entries.get(attribute_id)
            if is_device_updatable(old) or is_device_updatable(new):
                # Not a change: no graph with such a node can be updated, and the result is undocumented.
                result, changed = None, True
            elif old is None or new is None or old.value is None or new.value is None:
                if not self._can_only_refuse(attribute_id, old, new):
                    yield _unknown(attribute_id, old, new)
                continue
            else:
                result = UpdateResult.ERROR_ATTRIBUTES_CHANGED
                changed = attribute_id != AttributeId.DEVICE_UPDATABLE_KERNEL_NODE and old.value != new.value
            if changed:
                path = attribute_path(attribute_id)
                yield NodeRefusal(self.of(attribute_id).rule.id, result, path, value_text(old), value_text(new))

    def _can_only_refuse(self, attribute_id: int, old: LaunchAttribute | None, new: LaunchAttribute | None) -> bool:
        """Whether an unseen change can only make the driver reject the update, leaving the exec unchanged.

        Not for cooperative, which decides about the function, nor for device-updatable.
        """
        return (
            attribute_id not in _JUDGED_ELSEWHERE
            and self.of(attribute_id).rule.id == "kernel.attribute-rejected"
            and all(entry is not None and entry.state == "unreadable" for entry in (old, new))
        )

    def _compare(
        self,
        held: Mapping[int, LaunchAttribute],
        candidate: Mapping[int, LaunchAttribute],
        fixed: Mapping[int, LaunchAttribute],
        idle: frozenset[int],
    ) -> Iterator[Difference]:
        for attribute_id in sorted((_EXPECTED | held.keys() | candidate.keys() | fixed.keys()) - _JUDGED_ELSEWHERE):
            effect = self.of(attribute_id)
            if attribute_id in idle and effect.kind != "none":
                effect = Effect("none", effect.rule, "documented")
            entries = held.get(attribute_id), candidate.get(attribute_id), fixed.get(attribute_id)
            if effect.kind == "rejected" and not _is_known_change(*entries[:2]):
                continue  # the pairing judges these: an unknown value is a doubt, and the first refusal hides others
            difference = _difference(effect, attribute_id, *entries)
            if difference is not None:
                yield difference


def by_rule(rule_id: str, field: str, old: int | str | None, new: int | str | None) -> Difference:
    """Return a difference with the verdict and evidence of its rule."""
    rule = RULES[rule_id]
    return Difference(rule_id, field, rule.verdict, rule.evidence, *fitting_values(old, new))


def evidence_under(difference: Difference, profile: DriverProfile | None) -> Evidence:
    """Return the evidence of a difference under a profile: a measurement counts only for its own driver."""
    if difference.evidence != "measured":
        return difference.evidence
    rule = RULES[difference.rule]
    by_profile = rule.evidence != "measured" or rule.source == "the profile"
    if profile is not None and (by_profile or profile.update_rule != "unknown"):
        return difference.evidence
    return "documented" if rule.documented else "assumed"


def attribute_path(attribute_id: int) -> str:
    """Return the path of an attribute below its node, such as ``.attributes[priority]``."""
    name = AttributeId(attribute_id).name.lower() if attribute_id in ATTRIBUTE_RULES else str(attribute_id)
    return f".attributes[{name}]"


def value_text(entry: LaunchAttribute | None) -> int | str:
    """Return the value for display, or the state of an entry without one."""
    if entry is None:
        return ABSENT
    value = entry.value
    if value is None:
        return entry.state
    if isinstance(value, ClusterDim):
        return "none" if value.dim is None else str(value.dim)
    if isinstance(value, Record):
        return ", ".join(f"{name} {getattr(value, name)}" for name in value.__struct_fields__)
    return value


def field_text(value: object) -> int | str | None:
    """Return a field's value for a finding: a bool as text, since Python's bool is an int."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, int | str):
        return value
    return f"{len(value)} entries" if isinstance(value, tuple) else str(value)


def _unknown(attribute_id: int, old: LaunchAttribute | None, new: LaunchAttribute | None) -> Doubt:
    return Doubt("kernel.attribute-unknown", attribute_path(attribute_id), value_text(old), value_text(new))


def _effect(profile: DriverProfile | None, flags: int, attribute_id: int) -> Effect:
    documented = ATTRIBUTE_RULES.get(attribute_id, RULES["kernel.attribute-other"])
    if attribute_id in _NOT_OF_KERNELS or attribute_id in _LAUNCH_ONLY:
        return Effect("none", documented, "documented")
    if attribute_id == AttributeId.PRIORITY:
        refused = bool(flags & InstantiateFlag.USE_NODE_PRIORITY)
        return Effect(
            "rejected" if refused else "none", RULES["kernel.node-priority"] if refused else documented, "documented"
        )
    hint = attribute_id in _HINTS
    entry = None if profile is None else profile.attribute(attribute_id)
    measured = None if entry is None else _measured(entry, documented, hint=hint)
    if measured is not None:
        return measured
    stale = documented.verdict is Verdict.STALE
    return Effect("hint" if hint else "stale" if stale else "unknown", documented, documented.evidence)


def _measured(entry: AttributeProfile, documented: Rule, *, hint: bool) -> Effect | None:
    """Return the effect of an attribute by profile, or None if the profile does not decide."""
    if "no" in (entry.has_effect, entry.settable) or entry.becomes_edge == "yes":
        return Effect("none", documented, "measured")
    if entry.update == "unknown":
        return None
    if entry.update == "rejected":
        own = documented.verdict is Verdict.REJECTED  # documented for cooperative and device-updatable
        return Effect("rejected", documented if own else RULES["kernel.attribute-rejected"], "measured")
    return Effect("hint" if hint and entry.update == "stale" else entry.update, documented, "measured")


def _is_known_change(old: LaunchAttribute | None, new: LaunchAttribute | None) -> bool:
    if old is None or new is None or old.value is None or new.value is None:
        return False
    return old.value != new.value


def _difference(
    effect: Effect,
    attribute_id: int,
    held: LaunchAttribute | None,
    candidate: LaunchAttribute | None,
    fixed: LaunchAttribute | None,
) -> Difference | None:
    """Judge one attribute of three nodes, each possibly without it."""
    three = held, candidate, fixed
    changed = value_text(held) != value_text(candidate)
    since_launch = value_text(fixed) != value_text(candidate)
    known = all(entry is not None and entry.value is not None for entry in three)
    if effect.kind in ("none", "hint") or known:
        if not changed and (effect.kind in ("none", "applied") or not since_launch):
            return None
        rule, verdict, evidence = effect.rule, _VERDICTS[effect.kind], effect.evidence
        if effect.kind == "stale" and not since_launch:
            verdict = Verdict.HARMLESS  # back to the value that the exec kept
    else:
        if all(entry is not None and entry.state == "unsupported" for entry in three):
            return None  # a driver without the id has no value for it
        rule = RULES["kernel.attribute-unknown"]
        applied = effect.kind == "applied"
        verdict, evidence = (Verdict.UPDATABLE, effect.evidence) if applied else (rule.verdict, rule.evidence)
    kept = fixed if verdict is Verdict.STALE or not changed else held
    path = attribute_path(attribute_id)
    return Difference(rule.id, path, verdict, evidence, value_text(kept), value_text(candidate))
