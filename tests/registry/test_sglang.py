"""The registry under SGLang's names, used as its backends use theirs."""

import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from sigcontract.errors import CloseError, RegistryError, UsageError
from sigcontract.registry.sglang import DedupedCudaGraphRegistry, install
from tests.registry.rig import PROFILE, Capture, Rig


def _registry(rig: Rig) -> DedupedCudaGraphRegistry:
    return DedupedCudaGraphRegistry(rig.driver, profile=PROFILE)


def test_a_server_captures_seals_replays_and_closes() -> None:
    rig = Rig()
    registry = _registry(rig)
    captures = [Capture(rig.builder(value, cluster=cluster)) for value, cluster in ((1, 0), (2, 0), (3, 2))]
    graphs = [registry.register(capture) for capture in captures]
    assert registry.stats() == (3, 2)
    registry.seal()
    assert registry.sealed
    with pytest.raises(RegistryError, match="sealed"):
        registry.register(Capture(rig.builder(4)))
    for value, graph in enumerate(graphs, 1):
        assert rig.replayed(lambda graph=graph: graph.replay(stream=0)) == {value}  # type: ignore[misc]  # bound now
        assert rig.replayed(lambda graph=graph: registry.replay(graph, 0)) == {value}  # type: ignore[misc]  # bound now
    registry.close()
    registry.close()
    assert [capture.resets for capture in captures] == [1, 1, 1]
    assert (rig.execs(), rig.fake.misuse) == (0, [])
    assert registry.stats() == (0, 0)


def test_captures_are_reset_also_where_an_executable_could_not_be_destroyed() -> None:
    rig = Rig()
    registry = _registry(rig)
    captures = [Capture(rig.builder(value)) for value in (1, 2)]
    for capture in captures:
        registry.register(capture)
    rig.fake.fail("cuGraphExecDestroy", 700)
    with pytest.raises(CloseError):
        registry.close()
    assert [capture.resets for capture in captures] == [1, 1]


@pytest.fixture
def mixin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """SGLang's module, with a class that looks up the registry in it as SGLang's mixin does."""
    name = "sglang.srt.model_executor.runner_backend.cuda_graph_dedup_mixin"
    module = ModuleType(name)
    code = "class DedupedCudaGraphRegistry: pass\ndef build(): return DedupedCudaGraphRegistry()"
    exec(code, module.__dict__)  # noqa: S102  the lookup in its own module is what is tested
    parts = name.split(".")
    for length in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:length]), ModuleType(".".join(parts[:length])))
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_it_is_put_in_the_place_of_the_class_that_sglang_looks_up(
    mixin: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    with caplog.at_level(logging.INFO, "sigcontract"):
        install(driver=rig.driver, profile=PROFILE, policy="share-functions")
    registry = mixin.build()
    assert isinstance(registry, DedupedCudaGraphRegistry)
    assert registry.registry.policy == "share-functions"
    assert "sigcontract shares SGLang's CUDA graph executables in this process" in caplog.text
    registry.close()


@pytest.mark.parametrize("wrong", ["option", "policy", "profile", "bound", "no mixin", "no class"])
def test_what_sglang_would_pass_over_in_silence_is_reported(mixin: ModuleType, wrong: str) -> None:
    if wrong == "no mixin":
        sys.modules[mixin.__name__] = None  # type: ignore[assignment]  # as Python marks what cannot be imported
    elif wrong == "no class":
        del mixin.DedupedCudaGraphRegistry
    message = {
        "option": r"rejects these options: got an unexpected keyword argument 'polcy'",
        "policy": r"executables cannot be shared under policy 'portable'",
        "profile": r"profile must be a DriverProfile, not str",
        "bound": r"max_execs must be a positive int or None, not 0",
        "no mixin": r"cuda_graph_dedup_mixin cannot be imported \(.*\); nothing to replace",
        "no class": r"has no DedupedCudaGraphRegistry; nothing to replace",
    }[wrong]
    options: dict[str, dict[str, Any]] = {
        "option": {"polcy": "share"},
        "policy": {"policy": "portable"},
        "profile": {"profile": "h200"},
        "bound": {"max_execs": 0},
    }
    with pytest.raises(UsageError, match=message):
        install(**options.get(wrong, {}))
