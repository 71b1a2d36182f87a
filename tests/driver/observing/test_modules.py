"""Which module a function lies in: what is known, and what stays unknown."""

import ctypes

import pytest

from sigcontract.driver.observing import modules as code_identity_modules
from sigcontract.driver.observing.cubin import kernel_hashes, kernel_names
from sigcontract.driver.observing.cupti import Domain, Resource
from sigcontract.driver.observing.modules import ModuleLedger
from sigcontract.driver.observing.observations import Observations
from sigcontract.errors import DriverCallError, ObserveError
from tests.driver.fake_cupti import CONTEXT, FakeCupti, FakeProgram
from tests.driver.observing.test_cubin import cubin

ONE, TWO, MORE = cubin("one"), cubin("two"), cubin("more")
ONE_PUT, TWO_PUT = kernel_hashes(ONE)["put"], kernel_hashes(TWO)["put"]
FUNC, KERN, FATBIN = 0xF0, 0xE0, b"\x50\xed\x55\xba" + bytes(200)


class Code:
    """Functions of a driver: each lies in a CUmodule and, where it has a CUkernel, in a CUlibrary."""

    def __init__(self) -> None:
        self.module = 0
        self.library = 0
        self.kernel = b"put"
        self.asked = 0

    def name(self, func: int, kern: int) -> bytes:
        assert func or kern
        self.asked += 1
        return self.kernel

    def function_of(self, kern: int) -> int:
        assert kern == KERN
        return FUNC

    def module_of(self, func: int) -> int:
        if func != FUNC:
            raise DriverCallError("cuFuncGetModule", result="CUDA_ERROR_INVALID_HANDLE", value=400, advice="")
        return self.module

    def library_of(self, kern: int) -> int:
        assert kern == KERN
        return self.library


@pytest.fixture
def code() -> Code:
    return Code()


def observed(code: Code, *, started: bool, sees_loads: bool = True) -> tuple[Observations, FakeProgram]:
    cupti = FakeCupti(started=started)
    seen = Observations(
        cupti, lambda complete: ModuleLedger(complete=complete, sees_loads=sees_loads, driver=lambda: code)
    )
    return seen, FakeProgram(cupti)


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("sees_loads", [False, True])
def test_a_module_that_was_loaded_by_its_handle_is_known(code: Code, started: bool, sees_loads: bool) -> None:
    seen, program = observed(code, started=started, sees_loads=sees_loads)
    handles = {image: program.load_module(image) for image in (ONE, TWO, MORE)}
    for image, hash_of_put in ((ONE, ONE_PUT), (TWO, TWO_PUT), (MORE, ONE_PUT)):
        code.module = handles[image]
        program.cupti.api("cuModuleUnload", 0)  # forgets answers; the numbers are others' from here on
        assert seen.code_sha256(FUNC, 0) == hash_of_put


