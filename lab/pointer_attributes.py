"""What cuPointerGetAttributes answers for each kind of memory, and where the driver keeps the arguments of a node.

Run it on a GPU as ``python -m lab.pointer_attributes [RESULT.json]``. It asks for memory of every kind while it is
allocated and after it is freed, one byte past its end, for reserved and unmapped addresses, and for graph memory before
and after a launch.
"""

import ctypes
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cuda.bindings import driver as cuda

from examples.recording.calls import check, open_device
from sigcontract.driver.cuda.api import KernelLaunch
from sigcontract.driver.cuda.driver import CudaDriver, default_driver
from sigcontract.driver.reading.process_environment import display_driver_version
from tests.driver.build import GraphBuilder
from tests.driver.fake import ptx

_SIZE = 3 << 20
#: What each result is preset with: a value that the driver did not write stays so.
_UNWRITTEN = 0xAAAA_AAAA_AAAA_AAAA
_IDS = {
    "CONTEXT": 1,
    "MEMORY_TYPE": 2,
    "IS_MANAGED": 8,
    "DEVICE_ORDINAL": 9,
    "RANGE_START_ADDR": 11,
    "RANGE_SIZE": 12,
    "MAPPED": 13,
    "MEMPOOL_HANDLE": 17,
    "MAPPING_SIZE": 18,
    "MAPPING_BASE_ADDR": 19,
}


def answer(driver: CudaDriver, address: int, start: int) -> dict[str, Any]:
    """Return what the driver answers, ids together as sigcontract asks; addresses relative to `start`."""
    outs = [ctypes.c_uint64(_UNWRITTEN) for _ in _IDS]
    pointers = (ctypes.c_void_p * len(outs))(*map(ctypes.addressof, outs))
    ids = (ctypes.c_int * len(outs))(*_IDS.values())
    result = driver.library.result_of("cuPointerGetAttributes", len(outs), ids, pointers, address)
    found: dict[str, Any] = {"result": result}
    for name, out in zip(_IDS, outs, strict=True):
        if out.value == _UNWRITTEN:
            found[name] = "not written"
            continue
        value = out.value if name.endswith(("ADDR", "SIZE", "CONTEXT", "HANDLE")) else out.value & 0xFFFF_FFFF
        if name in ("CONTEXT", "MEMPOOL_HANDLE"):
            found[name] = value != 0
        elif name.endswith("ADDR"):
            found[name] = value - start if value else None
        else:
            found[name] = value
    return found


