"""Every difference between two corresponding nodes of two runs, each with its verdict.

`sigcontract.update` finds and judges the differences, as for policies and predictions; this module matches the handles
of two processes and drops irrelevant differences.
"""

from collections.abc import Container
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from sigcontract.compare.correspondence import Correspondence
from sigcontract.model import (
    AttributeId,
    DriverProfile,
    FunctionFacts,
    Identities,
    KernelNodeSignature,
    NodeSignature,
    Renumbering,
    Verdict,
)
from sigcontract.update import (
    ABSENT,
    SETTINGS,
    WITHOUT_VALUE,
    Difference,
    NodeJudge,
    argument_unknowns,
    attribute_path,
    by_rule,
    corresponding_changes,
    is_durable,
    is_of_function,
    node_changes,
)

__all__ = ["NodeComparer", "NodeComparison"]

_CLUSTER, _COMPILED_CLUSTER = attribute_path(AttributeId.CLUSTER_DIMENSION), ".function.required_cluster_dim"


class NodeComparison(NamedTuple):
    """The comparison of two nodes.

    Attributes
    ----------
    differences
        Differences, and unknowns except of the function.
    unproven
        Unknowns that keep two kernels' functions from being proven equal.
    functions
        Their function numbers, each of its own graph; 0 for other nodes.
    """

    differences: list[Difference]
    unproven: list[Difference]
    functions: tuple[int, int]


class NodeComparer:
    """Compares corresponding nodes.

    Parameters
    ----------
    profile
        The driver's profile, or None.
    correspondence
        Correspondence of functions, contexts and events. None: both graphs are of one process, and handles are compared
        by value.
    flags
        CUgraphInstantiate_flags of the executable.
    """

    def __init__(self, profile: DriverProfile | None, correspondence: Correspondence | None, *, flags: int = 0) -> None:
        self.judge = NodeJudge(profile, flags)
        self._correspondence = correspondence
        self._translation = (
            None if correspondence is None else Renumbering(lambda kind: partial(correspondence.translate, kind))
        )
        self._identities = Identities()
        # By identity, of attributes one for all equal ones; facts are kept beside, so that their ids stay their own.
        self._of_equal: dict[tuple[int, int, bool, bool], tuple[FunctionFacts | None, NodeComparison]] = {}

    def translated(self, node: NodeSignature) -> NodeSignature:
        """Return a node of the new graph with the old graph's numbers for functions, contexts and events."""
        if self._translation is None:
            return node
        translated: NodeSignature = self._translation.record(node)
        return translated

    def compare(self, old: NodeSignature, new: NodeSignature) -> "NodeComparison":
        """Compare two nodes, without nested graphs."""
        if old is new and isinstance(old, KernelNodeSignature) and self._numbers_are_equal():
            # A kernel's unknowns depend on its attributes and facts, which many kernels share.
            attributes = self.judge.effects.set_of(old.attributes)
            key = id(attributes), id(old.function), is_durable(old.name), bool(old.func or old.kern)
            known = self._of_equal.get(key)
            if known is None:
                known = self._of_equal[key] = old.function, self._compare(*[replace(old, arguments=None)] * 2)
            number = old.func or old.kern
            differences = [*known[1].differences, *argument_unknowns(old.arguments, across=False)]
            return known[1]._replace(differences=differences, functions=(number, number))
        return self._compare(old, new)

    def _numbers_are_equal(self) -> bool:
        return self._correspondence is None or self._correspondence.identity

    def _compare(self, old: NodeSignature, new: NodeSignature) -> "NodeComparison":
        here = self.translated(new)
        contradictions = self._contradictions(old, new) if type(old) is type(new) else {}
        if self._correspondence is None:
            changes = node_changes(old, here, self.judge)
        else:
            changes = corresponding_changes(old, here, self.judge, contradictions.get(".func"))
        found = {difference.field: difference for difference in changes}
        unproven: list[Difference] = []
        numbers = 0, 0
        if isinstance(old, KernelNodeSignature) and isinstance(here, KernelNodeSignature):
            if not any(map(is_of_function, found)):
                unproven = _unproven(old, here)
            if _COMPILED_CLUSTER in found and _CLUSTER in found and _same_cluster_attribute(old, here):
                # The compiled cluster alone changed the effective cluster: one difference.
                found[_COMPILED_CLUSTER] = found.pop(_CLUSTER)._replace(field=_COMPILED_CLUSTER)
        if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
            numbers = old.func or old.kern, new.func or new.kern
        differences = [
            _as_correspondence(difference, contradictions.get(path))
            for path, difference in found.items()
            if not _is_irrelevant(difference) and not _follows(path, found)
        ]
        return NodeComparison(differences, unproven, numbers)

    def _contradictions(self, old: NodeSignature, new: NodeSignature) -> dict[str, tuple[str, str]]:
        """Return, by path, contradictions of two nodes' handles with the correspondence, as texts."""
        correspondence = self._correspondence
        if correspondence is None:
            return {}
        numbers = {path: (kind, number) for path, kind, number in self._identities.of(old)}
        contradictions = {}
        for path, kind, number in self._identities.of(new):
            known = numbers.get(path)
            if known is None or correspondence.translate(kind, number) == known[1]:
                continue
            contradictions[path] = _contradiction(correspondence, kind, known[1], number)
        return contradictions


