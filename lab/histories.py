"""Predictions along the recorded histories of executables: misses and false alarms, by rule.

No device is needed. The histories of one kernel node that were measured are read from the records of `lab.exec_state`
and from ``tests/update/data/cluster-rule-h200.json.gz``; chains of which a record keeps only that the state model gives
all of their launches are made again from their seed.

Example: ``python -m lab.histories``; exit 1 where a launch that is called safe was not right.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from lab.chains import FUNCTIONS, Chain, compiled_cluster, predicted_clusters, random_chain
from sigcontract.model import Dim3, DriverProfile, GraphSignature, Verdict
from sigcontract.profiles import shipped_profile
from sigcontract.update import ExecState, predict_update
from tests.update.build import FACTS, cluster, cooperative, graph, kernel

__all__ = [
    "History",
    "exec_state_histories",
    "history_of_chain",
    "main",
    "one_kernel",
    "rule_histories",
    "summary",
    "tally",
    "tally_step",
]

_ROOT: Final = Path(__file__).parent.parent
_EXEC_STATE: Final = _ROOT / "lab/results/exec-state-h200-2026-12-02.json"
_RULE: Final = _ROOT / "tests/update/data/cluster-rule-h200.json.gz"
#: Functions of the older record: offset of the value that it reports, and the compiled cluster.
_RULE_FUNCTIONS: Final = {"rep": (0, 0), "rep2": (1000, 0), "repc": (2000, 2), "rep@2": (0, 0), "rep@lib": (0, 0)}


class History(NamedTuple):
    """One executable: instantiated from the first graph, then updated to each next one.

    Attributes
    ----------
    origin
        Where the record is, for reports.
    graphs
        The graphs, as far as the driver accepted the updates.
    uses
        What was done once it held each: ``launch``, ``upload`` or ``nothing``.
    right
        Whether the launch did what a fresh executable does; None where it was not launched.
    """

    origin: str
    graphs: tuple[GraphSignature, ...]
    uses: tuple[str, ...]
    right: tuple[bool | None, ...]


def tally(histories: Iterable[History], profile: DriverProfile | None) -> Counter[str]:
    """Predict every update along its history, and count the launches that followed."""
    counts: Counter[str] = Counter()
    for history in histories:
        state: ExecState | None = None
        for graph_held, use, right in zip(history.graphs, history.uses, history.right, strict=True):
            if state is None:
                state = ExecState.instantiated(graph_held, profile)
            else:
                prediction = predict_update(state.held, graph_held, profile, state)
                state = state.updated(graph_held, profile)
                if right is not None:
                    unsafe = [finding.rule for finding in prediction.findings if not finding.verdict.safe]
                    tally_step(counts, prediction.verdict, unsafe, right=right, origin=history.origin)
            if use != "nothing":
                state = state.used(launched=use == "launch")
    return counts


def tally_step(counts: Counter[str], verdict: Verdict, unsafe: Iterable[str], *, right: bool, origin: str = "") -> None:
    """Count one launch after an update: as called, as it ran, and by the rules that did not call it safe."""
    called, ran = "called safe" if verdict.safe else "not called safe", "ran right" if right else "ran wrong"
    counts[f"{called}, {ran}"] += 1
    if not verdict.safe:
        counts[f"not called safe by {'+'.join(sorted(set(unsafe)))}, {ran}"] += 1
    elif not right:
        counts[f"missed: {origin}"] += 1


def summary(counts: Mapping[str, int]) -> dict[str, float]:
    """Return what a reader asks first: launches, misses, false alarms."""
    right = counts.get("called safe, ran right", 0)
    alarms = counts.get("not called safe, ran right", 0)
    launches = sum(counts.get(f"{called}, {ran}", 0) for called in _CALLED for ran in _RAN)
    return {
        "launches after an update": launches,
        "called safe, ran wrong": counts.get("called safe, ran wrong", 0),
        "not called safe, ran right": alarms,
        "of what ran right, not called safe (percent)": round(100 * alarms / max(1, right + alarms), 2),
    }


_CALLED: Final = ("called safe", "not called safe")
_RAN: Final = ("ran right", "ran wrong")


def one_kernel(function: int, compiled: int, spec: Mapping[str, Any]) -> GraphSignature:
    """Return a graph of one kernel node, as the driver lists it: the getter reports a compiled cluster too.

    Parameters
    ----------
    function
        Stands for the function's handle.
    compiled
        The cluster compiled in, 0 for none.
    spec
        A spec of `lab.chains`.
    """
    facts = msgspec.structs.replace(
        FACTS,
        code_sha256=None,
        cluster_size_must_be_set=int(bool(compiled)),
        required_cluster_dim=Dim3(x=compiled, y=1, z=1) if compiled else Dim3(x=0, y=0, z=0),
    )
    return graph(
        kernel(
            cluster(compiled or spec["cluster"]),
            cooperative(on=bool(spec.get("cooperative"))),
            name="kernel",
            func=function,
            grid=spec.get("grid", 8),
            block=spec.get("block", 32),
            shared=spec.get("shared_bytes", spec.get("smem", 0)),
            function=facts,
        )
    )


def history_of_chain(chain: Chain, reports: Iterable[tuple[int, int] | None] | None = None) -> History:
    """Return a chain of `lab.chains`; without reports (cluster, code) it launched what the state model says."""
    specs, uses = chain["specs"], [step["use"].partition("-")[0] for step in chain["steps"]]
    kept = next(
        (n for n in range(1, len(specs)) if specs[n]["cooperative"] != specs[n - 1]["cooperative"]), len(specs)
    )  # the driver refuses to change that
    if reports is None:
        codes = (FUNCTIONS[spec["function"]][0] for spec in specs)
        reports = zip(predicted_clusters(chain), codes, strict=True)
    right = [
        None if use != "launch" or report is None else report == _expected(spec)
        for spec, use, report in zip(specs, uses, reports, strict=False)
    ]
    kept = min(kept, len(right))
    return History(
        f"{chain['seed']}:{chain['number']}",
        tuple(one_kernel(FUNCTIONS[s["function"]][0], FUNCTIONS[s["function"]][1], s) for s in specs[:kept]),
        tuple(uses[:kept]),
        tuple(right[:kept]),
    )


def _expected(spec: Mapping[str, Any]) -> tuple[int, int]:
    return spec["cluster"] or compiled_cluster(spec) or 1, FUNCTIONS[spec["function"]][0]


def exec_state_histories(*, seeds: Mapping[int, int] | None = None) -> Iterator[History]:
    """Yield the chains of `lab.exec_state`: those recorded, and with ``seeds`` so many of each seed.

    The state model gives all launches of seeds 2 and 3, and all of seed 5 but those of the recorded exceptions.
    """
    record = json.loads(_EXEC_STATE.read_text(encoding="utf-8"))
    exceptions = {c["number"]: c for c in record["chains of seed 5 that the model does not give"]}
    recorded = [*record["chains"], *exceptions.values()]
    for chain in recorded:
        yield history_of_chain(chain, [None if r is None else (r[0], r[5]) for r in chain["reports"]])
    done = {(chain["seed"], chain["number"]) for chain in recorded}
    for seed, count in (seeds or {}).items():
        for number in range(count):
            if (seed, number) not in done:
                yield history_of_chain(random_chain(seed, number))


def rule_histories() -> Iterator[History]:
    """Yield the updates and chains that the state model was found on."""
    record = json.loads(gzip.decompress(_RULE.read_bytes()))
    for number, row in enumerate(record["rows"]):
        yield _rule_history(f"row {number}", (row["a"], row["b"]), (row["first"], "launch"), (None, row["got"]))
    for number, chain in enumerate(record["chains"]):
        uses = tuple("nothing" if got is None else "launch" for got in chain["got"])
        yield _rule_history(f"chain {number}", chain["specs"], uses, chain["got"])


def _rule_history(
    origin: str, specs: Iterable[Mapping[str, Any]], uses: tuple[str, ...], got: Iterable[list[int] | None]
) -> History:
    graphs, right = [], []
    for spec, seen in zip(specs, got, strict=True):
        offset, compiled = _RULE_FUNCTIONS[spec["f"]]
        graphs.append(one_kernel(1 + list(_RULE_FUNCTIONS).index(spec["f"]), compiled, spec))
        expected = spec["cluster"] or compiled or 1, spec.get("v", 1) + offset
        right.append(None if seen is None else (seen[0], seen[6]) == expected)
    return History(origin, tuple(graphs), uses, tuple(right))


def main() -> int:
    """Count over all recorded histories."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    profile, missed = shipped_profile("nvidia-h200-cuda-13.0"), 0
    sources = {
        "exec_state": exec_state_histories(seeds={5: 6000, 3: 40000}),
        "cluster rule": rule_histories(),
    }
    for name, histories in sources.items():
        counts = tally(histories, profile)
        missed += counts["called safe, ran wrong"]
        print(json.dumps({"record": name, **summary(counts), "counts": dict(sorted(counts.items()))}, indent=1))
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
