"""Changes, indices and values in words."""

import pytest

from sigcontract.compare.causes import CauseChange
from sigcontract.model.findings import Verdict
from sigcontract.report.alike import alike_key, common_name, family
from sigcontract.report.change_words import change_words, index_words
from sigcontract.report.cuda_words import value_word
from tests.compare.dumps import kernel


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        (".source.memory_type", 4, "unified"),
        (".location_type", 3, "host_numa"),
        (".operations[0].operation", 2, "write_value_32"),
        ("dependencies[3][0].type", 1, "programmatic"),
        (".type", 1, 1),
        ("nodes[0].address", 0x7F0000003000, "0x7f0000003000"),
        (".context", None, None),
        (".attributes[cluster_scheduling_policy_preference]", 1, "spread"),
        (".memory_type", 77, 77),
        (".attributes[access_policy_window].hit_property", 2, "persisting"),
        (".attributes[access_policy_window].hit_ratio_bits", 0x3F000000, "0x3f000000 (0.5)"),
        (".grid_dim", "8x1x1", "8x1x1"),
        (".width", 64, 64),
    ],
)
def test_enumeration_values_are_written_in_cudas_words(
    field: str, value: int | str | None, word: int | str | None
) -> None:
    assert value_word(field, value) == word


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([18, 35, 52, 69], "18, 35, 52, 69"),
        (range(10), "0-9"),
        (range(4, 220, 9), "4, 13, … 211 (every 9th)"),
        ([at for layer in range(24) for at in (11 * layer, 11 * layer + 5)], "0, 5, … 253, 258 (2 in every 11)"),
        ([0, 1, 2, 3, 20, 40, 41, 42, 43, 90], "0-3, 20, 40-43, 90"),
    ],
)
def test_many_indices_are_written_in_few_words(numbers: list[int], words: str) -> None:
    paths = [f"nodes[{number}]" for number in numbers]
    assert index_words(paths, len(paths)) == words
    assert index_words(paths, len(paths) + 3) == f"{words} and 3 more"


def test_a_node_inside_is_named_by_both_indices() -> None:
    assert index_words(["nodes[3].graph.nodes[0]", "nodes[4].bodies[1].nodes[2]"], 2) == "3.0, 4b1.2"


OLD, NEW = "a" * 64, "b" * 64


def change(rule: str, field: str, old: int | str | None, new: int | str | None) -> CauseChange:
    return CauseChange(field, old, new, rule, Verdict.UPDATABLE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (change("kernel.grid-dim", "grid_dim", "4x1x1", "8x1x1"), "grid 4x1x1 → 8x1x1"),
        (
            change("function.facts", "function", f"registers 15, code_sha256 {OLD}", f"registers 9, code_sha256 {NEW}"),
            "other code (registers 15 → 9)",
        ),
        (change("function.code", "function.code_sha256", OLD, NEW), f"other code ({'a' * 12} → {'b' * 12})"),
        (change("function.settings", "function.registers", 3, 4), "other settings: registers 3 → 4"),
        (change("kernel.renamed", "name", "k_1", "k_2"), "renamed, same code: k_2 (was _1)"),
        (change("kernel.function", "name", "gemm", "gelu"), "another kernel: gemm → gelu"),
        (change("topology.dependency", "dependencies", "1, 2", "2, 1"), "order of dependencies: 1, 2 → 2, 1"),
        (change("topology.dependency", "dependencies[0].node", 1, 2), "dependency moved: from node 1 → from node 2"),
        (change("edge.data", "dependencies[0].type", 0, 1), "dependencies[0].type default → programmatic"),
        (change("priority", "attributes[priority]", 0, -1), "priority 0 → -1"),
    ],
)  # fmt: skip
def test_a_change_is_worded_as_a_person_would(given: CauseChange, words: str) -> None:
    assert change_words(given, 44) == words


def test_layers_of_one_compiled_model_look_alike() -> None:
    first, last = "triton_per_fused_add_embedding_mean_8", "triton_per_fused_add_mean_13"
    assert family(first) == family(last) == "triton_per"
    assert alike_key(kernel(name=first)) == alike_key(kernel(name=last))
    assert alike_key(kernel(name=first)) != alike_key(kernel(name=first, grid=99))
    assert common_name([first, last]) == "triton_per_fused_add_*"
    assert common_name(["k_1", "k_1"]) == "k_1"
    assert common_name(["a", "b"]) == "*"