def _contradiction(correspondence: Correspondence, kind: str, old: int, new: int) -> tuple[str, str]:
    """Return how two numbers contradict the correspondence, as texts.

    Each broken correspondence of allocations is one finding, so its texts have the numbers, each of its own graph.
    """
    numbered = kind == "allocation"
    if correspondence.split(kind, old, new):
        listed = f": {correspondence.counterpart(kind, old)}, {new}" if numbered else ""
        return f"one {kind}{f': {old}' if numbered else ''}", f"two {kind}s{listed}"
    if correspondence.merged(kind, old, new):
        listed = f": {correspondence.translate(kind, new)}, {old}" if numbered else ""
        return f"two {kind}s{listed}", f"one {kind}{f': {new}' if numbered else ''}"
    return f"{kind} {old}", f"{kind} {correspondence.translate(kind, new)}"


def _unproven(old: KernelNodeSignature, new: KernelNodeSignature) -> list[Difference]:
    """Return the unknowns of two functions. Equal machine code proves everything but settings made at run time."""
    if not is_durable(old.name):
        return [by_rule("function.name-not-durable", ".name", old.name, new.name)]
    if old.function is None or None in (_code(old), _code(new)):
        return [by_rule("function.code-unknown", ".function.code_sha256", None, None)]
    unknown = [name for name in SETTINGS if getattr(old.function, name) is None]
    return [by_rule("function.facts-unknown", f".function.{name}", None, None) for name in unknown]


def _as_correspondence(difference: Difference, texts: tuple[str, str] | None) -> Difference:
    """Replace process-local numbers by a description of the contradiction."""
    return difference if texts is None else difference._replace(old=texts[0], new=texts[1])


def _same_cluster_attribute(old: KernelNodeSignature, new: KernelNodeSignature) -> bool:
    number = AttributeId.CLUSTER_DIMENSION
    return old.attribute(number) == new.attribute(number)


def _follows(path: str, found: Container[str]) -> bool:
    """Whether a location's id differs only because its type does: it is an ordinal for devices only."""
    return path.endswith(".location_id") and path.removesuffix("_id") + "_type" in found


def _is_irrelevant(difference: Difference) -> bool:
    """Whether an attribute without effect was queried on one side only, and had no value there."""
    states = {difference.old, difference.new}
    return difference.verdict is Verdict.HARMLESS and ABSENT in states and states <= WITHOUT_VALUE


def _code(node: KernelNodeSignature) -> str | None:
    return None if node.function is None else node.function.code_sha256
