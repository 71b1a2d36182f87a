"""Devices, contexts, modules and functions of the fake driver, memory, streams and events."""

import re
from ctypes import (
    addressof,
    c_char,
    c_char_p,
    c_int,
    c_size_t,
    c_uint64,
    c_void_p,
    create_string_buffer,
    memmove,
    string_at,
)
from mmap import mmap

from tests.driver.fake_base import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NO_DEVICE,
    NOT_FOUND,
    PRIMARY_CONTEXT,
    RESULT_NAMES,
    FakeBase,
    Refused,
    entry,
    put,
)
from tests.driver.fake_state import FakeFunction, FakeMemory

__all__ = ["FakeFunctions"]


class FakeFunctions(FakeBase):
    """What a graph is made of and lives in."""

    # The driver, devices and contexts

    @entry("cuInit")
    def _init(self, _flags: int) -> int:
        return 0 if self.devices else NO_DEVICE

    @entry("cuDriverGetVersion")
    def _driver_get_version(self, out: int) -> None:
        put(c_int, out, self.version)

    @entry("cuGetErrorName")
    def _get_error_name(self, result: int, out: int) -> int:
        put(c_char_p, out, RESULT_NAMES.get(result))
        return 0 if result in RESULT_NAMES else INVALID_VALUE

    @entry("cuDeviceGetCount")
    def _device_get_count(self, out: int) -> None:
        put(c_int, out, self.devices)

    @entry("cuDeviceGetName")
    def _device_get_name(self, out: int, length: int, _device: int) -> None:
        text = self.device_name.encode()[: length - 1] + b"\0"
        memmove(out, text, len(text))

    @entry("cuDeviceGetAttribute")
    def _device_get_attribute(self, out: int, attribute: int, _device: int) -> int:
        if attribute not in (75, 76):
            return INVALID_VALUE
        put(c_int, out, self.compute_capability[attribute - 75])
        return 0

    @entry("cuDevicePrimaryCtxRetain")
    def _primary_retain(self, out: int, _device: int) -> None:
        self.retained += 1
        put(c_void_p, out, PRIMARY_CONTEXT)

    @entry("cuDevicePrimaryCtxRelease")
    def _primary_release(self, _device: int) -> int:
        self.retained -= 1
        return 0

    @entry("cuCtxGetCurrent")
    def _ctx_get_current(self, out: int) -> None:
        put(c_void_p, out, self.contexts[-1] if self.contexts else None)

    @entry("cuCtxGetDevice")
    def _ctx_get_device(self, out: int) -> None:
        self._context()
        put(c_int, out, 0)

    @entry("cuCtxPushCurrent")
    def _ctx_push(self, context: int) -> None:
        self.contexts.append(context)

    @entry("cuCtxPopCurrent")
    def _ctx_pop(self, out: int) -> None:
        put(c_void_p, out, self._context())
        self.contexts.pop()

    # Modules and functions

    @entry("cuModuleLoadData")
    def _module_load(self, out: int, image: int) -> None:
        self._context()
        handle = self._handle()
        self.modules[handle] = self._load(string_at(image), handle)
        for function in self.modules[handle]:
            function.handle = self._handle()
            self.functions[function.handle] = function
        put(c_void_p, out, handle)

    def _load(self, image: bytes, handle: int) -> list[FakeFunction]:
        entry = re.compile(rb"\.entry\s+(\w+)\s*\(([^)]*)\)([^{]*)\{(.*?)\n?\}", re.DOTALL)
        parameter = re.compile(rb"\.param\s+(?:\.align\s+(\d+)\s+)?\.[bus](\d+)\s*\w*(?:\[(\d+)\])?")
        found = []
        for name, declared, directives, body in entry.findall(image):
            offset, parameters = 0, []
            for align, bits, count in parameter.findall(declared):
                size = int(bits) // 8 * int(count or 1)
                offset += -offset % int(align or size)
                parameters.append((offset, size))
                offset += size
            dims = re.search(rb"\.reqnctapercluster\s+(\d+)\s*,\s*(\d+)\s*,\s*(\d+)", directives)
            x, y, z = (int(extent) for extent in dims.groups()) if dims else (0, 0, 0)
            comment = image.split(b"\n", 1)[0].decode() if image.startswith(b"//") else ""
            function = FakeFunction(
                name=name,
                code=comment + body.decode(),
                module=handle,
                parameters=tuple(parameters),
                required_cluster=(x, y, z),
                run=self.behaviours.get(name.decode()),
            )
            function.attributes = dict.fromkeys(range(16), 0) | {
                0: 1024,
                4: 16,
                5: 78,
                6: 90,
                8: 48 << 10,
                9: -1,
                10: int(bool(dims)),
                11: x,
                12: y,
                13: z,
            }
            found.append(function)
        if not found:
            raise Refused(INVALID_VALUE)
        return found

    @entry("cuModuleGetFunction")
    def _module_function(self, out: int, module: int, name: int) -> None:
        wanted = string_at(name)
        for function in self.modules.get(module, []):
            if function.name == wanted:
                put(c_void_p, out, function.handle)
                return
        raise Refused(NOT_FOUND)

    @entry("cuModuleUnload")
    def _module_unload(self, module: int) -> None:
        self._forget("module", self.modules, module)
        self.functions = {key: one for key, one in self.functions.items() if one.module != module}

    @entry("cuLibraryLoadData")
    def _library_load(self, out: int, image: int, *_options: int) -> None:
        handle = self._handle()
        text = string_at(image)
        self.modules[handle] = self._load(text, handle)
        for function in self.modules[handle]:
            # The number of a CUkernel comes back when the same code is loaded again (measured, 20 of 20).
            number = self._kernel_numbers.setdefault((text, function.name), self._handle())
            function.kern = number if number not in self.kernels else self._handle()
            function.handle = self._handle()
            self.kernels[function.kern] = function
            self.functions[function.handle] = function
        put(c_void_p, out, handle)

    @entry("cuLibraryGetKernel")
    def _library_kernel(self, out: int, library: int, name: int) -> None:
        wanted = string_at(name)
        for function in self.modules.get(library, []):
            if function.name == wanted:
                put(c_void_p, out, function.kern)
                return
        raise Refused(NOT_FOUND)

    @entry("cuLibraryUnload")
    def _library_unload(self, library: int) -> None:
        self._module_unload(library)
        self.kernels = {key: one for key, one in self.kernels.items() if one.module != library}

    @entry("cuFuncGetName")
    def _func_name(self, out: int, func: int) -> None:
        if func not in self.functions:
            raise Refused(INVALID_HANDLE)
        self._give_name(out, self.functions[func])

    @entry("cuKernelGetName")
    def _kernel_name(self, out: int, kern: int) -> None:
        if kern not in self.kernels:
            raise Refused(INVALID_HANDLE)
        self._give_name(out, self.kernels[kern])

    def _give_name(self, out: int, function: FakeFunction) -> None:
        name = self._names.setdefault(id(function), create_string_buffer(function.name))
        put(c_void_p, out, addressof(name))

    @entry("cuKernelGetFunction")
    def _kernel_function(self, out: int, kern: int) -> None:
        self._context()
        if kern not in self.kernels:
            raise Refused(INVALID_HANDLE)
        put(c_void_p, out, self.kernels[kern].handle)

    @entry("cuFuncGetAttribute")
    def _func_attribute(self, out: int, attribute: int, func: int) -> int:
        value = self._function(func).attributes.get(attribute)
        if value is None:
            return INVALID_VALUE
        put(c_int, out, value)
        return 0

    @entry("cuFuncGetParamInfo")
    def _func_param_info(self, func: int, index: int, offset: int, size: int) -> int:
        parameters = self._function(func).parameters
        if index >= len(parameters):
            return INVALID_VALUE
        put(c_size_t, offset, parameters[index][0])
        put(c_size_t, size, parameters[index][1])
        return 0

    # Memory, streams, events

    @entry("cuMemGetInfo")
    def _mem_info(self, free: int, total: int) -> None:
        self._context()
        put(c_size_t, free, self.free_bytes)
        put(c_size_t, total, 128 << 30)

    @entry("cuMemAlloc")
    def _mem_alloc(self, out: int, size: int) -> None:
        self._context()
        # The heap of a Python that is no position-independent executable is below 4 GiB, where no driver's memory is.
        block = (c_char * size).from_buffer(mmap(-1, size))
        self.memory[addressof(block)] = block
        put(c_void_p, out, addressof(block))

    @entry("cuMemFree")
    def _mem_free(self, address: int) -> None:
        self._forget("memory", self.memory, address)

    @entry("cuMemcpyHtoD")
    def _copy_in(self, address: int, source: int, size: int) -> None:
        memmove(address, source, size)

    @entry("cuMemcpyDtoH")
    def _copy_out(self, target: int, address: int, size: int) -> None:
        memmove(target, address, size)

    @entry("cuPointerGetAttributes")
    def _pointer_attributes(self, count: int, ids: int, places: int, address: int) -> None:
        """Answer for an address, always with success (lab/results/pointer-attributes-h200-2026-12-03.json).

        RANGE is not written for an address that is in no allocation and no reservation.
        """
        facts = {1: 0, 2: 0, 8: 0, 9: -2, 17: 0, 18: 0, 19: 0}
        for start, block in self.memory.items():
            if not start <= address < start + len(block):
                continue
            kind = self.memory_kinds.get(start, FakeMemory())
            if kind.has_range:
                facts |= {11: start, 12: len(block)}
            mapping = kind.mapping(start, len(block), address)
            if mapping is not None:
                has_context = not kind.pool and kind.mapped is None
                facts |= {1: PRIMARY_CONTEXT if has_context else 0, 2: kind.memory_type, 8: int(kind.managed)}
                facts |= {9: kind.device, 17: kind.pool, 18: mapping[1], 19: mapping[0]}
        for attribute, index in zip(
            (c_int * count).from_address(ids), (c_uint64 * count).from_address(places), strict=True
        ):
            if attribute in facts:
                put(c_uint64 if attribute in (1, 11, 12, 17, 18, 19) else c_int, index, facts[attribute])
            elif attribute not in (11, 12):
                raise Refused(INVALID_VALUE)

    @entry("cuStreamCreate")
    def _stream_create(self, out: int, _flags: int) -> None:
        self._context()
        handle = self._handle()
        self.streams.add(handle)
        put(c_void_p, out, handle)

    @entry("cuStreamDestroy")
    def _stream_destroy(self, stream: int) -> None:
        self._forget("stream", self.streams, stream)

    @entry("cuStreamSynchronize")
    def _stream_synchronize(self, _stream: int) -> None:
        self._context()

    @entry("cuEventCreate")
    def _event_create(self, out: int, _flags: int) -> None:
        handle = self._handle()
        self.events.add(handle)
        put(c_void_p, out, handle)

    @entry("cuEventDestroy")
    def _event_destroy(self, event: int) -> None:
        self._forget("event", self.events, event)
