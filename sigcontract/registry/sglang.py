"""An adapter with the interface of the registry in SGLang's CUDA graph backends, and its installation there.

Unlike SGLang's own, it never ends the server with an assertion: a graph that cannot share gets its own executable.
`close` destroys everything before it reports failures. Importing this module does not need SGLang.
"""

import importlib
import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal

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
from sigcontract.registry.registry import GraphExecRegistry, check_options

__all__ = ["DedupedCudaGraphRegistry", "install"]

logger = logging.getLogger("sigcontract")

_MIXIN: Final = "sglang.srt.model_executor.runner_backend.cuda_graph_dedup_mixin"


class DedupedCudaGraphRegistry:
    """`GraphExecRegistry` with the methods of SGLang's class of this name.

    Parameters
    ----------
    driver, policy, profile, on_event, observations, max_execs, max_bytes, verify
        As for `GraphExecRegistry`; SGLang passes none.

    Attributes
    ----------
    registry
        The underlying registry, with `report`, `why_not` and all counters.
    """

    def __init__(  # noqa: PLR0913  the options of the registry
        self,
        driver: DriverApi | None = None,
        policy: str = "share",
        profile: DriverProfile | None = None,
        on_event: Callable[[Event], None] | None = None,
        *,
        observations: LaunchObservations | None = None,
        max_execs: int | None = None,
        max_bytes: int | None = None,
        verify: Literal["never", "first-use"] = "never",
    ) -> None:
        self.registry: Final = GraphExecRegistry(
            driver,
            policy,
            profile,
            on_event=on_event,
            observations=observations,
            max_execs=max_execs,
            max_bytes=max_bytes,
            verify=verify,
        )

    @property
    def sealed(self) -> bool:
        """Whether registration has ended."""
        return self.registry.sealed

    def register(self, captured_graph: Any) -> GraphEntry:
        """Register a captured graph. See `GraphExecRegistry.register`."""
        return self.registry.register(captured_graph)

    def replay(self, graph: GraphEntry, stream: int) -> None:
        """Launch a registered graph on a stream. See `GraphEntry.replay`."""
        self.registry.replay(graph, stream)

    def seal(self) -> None:
        """End registration; replay continues."""
        self.registry.seal()

    def stats(self) -> tuple[int, int]:
        """Return the number of graphs and of executables.

        SGLang's own returns its groups as the second number, each of which has one executable.
        """
        stats = self.registry.stats()
        return stats.graphs, stats.execs

    def close(self) -> None:
        """Destroy the executables, then reset the captured graphs. May be repeated.

        Raises
        ------
        CloseError
            Executables could not be destroyed, or a reset failed; everything else was done.
        """
        self.registry.close(reset=True)


def install(**options: Any) -> None:
    """Replace SGLang's registry class in this process, from the next capture on.

    SGLang captures in worker processes, and its mixin looks the class up in its own module. So call this from an entry
    point of the group ``sglang.srt.plugins``, which SGLang runs in every process.

    Parameters
    ----------
    options
        Arguments of every `DedupedCudaGraphRegistry`. Checked here, since SGLang silently ignores a class that it
        cannot construct.

    Raises
    ------
    UsageError
        An option is invalid, or this SGLang has no class to replace.
    """
    try:
        inspect.signature(DedupedCudaGraphRegistry).bind(**options)
    except TypeError as error:
        raise UsageError(f"DedupedCudaGraphRegistry rejects these options: {error}") from error
    checked = ("driver", "policy", "profile", "max_execs", "max_bytes", "verify")
    check_options(**{name: options[name] for name in checked if name in options})
    try:
        mixin = importlib.import_module(_MIXIN)
    except ImportError as error:
        raise UsageError(f"SGLang's {_MIXIN} cannot be imported ({error}); nothing to replace") from error
    if not hasattr(mixin, "DedupedCudaGraphRegistry"):
        raise UsageError(f"this SGLang's {_MIXIN} has no DedupedCudaGraphRegistry; nothing to replace")
    mixin.DedupedCudaGraphRegistry = partial(DedupedCudaGraphRegistry, **options)  # type: ignore[attr-defined]  # theirs
    logger.info("sigcontract shares SGLang's CUDA graph executables in this process")
