"""Suppressions in every form: used, unused, expired, and what stale they let pass."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from sigcontract.cli.main import main
from sigcontract.cli.outputs import FORMATS
from sigcontract.report import OUTPUTS
from sigcontract.wire import save
from tests.compare.dumps import again, dump, kernel
from tests.contract.contracts import HEAD
from tests.update.build import cluster, graph

PUBLISHED = Path(__file__).parent / "published"
SARIF = jsonschema.Draft4Validator(json.loads((PUBLISHED / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")))

CONTRACT = """
golden = "old.dump.json"
profile = "nvidia-h200-cuda-13.0"

[[suppress]]
rule = "kernel.cluster-dim"
reason = "a new executable for each launch"
expires = 2999-12-31
stale = true

[[suppress]]
rule = "kernel.block-dim"
reason = "of no use any more"
expires = 2999-12-31
"""
EXPIRED = """
[[suppress]]
rule = "kernel.grid-dim"
reason = "until the release"
expires = 2020-01-01
"""


@pytest.fixture
def forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return every form of a run; with the expired suppression where the test asks for it."""
    monkeypatch.chdir(tmp_path)
    expired = getattr(request, "param", False)
    save(dump(graph(kernel(name="gemm"))), "old.dump.json")
    save(again(graph(kernel(cluster(2), name="gemm"))), "new.dump.json")
    Path("contract.toml").write_text(HEAD + CONTRACT + (EXPIRED if expired else ""), encoding="utf-8")
    outputs = [part for form in FORMATS for part in ("--output", f"{form}=out.{form}")]
    assert main(["check", "new.dump.json", *outputs]) == int(expired)
    return {form: Path(f"out.{form}").read_text(encoding="utf-8") for form in OUTPUTS}


def test_what_stale_passes_is_counted_in_every_form_that_has_a_summary(forms: dict[str, str]) -> None:
    for form in ("text", "markdown", "html", "github"):
        assert "1 stale finding allowed" in forms[form], form
    for form in ("text", "markdown"):
        assert "used, lets 1 finding pass, 1 of them stale" in forms[form]
    results = json.loads(forms["sarif"])["runs"][0]["results"]
    assert [(each["ruleId"], each["properties"]["verdict"]) for each in results if "suppressions" in each] == [
        ("kernel.cluster-dim", "stale")
    ]
    passed = "\n".join(element.text or "" for element in ET.fromstring(forms["junit"]).iter("system-out"))  # noqa: S314
    assert "passes: kernel.cluster-dim: g0: nodes[0].attributes[cluster_dimension] (gemm): " in passed
    assert ": stale: a new executable for each launch (until 2999-12-31)" in passed


def test_an_unused_suppression_is_a_remark_at_its_line_in_every_form(forms: dict[str, str]) -> None:
    line = HEAD.count("\n") + 1 + CONTRACT[: CONTRACT.index('[[suppress]]\nrule = "kernel.block-dim"')].count("\n")
    said = "kernel.block-dim until 2999-12-31: unused (of no use any more)"
    for form in ("text", "markdown", "junit", "github"):
        assert said in forms[form].replace("\\", ""), form
    assert "of no use any more" in forms["html"]
    SARIF.validate(log := json.loads(forms["sarif"]))
    (result,) = [each for each in log["runs"][0]["results"] if each["ruleId"] == "contract.suppression-unused"]
    assert (result["level"], "suppressions" in result) == ("note", False)
    location = result["locations"][0]["physicalLocation"]
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("contract.toml", line)
    assert f"::notice file=contract.toml,line={line},title=contract.suppression-unused" in forms["github"]


@pytest.mark.parametrize("forms", [True], indirect=True)
def test_an_expired_suppression_fails_in_every_form(forms: dict[str, str]) -> None:
    results = json.loads(forms["sarif"])["runs"][0]["results"]
    assert [each["level"] for each in results if each["ruleId"] == "contract.suppression-expired"] == ["error"]
    failures = [each.get("type") for each in ET.fromstring(forms["junit"]).iter("failure")]  # noqa: S314  written here
    assert failures == ["contract.suppression-expired"]
    assert [line for line in forms["github"].splitlines() if line.startswith("::error file=contract.toml,line=")]
    for form in ("text", "markdown", "html", "json"):
        assert "contract.suppression-expired" in forms[form], form
        assert "until the release" in forms[form], form
