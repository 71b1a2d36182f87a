"""The registry under the names of the one in SGLang's CUDA graph backends, so that one assignment puts it in its place.

SGLang's mixin looks its class up in its own module; before the first capture::

    from sglang.srt.model_executor.runner_backend import cuda_graph_dedup_mixin
    from sigcontract.registry.sglang import DedupedCudaGraphRegistry

    cuda_graph_dedup_mixin.DedupedCudaGraphRegistry = DedupedCudaGraphRegistry

What differs: no assertion ever ends the server, a graph that cannot share gets an executable of its own, and
`close` destroys everything before it reports what failed. The mixin itself and SGLang are not needed to import this.
"""

from collections.abc import Callable
from typing import Any, Final

from sigcontract.driver.api import DriverApi, LaunchObservations
from sigcontract.model.profile import DriverProfile
from sigcontract.registry.entries import GraphEntry
from sigcontract.registry.events import Event
from sigcontract.registry.execs import GraphExecRegistry

__all__ = ["DedupedCudaGraphRegistry"]


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
