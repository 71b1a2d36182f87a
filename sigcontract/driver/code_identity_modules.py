"""Which loaded module a function's code lies in, and so what the code is.

A load through cuModuleLoad* gives the handle and the cubin in one call. A library's module is loaded later, inside
of the call that first needs it, and nothing names the library then; so its code is known where every candidate that
holds a kernel of that name has the same code, and unknown otherwise.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from sigcontract.driver.bindings import default_driver
from sigcontract.driver.code_identity import CubinCode, cubin_size, section_table_of
from sigcontract.driver.functions import Entry
from sigcontract.driver.library import Library, resolve_with_bindings
from sigcontract.driver.observe_structs import ModuleEvent, read_bytes
from sigcontract.errors import DriverCallError, DriverUnavailableError, ObserveError

__all__ = ["CodeDriver", "ModuleLedger"]

#: Images of modules that nobody has asked about are kept for a later question, up to here; then the oldest are
#: hashed at once and let go.
IMAGES_KEPT_BYTES = 256 * 2**20

_HEADER_BYTES = 64


class CodeDriver(Protocol):
    """The driver calls that lead from a function to its module. 0 where the driver will not say."""

    def name(self, func: int, kern: int) -> bytes:
        """cuKernelGetName, or cuFuncGetName where there is no CUkernel."""
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
        self._library = Library(
            resolve_with_bindings(),
            {"cuFuncGetModule": Entry(11000, "pp"), "cuKernelGetLibrary": Entry(12050, "pp")},
        )

    def name(self, func: int, kern: int) -> bytes:
        """cuKernelGetName, or cuFuncGetName where there is no CUkernel."""
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


class _Module:
    """One loaded cubin: its image until it is hashed, its hashes from then on."""

    __slots__ = ("_code", "_hashes", "_image", "handle_known")

    def __init__(self, image: bytes) -> None:
        self._image: bytes | None = image
        self._code: CubinCode | None = None
        self._hashes: dict[str, str | None] = {}
        #: Its CUmodule is known, so that no function of another module is looked for here.
        self.handle_known = False

    @property
    def kept_bytes(self) -> int:
        return len(self._image) if self._image is not None else 0
