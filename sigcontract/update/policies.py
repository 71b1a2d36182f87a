"""Same for what: four answers to whether two graphs are the same, each with its reasons.

``==`` on records is field equality and nothing else. A policy says what two graphs are the same *for*, and under
every policy what is unknown (an unreadable attribute, a function without a handle, a node without a record) is the
same as nothing, itself included.
"""

from collections.abc import Callable, Iterator, Mapping
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
from sigcontract.update.identity import function_identity
from sigcontract.update.kernels import NodeJudge, may_prefer_cluster
from sigcontract.update.located import LocatedDifference, differences_along, located_refusal
from sigcontract.update.long_texts import bounded
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
    "POLICIES",
    "PolicyAnswer",
    "blocks_sharing",
    "check_policy",
    "is_unproven",
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
_SHARE_POLICIES: Final = ("share", "share-functions")
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
        ``exact``, ``share``, ``share-functions`` or ``portable``.
    a, b
        The graphs, of one process but for ``portable``. Under ``share`` an exec that holds ``a`` is to take ``b``.
    profile
        The profile of the driver that both were read under, or None.
    flags
        CUgraphInstantiate_flags of the exec that is to be shared.

    Raises
    ------
    UsageError
        No policy has that name.
    """
    check_policy(policy)
    return judged_same(policy, a, b, NodeJudge(profile, flags))


def judged_same(policy: str, a: GraphSignature, b: GraphSignature, judge: NodeJudge) -> PolicyAnswer:
    """Answer as `same` does, for valid graphs, by a judge that remembers the records that it saw."""
    reasons, all_found = Findings(judge.profile), []
    for located, blocks in _POLICIES[policy].compare(a, b, judge):
        all_found.append(located[0].verdict)
        if blocks:
            reasons.add(located)
    blocking = bounded(reasons.collapsed())
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
        No policy has that name.
    RecordError
        The graph is not valid.
    """
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
    if difference.rule in _BLOCKS_SHARE_FUNCTIONS or effects.is_hint(difference.rule):
        return True
    return policy == "share" and difference.rule in _OTHER_FUNCTION


def check_policy(name: str) -> None:
    """Raise UsageError unless a policy has that name."""
    if not isinstance(name, str):
        raise wrong_type("policy", "str", name)
    if name not in _POLICIES:
        raise UsageError(f"no policy is called {name!r}; there are {', '.join(POLICIES)}")


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


def _shared(a: GraphSignature, b: GraphSignature, judge: NodeJudge, policy: str) -> Iterator[SharingDifference]:
    pairing = pair_graphs(a, b, judge.refusal)
    if pairing.refusal is not None:
        yield located_refusal(pairing.refusal), True
    for located in differences_along(pairing, (a, b), judge):
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
                free = policy == "share-functions" and judge.is_free(new)
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

#: The names of the policies.
POLICIES: Final = tuple(_POLICIES)
