"""Every difference between two nodes that correspond in two runs, each with what an update would make of it.

Which fields differ is read from the records themselves, so that a field added to a record cannot be forgotten here;
what a difference means is asked of `NodeJudge`, and where that has no answer, of the rules' table.
"""

from collections.abc import Container, Hashable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from sigcontract.compare.correspondence import Correspondence
from sigcontract.model import (
    MAX_EXACT_INT,
    AttributeId,
    BatchMemOpNode,
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
    NodeRefusal,
    attribute_path,
    by_rule,
    field_differences,
    is_durable,
    subject_of,
)

__all__ = ["NodeComparer", "NodeComparison"]

#: Function numbers that stand for two functions, when it is asked what a change of function means.
_ONE, _ANOTHER = MAX_EXACT_INT - 1, MAX_EXACT_INT
#: Compared otherwise: which function a node runs as one thing, the graphs inside of it node by node.
_APART = (".name", ".kern", ".func", ".function")
_CLUSTER, _COMPILED_CLUSTER = attribute_path(AttributeId.CLUSTER_DIMENSION), ".function.required_cluster_dim"
_UNKNOWN, _KNOWN = "unknown", "known"


class NodeComparison(NamedTuple):
    """What was found out about two nodes.

    Attributes
    ----------
    differences
        What differs, and what is not known of other things than the function.
    unproven
        What keeps two kernels' functions, of which nothing differs, from being known to be one.
    functions
        Their function numbers, each of its own graph; 0 for other nodes.
    """

    differences: list[Difference]
    unproven: list[Difference]
    functions: tuple[int, int]