def test_a_module_from_before_observing_is_unknown(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.module = 0xBEEF
    program.load_lazily(ONE)
    assert seen.code_sha256(FUNC, 0) is None
    code.library = 0xABC
    assert seen.code_sha256(0, KERN) is None


@pytest.mark.parametrize("sees_loads", [False, True])
def test_a_library_made_from_a_cubin_is_known_before_it_is_loaded(code: Code, sees_loads: bool) -> None:
    seen, program = observed(code, started=True, sees_loads=sees_loads)
    code.library = program.load_library(ONE)
    program.load_library(TWO)
    assert seen.code_sha256(FUNC, KERN) == ONE_PUT


def test_a_library_made_from_a_fat_binary_is_known_where_all_candidates_agree(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.library = program.load_library(FATBIN)
    assert seen.code_sha256(FUNC, KERN) is None
    program.load_lazily(ONE)
    assert seen.code_sha256(FUNC, KERN) == ONE_PUT


def test_loads_are_not_watched_where_that_was_not_asked_for(code: Code) -> None:
    seen, program = observed(code, started=False, sees_loads=False)
    resources = {callback_id for domain, callback_id in program.cupti.enabled if domain == Domain.RESOURCE}
    assert resources == set()
    code.library = program.load_library(FATBIN)
    program.load_lazily(ONE)
    assert seen.code_sha256(FUNC, KERN) is None


def test_a_module_made_from_a_fat_binary_is_known_by_what_was_loaded(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.module = program.load_module(ONE, image=FATBIN)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT


@pytest.mark.parametrize("call", ["cuDevicePrimaryCtxRelease_v2", "cuCtxDetach", "cuGreenCtxDestroy"])
def test_a_context_that_may_have_ended_takes_its_handles_along(code: Code, call: str) -> None:
    seen, program = observed(code, started=True, sees_loads=False)
    code.module = program.load_module(ONE)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT
    program.cupti.api(call, 0)
    assert seen.code_sha256(FUNC, 0) is None


def test_candidates_that_differ_leave_it_unknown(code: Code) -> None:
    seen, program = observed(code, started=False)
    code.library = program.load_library(FATBIN)
    program.load_lazily(ONE)
    module_id = program.load_lazily(TWO)
    assert seen.code_sha256(FUNC, KERN) is None
    program.cupti.module(Resource.MODULE_UNLOAD_STARTING, module_id, TWO)
    assert seen.code_sha256(FUNC, KERN) == ONE_PUT


def test_modules_with_handles_are_no_candidates(code: Code) -> None:
    seen, program = observed(code, started=False)
    program.load_module(TWO)
    program.load_lazily(ONE)
    assert seen.code_sha256(FUNC, KERN) == ONE_PUT


def test_a_load_of_several_modules_names_none_of_them(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.module = program.load_module(ONE, loads=2)
    assert seen.code_sha256(FUNC, 0) is None


def test_a_kernel_that_its_module_does_not_have_is_unknown(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.module, code.kernel = program.load_module(ONE), b"absent"
    assert seen.code_sha256(FUNC, 0) is None


def test_a_driver_that_does_not_know_the_function_leaves_it_unknown(code: Code) -> None:
    seen, program = observed(code, started=False)
    program.load_lazily(ONE)
    assert seen.code_sha256(0xBAD, 0) is None


def test_answers_are_kept_until_something_is_unloaded(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.module = program.load_module(ONE)
    assert seen.code_sha256(FUNC, 0) == seen.code_sha256(FUNC, 0) == ONE_PUT
    assert code.asked == 1
    program.cupti.api("cuModuleUnload", code.module)
    assert seen.code_sha256(FUNC, 0) is None


def test_modules_end_with_their_context(code: Code) -> None:
    seen, program = observed(code, started=False)
    code.module = program.load_module(ONE)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT
    program.cupti.context_ending(0x5)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT
    program.cupti.context_ending(CONTEXT)
    assert seen.code_sha256(FUNC, 0) is None


def test_a_number_of_an_ended_module_is_another_module(code: Code) -> None:
    seen, program = observed(code, started=False)
    code.module = program.load_module(ONE)
    program.cupti.module(Resource.MODULE_UNLOAD_STARTING, 1, ONE)
    program.load_lazily(TWO)
    assert seen.code_sha256(FUNC, 0) == TWO_PUT


def test_a_library_that_was_unloaded_is_unknown(code: Code) -> None:
    seen, program = observed(code, started=True)
    code.library = program.load_library(ONE)
    assert seen.code_sha256(FUNC, KERN) == ONE_PUT
    program.cupti.api("cuLibraryUnload", code.library)
    assert seen.code_sha256(FUNC, KERN) is None


def test_images_that_nobody_asks_about_are_bounded(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_identity_modules, "IMAGES_KEPT_BYTES", len(ONE) + len(TWO))
    ledger = ModuleLedger(complete=True, sees_loads=True, driver=lambda: code)
    cupti = FakeCupti()
    seen = Observations(cupti, lambda _: ledger)
    program = FakeProgram(cupti)
    program.load_lazily(ONE)
    program.load_lazily(MORE)
    assert ledger.kept_bytes <= len(MORE)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT


def test_images_that_a_program_passes_are_bounded_too(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_identity_modules, "IMAGES_KEPT_BYTES", len(ONE) + len(TWO))
    ledger = ModuleLedger(complete=True, sees_loads=False, driver=lambda: code)
    cupti = FakeCupti()
    seen = Observations(cupti, lambda _: ledger)
    program = FakeProgram(cupti)
    for image in (ONE, TWO, MORE):
        code.module = program.load_module(image)
    assert ledger.kept_bytes <= len(ONE) + len(TWO)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT


def test_a_candidate_whose_code_cannot_be_read_leaves_it_unknown(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    def readable(image: bytes) -> dict[str, str]:
        if image == TWO:
            raise ObserveError("it cannot be read")
        return kernel_hashes(image)

    monkeypatch.setattr(code_identity_modules, "kernel_hashes", readable)
    seen, program = observed(code, started=False)
    program.load_lazily(ONE)
    module_id = program.load_lazily(TWO)
    assert [seen.code_sha256(FUNC, 0) for _ in range(2)] == [None, None]
    program.cupti.module(Resource.MODULE_UNLOAD_STARTING, module_id, TWO)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT


def test_modules_may_be_loaded_while_functions_are_asked_about(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, program = observed(code, started=False)
    for _ in range(3):
        program.load_lazily(ONE)

    def loading(image: bytes) -> frozenset[str]:
        program.load_lazily(MORE)  # as another thread may, in between
        return kernel_names(image)

    monkeypatch.setattr(code_identity_modules, "kernel_names", loading)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT
    assert list(seen.problems) == []


def test_what_is_no_cubin_is_a_module_without_kernels(code: Code) -> None:
    seen, program = observed(code, started=False)
    program.load_lazily(b"\x7fELF" + bytes(100))
    program.load_lazily(ONE)
    assert seen.code_sha256(FUNC, 0) == ONE_PUT


def test_the_end_of_a_short_image_is_not_read_past(code: Code) -> None:
    _, program = observed(code, started=True)
    image = ctypes.create_string_buffer(b".ver")
    program.cupti.api("cuLibraryLoadData", program.out(0x9), ctypes.addressof(image))
    seen, _ = observed(code, started=True)
    assert list(seen.problems) == []
