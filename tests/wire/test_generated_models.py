"""datamodel-code-generator makes models of version 3 that read and write every example."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sigcontract as sc
from sigcontract.wire.schemas import schema_text

pytest.importorskip("datamodel_code_generator", reason="needs the extra dev")

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "examples").rglob("*.dump.json*")),
    ROOT / "tests" / "corpus" / "sigcontract.dump-2" / "valid" / "every_node.json",
]


@pytest.fixture(scope="module", params=["pydantic_v2.BaseModel", "msgspec.Struct"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the generated class of a dump."""
    folder = tmp_path_factory.mktemp("generated")
    source, module = folder / "dump.schema.json", folder / f"generated_{request.param.partition('.')[0]}.py"
    source.write_text(schema_text("sigcontract.dump", 3), encoding="utf-8")
    command = ["--input", str(source), "--input-file-type", "jsonschema", "--output", str(module)]
    options = ["--output-model-type", request.param, "--target-python-version", "3.11"]
    subprocess.run([sys.executable, "-m", "datamodel_code_generator", *command, *options], check=True)
    spec = importlib.util.spec_from_file_location(module.stem, module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module.stem] = loaded  # where pydantic looks up the names of annotations
    spec.loader.exec_module(loaded)
    return loaded.SignatureDump


def test_generated_models_round_trip_every_example(root: Any) -> None:
    assert len(FILES) > 10
    for file in FILES:
        data = sc.encode(sc.load(file), version=3)
        if issubclass(root, msgspec.Struct):
            again = msgspec.json.encode(msgspec.json.decode(data, type=root))
        else:
            again = root.model_validate_json(data).model_dump_json(exclude_unset=True, by_alias=True).encode()
        assert json.loads(again) == json.loads(data), file.name
        assert sc.decode(again) == sc.load(file)