def ask(driver: CudaDriver, address: int, size_bytes: int = _SIZE) -> dict[str, Any]:
    """Return the answers at the start, in the middle, at the last byte and past the end."""
    return {
        "region": hex(address >> 40),
        "address": hex(address),
        "start": answer(driver, address, address),
        "middle": answer(driver, address + size_bytes // 2, address),
        "end": answer(driver, address + size_bytes, address),
    }


def plain_kinds(driver: CudaDriver) -> dict[str, Any]:
    """Return answers for memory with a call that allocates and one that frees."""
    stream = check(cuda.cuStreamCreate(0))

    def from_pool() -> int:
        address = int(check(cuda.cuMemAllocAsync(_SIZE, stream)))
        check(cuda.cuStreamSynchronize(stream))
        return address

    def to_pool(address: int) -> None:
        check(cuda.cuMemFreeAsync(address, stream))
        check(cuda.cuStreamSynchronize(stream))

    attach = int(cuda.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
    pageable = ctypes.create_string_buffer(_SIZE + 8192)
    page = (ctypes.addressof(pageable) + 4095) // 4096 * 4096

    def register() -> int:
        check(cuda.cuMemHostRegister(page, _SIZE, 0))
        return page

    kinds: dict[str, Any] = {
        "cuMemAlloc": (lambda: int(check(cuda.cuMemAlloc(_SIZE))), lambda one: check(cuda.cuMemFree(one))),
        "cuMemAlloc, small": (lambda: int(check(cuda.cuMemAlloc(512))), lambda one: check(cuda.cuMemFree(one))),
        "cuMemAllocAsync": (from_pool, to_pool),
        "cuMemAllocManaged": (
            lambda: int(check(cuda.cuMemAllocManaged(_SIZE, attach))),
            lambda one: check(cuda.cuMemFree(one)),
        ),
        "cuMemHostAlloc": (
            lambda: int(check(cuda.cuMemHostAlloc(_SIZE, 0))),
            lambda one: check(cuda.cuMemFreeHost(one)),
        ),
        "cuMemHostRegister": (register, lambda one: check(cuda.cuMemHostUnregister(one))),
    }
    found: dict[str, Any] = {}
    for name, (allocate, free) in kinds.items():
        size = 512 if name.endswith("small") else _SIZE
        address = allocate()
        found[name] = {"allocated": ask(driver, address, size)}
        free(address)
        found[name]["freed"] = ask(driver, address, size)
    found["pageable"] = {"allocated": ask(driver, page)}
    found["null"] = {"allocated": answer(driver, 0, 0)}
    return found


def mapped(driver: CudaDriver) -> dict[str, Any]:
    """Return answers for a reservation of which one half is mapped."""
    props = cuda.CUmemAllocationProp()
    props.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    props.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    props.location.id = 0
    option = cuda.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    size = int(check(cuda.cuMemGetAllocationGranularity(props, option)))
    address = int(check(cuda.cuMemAddressReserve(2 * size, 0, 0, 0)))
    handle = check(cuda.cuMemCreate(size, props, 0))
    found = {"reserved": ask(driver, address, size)}
    check(cuda.cuMemMap(address, size, 0, handle, 0))
    access = cuda.CUmemAccessDesc()
    access.location.type, access.location.id = props.location.type, 0
    access.flags = cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    check(cuda.cuMemSetAccess(address, size, [access], 1))
    found["mapped in the first half"] = ask(driver, address, size)
    check(cuda.cuMemUnmap(address, size))
    found["unmapped"] = ask(driver, address, size)
    check(cuda.cuMemRelease(handle))
    check(cuda.cuMemAddressFree(address, 2 * size))
    found["reservation freed"] = ask(driver, address, size)
    return found


def graph_memory(driver: CudaDriver) -> dict[str, Any]:
    """Return answers for the memory of a mem alloc node."""
    graph = GraphBuilder(driver)
    node, address = graph.alloc(_SIZE)
    graph.free(address, after=[node])
    found = {"before the launch": ask(driver, address)}
    graph_exec = driver.graph_instantiate(graph.graph)
    found["instantiated"] = ask(driver, address)
    driver.graph_launch(graph_exec, 0)
    driver.stream_synchronize(0)
    found["launched"] = ask(driver, address)
    driver.graph_exec_destroy(graph_exec)
    graph.destroy()
    found["destroyed"] = ask(driver, address)
    return found


def argument_memory(driver: CudaDriver) -> dict[str, Any]:
    """Return where the arguments of nodes are: added and captured, one by one and packed."""
    layout = (4, 8, 1, 40, 28, 8)
    module = driver.module_load(ptx("add", parameters=layout))
    function = driver.module_function(module, "add")
    offsets = driver.function_parameters(function)
    assert offsets is not None
    values = tuple(bytes([index + 1]) * size for index, size in enumerate(layout))
    packed = bytearray(offsets[-1][0] + offsets[-1][1])
    for (offset, size), value in zip(offsets, values, strict=True):
        packed[offset : offset + size] = value
    added = GraphBuilder(driver)
    added.kernel(function, arguments=values)
    added.kernel(function, packed=bytes(packed))
    stream = driver.stream_create()
    driver.begin_capture(stream)
    driver.launch_kernel(KernelLaunch(function, (1, 1, 1), (32, 1, 1), values), stream)
    captured = driver.end_capture(stream)
    found: dict[str, Any] = {"layout": offsets}
    nodes = [*driver.graph_nodes(added.graph), *driver.graph_nodes(captured)]
    _, addresses = driver.kernel_params_and_arguments(nodes)
    for name, params, extra in zip(("added", "packed", "captured"), *addresses, strict=True):
        found[name] = {"kernelParams": params != 0, "extra": extra != 0}
        if params:
            pointers = (ctypes.c_uint64 * len(layout)).from_address(params)[:]
            found[name]["offsets from the first"] = [one - pointers[0] for one in pointers]
            found[name]["array to first"] = pointers[0] - params
    return found


def main() -> None:
    """Print the result as JSON, and write it where asked."""
    open_device()
    driver = default_driver()
    found = {
        "experiment": "pointer_attributes",
        "date": datetime.now(UTC).date().isoformat(),
        "device": driver.device_name(0),
        "cuda_driver_version": driver.driver_version(),
        "display_driver_version": display_driver_version(),
        "libcuda": hex(driver.code_address()),
        "memory": plain_kinds(driver),
        "virtual memory management": mapped(driver),
        "graph memory": graph_memory(driver),
        "arguments": argument_memory(driver),
    }
    text = json.dumps(found, indent=1) + "\n"
    print(text, end="")
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
