"""Finding libcuda and its functions, and errors that say what to do."""

import os
import subprocess
import sys
from ctypes import byref, c_int
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from types import ModuleType, SimpleNamespace

import pytest

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.cuda.functions import FUNCTIONS
from sigcontract.driver.cuda.library import Library, resolve_with_bindings
from sigcontract.errors import DriverCallError, DriverUnavailableError
from tests.driver.fake import FakeDriver

HERE = Path(__file__).parents[1]


def use_bindings(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Put a module in place of the installed bindings that gives, or raises, this answer."""

    def get(_symbol: bytes, _version: int, _flags: int) -> object:
        if isinstance(answer, RuntimeError):
            raise answer
        return answer

    driver = SimpleNamespace(cuGetProcAddress=get)
    bindings = ModuleType("cuda.bindings")
    bindings.driver = driver  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)


def test_without_bindings_the_remedy_is_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(DriverUnavailableError) as caught:
        CudaDriver()
    assert (caught.value.reason, caught.value.code) == ("no_bindings", "no_bindings")
    assert "cuda-bindings 12.8 or later cannot be imported" in str(caught.value)
    assert "pip install 'sigcontract[cuda13]', or 'sigcontract[cuda12]'" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)


def test_without_libcuda_the_remedy_is_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    cause = RuntimeError("Failed to dlopen libcuda.so.1")
    use_bindings(monkeypatch, cause)
    with pytest.raises(DriverUnavailableError) as caught:
        CudaDriver()
    assert caught.value.reason == "no_libcuda"
    assert str(caught.value) == (
        "libcuda cannot be loaded (Failed to dlopen libcuda.so.1); install the NVIDIA driver; "
        "start containers with --gpus"
    )
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    ("answer", "address"),
    [((0, 1234, 0), 1234), ((0, 0, 1), 0), ((0, None, 1), 0), ((1, 7, 0), 0), ((1, None), 0)],
    ids=["found", "no symbol", "none", "driver older than asked for", "two-tuple"],
)
def test_a_symbol_that_the_driver_lacks_resolves_to_zero(
    monkeypatch: pytest.MonkeyPatch, answer: object, address: int
) -> None:
    use_bindings(monkeypatch, answer)
    assert resolve_with_bindings()("cuInit", 2000) == address


def test_no_device_is_named() -> None:
    fake = FakeDriver(devices=0)
    with pytest.raises(DriverUnavailableError) as caught:
        CudaDriver(fake.resolve)
    assert caught.value.reason == "no_device"
    assert str(caught.value) == "cuInit found no CUDA device; check nvidia-smi and CUDA_VISIBLE_DEVICES"


def test_no_context_is_named_where_a_call_needs_one() -> None:
    driver = FakeDriver(context=False).driver()
    with pytest.raises(DriverUnavailableError) as caught:
        driver.mem_get_info()
    assert caught.value.reason == "no_context"
    assert str(caught.value) == (
        "cuMemGetInfo needs a CUDA context, but none is current on this thread; "
        "make one current first (torch.cuda.init(), or cuCtxSetCurrent)"
    )


def test_a_function_that_the_driver_lacks_is_named_with_its_version() -> None:
    fake = FakeDriver(missing=frozenset({"cuGraphGetEdges"}))
    with pytest.raises(DriverUnavailableError) as caught:
        CudaDriver(fake.resolve)
    assert caught.value.reason == "missing_function"
    assert str(caught.value) == "this driver lacks cuGraphGetEdges of CUDA 12.3; update the NVIDIA driver"


def test_a_driver_before_12_3_is_refused_at_once() -> None:
    with pytest.raises(DriverUnavailableError, match=r"lacks cuGraphGetEdges of CUDA 12\.3"):
        FakeDriver(version=12020).driver()


def test_an_error_names_function_result_and_what_to_do(fake: FakeDriver) -> None:
    driver = fake.driver()
    fake.fail("cuGraphGetNodes", 400)
    with pytest.raises(DriverCallError) as caught:
        driver.graph_nodes(1)
    assert (caught.value.function, caught.value.result, caught.value.value) == (
        "cuGraphGetNodes",
        "CUDA_ERROR_INVALID_HANDLE",
        400,
    )
    assert str(caught.value) == (
        "cuGraphGetNodes failed with CUDA_ERROR_INVALID_HANDLE (400): "
        "the handle is invalid; keep the graph, module or stream alive while it is in use"
    )


def test_a_result_that_the_driver_cannot_name_keeps_its_number(fake: FakeDriver) -> None:
    error = fake.driver().library.error("cuInit", 4711)
    assert str(error) == (
        "cuInit failed with an unknown CUresult (4711): see CUresult in the CUDA driver API documentation"
    )


def test_addresses_are_asked_for_once(fake: FakeDriver) -> None:
    asked: list[str] = []

    def resolve(symbol: str, version: int) -> int:
        asked.append(symbol)
        return fake.resolve(symbol, version)

    library = Library(resolve)
    for _ in range(3):
        library.call("cuDriverGetVersion", byref(c_int()))
    assert asked == ["cuDriverGetVersion"]


def test_every_entry_has_letters_that_are_types() -> None:
    assert all(len(entry.argtypes) == len(entry.arguments) for entry in FUNCTIONS.values())


@pytest.mark.skipif(which("gcc") is None, reason="needs gcc, to make a stand-in for libcuda")
@pytest.mark.skipif(
    find_spec("cuda") is None or find_spec("cuda.bindings") is None, reason="needs cuda-bindings, of any version"
)
def test_the_installed_bindings_hand_out_addresses_that_work(tmp_path: Path) -> None:
    """End to end with the real bindings on a libcuda of a few lines of C, in a process of its own."""
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", HERE / "stand_in_libcuda.c"],
        check=True,
    )
    script = (
        "from sigcontract.driver.cuda.driver import CudaDriver\n"
        "driver = CudaDriver()\n"
        "print(driver.driver_version(), driver.library.has('cuGraphNodeGetParams'), driver.graph_nodes(1))\n"
        "print(driver.graph_edges(1))\n"
        "print(driver.graph_exec_update(2, 1))\n"
    )
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.splitlines() == [
        "12080 False [4096, 8192]",
        r"EdgeBlock(from_nodes=[4096], to_nodes=[8192], data=b'\x01\x00\x01\x00\x00\x00\x00\x00')",
        "UpdateOutcome(result=2, node=8192, from_node=4096)",
    ], done.stderr
