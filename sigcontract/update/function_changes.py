"""Whether kernels of two processes run one function, by names, facts and machine code."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from sigcontract.model import MAX_EXACT_INT, FunctionFacts, KernelNodeSignature, Verdict
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.field_rules import field_differences
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.rules import RULES

__all__ = ["SETTINGS", "function_change", "is_durable", "unproven_function"]

#: Names made from a handle, such as ``func:140213``.
_NOT_DURABLE: Final = re.compile(r"(?:func|kern|kernel|function):(?:0x)?[0-9a-fA-F]+\Z")
#: Facts that cuFuncSetAttribute can change, so equal machine code does not prove them equal.
SETTINGS: Final = tuple(field.removeprefix("FunctionFacts.") for field in RULES["function.settings"].field.split(", "))
#: Two arbitrary function numbers, to judge a change of function.
_ONE, _ANOTHER = MAX_EXACT_INT - 1, MAX_EXACT_INT
_UNKNOWN, _KNOWN = "unknown", "known"


def is_durable(name: str) -> bool:
    """Whether a kernel's name is meaningful in another process: not if made from a handle."""
    return _NOT_DURABLE.match(name) is None


def function_change(
    old: KernelNodeSignature,
    new: KernelNodeSignature,
    judge: NodeJudge,
    contradiction: tuple[str, str] | None = None,
) -> Difference | None:
    """Return how the functions of two kernels differ, as one difference: a rebuilt one differs in many facts.

    Parameters
    ----------
    old, new
        The nodes; ``kern`` and ``func`` are handles of one process, or renumbered.
    judge
        Judges a change of function, which matters more on a cooperative node.
    contradiction
        How the two numbers contradict the correspondence of the graphs, as two texts, or None.
    """
    change = _change(old, new, contradiction)
    if change is None or change.verdict is Verdict.UNDETERMINED:
        return change
    one, another = replace(old, kern=0, func=_ONE), replace(new, kern=0, func=_ANOTHER)
    for difference in (*judge.refused(one, another), *judge.differences(one, another, one)):
        if difference.field == ".func" and difference.rule != "kernel.function":
            return change._replace(rule=difference.rule, verdict=difference.verdict, evidence=difference.evidence)
    return change


def unproven_function(node: KernelNodeSignature) -> list[Difference]:
    """Return why a kernel's function cannot be proved equal to one of another process.

    Equal machine code proves everything but settings made at run time.
    """
    if not is_durable(node.name):
        return [by_rule("function.name-not-durable", ".name", node.name, node.name)]
    if node.function is None:
        return [by_rule("function.facts-unknown", ".function", None, None)]
    if node.function.code_sha256 is None:
        return [by_rule("function.code-unknown", ".function.code_sha256", None, None)]
    unknown = [name for name in SETTINGS if getattr(node.function, name) is None]
    return [by_rule("function.facts-unknown", f".function.{name}", None, None) for name in unknown]


def _change(  # noqa: PLR0911  one return per kind of evidence, strongest first
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
        # Unknown machine code is reported once per graph.
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
