"""Every field in which two nodes differ, each judged in its node's context.

The only module that assigns rules and verdicts to fields. Predictions, policies, groups and diffs use it or
`NodeJudge`; fields without an update rule have the verdict of the rules table.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sigcontract.model import KernelNodeSignature, NodeSignature, Verdict
from sigcontract.update.arguments import argument_differences
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.field_rules import field_differences
from sigcontract.update.function_changes import function_change
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.memory_nodes import is_two_dimensional
from sigcontract.update.pairing import subject_of

__all__ = ["corresponding_changes", "is_of_function", "node_changes"]

#: Fields of a kernel node that identify its function, compared as one.
_FUNCTION: Final = (".name", ".kern", ".func", ".function")


def node_changes(old: NodeSignature, new: NodeSignature, judge: NodeJudge) -> list[Difference]:
    """Return the differences of two nodes of one process, handles by value, without nested graphs."""
    function = None
    if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
        found = judge.differences(old, new, old)
        function = next((difference for difference in found if difference.field == ".func"), None)
        if function is None:  # one function; a fact known on one side only is a difference of the records
            function = function_change(old, new, judge)
    return _changes(old, new, judge, function)


def corresponding_changes(
    old: NodeSignature, new: NodeSignature, judge: NodeJudge, contradiction: tuple[str, str] | None = None
) -> list[Difference]:
    """Return the differences of two nodes whose handles are renumbered.

    ``contradiction`` is as for `function_change`.
    """
    function = None
    if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
        function = function_change(old, new, judge, contradiction)
    return _changes(old, new, judge, function)


def _changes(old: NodeSignature, new: NodeSignature, judge: NodeJudge, function: Difference | None) -> list[Difference]:
    if old.node_type != new.node_type or type(old) is not type(new):
        # A node known only by its type number may have the type of one with a record.
        rule = "node.type" if old.node_type != new.node_type else "node.opaque"
        return [by_rule(rule, "", subject_of(old), subject_of(new))]
    fields = list(field_differences(old, new))
    if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
        fields = [field for field in fields if not is_of_function(field.field)]
        fields += argument_differences(old.arguments, new.arguments)
    found = {} if function is None else {function.field: function}
    for difference in _judged(old, new, judge):
        if difference.field in (".func", ".arguments"):
            continue  # compared above
        # The first verdict on a field counts: a refused change has no effect.
        for field in _finer(difference, fields):
            found.setdefault(field.field, field)
    for difference in fields:
        if not any(whole in found for whole in _wholes(difference.field)):
            found[difference.field] = _by_table(difference, old, new)
    return list(found.values())


def _judged(old: NodeSignature, new: NodeSignature, judge: NodeJudge) -> Iterator[Difference]:
    for barrier in judge.barriers(old, new):
        yield by_rule(barrier.rule, barrier.field, barrier.old, barrier.new)
    yield from judge.differences(old, new, old)


def _finer(difference: Difference, fields: Sequence[Difference]) -> list[Difference]:
    """Split a difference of a whole record into its differing fields."""
    finer = [field for field in fields if field.field != difference.field and _is_within(field.field, difference.field)]
    return [difference._replace(field=field.field, old=field.old, new=field.new) for field in finer] or [difference]


def is_of_function(path: str) -> bool:
    """Whether a field of a kernel node identifies its function."""
    return any(_is_within(path, field) for field in _FUNCTION)


def _is_within(path: str, whole: str) -> bool:
    """Whether a path is that of a field or inside it."""
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))


def _wholes(path: str) -> Iterator[str]:
    """Yield a path and the paths it is inside of: those for which `_is_within` holds."""
    yield path
    yield from (path[:end] for end, character in enumerate(path) if character in ".[")


def _by_table(difference: Difference, old: NodeSignature, new: NodeSignature) -> Difference:
    """Return a difference with the table's verdict, for a field without an update rule."""
    if difference.rule == "memory.target" and is_two_dimensional(old, new):
        return by_rule("memcpy.shape", difference.field, difference.old, difference.new)
    if difference.field.startswith(".attributes[") and difference.rule != "kernel.attribute-unknown":
        # Each attribute was judged with everything that decides its effect, without a finding.
        return difference._replace(verdict=Verdict.HARMLESS)
    return difference
