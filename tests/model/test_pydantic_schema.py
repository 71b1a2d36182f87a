"""Records as fields of a downstream pydantic model."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from pydantic import BaseModel, TypeAdapter, ValidationError

from sigcontract.errors import InvariantError
from sigcontract.model import attributes, dims, dump, findings, function, graph, nodes, profile
from sigcontract.model.attributes import ClusterDim, LaunchAttribute
from sigcontract.model.cuda import UpdateResult
from sigcontract.model.dims import Dim3
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import Finding, UpdatePrediction, Verdict
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature, NodeSignature
from sigcontract.model.nodes import EmptyNode, KernelNodeSignature, OpaqueNode
from sigcontract.model.profile import DriverProfile
from sigcontract.model.record import Record
from sigcontract.wire.arguments import has_arguments
from sigcontract.wire.codec import encode
from sigcontract.wire.documents import FORMS
from tests.strategies import LAWS, records
from tests.update import build

RECORDS = sorted(
    {
        value
        for module in (attributes, dims, dump, findings, function, graph, nodes, profile)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Record) and value is not Record
    },
    key=lambda cls: cls.__name__,
)


class Downstream(BaseModel):
    """A user's model."""

    graph: GraphSignature
    reference: KernelNodeSignature | None = None
    prediction: UpdatePrediction | None = None


def kernel(**changed: Any) -> KernelNodeSignature:
    return msgspec.structs.replace(build.kernel(only=(build.cooperative(on=False),), function=None), **changed)


def unordered(*found: Any) -> GraphSignature:
    return GraphSignature(nodes=found, dependencies=((),) * len(found))


def faults(value: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        Downstream.model_validate(value)
    return [(fault["loc"], fault["msg"]) for fault in caught.value.errors()]


def written(record: Any) -> Any:
    """Return what a field writes: the document that a file holds where the record is one."""
    if type(record) in {form.record for form in FORMS.values()}:
        return json.loads(encode(record))
    return json.loads(msgspec.json.encode(record))


#: Values that replace each field in turn.
OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**32, 2**53, 1.0),
    *("", "x", "0x" + "0" * 16, [], [1], {}, {"x": 1}),
)


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_pydantic_and_msgspec_agree_on_a_record(cls: type[Record]) -> None:
    """One law per record: its schema and its examples cost more than the comparisons."""
    adapter: TypeAdapter[Record] = TypeAdapter(cls)
    validators = _json_schema_validators(adapter)

    @settings(LAWS, max_examples=12)
    @given(records(cls))
    def law(record: Record) -> None:
        _goes_in_and_out_in_every_form(adapter, record)
        for validator in validators if not isinstance(record, SignatureDump) or not has_arguments(record) else ():
            validator.validate(written(record))
        _refuses_what_msgspec_refuses(adapter, record)

    law()


def _json_schema_validators(adapter: TypeAdapter[Record]) -> list[jsonschema.Draft202012Validator]:
    schemas = [adapter.json_schema(mode=mode) for mode in ("validation", "serialization")]
    distinct = schemas[:1] if schemas[0] == schemas[1] else schemas
    for schema in distinct:
        jsonschema.Draft202012Validator.check_schema(schema)
    return [jsonschema.Draft202012Validator(schema) for schema in distinct]


def _goes_in_and_out_in_every_form(adapter: TypeAdapter[Record], record: Record) -> None:
    assert adapter.validate_python(record) == record
    assert type(adapter.validate_python(record)) is type(record)
    data = msgspec.json.encode(record)
    assert adapter.validate_json(data) == record
    assert adapter.validate_python(json.loads(data)) == record
    data = adapter.dump_json(record)
    assert json.loads(data) == written(record)
    assert adapter.validate_json(data) == record
    assert json.loads(json.dumps(adapter.dump_python(record))) == written(record)


def _refuses_what_msgspec_refuses(adapter: TypeAdapter[Record], record: Record) -> None:
    """Each field in turn holds values of other types; each is accepted by both or by neither."""
    convert = _convert(type(record))
    plain = msgspec.to_builtins(record)
    optional = {field.name for field in msgspec.structs.fields(record) if not field.required}
    for field in plain:
        for other in OTHERS:
            changed = plain | {field: other}
            assert _accepted(adapter.validate_python, changed) == _accepted(convert, changed), (field, other)
        without = {name: value for name, value in plain.items() if name != field}
        # msgspec does without a tag where the type is known; pydantic does not.
        assert _accepted(adapter.validate_python, without) == (field in optional and _accepted(convert, without))
    assert not _accepted(adapter.validate_python, plain | {"another": 1})


