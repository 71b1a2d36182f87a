"""Find the loaded module, and so the machine code, of a function.

A call of cuModuleLoadData or cuLibraryLoadData with a cubin shows both handle and code. Code from a fat binary, or
compiled from PTX, shows only at its load, without its library; it is known if all candidate modules with a kernel of
that name have the same code, else unknown.
"""

from collections.abc import Callable, Iterable
from ctypes import byref, c_void_p
from typing import Protocol

from sigcontract.driver.cuda import (
    SUCCESS,
    Library,
    default_driver,
    resolve_with_bindings,
)
from sigcontract.driver.observing.cubin import ELF_MAGIC, cubin_size, kernel_hashes, kernel_names, section_table_of
from sigcontract.driver.observing.structs import ModuleEvent, read_bytes
from sigcontract.errors import DriverCallError, DriverUnavailableError, ObserveError

__all__ = ["CodeDriver", "ModuleLedger"]

#: Limit on the unhashed module images kept for later queries; beyond it, the oldest are hashed and freed.
IMAGES_KEPT_BYTES = 256 * 2**20

_HEADER_BYTES = 64


class CodeDriver(Protocol):
    """The driver calls that find a function's module. They return 0 if the driver refuses."""

    def name(self, func: int, kern: int) -> bytes:
        """cuKernelGetName, or cuFuncGetName without a CUkernel."""
        ...

    def function_of(self, kern: int) -> int:
        """cuKernelGetFunction, in the current context."""
        ...

    def module_of(self, func: int) -> int:
        """cuFuncGetModule."""
        ...

    def library_of(self, kern: int) -> int:
        """cuKernelGetLibrary (driver 12.5)."""
        ...


class CudaCode:
    """`CodeDriver` on libcuda."""

    def __init__(self) -> None:
        self._driver = default_driver()
        self._library = Library(resolve_with_bindings())

    def name(self, func: int, kern: int) -> bytes:
        """cuKernelGetName, or cuFuncGetName without a CUkernel."""
        return self._driver.kernel_name(kern) if kern else self._driver.function_name(func)

    def function_of(self, kern: int) -> int:
        """cuKernelGetFunction, in the current context."""
        return self._driver.kernel_function(kern)

    def module_of(self, func: int) -> int:
        """cuFuncGetModule."""
        return self._owner("cuFuncGetModule", func)

    def library_of(self, kern: int) -> int:
        """cuKernelGetLibrary."""
        return self._owner("cuKernelGetLibrary", kern) if self._library.has("cuKernelGetLibrary") else 0

    def _owner(self, call: str, handle: int) -> int:
        owner = c_void_p()
        return (owner.value or 0) if self._library.result_of(call, byref(owner), handle) == SUCCESS else 0


