"""The environment of a dump: driver, devices, libraries, rank."""

import os
import re
import socket
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sigcontract.driver.cuda import (
    ReadApi,
    default_driver,
)
from sigcontract.errors import DriverError
from sigcontract.model import (
    DeviceInfo,
    Environment,
    LibraryVersion,
)

__all__ = ["display_driver_version", "environment"]

_VERSION_FILE = Path("/proc/driver/nvidia/version")

#: Libraries that create kernels or graphs; listed if installed.
_LIBRARIES = (
    "cuda-bindings",
    "cuda-core",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "flashinfer-python",
    "jax",
    "jaxlib",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
    "nvidia-nccl-cu12",
    "nvidia-nccl-cu13",
    "sglang",
    "tensorrt",
    "torch",
    "transformer-engine",
    "triton",
    "vllm",
    "warp-lang",
)

#: Rank and world size variables of launchers: torchrun, Open MPI, PMI (MPICH, Intel MPI), Slurm. The first complete
#: pair counts: a batch script inside a Slurm job may start torchrun.
_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def environment(driver: ReadApi | None = None) -> Environment:
    """Describe this process. Unknown values are None, or missing from a list.

    Parameters
    ----------
    driver
        The driver to query; by default this process's own, if available.
    """
    api = driver if driver is not None else _driver_or_none()
    rank, world_size = _rank()
    return Environment(
        sigcontract_version=_installed("sigcontract") or "not installed",
        created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        hostname=socket.gethostname(),
        process_id=os.getpid(),
        rank=rank,
        world_size=world_size,
        cuda_driver_version=None if api is None else api.driver_version(),
        display_driver_version=display_driver_version(),
        devices=() if api is None else tuple(_device(api, ordinal) for ordinal in range(api.device_count())),
        libraries=tuple(_libraries()),
    )


def display_driver_version() -> str | None:
    """Return the kernel module's version, such as 580.159.04; None if the system does not report it."""
    try:
        text = _VERSION_FILE.read_text(errors="replace")
    except OSError:
        return None
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return None if found is None else found[1]


def _driver_or_none() -> ReadApi | None:
    try:
        return default_driver()
    except DriverError:  # a process without a driver still has an environment
        return None


def _device(api: ReadApi, ordinal: int) -> DeviceInfo:
    major, minor = api.compute_capability(ordinal)
    return DeviceInfo(
        ordinal=ordinal,
        name=api.device_name(ordinal),
        compute_capability_major=major,
        compute_capability_minor=minor,
    )


def _libraries() -> list[LibraryVersion]:
    found = ((name, _installed(name)) for name in _LIBRARIES)
    return [LibraryVersion(name=name, version=installed) for name, installed in found if installed is not None]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _rank() -> tuple[int | None, int | None]:
    for rank_name, size_name in _RANKS:
        rank, size = (_count(os.environ.get(name, "")) for name in (rank_name, size_name))
        if rank is not None and size is not None and rank < size:
            return rank, size
    return None, None


def _count(text: str) -> int | None:
    """Return a rank or world size, or None if no record can hold it."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
