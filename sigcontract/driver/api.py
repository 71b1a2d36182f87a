"""The driver calls that sigcontract makes, as a protocol: the real driver and the fake one both satisfy it."""

from typing import NamedTuple, Protocol

__all__ = ["DriverApi", "UpdateOutcome"]


class UpdateOutcome(NamedTuple):
    """What cuGraphExecUpdate answered, reason included (cuda-python drops the reason, the C call does not)."""

    #: CUgraphExecUpdateResult, 0 = SUCCESS.
    result: int
    #: CUgraphNode of the updating graph where the driver stopped, 0 = none.
    node: int
    #: Its dependency that does not match, 0 = none.
    from_node: int


class DriverApi(Protocol):
    """Handles are plain integers everywhere. Every method raises DriverCallError where the driver fails."""

    def driver_version(self) -> int:
        """cuDriverGetVersion, as 13000."""
        ...

    def mem_get_info(self) -> tuple[int, int]:
        """cuMemGetInfo of the current context: free and total bytes."""
        ...

    def graph_instantiate(self, graph: int, flags: int = 0) -> int:
        """cuGraphInstantiateWithFlags: a CUgraphExec that the caller must destroy."""
        ...

    def graph_exec_update(self, graph_exec: int, graph: int) -> UpdateOutcome:
        """cuGraphExecUpdate. A refusal is an outcome (result not 0), not an error; other failures raise."""
        ...

    def graph_exec_destroy(self, graph_exec: int) -> None:
        """cuGraphExecDestroy."""
        ...

    def graph_upload(self, graph_exec: int, stream: int) -> None:
        """cuGraphUpload."""
        ...

    def graph_launch(self, graph_exec: int, stream: int) -> None:
        """cuGraphLaunch."""
        ...