class ModuleLedger:
    """The modules loaded during the observation. Thread-safe.

    Parameters
    ----------
    complete
        Whether the observation began before cuInit, so that no load was missed.
    sees_loads
        Whether every module load of the driver is reported, not only calls of the program.
    driver
        The driver to query about functions; by default this process's own, opened on first use.
    """

    def __init__(self, *, complete: bool, sees_loads: bool, driver: Callable[[], CodeDriver] = CudaCode) -> None:
        self.sees_loads = sees_loads
        self._complete = complete
        self._open_driver = driver
        self._driver: CodeDriver | None = None
        #: CUPTI's module id -> module, in the order of loading.
        self._modules: dict[int, _Module] = {}
        self._by_handle: dict[int, _Module] = {}
        #: CUlibrary -> its cubin; None if loaded from a fat binary, PTX or a file.
        self._libraries: dict[int, _Module | None] = {}
        self._answers: dict[tuple[int, int], str] = {}

    @property
    def kept_bytes(self) -> int:
        """Bytes of images kept for later queries."""
        return sum(module.kept_bytes for module in self._known())

    def loaded(self, event: ModuleEvent) -> None:
        """Record a module at its load."""
        self._modules[event.module_id] = _Module(read_bytes(event.cubin, event.cubin_bytes), event.context)
        self._bound_memory()

    def unloading(self, module_id: int) -> None:
        """Record a module's end."""
        module = self._modules.pop(module_id, None)
        if module is not None and self._by_handle.get(module.handle) is module:
            del self._by_handle[module.handle]
        self._answers.clear()

    def context_ending(self, context: int) -> None:
        """Record the end of a context and its modules."""
        for module_id, module in tuple(self._modules.items()):
            if module.context == context:
                self.unloading(module_id)

    def module_loaded(self, handle: int, image: int, module_ids: Iterable[int]) -> None:
        """Record a CUmodule, the address of its image, and the modules loaded inside that call."""
        loaded = [self._modules[module_id] for module_id in module_ids if module_id in self._modules]
        cubin = _image_at(image) if image and not loaded else None
        if cubin is not None:
            loaded = [_Module(cubin)]
        if len(loaded) == 1:
            loaded[0].handle = handle
            self._by_handle[handle] = loaded[0]
            self._bound_memory()

    def module_unloaded(self, handle: int) -> None:
        """Record cuModuleUnload."""
        self._by_handle.pop(handle, None)
        self._answers.clear()

    def contexts_ended(self) -> None:
        """Record that a context and its modules may have ended: no module handle is known to be valid."""
        self._by_handle.clear()
        self._answers.clear()

    def library_loaded(self, handle: int, code: int) -> None:
        """Record a CUlibrary and the address of its image (0: loaded from a file)."""
        image = _image_at(code) if code else None
        self._libraries[handle] = None if image is None else _Module(image)
        self._bound_memory()

    def library_unloaded(self, handle: int) -> None:
        """Record cuLibraryUnload."""
        self._libraries.pop(handle, None)
        self._answers.clear()

    def code_sha256(self, func: int, kern: int) -> str | None:
        """Return the hash of a function's code; None if its module is unknown."""
        answer = self._answers.get((func, kern))
        if answer is None:
            try:
                answer = self._find(func, kern)
            except (DriverCallError, DriverUnavailableError, ObserveError):
                return None
            if answer is not None:
                self._answers[func, kern] = answer
        return answer

    def _find(self, func: int, kern: int) -> str | None:
        if self._driver is None:
            self._driver = self._open_driver()
        name = self._driver.name(func, kern).decode("utf-8", "backslashreplace")
        function = func or self._driver.function_of(kern)
        module = self._by_handle.get(self._driver.module_of(function)) if function else None
        if module is not None:
            return module.sha256(name)
        library = self._driver.library_of(kern) if kern else 0
        image = self._libraries.get(library)
        if image is not None:
            return image.sha256(name)
        if not self.sees_loads or not (self._complete or library in self._libraries):
            return None
        # A copy: while this reads, other threads load modules.
        candidates = (module for module in tuple(self._modules.values()) if not module.handle)
        codes = {module.sha256(name) for module in candidates if module.holds(name)}
        return codes.pop() if len(codes) == 1 else None

    def _known(self) -> set["_Module"]:
        # Built in C code alone, so no other thread can interleave.
        known: set[_Module | None] = {*self._modules.values(), *self._by_handle.values(), *self._libraries.values()}
        return {module for module in known if module is not None}

    def _bound_memory(self) -> None:
        kept = self.kept_bytes
        for module in self._known():
            if kept <= IMAGES_KEPT_BYTES:
                return
            kept -= module.kept_bytes
            module.settle()


class _Module:
    """One loaded cubin: its image until the first query, then its hashes."""

    __slots__ = ("_hashes", "_image", "_names", "context", "handle")

    def __init__(self, image: bytes, context: int = 0) -> None:
        self._image: bytes | None = image
        self._names: frozenset[str] | None = None
        #: By kernel; None: present, but its code cannot be read.
        self._hashes: dict[str, str | None] = {}
        self.context = context
        #: Its CUmodule; 0 if unknown. If known, functions of other modules are not looked up here.
        self.handle = 0

    @property
    def kept_bytes(self) -> int:
        image = self._image
        return len(image) if image is not None else 0

    def holds(self, kernel: str) -> bool:
        """Whether the module contains the kernel, or appears to but cannot be read."""
        image = self._image
        if image is not None:
            if self._names is None:
                self._names = kernel_names(image)
            if kernel not in self._names:
                return False
            self.settle()
        return kernel in self._hashes

    def sha256(self, kernel: str) -> str | None:
        self.settle()
        return self._hashes.get(kernel)

    def settle(self) -> None:
        """Hash every kernel, then free the image, so that other threads always find one of them."""
        image = self._image
        if image is not None:
            try:
                self._hashes = {**kernel_hashes(image)}
            except ObserveError:
                self._hashes = dict.fromkeys(kernel_names(image))
            self._image = None


def _image_at(address: int) -> bytes | None:
    """Copy the cubin at an address; None if it holds something else (a fat binary, PTX)."""
    # Read only as far as validated so far: PTX text may end at the edge of mapped memory.
    if read_bytes(address, len(ELF_MAGIC)) != ELF_MAGIC:
        return None
    header = read_bytes(address, _HEADER_BYTES)
    table = section_table_of(header)
    if table is None:
        return None
    return read_bytes(address, cubin_size(header, read_bytes(address + table[0], table[1])))
