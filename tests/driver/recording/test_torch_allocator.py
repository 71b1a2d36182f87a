"""Blocks of PyTorch's allocator, on snapshots as torch 2.11 and 2.0 return them."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from sigcontract.driver.recording.torch_allocator import TorchBlocks, torch_blocks
from sigcontract.errors import DriverError
from sigcontract.model.arguments import AllocatorBlock

FRAMES = [
    {"filename": "model.py", "line": 7, "name": "forward"},
    {"filename": "serve.py", "line": 90, "name": "main"},
]
SEGMENTS: list[dict[str, Any]] = [
    {
        "address": 0x9000,
        "total_size": 0x1000,
        "segment_pool_id": (0, 3),
        "blocks": [{"address": 0x9000, "size": 0x1000, "state": "inactive", "frames": []}],
    },
    {
        "address": 0x1000,
        "total_size": 0x1000,
        "segment_pool_id": (0, 0),
        "blocks": [
            {"address": 0x1000, "size": 0x200, "state": "active_allocated", "frames": FRAMES},
            {"address": 0x1200, "size": 0x200, "state": "active_pending_free", "frames": []},
            {"address": 0x1400, "size": 0x400, "state": "inactive"},
            {"address": 0x1800, "size": 0x800, "state": "of a later release"},
        ],
    },
]


def block(state: Any, pool: Any, size_bytes: int, offset_bytes: int, *stack: str) -> AllocatorBlock:
    return AllocatorBlock(
        allocator="torch", state=state, pool=pool, size_bytes=size_bytes, offset_bytes=offset_bytes, stack=stack
    )


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (0xFFF, None),
        (0x1000, block("allocated", "default", 0x200, 0, "model.py:7 forward", "serve.py:90 main")),
        (0x13FF, block("pending_free", "default", 0x200, 0x1FF)),
        (0x1400, block("free", "default", 0x400, 0)),
        (0x1800, None),
        (0x8FFF, None),
        (0x9010, block("free", "unknown", 0x1000, 0x10)),
        (0xA000, None),
    ],
    ids=lambda value: hex(value) if isinstance(value, int) else "",
)
def test_an_address_is_in_the_block_that_contains_it(address: int, found: AllocatorBlock | None) -> None:
    assert TorchBlocks(SEGMENTS).block_at(address) == found


@pytest.mark.parametrize(("own", "pool"), [((0, 3), "graph"), ((0, 4), "other"), (None, "unknown")])
def test_a_private_pool_is_the_graphs_own_or_anothers(own: tuple[int, int] | None, pool: str) -> None:
    found = TorchBlocks(SEGMENTS, own).block_at(0x9000)
    assert found is not None
    assert found.pool == pool


def test_blocks_without_addresses_follow_each_other() -> None:
    sizes = [{"size": 0x200, "state": "inactive"}, {"size": 0x300, "state": "active_awaiting_free"}]
    blocks = TorchBlocks([{"address": 0x1000, "blocks": sizes}])
    assert blocks.block_at(0x1210) == block("pending_free", "default", 0x300, 0x10)


def stand_in(monkeypatch: pytest.MonkeyPatch, **cuda: Any) -> None:
    functions = {"is_initialized": lambda: True, "memory_snapshot": lambda: SEGMENTS} | cuda
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(**functions)))


def test_a_program_without_torch_has_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert torch_blocks() is None
    assert "torch" not in sys.modules


def test_a_program_that_has_not_initialized_cuda_has_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, is_initialized=lambda: False)
    assert torch_blocks() is None


def test_the_pool_of_a_graph_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    blocks = torch_blocks(SimpleNamespace(pool=lambda: (0, 3)))
    assert blocks is not None
    assert blocks.block_at(0x9000) == block("free", "graph", 0x1000, 0)


def test_a_graph_that_is_not_captured_yet_has_no_known_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def pool() -> tuple[int, int]:
        raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")

    stand_in(monkeypatch)
    blocks = torch_blocks(SimpleNamespace(pool=pool))
    assert blocks is not None
    assert blocks.block_at(0x9000) == block("free", "unknown", 0x1000, 0)


def refuse() -> list[dict[str, Any]]:
    raise RuntimeError("cudaMallocAsync does not yet support snapshot")


@pytest.mark.parametrize("snapshot", [refuse, lambda: [{"blocks": []}], lambda: None, lambda: [{"address": 1}]])
def test_a_snapshot_that_cannot_be_read_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch, snapshot: Any) -> None:
    stand_in(monkeypatch, memory_snapshot=snapshot)
    with pytest.raises(DriverError, match="PyTorch's allocator gives no readable snapshot"):
        torch_blocks()