class NodeComparer:
    """Compares nodes that correspond.

    Parameters
    ----------
    profile
        What is known of the driver, or None.
    correspondence
        Which function, context or event of the new graph is which of the old one. None: both graphs have the numbers
        of one process, and they are compared as they are.
    """

    def __init__(self, profile: DriverProfile | None, correspondence: Correspondence | None) -> None:
        self.judge = NodeJudge(profile, 0)
        self._correspondence = correspondence
        self._translation = (
            None if correspondence is None else Renumbering(lambda kind: partial(correspondence.translate, kind))
        )
        self._identities = Identities()
        self._of_equal: dict[Hashable, NodeComparison] = {}

    def translated(self, node: NodeSignature) -> NodeSignature:
        """Return a node of the new graph with the old graph's numbers for functions, contexts and events."""
        if self._translation is None:
            return node
        translated: NodeSignature = self._translation.record(node)
        return translated

    def compare(self, old: NodeSignature, new: NodeSignature) -> "NodeComparison":
        """Compare two nodes, the graphs inside them left out."""
        if old is new and isinstance(old, KernelNodeSignature) and self._numbers_are_equal():
            # What is not known of a kernel is a matter of its attributes and facts, and many kernels share those.
            key = old.attributes, old.function, is_durable(old.name)
            known = self._of_equal.get(key)
            if known is None:
                known = self._of_equal[key] = self._compare(old, new)
            number = old.func or old.kern
            return known._replace(functions=(number, number))
        return self._compare(old, new)

    def _numbers_are_equal(self) -> bool:
        return self._correspondence is None or self._correspondence.identity

    def _compare(self, old: NodeSignature, new: NodeSignature) -> "NodeComparison":
        if old.node_type != new.node_type or type(old) is not type(new):
            # A node known by its number alone may be of the same type as one that has a record.
            rule = "node.type" if old.node_type != new.node_type else "node.opaque"
            return NodeComparison([by_rule(rule, "", subject_of(old), subject_of(new))], [], (0, 0))
        here = self.translated(new)
        contradictions = self._contradictions(old, new)
        found: dict[str, Difference] = {}
        unproven: list[Difference] = []
        numbers = 0, 0
        if isinstance(old, KernelNodeSignature) and isinstance(here, KernelNodeSignature):
            difference = self._function(old, here, contradictions.get(".func"))
            if difference is not None:
                found[difference.field] = difference
            else:
                unproven = _unproven(old, here)
        if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
            numbers = old.func or old.kern, new.func or new.kern
        fields = [field for field in field_differences(old, here) if not field.field.startswith(_APART)]
        self._judge_into(found, old, here, fields)
        if _COMPILED_CLUSTER in found and _CLUSTER in found and _same_cluster_attribute(old, here):
            # The cluster that is compiled in is all that changed the cluster, and the cluster is what it changed.
            found[_COMPILED_CLUSTER] = found.pop(_CLUSTER)._replace(field=_COMPILED_CLUSTER)
        for difference in fields:
            if not difference.field.startswith(tuple(found)):
                found[difference.field] = _by_table(difference)
        differences = [
            _as_correspondence(difference, contradictions.get(path))
            for path, difference in found.items()
            if not _says_nothing(difference) and not _follows(path, found)
        ]
        return NodeComparison(differences, unproven, numbers)

    def _judge_into(
        self, found: dict[str, Difference], old: NodeSignature, new: NodeSignature, fields: Sequence[Difference]
    ) -> None:
        """Add what the rules of an update say of the pair, but for its function, which is compared otherwise."""
        refusal = self.judge.refusal(old, new)
        if isinstance(refusal, NodeRefusal):
            _tell(found, by_rule(refusal.rule, refusal.field, refusal.old, refusal.new), fields)
            # The driver stops at the first reason; what else the same rule judges is another.
            for field in fields:
                if field.rule == refusal.rule:
                    found.setdefault(field.field, field)
        else:
            for doubt in refusal:
                _tell(found, by_rule(doubt.rule, doubt.field, doubt.old, doubt.new), fields)
        batches = [node for node in (old, new) if isinstance(node, BatchMemOpNode)]
        if len({len(batch.operations) for batch in batches}) > 1:
            return  # there are no pairs of operations to judge
        for difference in self.judge.differences(old, new, old):
            told = any(path.startswith(difference.field) for path in found)
            if difference.field != ".func" and not told and not _owner_told(difference, fields):
                _tell(found, difference, fields)

    def _function(
        self, old: KernelNodeSignature, new: KernelNodeSignature, contradiction: tuple[str, str] | None
    ) -> Difference | None:
        """Return in what the function differs, as one difference: a rebuilt function differs in many facts at once."""
        change = _function_change(old, new, contradiction)
        if change is None or change.verdict is Verdict.UNDETERMINED:
            return change
        one, another = replace(old, kern=0, func=_ONE), replace(new, kern=0, func=_ANOTHER)
        for difference in self.judge.differences(one, another, one):
            if difference.field == ".func" and difference.rule != "kernel.function":
                return change._replace(rule=difference.rule, verdict=difference.verdict, evidence=difference.evidence)
        return change

    def _contradictions(self, old: NodeSignature, new: NodeSignature) -> dict[str, tuple[str, str]]:
        """Return, by path, the identities of the two nodes that contradict what most nodes say, in words."""
        correspondence = self._correspondence
        if correspondence is None:
            return {}
        numbers = {path: (kind, number) for path, kind, number in self._identities.of(old)}
        contradictions = {}
        for path, kind, number in self._identities.of(new):
            known = numbers.get(path)
            if known is None or correspondence.translate(kind, number) == known[1]:
                continue
            if correspondence.split(kind, known[1], number):
                texts = f"one {kind}", f"two {kind}s"
            elif correspondence.merged(kind, known[1], number):
                texts = f"two {kind}s", f"one {kind}"
            else:
                texts = f"{kind} {known[1]}", f"{kind} {correspondence.translate(kind, number)}"
            contradictions[path] = texts
        return contradictions


def _unproven(old: KernelNodeSignature, new: KernelNodeSignature) -> list[Difference]:
    """Return what of two functions is not known. Equal machine code proves all but what is set at run time."""
    if not is_durable(old.name):
        return [by_rule("function.name-not-durable", ".name", old.name, new.name)]
    if old.function is None or None in (_code(old), _code(new)):
        return [by_rule("function.code-unknown", ".function.code_sha256", None, None)]
    unknown = [name for name in SETTINGS if getattr(old.function, name) is None]
    return [by_rule("function.facts-unknown", f".function.{name}", None, None) for name in unknown]


