"""Every recorded field in which two nodes differ, each judged in its node's context: what an update makes of it.

The one place where a field gets its rule and its verdict. Predictions, policies, groups and diffs all ask here or ask
`NodeJudge`, as this does; what no rule of an update speaks of has the verdict of the rules' table.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sigcontract.model import KernelNodeSignature, NodeSignature, Verdict
from sigcontract.update.attributes import Difference, by_rule
from sigcontract.update.field_rules import field_differences
from sigcontract.update.function_changes import function_change
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.pairing import subject_of

__all__ = ["corresponding_changes", "is_of_function", "node_changes"]

#: Fields of a kernel node that say which function it runs: one thing, compared as one.
_FUNCTION: Final = (".name", ".kern", ".func", ".function")


def node_changes(old: NodeSignature, new: NodeSignature, judge: NodeJudge) -> list[Difference]:
    """Return what differs between two nodes of one process, handles by value; graphs inside are left out."""
    function = None
    if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
        found = judge.differences(old, new, old)
        function = next((difference for difference in found if difference.field == ".func"), None)
        if function is None:  # one function; what is known of it on one side only is a difference of the records
            function = function_change(old, new, judge)
    return _changes(old, new, judge, function)


def corresponding_changes(
    old: NodeSignature, new: NodeSignature, judge: NodeJudge, contradiction: tuple[str, str] | None = None
) -> list[Difference]:
    """Return what differs between two nodes whose numbers say only which handles are the same.

    ``contradiction`` is as for `function_change`.
    """
    function = None
    if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature):
        function = function_change(old, new, judge, contradiction)
    return _changes(old, new, judge, function)


def _changes(old: NodeSignature, new: NodeSignature, judge: NodeJudge, function: Difference | None) -> list[Difference]:
    if old.node_type != new.node_type or type(old) is not type(new):
        # A node known by its number alone may be of the same type as one that has a record.
        rule = "node.type" if old.node_type != new.node_type else "node.opaque"
        return [by_rule(rule, "", subject_of(old), subject_of(new))]
    fields = list(field_differences(old, new))
    if isinstance(old, KernelNodeSignature):
        fields = [field for field in fields if not is_of_function(field.field)]
    found = {} if function is None else {function.field: function}
    for difference in _judged(old, new, judge):
        if difference.field == ".func":
            continue  # compared above
        # The first answer about a field stands: what is refused is not carried out.
        for field in _finer(difference, fields):
            found.setdefault(field.field, field)
    for difference in fields:
        if not any(_is_within(difference.field, path) for path in found):
            found[difference.field] = _by_table(difference)
    return list(found.values())


def _judged(old: NodeSignature, new: NodeSignature, judge: NodeJudge) -> Iterator[Difference]:
    for barrier in judge.barriers(old, new):
        yield by_rule(barrier.rule, barrier.field, barrier.old, barrier.new)
    yield from judge.differences(old, new, old)


def _finer(difference: Difference, fields: Sequence[Difference]) -> list[Difference]:
    """Return a difference of a whole record as the fields that differ in it; any other as it is."""
    finer = [field for field in fields if field.field != difference.field and _is_within(field.field, difference.field)]
    return [difference._replace(field=field.field, old=field.old, new=field.new) for field in finer] or [difference]


def is_of_function(path: str) -> bool:
    """Say whether a field of a kernel node is one of those that say which function it runs."""
    return any(_is_within(path, field) for field in _FUNCTION)


def _is_within(path: str, whole: str) -> bool:
    """Say whether a path is that of a field, or of something inside of it."""
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))


def _by_table(difference: Difference) -> Difference:
    """Return what the table says of a field that no rule of an update asked about."""
    if difference.field.startswith(".attributes[") and difference.rule != "kernel.attribute-unknown":
        # Each attribute was judged together with all that decides its effect, and nothing was found.
        return difference._replace(verdict=Verdict.HARMLESS)
    return difference
