"""Chains of updates and launches of one kernel node, and the state model of what they run. No device is needed."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

__all__ = [
    "BETWEEN",
    "FUNCTIONS",
    "LAUNCHES",
    "Chain",
    "compiled_cluster",
    "predicted_clusters",
    "random_chain",
]

#: Specs, and for each what is done once the executable holds it.
Chain = dict[str, Any]

#: Functions by name: what each reports as its code, and the cluster that is compiled in.
FUNCTIONS: Final = {"a1": (1, 0), "b1": (2, 0), "a2": (3, 0), "c1": (4, 2), "d1": (5, 2)}
BETWEEN: Final = ("none", "memset-4", "memset-512k", "kernel", "same-kernel", "copy-512k", "exec")
LAUNCHES: Final = ("launch", "launch-other-stream", "launch-new-stream")
MAX_STEPS: Final = 6


def random_spec(random: Random) -> dict[str, Any]:
    """Return one kernel node: function, cluster along x (0: none asked for), cooperative, grid, block, value."""
    function = random.choice(list(FUNCTIONS))
    compiled = FUNCTIONS[function][1]
    # A compiled cluster and another one asked for are refused at the launch; asking for the same is allowed.
    cluster = random.choice([0, compiled]) if compiled else random.choice([0, 0, 1, 2, 4])
    return {
        "function": function,
        "cluster": cluster,
        "cooperative": int(random.random() < 0.2),
        "grid": random.choice([8, 8, 8, 16]),
        "block": random.choice([32, 32, 64]),
        "shared_bytes": random.choice([0, 0, 1024]),
        "slot": random.choice([0, 0, 0, 1]),
        "value": random.choice([1, 1, 1, 2]),
    }


def varied(random: Random, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with some fields of another: most chains change one thing at a time."""
    other = random_spec(random)
    fields = random.sample(list(spec), random.choice([0, 1, 1, 1, 2, 3, 8]))
    new = spec | {field: other[field] for field in fields}
    compiled = FUNCTIONS[new["function"]][1]
    if compiled and new["cluster"] not in (0, compiled):
        new["cluster"] = compiled
    return new


def random_chain(seed: int, number: int, *, quiet: bool = False) -> dict[str, Any]:
    """Return a chain: specs, and for each what is done once the executable holds it.

    In a ``quiet`` one nothing or a small memset runs in between, and most updates change function, cluster and one
    launch dimension: there the adversary of `sigcontract.update.kernel_state` is to keep what ran before.
    """
    if quiet:
        return _quiet_chain(seed, number)
    random = Random(f"{seed}:{number}")  # noqa: S311  a repeatable chain, no secret
    specs = [random_spec(random)]
    while len(specs) < random.randint(2, MAX_STEPS):
        specs.append(varied(random, random.choice(specs)))
    steps = [
        {
            "between": random.choice(BETWEEN),
            "between_stream": random.choice(["same", "other"]),
            "use": random.choice([*LAUNCHES, "launch", "launch", "upload", "nothing"]),
        }
        for _ in specs
    ]
    steps[-1]["use"] = random.choice(LAUNCHES)
    return {
        "seed": seed,
        "number": number,
        "bystander": random.random() < 0.5,
        "specs": specs,
        "steps": steps,
    }


def _quiet_chain(seed: int, number: int) -> dict[str, Any]:
    random = Random(f"quiet {seed}:{number}")  # noqa: S311  a repeatable chain, no secret
    specs = [random_spec(random) | {"slot": 0, "value": 1}]
    cooperative = specs[0]["cooperative"]  # the driver refuses to change it
    for _ in range(random.randint(1, MAX_STEPS - 1)):
        other = random_spec(random)
        fields = [
            "function",
            "cluster",
            *random.sample(["grid", "block", "shared_bytes", "value"], random.randint(0, 1)),
        ]
        before = random.choice(specs[-3:]) | {field: other[field] for field in fields} | {"cooperative": cooperative}
        compiled = compiled_cluster(before)
        specs.append(before | {"cluster": compiled} if compiled and before["cluster"] else before)
    steps = [
        {
            "between": random.choice(["none", "none", "none", "memset-4"]),
            "between_stream": "same",
            "use": random.choice(["launch", "launch", "launch", "upload", "nothing", *LAUNCHES[1:]]),
        }
        for _ in specs
    ]
    steps[-1]["use"] = random.choice(LAUNCHES)
    return {"seed": seed, "number": number, "quiet": True, "bystander": False, "specs": specs, "steps": steps}


def predicted_clusters(chain: dict[str, Any]) -> list[int]:
    """Return the cluster that each spec of a chain launches with, by the state model.

    The node of an executable has a stored cluster and, from its first launch or upload on, a fixed one. An update
    stores the new graph's cluster if it has one, and drops the fixed one if the function changes.
    """
    stored, fixed, clusters = 0, 0, []
    for index, (spec, step) in enumerate(zip(chain["specs"], chain["steps"], strict=True)):
        stored = spec["cluster"] or FUNCTIONS[spec["function"]][1] or stored
        if index and spec["function"] != chain["specs"][index - 1]["function"]:
            fixed = 0
        clusters.append(fixed or stored or 1)
        if step["use"] != "nothing":
            fixed = clusters[-1]
    return clusters


def compiled_cluster(spec: Mapping[str, Any]) -> int:
    """Return the cluster that is compiled into a spec's function, 0 for none."""
    return FUNCTIONS[spec["function"]][1]