def _function_change(  # noqa: PLR0911  each kind of evidence, the strongest first
    old: KernelNodeSignature, new: KernelNodeSignature, contradiction: tuple[str, str] | None
) -> Difference | None:
    if old.name != new.name:
        rule = "kernel.function" if is_durable(old.name) or is_durable(new.name) else "function.name-not-durable"
        return by_rule(rule, ".name", old.name, new.name)
    if contradiction is not None:
        rule = {"one": "function.split", "two": "function.merge"}.get(contradiction[0].split()[0], "portable.function")
        return by_rule(rule, ".func", *contradiction)
    for field in ("func", "kern"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            if not (old.func or old.kern) or not (new.func or new.kern):
                known = (_KNOWN if handle else _UNKNOWN for handle in (before, after))
                return by_rule("kernel.function-unknown", f".{field}", *known)
            return by_rule("kernel.function", f".{field}", f"{before:#x}", f"{after:#x}")
    if old.function is None or new.function is None:
        if old.function is new.function:
            return None
        known = (_UNKNOWN if facts is None else _KNOWN for facts in (old.function, new.function))
        return by_rule("function.facts-unknown", ".function", *known)
    return _fact_change(old.function, new.function)


def _fact_change(old: FunctionFacts, new: FunctionFacts) -> Difference | None:
    found = list(field_differences(old, new, ".function"))
    known = [difference for difference in found if None not in (difference.old, difference.new)]
    if not known:
        # Whether the machine code is known is asked for the whole graph at once.
        unknown = [difference for difference in found if difference.rule != "function.code-unknown"]
        return _as_one("function.facts-unknown", unknown)
    rules = {difference.rule for difference in known}
    if "function.facts" in rules:
        return _as_one("function.facts", known)
    rule = "function.code" if "function.code" in rules else "function.settings"
    return _as_one(rule, [difference for difference in known if difference.rule == rule])


def _as_one(rule_id: str, differences: Sequence[Difference]) -> Difference | None:
    if len(differences) <= 1:
        return next((by_rule(rule_id, d.field, d.old, d.new) for d in differences), None)
    names = [difference.field.removeprefix(".function.") for difference in differences]
    old = ", ".join(f"{name} {difference.old}" for name, difference in zip(names, differences, strict=True))
    new = ", ".join(f"{name} {difference.new}" for name, difference in zip(names, differences, strict=True))
    return by_rule(rule_id, ".function", old, new)


def _as_correspondence(difference: Difference, texts: tuple[str, str] | None) -> Difference:
    """Put words for numbers of one process: they mean nothing to a reader, how they contradict each other does."""
    return difference if texts is None else difference._replace(old=texts[0], new=texts[1])


def _tell(found: dict[str, Difference], difference: Difference, fields: Sequence[Difference]) -> None:
    """Add a difference, where it is of a whole record by the fields that differ in it."""
    inside = (f"{difference.field}[", f"{difference.field}.")
    finer = [field for field in fields if field.field.startswith(inside)]
    for field in finer:
        found[field.field] = difference._replace(field=field.field, old=field.old, new=field.new)
    if not finer:
        found[difference.field] = difference


def _owner_told(difference: Difference, fields: Sequence[Difference]) -> bool:
    """Say whether a difference of an equal address only tells again that the owner of its memory differs."""
    facts = f"{difference.field.rpartition('.')[0]}.pointer"
    return (
        difference.old == difference.new
        and difference.rule.startswith("memory.")
        and any(field.field.startswith(facts) for field in fields)
    )


def _same_cluster_attribute(old: NodeSignature, new: NodeSignature) -> bool:
    if not isinstance(old, KernelNodeSignature) or not isinstance(new, KernelNodeSignature):
        return False
    number = AttributeId.CLUSTER_DIMENSION
    return old.attribute(number) == new.attribute(number)


def _follows(path: str, found: Container[str]) -> bool:
    """Say whether a location's id differs because its type does: only of a device it is an ordinal."""
    return path.endswith(".location_id") and path.removesuffix("_id") + "_type" in found


def _says_nothing(difference: Difference) -> bool:
    """Say whether an attribute without effect was asked for on one side only, and had no value there either."""
    states = {difference.old, difference.new}
    return difference.verdict is Verdict.HARMLESS and ABSENT in states and states <= WITHOUT_VALUE


def _by_table(difference: Difference) -> Difference:
    """Return what the table says of a field that no rule of an update asked about."""
    if difference.rule == "kernel.context" and "0x0" in (_hex(difference.old), _hex(difference.new)):
        return by_rule("kernel.context-unknown", difference.field, _hex(difference.old), _hex(difference.new))
    if difference.field.startswith(".attributes[") and difference.rule != "kernel.attribute-unknown":
        # Each attribute was judged together with all that decides its effect, and nothing was found.
        return difference._replace(verdict=Verdict.HARMLESS)
    return difference


def _hex(value: int | str | None) -> str:
    return f"{value:#x}" if isinstance(value, int) else str(value)


def _code(node: KernelNodeSignature) -> str | None:
    return None if node.function is None else node.function.code_sha256
