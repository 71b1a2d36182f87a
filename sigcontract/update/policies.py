"""Same for what: five answers to whether two graphs are the same, each with its reasons.

``==`` on records is field equality and nothing else. A policy says what two graphs are the same *for*, and under
every policy what is unknown (an unreadable attribute, a function without a handle, a node without a record) is the
same as nothing, itself included.
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
from sigcontract.update.pairing import pair_graphs, subject_of
from sigcontract.update.portable import portable_differences
from sigcontract.update.predict import Findings
from sigcontract.update.share_key import share_key
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
    "is_unproven",
    "is_updatable",
    "judged_key",
    "judged_same",
    "key",
    "same",
]

#: Safe differences that block sharing under ``share-functions`` all the same: a fresh exec would launch something else,
#: or that the driver takes the update is not shown.
_BLOCKS_SHARE_FUNCTIONS: Final = frozenset(
    {"kernel.cooperative-function", "kernel.cluster-one", "memory.kind", "memory.owner-unproven"}
)
#: Rules that say that the function is another one, those of a diff of two processes included.
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
#: Graphs each of which an executable can be updated to from each other one, whatever order it ran them in. No
#: equivalence: two graphs may go together with a third, and not with each other.
SHARE_UPDATABLE: Final = "share-updatable"
_SHARE_POLICIES: Final = ("share", "share-functions", SHARE_UPDATABLE)
#: A difference, and whether it keeps the graphs apart.
SharingDifference = tuple[LocatedDifference, bool]


class PolicyAnswer(NamedTuple):
    """Whether two graphs are the same.

    Attributes
    ----------
    policy
        For what.
    same
        Whether they are, and it is known.
    verdict
        Of an update from the one to the other: ``rejected`` where it is refused; else the worst of what differs, also
        where the graphs are the same (a grid may differ under ``share``), and ``undetermined`` where nothing is worse
        and something cannot be told.
    reasons
        What keeps them apart; empty where they are the same.
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
    """Say whether two graphs are the same under a policy, and if not, why.

    Parameters
    ----------
    policy
        ``exact``, ``share``, ``share-functions``, ``share-updatable`` or ``portable``.
    a, b
        The graphs, of one process but for ``portable``. Under ``share`` an exec that holds ``a`` is to take ``b``;
        under ``share-updatable`` each that ran one of them is to take the other.
    profile
        The profile of the driver that both were read under, or None.
    flags
        CUgraphInstantiate_flags of the exec that is to be shared.

    Raises
    ------
    UsageError
        No policy has that name.
    """
    check_policy(policy, GROUPING_POLICIES)
    return judged_same(policy, a, b, NodeJudge(profile, flags))


def judged_same(policy: str, a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> PolicyAnswer:
    """Answer as `same` does, for valid graphs, by a judge that remembers the records that it saw."""
    reasons, all_found = Findings(judge.profile), []
    compare = _share_updatable if policy == SHARE_UPDATABLE else _POLICIES[policy].compare
    for located, blocks in compare(a, b, judge):
        all_found.append(located[0].verdict)
        if blocks:
            reasons.add(located)
    blocking = reasons.collapsed()
    return PolicyAnswer(policy, not blocking, Verdict.of_update(all_found), blocking)


@explains_invalid("graph", "profile")
def key(policy: str, graph: GraphSignature, profile: "DriverProfile | None" = None, *, flags: int = 0) -> str:
    """Return a text that is equal for graphs that are the same under a policy.

    Graphs of different keys are never the same; of equal keys they are, unless `same` finds something unknown. A key
    of ``portable`` does not depend on the order of the nodes, and `same` has the last word on graphs of one key, too.

    Parameters
    ----------
    policy
        ``exact``, ``share``, ``share-functions`` or ``portable``.
    graph
        The graph.
    profile
        As for `same`: a key holds for one profile.
    flags
        As for `same`.

    Raises
    ------
    UsageError
        No policy has that name, or it is ``share-updatable``, which is no equivalence.
    RecordError
        The graph is not valid.
    """
    if policy == SHARE_UPDATABLE:
        raise UsageError(f"{policy} has no key: two graphs may each go together with a third only; ask same()")
    check_policy(policy)
    return judged_key(policy, graph, NodeJudge(profile, flags))


def judged_key(policy: str, graph: GraphSignature, judge: NodeJudge) -> str:
    """Answer as `key` does, for a valid graph, by a judge that remembers the records that it saw."""
    return f"{policy}:{_POLICIES[policy].key(graph, judge)}"


def blocks_sharing(policy: str, difference: Difference, effects: Effects) -> bool:
    """Say whether a difference keeps two graphs from being the same under a policy.

    Under the share policies what is safe does not, but for what a fresh exec would launch otherwise.
    """
    if policy not in _SHARE_POLICIES or not difference.verdict.safe:
        return True
    if policy == SHARE_UPDATABLE and difference.rule == "kernel.cooperative-function":
        return False  # judged along a history, by which it is safe
    if difference.rule in _BLOCKS_SHARE_FUNCTIONS or effects.is_hint(difference.rule):
        return True
    return policy == "share" and difference.rule in _OTHER_FUNCTION


def check_policy(name: str, known: Sequence[str] | None = None) -> None:
    """Raise UsageError unless a policy has that name; `POLICIES` if none are given."""
    known = POLICIES if known is None else known
    if not isinstance(name, str):
        raise wrong_type("policy", "str", name)
    if name not in known:
        raise UsageError(f"no policy is called {name!r}; there are {', '.join(known)}")


def first_come_policy(policy: str) -> str:
    """Return the policy whose key finds the group of a graph as it arrives."""
    return "share-functions" if policy == SHARE_UPDATABLE else policy


def is_updatable(held: ExecState, candidate: GraphSignature, judge: NodeJudge) -> bool:
    """Return whether an executable of that state can be updated to a graph under ``share-updatable``, and it is known.

    Stops at the first difference that forbids it.
    """
    compared = _shared(held.held, candidate, judge, SHARE_UPDATABLE, held.kernels)
    return held.unproven is None and not any(blocks for _, blocks in compared)


def _exact(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[SharingDifference]:
    for located in _as_paired(a, b, judge):
        yield located, True
    for path, node in b.walk():
        for difference in judge.unknowns(node):
            if difference.old != ABSENT:  # what nobody asked for is no recorded field, and those are compared
                yield (difference, path, subject_of(node)), True


def _as_paired(a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> Iterator[LocatedDifference]:
    """Yield what differs between nodes of one index, or, where the driver pairs others, between those that it pairs."""

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
    for difference, path, subject in structure:  # an order of nodes that the driver takes is a difference all the same
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
    if pairing.refusal is None and a is not b:  # with itself, a graph is paired node by node
        for pair in pairing.walk(a, b):
            old, new = pair.held, pair.candidate
            if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
                if not (old.kern or old.func) or not (new.kern or new.func):
                    # Another function for sure, by its name or facts, and yet an unknown one: the same as none.
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
    """Say whether one side knows a fact that counts, and the other does not.

    The two contradict nothing, but a third graph may contradict one of them and not the other. Of functions that are
    ``free`` to differ only the device counts, where it decides what a preferred cluster does.
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
