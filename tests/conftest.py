"""What every test may ask for: the options of the suite, and a driver, fake or real."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import pytest

from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.errors import DriverUnavailableError
from tests.driver.fake import FakeDriver


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run on a GPU machine insist on its device."""
    parser.addoption(
        "--require-gpu",
        action="store_true",
        help="fail tests marked gpu, instead of skipping them, where there is no CUDA device",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Where Python writes no bytecode, keep it for the run: else every process of a test compiles what it imports."""
    if sys.dont_write_bytecode:
        bytecode = TemporaryDirectory(prefix="bytecode-")
        config.add_cleanup(bytecode.cleanup)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what uses CUPTI come last."""
    items.sort(key=lambda item: item.get_closest_marker("observes") is not None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off what is collected, which lives as long as the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test after the parameter, not after its bytes: these are no text, and may differ from run to run."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def fake() -> FakeDriver:
    """Return a fake driver as the measured one is: CUDA 13.0, compute capability 9.0."""
    return FakeDriver()


@pytest.fixture
def real_driver(request: pytest.FixtureRequest) -> Iterator[CudaDriver]:
    """Return the machine's own driver, with a context; its tests are marked gpu."""
    try:
        driver = CudaDriver()
    except DriverUnavailableError as error:
        if request.config.getoption("--require-gpu"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    with ExitStack() as stack:
        if not driver.current_context():
            context = driver.primary_context_retain(0)
            stack.callback(driver.primary_context_release, 0)
            driver.context_push(context)
            stack.callback(driver.context_pop)
        yield driver


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.gpu)])
def driver(request: pytest.FixtureRequest) -> CudaDriver:
    """Return a driver: each test that asks for it runs on the fake one and on the machine's own."""
    if request.param == "real":
        real: CudaDriver = request.getfixturevalue("real_driver")
        return real
    fake_driver: FakeDriver = request.getfixturevalue("fake")
    return fake_driver.driver()
