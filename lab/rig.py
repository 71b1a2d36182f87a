"""The memory, events and functions that generated graphs work on, and what a launch left in them."""

import ctypes
from typing import Any

from cuda.bindings import driver

from examples.recording.calls import check, open_device
from lab.kernels import REPORT_WORDS, load_functions
from lab.memory import HOST_SPACES, PATTERN_BYTES, SLOT_BYTES, SLOTS, SPACE_BYTES, SPACES, ZERO_BYTES, Space
from sigcontract.driver.cuda.driver import default_driver

__all__ = ["SEMAPHORE_BYTES", "Rig"]

REPORT_BYTES = 4 * REPORT_WORDS
SEMAPHORE_BYTES = 32
EVENTS = 4
_FILL = 0xA5
_SEMAPHORE_START = 5
_VMM_BYTES = 2 << 20
_SCRATCH_BYTES = 512 << 10


class Rig:
    """A device with its context, one stream, the reporting functions, memory of every kind, and events."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Open the device; ``quiet``: launches report to host memory, which the host clears and reads."""
        self._quiet = quiet
        self.device, self.context = open_device()
        self.driver = default_driver()
        self.functions = load_functions(self.device)
        self.stream = check(driver.cuStreamCreate(1))
        self.spaces = {name: Space(name, self._allocate(name)) for name in SPACES}
        size = SLOTS * REPORT_BYTES
        self._reports = int(check(driver.cuMemHostAlloc(size, 0) if quiet else driver.cuMemAlloc(size)))
        self._scratch = int(check(driver.cuMemAlloc(_SCRATCH_BYTES)))
        self._semaphores = ctypes.create_string_buffer(SLOTS * 2 * SEMAPHORE_BYTES)
        self._semaphores_start = _SEMAPHORE_START.to_bytes(8, "little").ljust(SEMAPHORE_BYTES, b"\0") * (2 * SLOTS)
        self._staging = int(check(driver.cuMemHostAlloc(SLOTS * (SLOT_BYTES + REPORT_BYTES), 0)))
        self.events = [check(driver.cuEventCreate(0)) for _ in range(EVENTS)]
        self._mark = check(driver.cuEventCreate(0))
        self.arrays = [self._array(alternate=False), self._array(alternate=True)]
        library = ctypes.CDLL(None)
        self.driver_library = ctypes.CDLL("libcuda.so.1")
        self.host_functions = {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
            for name in ("sem_post", "sem_trywait")
        }

    def other_work(self) -> bool:
        """Run work that hides what an executable keeps, unless the rig is quiet; return whether it ran."""
        if not self._quiet:
            check(driver.cuMemsetD8Async(self._scratch, 0, _SCRATCH_BYTES, self.stream))
            check(driver.cuStreamSynchronize(self.stream))
        return not self._quiet

    def report(self, slot: int) -> int:
        """Address of a slot's report."""
        return self._reports + slot * REPORT_BYTES

    def semaphore(self, slot: int, *, alternate: bool) -> int:
        """Address of one of a slot's two semaphores."""
        return ctypes.addressof(self._semaphores) + (2 * slot + alternate) * SEMAPHORE_BYTES

    def launch(self, graph_exec: Any, spaces: tuple[str, ...], *, events: bool, stream: str = "busy") -> dict[str, Any]:
        """Launch once on memory in a known state; return the reports and all memory that may have been written.

        The stream has work before it (``busy``), has none (``idle``), or was made for this launch (``new``).
        """
        self._reset(spaces)
        if events:
            for event in self.events:
                check(driver.cuEventRecord(event, self.stream))
            check(driver.cuEventRecord(self._mark, self.stream))
        if stream != "busy":
            check(driver.cuStreamSynchronize(self.stream))
        if stream == "new":
            self._launch_on_new_stream(graph_exec)
        else:
            check(driver.cuGraphLaunch(graph_exec, self.stream))
        seen = self._fetch(spaces)
        if events:
            seen["events"] = tuple(self._recorded_since(event) for event in self.events)
        return seen

    @staticmethod
    def _launch_on_new_stream(graph_exec: Any) -> None:
        stream = check(driver.cuStreamCreate(1))
        try:
            check(driver.cuGraphLaunch(graph_exec, stream))
            check(driver.cuStreamSynchronize(stream))
        finally:
            check(driver.cuStreamDestroy(stream))

    def alive(self) -> bool:
        """Whether the context still works."""
        return int(driver.cuCtxSynchronize()[0]) == 0

    def recover(self) -> bool:
        """Leave a capture that failed; False where the context did not survive."""
        none = driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
        if driver.cuStreamIsCapturing(self.stream)[1] not in (none, None):
            driver.cuStreamEndCapture(self.stream)  # what it answers is why the capture failed
        return self.alive()

    def _recorded_since(self, event: Any) -> bool:
        elapsed_ms: float = check(driver.cuEventElapsedTime(self._mark, event))
        return elapsed_ms > 0

    def _reset(self, spaces: tuple[str, ...]) -> None:
        if self._quiet:
            check(driver.cuStreamSynchronize(self.stream))
            ctypes.memset(self._reports, 0, SLOTS * REPORT_BYTES)
        else:
            check(driver.cuMemsetD8Async(self._reports, 0, SLOTS * REPORT_BYTES, self.stream))
        for name in spaces:
            if name == "semaphores":
                ctypes.memmove(self._semaphores, self._semaphores_start, len(self._semaphores_start))
            elif name in HOST_SPACES:
                ctypes.memset(self.spaces[name].parts, _FILL, SLOTS * SLOT_BYTES)
            else:
                check(driver.cuMemsetD8Async(self.spaces[name].parts, _FILL, SLOTS * SLOT_BYTES, self.stream))

    def _fetch(self, spaces: tuple[str, ...]) -> dict[str, Any]:
        size = SLOTS * SLOT_BYTES
        seen: dict[str, Any] = {}
        if not self._quiet:
            check(driver.cuMemcpyDtoHAsync(self._staging + size, self._reports, SLOTS * REPORT_BYTES, self.stream))
        check(driver.cuStreamSynchronize(self.stream))
        reports = self._reports if self._quiet else self._staging + size
        seen["reports"] = ctypes.string_at(reports, SLOTS * REPORT_BYTES)
        for name in spaces:
            if name == "semaphores":
                seen[name] = self._semaphores.raw
            elif name in HOST_SPACES:
                seen[name] = ctypes.string_at(self.spaces[name].parts, size)
            else:
                check(driver.cuMemcpyDtoHAsync(self._staging, self.spaces[name].parts, size, self.stream))
                check(driver.cuStreamSynchronize(self.stream))
                seen[name] = ctypes.string_at(self._staging, size)
        return seen

    def _allocate(self, name: str) -> int:
        if name == "device":
            base = int(check(driver.cuMemAlloc(SPACE_BYTES)))
        elif name == "pool":
            base = int(check(driver.cuMemAllocAsync(SPACE_BYTES, self.stream)))
        elif name == "mapped":
            base = self._map()
        elif name == "managed":
            base = int(check(driver.cuMemAllocManaged(SPACE_BYTES, 1)))
        elif name == "pinned":
            base = int(check(driver.cuMemHostAlloc(SPACE_BYTES, 0)))
        else:
            self._pageable = ctypes.create_string_buffer(SPACE_BYTES)
            base = ctypes.addressof(self._pageable)
        constant = _pattern(SPACES.index(name))
        if name in HOST_SPACES:
            ctypes.memmove(base, constant, len(constant))
        else:
            check(driver.cuStreamSynchronize(self.stream))
            check(driver.cuMemcpyHtoD(base, constant, len(constant)))
        return base

    def _map(self) -> int:
        prop = driver.CUmemAllocationProp()
        prop.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        prop.location.id = 0
        handle = check(driver.cuMemCreate(_VMM_BYTES, prop, 0))
        base = check(driver.cuMemAddressReserve(_VMM_BYTES, 0, 0, 0))
        check(driver.cuMemMap(base, _VMM_BYTES, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = 0
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(base, _VMM_BYTES, [access], 1))
        return int(base)

    def _array(self, *, alternate: bool) -> Any:
        """Return a CUDA array of 64 by 8 bytes, filled from the mapped space's constant bytes."""
        descriptor = driver.CUDA_ARRAY_DESCRIPTOR()
        descriptor.Width, descriptor.Height = 64, 8
        descriptor.Format = driver.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8
        descriptor.NumChannels = 1
        array = check(driver.cuArrayCreate(descriptor))
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice = self.spaces["mapped"].pattern(alternate=alternate)
        copy.srcPitch = 64
        copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_ARRAY
        copy.dstArray = array
        copy.WidthInBytes, copy.Height = 64, 8
        check(driver.cuMemcpy2D(copy))
        return array


def _pattern(seed: int) -> bytes:
    """Return constant bytes whose two halves differ, then the zeros."""
    body = bytes((index * 7 + index // 251 + 31 * seed) & 0xFF for index in range(PATTERN_BYTES))
    return body + bytes(ZERO_BYTES)
