"""The names that users rely on are there, with the parameters that they were promised."""

import importlib
import inspect

import pytest

import sigcontract as sc
from sigcontract import errors

ROOT_NAMES = {
    "Dim3",
    "DriverProfile",
    "GraphSignature",
    "KernelNodeSignature",
    "LaunchAttribute",
    "SignatureDump",
    "SignatureRegistry",
    "decode",
    "diff",
    "encode",
    "load",
    "predict_update",
    "save",
}


def test_the_package_has_its_names() -> None:
    assert set(sc.__all__) >= ROOT_NAMES


def test_every_public_name_resolves_and_is_listed_for_completion() -> None:
    for name in sc.__all__:
        assert getattr(sc, name) is not None
    assert set(dir(sc)) >= set(sc.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(sc, "no_such_name")  # noqa: B009  mypy knows that it is not there


@pytest.mark.parametrize(
    ("module", "name", "parameters"),
    [
        ("sigcontract", "diff", ["old", "new", "profile"]),
        ("sigcontract", "predict_update", ["held", "candidate", "profile", "fixed"]),
        ("sigcontract", "load", ["path"]),
        ("sigcontract", "decode", ["data"]),
        ("sigcontract", "encode", ["document", "format"]),
        ("sigcontract.driver", "read_graph", ["graph"]),
        ("sigcontract.driver", "read_profile", []),
        ("sigcontract.driver", "observe", []),
        ("sigcontract", "SignatureRegistry", ["policy"]),
        ("sigcontract.registry", "GraphExecRegistry", ["policy"]),
    ],
)
def test_calls_take_the_parameters_that_they_were_promised(module: str, name: str, parameters: list[str]) -> None:
    taken = list(inspect.signature(getattr(importlib.import_module(module), name)).parameters)
    assert [parameter for parameter in parameters if parameter not in taken] == []


@pytest.mark.parametrize(
    ("module", "name", "methods"),
    [
        ("sigcontract", "SignatureRegistry", ["register", "groups", "stats"]),
        ("sigcontract.registry", "GraphExecRegistry", ["register", "replay", "seal", "stats", "close"]),
        ("sigcontract", "DumpDiff", ["verdict", "findings", "graphs"]),
        ("sigcontract", "UpdatePrediction", ["verdict", "result", "node", "from_node", "findings"]),
    ],
)
def test_classes_have_the_members_that_they_were_promised(module: str, name: str, methods: list[str]) -> None:
    kind = getattr(importlib.import_module(module), name)
    assert [method for method in methods if not hasattr(kind, method)] == []


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_a_sigcontract_error_with_a_code_of_its_own(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SigcontractError)
    assert [other for other in errors.__all__ if getattr(errors, other).code == kind.code] == [name]
