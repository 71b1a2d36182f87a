"""One decode step captured at twelve batch sizes and replayed through shared executables, bit-equal to plain replay.

Needs PyTorch 2.8 or later (``keep_graph=True``) and a GPU. Example::

    python -m examples.torch_registry --policy share
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sigcontract.registry import GraphEntry, GraphExecRegistry

BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
REPLAYS = 1000


@dataclass(frozen=True)
class Step:
    """One captured step: its graph, the tensors that a replay reads, and the one that it fills.

    A graph holds addresses, not tensors: inputs that nobody keeps are freed, and a replay reads what is there then.
    """

    label: str
    graph: Any
    inputs: tuple[Any, ...]
    output: Any


@dataclass(frozen=True)
class Result:
    """What one way to replay needed and produced."""

    execs: int
    device_bytes: int
    outputs: Mapping[str, Any]


def capture(blocks: Sequence[Any], batch: int) -> Step:
    """Capture the step for that batch size; ``keep_graph`` keeps the graph that the registry reads."""
    import torch  # noqa: PLC0415  what does not capture is tested without it

    from examples.recording.torch_block import CONTEXT, HEADS, WIDTH  # noqa: PLC0415  imports torch

    token = torch.randn(batch, 1, WIDTH, device="cuda", dtype=torch.bfloat16)
    cache = torch.randn(2, batch, HEADS, CONTEXT, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16)

    def step() -> Any:
        hidden = token
        for block in blocks:
            hidden = block(hidden, cache[0], cache[1])
        return hidden

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        output = step()
    return Step(f"decode/bs={batch}", graph, (token, cache), output)


def outputs_of(steps: Sequence[Step], replay: Callable[[Step], None]) -> dict[str, Any]:
    """Replay each step into an emptied output, and return the outputs by label."""
    outputs = {}
    for step in steps:
        step.output.zero_()
        replay(step)
        outputs[step.label] = step.output.clone()
    return outputs


def alternate(entries: Sequence[GraphEntry], replays: int) -> None:
    """Replay the entries in turn: the worst case for a shared executable, an update before every launch."""
    for turn in range(replays):
        entries[turn % len(entries)].replay()


def replay_shared(registry: GraphExecRegistry, steps: Sequence[Step], free_before: int) -> Result:
    """Register the steps, replay them in turn many times, and return what the last replay of each gave."""
    entries = {step.label: registry.register(step.graph, step.label) for step in steps}
    registry.seal()
    alternate(list(entries.values()), REPLAYS)
    taken = free_before - _free_bytes()
    outputs = outputs_of(steps, lambda step: entries[step.label].replay())
    return Result(registry.stats().execs, taken, outputs)


def replay_plain(steps: Sequence[Step], free_before: int) -> Result:
    """Replay as PyTorch does, one executable for each graph."""
    for step in steps:
        step.graph.replay()
    taken = free_before - _free_bytes()
    return Result(len(steps), taken, outputs_of(steps, lambda step: step.graph.replay()))


def unequal(expected: Mapping[str, Any], actual: Mapping[str, Any], equal: Callable[[Any, Any], bool]) -> list[str]:
    """Return the labels whose outputs are not bit-equal, or are missing."""
    return [label for label, output in expected.items() if label not in actual or not equal(output, actual[label])]


def _free_bytes() -> int:
    import torch  # noqa: PLC0415  as above

    torch.cuda.synchronize()
    free, _ = torch.cuda.mem_get_info()
    return int(free)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both ways on the same graphs and compare. Returns 1 where an output differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", choices=("exact", "share", "share-functions", "share-updatable"), default="share")
    parser.add_argument("--output", type=Path, help="write the counts to this file, as JSON")
    options = parser.parse_args(arguments)
    policy = options.policy
    import torch  # noqa: PLC0415  as above
    from torch import nn  # noqa: PLC0415

    from examples.recording.torch_block import LAYERS, Block  # noqa: PLC0415  imports torch

    torch.manual_seed(0)
    with torch.inference_mode():
        blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device="cuda", dtype=torch.bfloat16)
        steps = [capture(blocks, batch) for batch in BATCHES]
        free_before = _free_bytes()
        with GraphExecRegistry(policy=policy) as registry:
            shared = replay_shared(registry, steps, free_before)
            for entry in registry.entries:
                print(f"{entry.label}: group {entry.group.index}, {entry.reason}")
            stats = registry.stats()
            print(stats)
        plain = replay_plain(steps, free_before)  # memory that the registry gave back counts again
    print(f"{policy}: {shared.execs} executables, {shared.device_bytes / 2**20:.1f} MiB of device memory")
    print(f"plain: {plain.execs} executables, {plain.device_bytes / 2**20:.1f} MiB of device memory")
    wrong = unequal(plain.outputs, shared.outputs, torch.equal)
    print(f"outputs that differ from plain replay: {', '.join(wrong) or 'none'}")
    if options.output is not None:
        counts = {
            "plain": {"executables": plain.execs, "device_bytes": plain.device_bytes},
            policy: {"executables": shared.execs, "device_bytes": shared.device_bytes, "repoints": stats.repoints},
            "replays_in_turn": REPLAYS,
            "batches": BATCHES,
            "outputs_that_differ_from_plain_replay": len(wrong),
        }
        options.output.write_text(json.dumps(counts) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