def _convert(cls: type[Record]) -> Any:
    def convert(value: Any) -> None:
        msgspec.convert(value, cls).check()

    return convert


def _accepted(reader: Any, value: Any) -> bool:
    try:
        reader(value)
    except (ValidationError, msgspec.ValidationError, InvariantError):
        return False
    return True


def test_records_are_fields_of_a_model() -> None:
    model = Downstream(graph=unordered(kernel(), EmptyNode()), reference=kernel())
    assert model.graph.kernel_nodes == (kernel(),)
    assert Downstream.model_validate_json(model.model_dump_json()) == model
    assert Downstream.model_validate(model.model_dump()) == model
    assert model.model_dump()["graph"] == msgspec.to_builtins(model.graph)


def test_every_fault_is_an_error_at_its_location() -> None:
    given_ = unordered(kernel(), OpaqueNode(type=99), ChildGraphNode(graph=unordered(EmptyNode())))
    graph_ = json.loads(msgspec.json.encode(given_))
    graph_["nodes"][0] |= {"name": 3, "grid_dim": {"x": True, "y": -1, "z": 2**32}}
    graph_["nodes"][1]["colour"] = "red"
    graph_["nodes"][2]["graph"]["nodes"][0] = {"node": "nope"}
    del graph_["nodes"][0]["kern"]
    graph_["dependencies"][1] = [{"node": 0, "from_port": 0, "to_port": 0, "type": 1.0}]
    assert faults({"graph": graph_}) == [
        (("graph", "nodes", 0, "name"), "Input should be a valid string"),
        (("graph", "nodes", 0, "kern"), "Field required"),
        (("graph", "nodes", 0, "grid_dim", "x"), "Input should be a valid integer"),
        (("graph", "nodes", 0, "grid_dim", "y"), "Input should be greater than or equal to 0"),
        (("graph", "nodes", 0, "grid_dim", "z"), "Input should be less than or equal to 4294967295"),
        (("graph", "nodes", 1, "colour"), "Extra inputs are not permitted"),
        (
            ("graph", "nodes", 2, "graph", "nodes", 0),
            (
                "Input should be one of: kernel, memcpy, memset, host, graph, empty, wait_event, event_record, "
                "ext_semas_signal, ext_semas_wait, mem_alloc, mem_free, batch_mem_op, conditional, opaque"
            ),
        ),
        (("graph", "dependencies", 1, 0, "type"), "Input should be a valid integer"),
    ]


def test_an_instance_is_checked_again() -> None:
    """Constructors do not look, so an instance is no proof."""
    assert faults({"graph": unordered(kernel(grid_dim=Dim3(x=-1, y=1, z=1)))}) == [
        (("graph", "nodes", 0, "grid_dim", "x"), "Input should be greater than or equal to 0")
    ]
    assert faults({"graph": Dim3(x=1, y=1, z=1)})[0][0] == ("graph",)
    assert faults({"graph": unordered(Dim3(x=1, y=1, z=1))})[0][0] == ("graph", "nodes", 0)


def test_what_does_not_fit_together_is_an_error() -> None:
    loop = [{"node": 0, "from_port": 0, "to_port": 0, "type": 0}]
    graph_ = msgspec.to_builtins(unordered(kernel())) | {"dependencies": [loop]}
    cycle = "nodes depend on each other in a cycle (0 -> 0); a CUDA graph has none"
    assert faults({"graph": graph_}) == [(("graph", "dependencies"), cycle)]
    twice = kernel(attributes=(LaunchAttribute(id=2, state="value", origin="node", value=0),) * 2)
    order = "attribute 2 follows 2; list each id once, ascending"
    assert faults({"graph": unordered(twice)}) == [(("graph", "nodes", 0, "attributes", 1, "id"), order)]


def test_an_error_of_an_invariant_carries_its_code_and_path() -> None:
    attribute = {
        "id": 4,
        "state": "unreadable",
        "origin": "node",
        "value": {"type": "cluster_dim", "x": 1, "y": 1, "z": 1},
    }
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(LaunchAttribute).validate_python(attribute)
    (fault,) = caught.value.errors()
    assert fault["type"] == "invariant"
    assert (fault["ctx"]["code"], fault["ctx"]["path"]) == ("invariant", "$.value")


