"""Observe launches as they are made, for attributes that nodes do not return."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Literal

from sigcontract.driver.observing.cupti import Cupti
from sigcontract.driver.observing.observations import Observations
from sigcontract.driver.reading import (
    ATTRIBUTE_CUDA_VERSION,
)
from sigcontract.errors import MissingExtraError
from sigcontract.model import (
    AttributeId,
    DriverProfile,
)

if TYPE_CHECKING:
    from sigcontract.driver.observing.modules import ModuleLedger

__all__ = ["CodeSource", "acquire", "observable_attributes", "observe", "release"]

#: Source of machine code. ``images``: cubins that the program passes to cuModuleLoadData or cuLibraryLoadData, as JIT
#: compilers do. ``all``: also code the driver loads from fat binaries or compiles from PTX; `observe` describes the
#: risk. ``none``: none.
CodeSource = Literal["images", "all", "none"]


def observable_attributes(profile: DriverProfile | None = None) -> tuple[int, ...]:
    """Return the ids of launch attributes that only observation shows, ascending.

    Parameters
    ----------
    profile
        The driver's profile. Attributes not marked readable count as unreadable; without a profile, all do.
    """
    at_launches = set(ATTRIBUTE_CUDA_VERSION) - {AttributeId.SYNCHRONIZATION_POLICY}  # cuda.h: streams only
    readable = {entry.id for entry in profile.attributes if entry.readable == "yes"} if profile is not None else set()
    return tuple(sorted(at_launches - readable))


_shared: Observations | None = None
_holders = 0
_shared_lock = Lock()


@contextmanager
def observe(*, code: CodeSource = "images") -> Iterator[Observations]:
    """Observe this process's launches and modules for the duration of the block.

    CUPTI has one subscription per process, so blocks that overlap, also under ``sigcontract record``, share one
    `Observations`.

    Parameters
    ----------
    code
        Where machine code is taken from, see `CodeSource`. Ignored if observing has already started. ``all``
        observes loads while the driver holds a lock: if another thread calls the driver (an allocation, a launch,
        an event record) without releasing the GIL, the two deadlock. PyTorch, Triton and cuda-bindings release it
        for most calls, not for all. The other sources never wait inside the driver.

    Yields
    ------
    Observations
        Pass it to `read_graph` inside the block.

    Raises
    ------
    ObserveError
        CUPTI is missing (``cupti_missing``), in use by another tool (``cupti_taken``), or does not start.
    MissingExtraError
        Code is requested, but pyelftools (extra ``observe``) is not installed.

    Examples
    --------
    >>> with observe() as seen:  # doctest: +SKIP
    ...     with torch.cuda.graph(graph):
    ...         model(x)
    ...     signature = read_graph(graph, observations=seen)
    """
    observations = acquire(code=code)
    try:
        yield observations
    finally:
        release()


def acquire(*, code: CodeSource = "images") -> Observations:
    """Return the process's `Observations`, starting it if needed. Each call needs one `release`."""
    global _shared, _holders  # noqa: PLW0603  CUPTI's subscription is the process's
    with _shared_lock:
        if _shared is None:
            _shared = Observations(Cupti(), None if code == "none" else _module_ledger(sees_loads=code == "all"))
        _holders += 1
        return _shared


def release() -> None:
    """Undo one `acquire`; the last one ends observing."""
    global _shared, _holders  # noqa: PLW0603  CUPTI's subscription is the process's
    with _shared_lock:
        _holders -= 1
        if _holders == 0 and _shared is not None:
            _shared.close()
            _shared = None


def _module_ledger(*, sees_loads: bool) -> "Callable[[bool], ModuleLedger]":
    try:
        from sigcontract.driver.observing.modules import ModuleLedger  # noqa: PLC0415  needs pyelftools
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "elftools":
            raise
        raise MissingExtraError("identifying machine code", extra="observe") from error
    return lambda complete: ModuleLedger(complete=complete, sees_loads=sees_loads)
