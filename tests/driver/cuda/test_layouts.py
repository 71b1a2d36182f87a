"""Sizes and offsets of the structs, against a table and, where they are there, against NVIDIA's headers."""

import subprocess
from collections.abc import Iterator
from ctypes import Structure, Union, sizeof
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from shutil import which

import pytest

from sigcontract.driver.cuda import layouts
from sigcontract.driver.cuda.layouts import (
    ATTRIBUTE_VALUE_BYTES,
    EDGE_DATA_BYTES,
    KERNEL_NODE_PARAMS_BYTES,
    GraphNodeParams,
    KernelNodeParams,
)

#: Our struct -> its name in cuda.h, and its size there (CUDA 12.8, 12.9, 13.0 and 13.5 agree).
SIZES = {
    "KernelNodeParams": ("CUDA_KERNEL_NODE_PARAMS_v2", 72),
    "MemcpyParams": ("CUDA_MEMCPY3D", 200),
    "MemsetNodeParams": ("CUDA_MEMSET_NODE_PARAMS_v1", 40),
    "HostNodeParams": ("CUDA_HOST_NODE_PARAMS_v1", 16),
    "ExtSemNodeParams": ("CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1", 24),
    "MemLocation": ("CUmemLocation", 8),
    "MemAccessDesc": ("CUmemAccessDesc", 12),
    "MemPoolProps": ("CUmemPoolProps", 88),
    "MemAllocNodeParams": ("CUDA_MEM_ALLOC_NODE_PARAMS_v1", 120),
    "StreamBatchMemOpParams": ("CUstreamBatchMemOpParams", 48),
    "BatchMemOpNodeParams": ("CUDA_BATCH_MEM_OP_NODE_PARAMS", 32),
    "ConditionalNodeParams": ("CUDA_CONDITIONAL_NODE_PARAMS", 32),
    "GraphNodeParams": ("CUgraphNodeParams", 256),
    "UpdateResultInfo": ("CUgraphExecUpdateResultInfo", 24),
    "LaunchAttribute": ("CUlaunchAttribute", 72),
    "LaunchConfig": ("CUlaunchConfig", 56),
}

#: Members that cuda.h has under another name or not by a name of its own.
NOT_BY_NAME = {"reserved", "pad", "params", "value", "barrier", "operation"}

HEADER_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")


def structs() -> Iterator[tuple[str, type[Structure] | type[Union]]]:
    for name in SIZES:
        yield name, getattr(layouts, name)


def test_every_public_struct_is_in_the_table() -> None:
    assert set(SIZES) == {name for name in layouts.__all__ if not name.isupper()}


@pytest.mark.parametrize(("name", "struct"), list(structs()), ids=SIZES)
def test_a_struct_has_the_size_of_the_header(name: str, struct: type[Structure]) -> None:
    assert sizeof(struct) == SIZES[name][1]


def test_members_that_the_reader_picks_by_offset_lie_there() -> None:
    assert sizeof(KernelNodeParams) == KERNEL_NODE_PARAMS_BYTES
    assert (KernelNodeParams.kernelParams.offset, KernelNodeParams.extra.offset) == (40, 48)
    assert (KernelNodeParams.kern.offset, KernelNodeParams.ctx.offset) == (56, 64)
    assert GraphNodeParams.params.offset == 16
    assert (ATTRIBUTE_VALUE_BYTES, EDGE_DATA_BYTES) == (64, 8)


def header_folder() -> Path | None:
    for package in HEADER_PACKAGES:
        try:
            found = [file for file in files(package) or () if file.name == "cuda.h"]
        except PackageNotFoundError:
            continue
        if found:
            return Path(str(found[0].locate())).parent
    return None


@pytest.mark.skipif(which("gcc") is None, reason="needs gcc")
@pytest.mark.skipif(header_folder() is None, reason="needs cuda.h (pip install nvidia-cuda-runtime)")
def test_every_member_lies_where_the_compiler_puts_it(tmp_path: Path) -> None:
    lines, expected = [], []
    for name, struct in structs():
        c_name = SIZES[name][0]
        lines.append(f'printf("{c_name} %zu\\n", sizeof({c_name}));')
        expected.append(f"{c_name} {sizeof(struct)}")
        for member in (field[0] for field in struct._fields_):
            if member.rstrip("0123456789") in NOT_BY_NAME:
                continue
            lines.append(f'printf("{c_name}.{member} %zu\\n", offsetof({c_name}, {member}));')
            expected.append(f"{c_name}.{member} {getattr(struct, member).offset}")
    source = tmp_path / "offsets.c"
    body = "\n".join(lines)
    source.write_text(f'#include <stddef.h>\n#include <stdio.h>\n#include "cuda.h"\nint main(void) {{ {body} }}\n')
    program = tmp_path / "offsets"
    subprocess.run(["gcc", f"-I{header_folder()}", "-o", program, source], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == expected
    assert len(printed) >= 100
