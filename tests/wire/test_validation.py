"""What is no valid record is refused with its index, by whichever function it is given to."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import sigcontract as sc
from sigcontract.errors import RecordError, UsageError
from sigcontract.model.graph import ChildGraphNode, GraphSignature
from sigcontract.update.groups import group_dumps
from sigcontract.update.policies import POLICIES, key, same
from sigcontract.wire.validation import explains_invalid
from tests.compare.dumps import dump
from tests.update.build import H200, graph, kernel

GOOD = graph(kernel())
FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "portable_form": sc.portable_form,
    "predict_update: held": lambda bad: sc.predict_update(bad, bad, H200),
    "predict_update: candidate": lambda bad: sc.predict_update(GOOD, bad, H200),
    "predict_update: fixed": lambda bad: sc.predict_update(GOOD, GOOD, H200, bad),
    "diff": lambda bad: sc.diff(dump(GOOD), dump(bad)),
    "group_dumps": lambda bad: group_dumps([dump(GOOD, bad)]),
    "register": lambda bad: sc.SignatureRegistry().register(bad),
} | {
    f"{name} {policy}": function
    for policy in POLICIES
    for name, function in {
        "same": lambda bad, policy=policy: same(policy, GOOD, bad, H200),
        "key": lambda bad, policy=policy: key(policy, bad),
    }.items()
}


@pytest.mark.parametrize("value", [float("nan"), b"ab", 1.0], ids=repr)
@pytest.mark.parametrize(
    "function", [sc.validate, sc.digest, sc.portable_digest], ids=lambda function: function.__name__
)
@pytest.mark.parametrize("field", ["name", "func", "function"])
def test_what_json_would_say_as_another_value_is_no_valid_one(
    function: Callable[[GraphSignature], object], field: str, value: object
) -> None:
    with pytest.raises(RecordError):
        function(graph(replace(kernel(), **{field: value})))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_graph_with_a_field_of_another_type_is_refused(name: str) -> None:
    with pytest.raises(RecordError, match=r"Expected `array`, got `str` \(at /.*nodes/0/attributes\)"):
        FUNCTIONS[name](graph(replace(kernel(), attributes="ab")))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("value", [None, 3, "graph"])
def test_what_is_no_graph_is_refused(name: str, value: object) -> None:
    if name == "predict_update: fixed" and value is None:
        return  # not given
    with pytest.raises((RecordError, UsageError)):
        FUNCTIONS[name](value)


WHOLE: Any = dump(GOOD)
ENTRY: Any = WHOLE.graphs[0]
NO_DUMP: Any = GOOD


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sc.digest(ENTRY), "graph must be a GraphSignature, not LabeledGraph; pass its .graph"),
        (
            lambda: sc.portable_digest(WHOLE),
            "graph must be a GraphSignature, not SignatureDump; pass its .graph(label)",
        ),
        (lambda: sc.portable_form(ENTRY), "graph must be a GraphSignature, not LabeledGraph; pass its .graph"),
        (
            lambda: sc.predict_update(ENTRY, ENTRY),
            "held must be a GraphSignature, not LabeledGraph; pass its .graph",
        ),
        (lambda: sc.predict_update(GOOD, GOOD, WHOLE), "profile must be a DriverProfile, not SignatureDump"),
        (lambda: same("share", GOOD, ENTRY), "b must be a GraphSignature, not LabeledGraph; pass its .graph"),
        (lambda: key("share", ENTRY), "graph must be a GraphSignature, not LabeledGraph; pass its .graph"),
        (lambda: sc.diff(NO_DUMP, NO_DUMP), "old must be a SignatureDump, not GraphSignature"),
        (lambda: group_dumps([NO_DUMP]), "dumps must be a Sequence[SignatureDump], not GraphSignature"),
    ],
)
def test_a_record_of_another_type_is_refused_and_the_graph_in_it_pointed_at(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == message


#: These compare a graph with one that they need not go into to tell them apart.
SHALLOW = ("predict_update: candidate", "predict_update: fixed", "same share", "same share-functions")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in SHALLOW])
def test_graphs_that_are_nested_too_deeply_are_refused(name: str) -> None:
    deep = GOOD
    for _ in range(5000):
        deep = GraphSignature(nodes=(ChildGraphNode(graph=deep),), dependencies=((),))
    with pytest.raises(RecordError, match="nested"):
        FUNCTIONS[name](deep)


def test_what_a_function_does_wrong_with_valid_records_is_not_blamed_on_them() -> None:
    @explains_invalid("record")
    def faulty(record: GraphSignature) -> int:
        return len(record.nodes) // 0

    @explains_invalid("record")
    def faulty_too(record: GraphSignature) -> object:
        raise ValueError(record)

    with pytest.raises(ZeroDivisionError):
        faulty(GOOD)
    with pytest.raises(ValueError, match="1 kernel"):
        faulty_too(GOOD)