def test_enumerations_are_taken_as_members_and_as_values() -> None:
    prediction = UpdatePrediction(
        verdict=Verdict.STALE, result=UpdateResult.SUCCESS, node=None, from_node=None, findings=()
    )
    model = Downstream(graph=unordered(), prediction=prediction)
    again = Downstream.model_validate_json(model.model_dump_json())
    assert again.prediction is not None
    assert again.prediction.verdict is Verdict.STALE
    assert again.prediction.result is UpdateResult.SUCCESS
    plain = msgspec.to_builtins(prediction)
    assert faults({"graph": unordered(), "prediction": plain | {"result": True}})[0][0] == ("prediction", "result")
    assert faults({"graph": unordered(), "prediction": plain | {"verdict": "fine"}})[0][0] == ("prediction", "verdict")


def test_the_json_schema_of_a_model_holds_each_record_once_with_its_sentences() -> None:
    schema = Downstream.model_json_schema()
    definition = schema["$defs"]["Dependency"]
    assert definition["description"] == Dependency.__doc__
    assert definition["properties"]["node"]["description"] == "Index in nodes of the dependency."
    assert definition["properties"]["node"]["maximum"] == 2**32 - 1
    assert definition["additionalProperties"] is False
    assert schema["$defs"]["ChildGraphNode"]["properties"]["graph"]["$ref"] == "#/$defs/GraphSignature"
    assert schema["$defs"]["RawValue"]["properties"]["hex"]["pattern"] == r"^[0-9a-f]{128}(?![\s\S])"
    names = [cls.__name__ for cls in RECORDS if cls.__name__ in schema["$defs"]]
    assert len(names) > 30


def test_a_pattern_ends_at_the_end() -> None:
    """Python's ``$`` lets a line feed through; these patterns do not."""
    adapter = TypeAdapter(attributes.RawValue)
    assert _accepted(adapter.validate_python, {"type": "raw", "hex": "0" * 128})
    assert not _accepted(adapter.validate_python, {"type": "raw", "hex": "0" * 128 + "\n"})


def test_long_text_is_refused_by_both() -> None:
    finding: dict[str, Any] = {
        "rule": "x" * 65537,
        "path": "",
        "verdict": "stale",
        "evidence": "measured",
        "old": None,
        "new": None,
    }
    finding |= {"subject": None, "count": 1, "also": []}
    assert not _accepted(TypeAdapter(Finding).validate_python, finding)
    assert not _accepted(_convert(Finding), finding)


def test_two_models_share_no_state() -> None:
    class Other(BaseModel):
        profile: DriverProfile
        cluster: ClusterDim

    assert "DriverProfileDocument" in Other.model_json_schema()["$defs"]
    assert "DriverProfileDocument" not in Downstream.model_json_schema()["$defs"]


class Launched(BaseModel):
    """A downstream model with a field of any node."""

    node: NodeSignature
    others: tuple[NodeSignature, ...] = ()
    held: NodeSignature | None = None


def test_a_field_of_any_node_takes_instances_dicts_and_json() -> None:
    taken = Launched(node=kernel(), others=(EmptyNode(), OpaqueNode(type=99)))
    assert taken.node == kernel()
    assert Launched.model_validate_json(taken.model_dump_json()) == taken
    assert Launched.model_validate(taken.model_dump()) == taken


@pytest.mark.parametrize("field", ["node", "others", "held"])
def test_a_fault_of_any_node_is_one_error_at_the_field(field: str) -> None:
    wrong = msgspec.to_builtins(kernel())
    wrong["grid_dim"]["x"] = -1
    with pytest.raises(ValidationError) as caught:
        Launched.model_validate({"node": kernel(), field: [wrong] if field == "others" else wrong})
    (error,) = caught.value.errors()
    assert error["loc"] == (field, *([0] if field == "others" else []), "grid_dim", "x")
    assert error["msg"] == "Input should be greater than or equal to 0"
    with pytest.raises(ValidationError, match="Input should be one of: kernel, memcpy") as caught:
        Launched.model_validate({"node": {"node": "kernal"}})
    assert [error["loc"] for error in caught.value.errors()] == [("node",)]
