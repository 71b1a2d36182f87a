"""The registry under the names of the one in SGLang's CUDA graph backends, and what puts it in its place.

What differs: no assertion ever ends the server, a graph that cannot share gets an executable of its own, and
`close` destroys everything before it reports what failed. SGLang is not needed to import this.
"""

import importlib
import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from sigcontract.driver import (
    DriverApi,
    LaunchObservations,
)
from sigcontract.errors import UsageError
from sigcontract.model import (
    DriverProfile,
)
from sigcontract.registry.entries import GraphEntry
from sigcontract.registry.events import Event
from sigcontract.registry.execs import GraphExecRegistry, check_options

__all__ = ["DedupedCudaGraphRegistry", "install"]

logger = logging.getLogger("sigcontract")

_MIXIN: Final = "sglang.srt.model_executor.runner_backend.cuda_graph_dedup_mixin"


class DedupedCudaGraphRegistry:
    """`GraphExecRegistry` with `register`, `replay(graph, stream)`, `seal`, `stats` and `close` as SGLang has them.

    Parameters
    ----------
    driver, policy, profile, on_event, observations
        As `GraphExecRegistry` takes them; SGLang gives none.

    Attributes
    ----------
    registry
        The registry behind it, for `report`, `why_not` and all the counters.
    """

    def __init__(
        self,
        driver: DriverApi | None = None,
        policy: str = "share",
        profile: DriverProfile | None = None,
        on_event: Callable[[Event], None] | None = None,
        *,
        observations: LaunchObservations | None = None,
    ) -> None:
        self.registry: Final = GraphExecRegistry(driver, policy, profile, on_event=on_event, observations=observations)

    @property
    def sealed(self) -> bool:
        """Whether no graph can be registered any more."""
        return self.registry.sealed

    def register(self, captured_graph: Any) -> GraphEntry:
        """Take in a captured graph; what comes back has ``replay(stream=None)``. See `GraphExecRegistry.register`."""
        return self.registry.register(captured_graph)

    def replay(self, graph: GraphEntry, stream: int) -> None:
        """Launch a registered graph on a stream. See `GraphEntry.replay`."""
        self.registry.replay(graph, stream)

    def seal(self) -> None:
        """Refuse graphs from now on."""
        self.registry.seal()

    def stats(self) -> tuple[int, int]:
        """Return the number of graphs registered and of executables that they share.

        SGLang counts its groups, each of which has one executable, and logs them as such.
        """
        stats = self.registry.stats()
        return stats.graphs, stats.execs

    def close(self) -> None:
        """Destroy the executables, then reset the captured graphs. Not an error when repeated.

        Raises
        ------
        CloseError
            Executables could not be destroyed; everything else was done.
        """
        self.registry.close(reset=True)


def install(**options: Any) -> None:
    """Make SGLang share executables by this class, in this process, from the next capture on.

    SGLang's mixin looks its class up in its own module, and captures in processes that SGLang starts. So this is for
    an entry point of the group ``sglang.srt.plugins``, which SGLang calls in each of them.

    Parameters
    ----------
    options
        What every `DedupedCudaGraphRegistry` is made with. They are checked here: SGLang passes over a class that it
        cannot construct without a word.

    Raises
    ------
    UsageError
        The class does not take these options, or this SGLang has no class to be replaced.
    """
    try:
        inspect.signature(DedupedCudaGraphRegistry).bind(**options)
    except TypeError as error:
        raise UsageError(f"DedupedCudaGraphRegistry cannot be made with these options: {error}") from error
    check_options(**{name: options[name] for name in ("driver", "policy", "profile") if name in options})
    try:
        mixin = importlib.import_module(_MIXIN)
    except ImportError as error:
        raise UsageError(f"SGLang's {_MIXIN} cannot be imported ({error}); there is nothing to replace") from error
    if not hasattr(mixin, "DedupedCudaGraphRegistry"):
        raise UsageError(f"this SGLang's {_MIXIN} has no DedupedCudaGraphRegistry; there is nothing to replace")
    mixin.DedupedCudaGraphRegistry = partial(DedupedCudaGraphRegistry, **options)  # type: ignore[attr-defined]  # theirs
    logger.info("SGLang shares executables of CUDA graphs by sigcontract in this process")
