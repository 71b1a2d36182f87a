"""Policies: five definitions of when two graphs are the same, with reasons.

``==`` on records is field equality and nothing else. A policy defines what two graphs are the same *for*. Under every
policy, unknown values (an unreadable attribute, a function without a handle, a node without a record) never match, even
each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from sigcontract.errors import UsageError
from sigcontract.model import (
    AttributeId,
    Finding,
    GraphSignature,
    KernelNodeSignature,
    NodeSignature,
    Verdict,
)
from sigcontract.update.arguments import argument_unknowns
from sigcontract.update.arrangement import (
    compact_portable_form,
    structure_key,
)
from sigcontract.update.attributes import ABSENT, Difference, Effects, by_rule
from sigcontract.update.by_index import STRUCTURE, differences_by_index, recorded
from sigcontract.update.changes import node_changes
from sigcontract.update.exec_state import ExecState
from sigcontract.update.identity import function_identity
from sigcontract.update.kernels import NodeJudge, may_prefer_cluster
from sigcontract.update.located import LocatedDifference, Origin, differences_along, located_refusal
from sigcontract.update.long_texts import bounded
from sigcontract.update.pairing import pair_graphs, subject_of
from sigcontract.update.portable import portable_differences
from sigcontract.update.predict import Findings
from sigcontract.update.share_key import share_key
from sigcontract.update.shared_layouts import SharedLayouts
from sigcontract.wire import (
    digest,
    explains_invalid,
    wrong_type,
)

if TYPE_CHECKING:
    from sigcontract.model import (
        DriverProfile,
    )

__all__ = [
    "GROUPING_POLICIES",
    "POLICIES",
    "SHARE_UPDATABLE",
    "PolicyAnswer",
    "blocks_sharing",
    "check_policy",
    "first_come_policy",
    "is_judged_same",
    "is_unproven",
    "is_updatable",
    "judged_key",
    "judged_same",
    "key",
    "same",
]

#: Safe differences that still block sharing under ``share-functions``: a fresh exec launches something else, or the
#: driver may refuse the update.
_BLOCKS_SHARE_FUNCTIONS: Final = frozenset(
    {"kernel.cooperative-function", "kernel.cluster-one", "memory.kind", "memory.owner-unproven"}
)
#: Unknowns that an update applies, whatever they are.
_UNKNOWN_AND_APPLIED: Final = frozenset({"kernel.argument-unknown", "memory.target-unknown"})
#: Rules for a different function, including those of a diff between processes.
_OTHER_FUNCTION: Final = frozenset(
    {
        "function.code",
        "function.facts",
        "function.merge",
        "function.settings",
        "function.split",
        "kernel.function",
        "kernel.handle-reused",
        "portable.function",
    }
)
#: Every two graphs of a group can be updated to each other, in whatever order an exec ran them. No equivalence: two
#: graphs may each match a third, and not each other.
SHARE_UPDATABLE: Final = "share-updatable"
_SHARE_POLICIES: Final = ("share", "share-functions", SHARE_UPDATABLE)
#: A difference, and whether it makes the graphs not the same.
SharingDifference = tuple[LocatedDifference, bool]


class PolicyAnswer(NamedTuple):
    """Whether two graphs are the same.

    Attributes
    ----------
    policy
        The policy.
    same
        Whether they are known to be the same.
    verdict
        Verdict on an update from one to the other: ``rejected`` if refused, else the worst difference, even if the
        graphs are the same (under ``share`` the grid may differ).
    reasons
        Why they are not the same; empty if they are.
    """

    policy: str
    same: bool
    verdict: Verdict
    reasons: tuple[Finding, ...]


class _Policy(NamedTuple):
    compare: Callable[[GraphSignature, GraphSignature, NodeJudge], Iterator[SharingDifference]]
    key: Callable[[GraphSignature, NodeJudge], str]


@explains_invalid("a", "b", "profile")
def same(
    policy: str,
    a: GraphSignature,
    b: GraphSignature,
    profile: "DriverProfile | None" = None,
    *,
    flags: int = 0,
) -> PolicyAnswer:
    """Return whether two graphs are the same under a policy, and if not, why.

    Parameters
    ----------
    policy
        ``exact``, ``share``, ``share-functions``, ``share-updatable`` or ``portable``.
    a, b
        The graphs; of one process, except under ``portable``. Under ``share``, an exec that holds ``a`` is updated to
        ``b``; under ``share-updatable``, one that ran either is updated to the other.
    profile
        Driver profile that both were read under, or None.
    flags
        CUgraphInstantiate_flags of the exec to share.

    Raises
    ------
    UsageError
        The policy is unknown.
    """
    check_policy(policy, GROUPING_POLICIES)
    sharing = SharedLayouts()
    return judged_same(policy, sharing.graph(a), sharing.graph(b), NodeJudge(profile, flags))


def judged_same(policy: str, a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> PolicyAnswer:
    """As `same`, for valid graphs, with a judge that caches records."""
    reasons = Findings(judge.profile)
    verdicts: set[Verdict] = set()
    for located, blocks in _comparer(policy)(a, b, judge):
        if located[0].verdict not in verdicts:
            verdicts.add(located[0].verdict)
        if blocks:
            reasons.add(located)
    blocking = bounded(reasons.collapsed())
    return PolicyAnswer(policy, not blocking, Verdict.of_update(verdicts), blocking)


def _comparer(policy: str) -> Callable[[GraphSignature, GraphSignature, NodeJudge], Iterator[SharingDifference]]:
    return _share_updatable if policy == SHARE_UPDATABLE else _POLICIES[policy].compare


def is_judged_same(policy: str, a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> bool:
    """Whether `judged_same` finds no reason; the first reason ends the search."""
    return not any(blocks for _, blocks in _comparer(policy)(a, b, judge))


@explains_invalid("graph", "profile")
def key(policy: str, graph: GraphSignature, profile: "DriverProfile | None" = None, *, flags: int = 0) -> str:
    """Return a key, equal for graphs that are the same under a policy.

    Graphs with different keys are never the same; with equal keys they are, unless `same` finds unknowns. A key of
    ``portable`` does not depend on node order, so `same` also decides for equal keys.

    Parameters
    ----------
    policy
        ``exact``, ``share``, ``share-functions`` or ``portable``.
    graph
        The graph.
    profile
        As for `same`; keys of different profiles are not comparable.
    flags
        As for `same`.

    Raises
    ------
    UsageError
        The policy is unknown, or ``share-updatable``, which is not an equivalence and has no key.
    RecordError
        The graph is invalid.
    """
    if policy == SHARE_UPDATABLE:
        raise UsageError(f"{policy} has no key: it is not transitive; use same()")
    check_policy(policy)
    return judged_key(policy, SharedLayouts().graph(graph), NodeJudge(profile, flags))


def judged_key(policy: str, graph: GraphSignature, judge: NodeJudge) -> str:
    """As `key`, for a valid graph, with a judge that caches records."""
    return f"{policy}:{_POLICIES[policy].key(graph, judge)}"


def blocks_sharing(policy: str, difference: Difference, effects: Effects) -> bool:
    """Whether a difference makes two graphs not the same under a policy.

    Under the share policies, safe differences do not, except where a fresh exec launches something else.
    """
    if policy in _SHARE_POLICIES and difference.rule in _UNKNOWN_AND_APPLIED:
        return False
    if policy not in _SHARE_POLICIES or not difference.verdict.safe:
        return True
    if policy == SHARE_UPDATABLE and difference.rule == "kernel.cooperative-function":
        return False  # judged along a history, by which it is safe
    if difference.rule in _BLOCKS_SHARE_FUNCTIONS or effects.is_hint(difference.rule):
        return True
    return policy == "share" and difference.rule in _OTHER_FUNCTION


def check_policy(name: str, known: Sequence[str] | None = None) -> None:
    """Raise UsageError if the policy is none of those given, by default of `POLICIES`."""
    known = POLICIES if known is None else known
    if not isinstance(name, str):
        raise wrong_type("policy", "str", name)
    if name not in known:
        raise UsageError(f"no policy {name!r}; policies: {', '.join(known)}")


def first_come_policy(policy: str) -> str:
    """Return the policy whose key finds the group of a graph as it arrives."""
    return "share-functions" if policy == SHARE_UPDATABLE else policy


def is_updatable(held: ExecState, candidate: GraphSignature, judge: NodeJudge) -> bool:
    """Return whether an update of an exec in that state is proven safe under ``share-updatable``.

    Stops at the first difference that is not.
    """
    compared = _shared(held.held, candidate, judge, SHARE_UPDATABLE, held.kernels)
    return held.unproven is None and not any(blocks for _, blocks in compared)


def _exact(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    found: list[LocatedDifference] = list(_as_paired(a, b, judge))
    for path, node in b.walk():
        unknown = [one for one in judge.unknowns(node) if one.old != ABSENT]  # not queried: not a recorded field
        if isinstance(node, KernelNodeSignature):
            unknown += argument_unknowns(node.arguments, across=False)
        found += [(difference, path, subject_of(node)) for difference in unknown]
    yield from ((located, True) for located in found)
    if found and not any(difference.verdict is Verdict.REJECTED for difference, _, _ in found):
        yield from ((located, True) for located in _never_updated(b, judge))


def _never_updated(graph: GraphSignature, judge: NodeJudge) -> Iterator[LocatedDifference]:
    """Yield why the driver updates an exec of a graph to no graph, not even to itself."""
    for path, node in graph.walk():
        for difference in judge.refused(node, node):
            yield difference, path, subject_of(node)


def _as_paired(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[LocatedDifference]:
    """Yield differences between nodes of equal index, or if the driver pairs others, between paired nodes."""

    def changes(old: NodeSignature, new: NodeSignature) -> list[Difference]:
        return recorded(node_changes(old, new, judge))

    found = list(differences_by_index(a, b, changes))
    structure = [located for located in found if located[0].rule in STRUCTURE]
    pairing = pair_graphs(a, b, judge.refusal) if structure else None
    if pairing is None or pairing.refusal is not None:
        yield from found
        return
    for pair in pairing.walk(a, b):
        for difference in changes(pair.held, pair.candidate):
            yield difference, pair.candidate_path, subject_of(pair.candidate)
    for difference, path, subject in structure:  # another node order is a difference even if the driver accepts it
        yield difference._replace(verdict=Verdict.UPDATABLE), path, subject


def _share(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    return _shared(a, b, judge, "share")


def _share_functions(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    return _shared(a, b, judge, "share-functions")


def _share_updatable(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    """Yield what differs for an executable that ran the first, and if that is safe, what is not safe the other way."""
    is_safe = True
    for located, blocks in _along(a, b, judge):
        is_safe = is_safe and not blocks
        yield located, blocks
    if is_safe and a is not b:
        yield from (found for found in _along(b, a, judge) if found[1])


def _along(held: GraphSignature, candidate: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    """Compare a graph with an executable that was instantiated from another one and launched."""
    state = ExecState.judged(held, judge).used()
    return _shared(held, candidate, judge, SHARE_UPDATABLE, state.kernels)


def _shared(
    a: GraphSignature, b: GraphSignature, judge: NodeJudge, policy: str, origin: Origin = None
) -> Iterator[SharingDifference]:
    pairing = pair_graphs(a, b, judge.refusal)
    if pairing.refusal is not None:
        yield located_refusal(pairing.refusal), True
    for located in differences_along(pairing, (a, b), judge, origin):
        yield located, blocks_sharing(policy, located[0], judge.effects)
    if pairing.refusal is None and a is not b:  # a graph is paired with itself node by node
        for pair in pairing.walk(a, b):
            old, new = pair.held, pair.candidate
            if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
                if not (old.kern or old.func) or not (new.kern or new.func):
                    # Certainly another function, by name or facts, but unknown: never the same as any.
                    yield (
                        (
                            by_rule("kernel.function-unknown", ".func", old.name, new.name),
                            pair.candidate_path,
                            new.name,
                        ),
                        True,
                    )
                free = policy != "share" and judge.is_free(new)
                if old.function != new.function and is_unproven(old, new, judge, free=free):
                    difference = by_rule("function.facts-unknown", ".function", _facts(old), _facts(new))
                    yield (difference, pair.candidate_path, new.name), True


def is_unproven(old: KernelNodeSignature, new: KernelNodeSignature, judge: NodeJudge, *, free: bool) -> bool:
    """Whether a relevant fact is known on one side only.

    The two sides do not contradict each other, but a third graph may contradict only one. For functions ``free`` to
    differ, only the device counts, if it decides what a preferred cluster does.
    """
    if not free:
        return function_identity(old, new) == "same"
    decides = judge.effects.of(AttributeId.PREFERRED_CLUSTER_DIMENSION).kind not in ("none", "applied")
    return decides and may_prefer_cluster(old) != may_prefer_cluster(new)


def _facts(node: KernelNodeSignature) -> str:
    if node.function is None:
        return "not recorded"
    unknown = [name for name in node.function.__struct_fields__ if getattr(node.function, name) is None]
    return f"unknown: {', '.join(unknown)}" if unknown else "known"


_POLICIES: Final[Mapping[str, _Policy]] = MappingProxyType(
    {
        "exact": _Policy(_exact, lambda graph, _: digest(graph)),
        "share": _Policy(_share, lambda graph, judge: share_key(graph, judge, functions=False)),
        "share-functions": _Policy(_share_functions, lambda graph, judge: share_key(graph, judge, functions=True)),
        "portable": _Policy(portable_differences, lambda graph, _: structure_key(compact_portable_form(graph))),
    }
)

#: The names of the policies under which being the same is an equivalence.
POLICIES: Final = tuple(_POLICIES)
#: The names of all policies by which graphs are grouped for executables.
GROUPING_POLICIES: Final = ("exact", "share", "share-functions", SHARE_UPDATABLE, "portable")
