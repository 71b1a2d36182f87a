"""A prediction as text."""

import pytest

from sigcontract.model.findings import GraphPrediction
from sigcontract.model.graph import GraphSignature
from sigcontract.report.prediction_text import render_prediction
from sigcontract.update.predict import predict_update
from tests.compare.dumps import kernel
from tests.update.build import H200, cluster, graph


def shown(held: GraphSignature, candidate: GraphSignature, label: str = "b", fixed: str | None = None) -> str:
    prediction = predict_update(held, candidate, H200)
    found = GraphPrediction(held="a", candidate=label, fixed=fixed, flags=0, profile=None, prediction=prediction)
    return render_prediction(found)


def test_what_is_stale_is_listed_before_what_is_updated() -> None:
    lines = shown(graph(kernel()), graph(kernel(cluster(2), grid=9)), fixed="a").splitlines()
    assert lines[:4] == [
        "a → b: stale: the driver reports SUCCESS but keeps launching old values: instantiate a new executable",
        "first launched with a, whose values can stay stale",
        "cuGraphExecUpdate: SUCCESS (0)",
        "without a driver profile, effects that need a measurement are undetermined (--profile)",
    ]
    assert [line.split()[-1] for line in lines[5:7]] == ["kernel.cluster-dim", "kernel.grid-dim"]


def test_the_text_is_bounded_and_nothing_is_injected() -> None:
    """100 kernels that all differ, of names of 20 kB with escapes and marks that turn the direction of writing."""
    hostile = [kernel(name=f"{i}\x1b[2J\n\u202e" + "x" * 20_000, func=i + 1) for i in range(100)]
    plain = [kernel(name=f"k{i}", func=1000 + i) for i in range(100)]
    text = shown(graph(*plain), graph(*hostile), label="g\x1b[2J\n\u202e")
    assert not {"\x1b", "\u202e"} & set(text)
    assert len(text.splitlines()) < 80
    assert max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize("width", [60, 100])
def test_lines_keep_to_the_width(width: int) -> None:
    name = "kernel_" * 20
    held, candidate = (graph(kernel(name=name + end, func=1, grid=grid)) for end, grid in (("left", 1), ("right", 9)))
    prediction = predict_update(held, candidate, H200)
    found = GraphPrediction(held="a" * 50, candidate="b", fixed=None, flags=0, profile=None, prediction=prediction)
    text = render_prediction(found, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "left" in text
    assert "right" in text
