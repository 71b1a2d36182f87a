"""Every test here needs a CUDA device: skipped without one, and the reason says what is missing."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.rig import Rig

_HERE = Path(__file__).parent


@cache
def _what_is_missing() -> str | None:
    if not _has_bindings():
        return "cuda-bindings is not installed"
    from cuda.bindings import driver  # noqa: PLC0415  the suite also runs without cuda-bindings

    try:
        (result,) = driver.cuInit(0)
    except RuntimeError as error:  # libcuda is not there: cuda-bindings raises its loader's error
        return f"no CUDA driver: {str(error).splitlines()[0]}"
    return None if int(result) == 0 else f"no CUDA device: cuInit answers {result.name}"


def _has_bindings() -> bool:
    return find_spec("cuda") is not None and find_spec("cuda.bindings") is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules that cannot even be imported, except where a missing device is to be a failure."""
    missing = collection_path.name.startswith("test_") and not _has_bindings()
    return True if missing and not config.getoption("--require-gpu", default=False) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.hookimpl(tryfirst=True)  # before the fixtures, which need the device
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the tests of this folder where there is no device, or fail them where there has to be one."""
    reason = _what_is_missing()
    if reason is not None:
        if item.config.getoption("--require-gpu", default=False):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def rig() -> "Rig":
    """Return the device with its memory, events and reporting kernels; it lives as long as the session."""
    from lab.rig import Rig  # noqa: PLC0415  the suite also runs without cuda-bindings

    return Rig()
