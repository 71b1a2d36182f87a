"""What an executable's kernel node may run after a history of updates, launches and uploads.

The model: a node has a *stored* cluster and, from the first launch or upload on, a *fixed* one. Instantiation stores
the node's cluster. An update stores the candidate's unless that is none, and drops the fixed one if the function
changes. A launch runs the fixed cluster, else the stored one, and fixes it.

If the grid is not a multiple of the stored cluster, the kernel does not run at all, whatever is fixed, and no call
reports it (25 of 25 in 46,591 launches of random walks, 2026-12-03).

The adversary: if nothing ran on the device since the last launch, an update to the same grid, block and shared memory
may keep what that launch ran: its cluster, and the function of a cooperative node. A process cannot know what runs on
its device, so both outcomes stay possible, unless the caller knows that other work ran
(`KernelState.after_other_work`). The other nodes of a graph are no such work, be it a kernel or a memset of 512 KiB: a
node among them keeps what ran before as one alone does (``lab/companions.py``).

Fitted on 40,000 chains with other work on the device and on 6,000 without (H200, driver 580.159.04, 2026-12-02,
``lab/exec_state.py``): all 112,176 launches are among the outcomes. Of 63,878 launches after updates of fresh chains,
most with nothing in between, none called safe was wrong (2026-12-03).
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from sigcontract.update.identity import function_identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sigcontract.model import (
        Dim3,
        KernelNodeSignature,
    )

__all__ = ["NO_CLUSTER", "UNKNOWN", "KernelState", "Use"]

#: No cluster, and an unknown cluster, among values such as ``2x1x1``.
NO_CLUSTER: Final = "none"
UNKNOWN: Final = "unknown"
#: Nothing is fixed: the next launch runs the stored cluster.
_NOTHING: Final = ""


class Use(NamedTuple):
    """A launch or upload of a node.

    Attributes
    ----------
    launch
        Its grid, block and dynamic shared memory.
    clusters
        The clusters it may have used.
    functions
        Nodes whose functions it may have run.
    """

    launch: "tuple[Dim3, Dim3, int]"
    clusters: frozenset[str]
    functions: "tuple[KernelNodeSignature, ...]"


class KernelState(NamedTuple):
    """The possible states of one kernel node of an executable.

    Attributes
    ----------
    first
        The node it was instantiated from.
    stored
        The stored cluster.
    fixed
        The clusters, one of which is fixed; possibly none yet.
    functions
        Nodes whose functions it may run; for a non-cooperative node always the held one.
    uses
        The last launch and the uploads since.
    settled_fixed
        What `fixed` is once other work ran.
    settled_functions
        What `functions` is once other work ran.
    """

    first: "KernelNodeSignature"
    stored: str
    fixed: frozenset[str]
    functions: "tuple[KernelNodeSignature, ...]"
    uses: tuple[Use, ...]
    settled_fixed: frozenset[str]
    settled_functions: "tuple[KernelNodeSignature, ...]"

    @classmethod
    def instantiated(cls, node: "KernelNodeSignature", cluster: str | None) -> "KernelState":
        """Return the state after instantiation from a node with that effective cluster; None if unknown."""
        nothing = frozenset((_NOTHING,))
        return cls(node, cluster or UNKNOWN, nothing, (node,), (), nothing, (node,))

    @property
    def clusters(self) -> frozenset[str]:
        """The clusters that a launch may run with."""
        return frozenset(cluster or self.stored for cluster in self.fixed)

    @property
    def stored_extents(self) -> tuple[int, int, int]:
        """The stored cluster, blocks along x, y and z; one block if none or unknown."""
        if self.stored in (NO_CLUSTER, UNKNOWN):
            return 1, 1, 1
        x, y, z = map(int, self.stored.split("x"))
        return x, y, z

    def updated(
        self,
        held: "KernelNodeSignature",
        candidate: "KernelNodeSignature",
        cluster: str | None,
        *,
        cooperative: bool,
    ) -> "KernelState":
        """Return the state after an accepted update.

        Parameters
        ----------
        held
            The held node.
        candidate
            The candidate's node.
        cluster
            The effective cluster of the candidate; None if unknown.
        cooperative
            Whether the node is or may be cooperative.
        """
        stored = self.stored if cluster == NO_CLUSTER else cluster or UNKNOWN
        identity = function_identity(held, candidate)
        if identity == "same":
            return self._replace(stored=stored)
        launch = _launch(candidate)
        alike = [use for use in self.uses if use.launch == launch]
        fixed = frozenset((_NOTHING,)).union(*(use.clusters for use in alike))
        functions = [candidate, *(function for use in alike for function in use.functions)]
        if identity == "unknown" or (self.uses and _launch(held) == launch):
            fixed |= self.fixed
            functions += self.functions
        settled_fixed, settled_functions = frozenset((_NOTHING,)), [candidate]
        if identity == "unknown":
            settled_fixed |= self.settled_fixed
            settled_functions += self.settled_functions
        return self._replace(
            stored=stored,
            fixed=fixed,
            functions=_distinct(functions) if cooperative else (candidate,),
            settled_fixed=settled_fixed,
            settled_functions=_distinct(settled_functions) if cooperative else (candidate,),
        )

    def used(self, held: "KernelNodeSignature", *, launched: bool) -> "KernelState":
        """Return the state after a launch, or an upload."""
        clusters = self.clusters
        use = Use(_launch(held), clusters, self.functions)
        uses = (use,) if launched else self.uses if use in self.uses else (*self.uses, use)
        return self._replace(fixed=clusters, uses=uses, settled_fixed=clusters, settled_functions=self.functions)

    def after_other_work(self) -> "KernelState":
        """Return the state once a kernel, memset or copy outside of any graph ran since the last launch."""
        return self._replace(fixed=self.settled_fixed, functions=self.settled_functions, uses=())


def _launch(node: "KernelNodeSignature") -> "tuple[Dim3, Dim3, int]":
    return node.grid_dim, node.block_dim, node.dynamic_shared_mem_bytes


def _distinct(nodes: "Iterable[KernelNodeSignature]") -> "tuple[KernelNodeSignature, ...]":
    """Return the nodes whose functions are not proven equal to an earlier one's."""
    found: list[KernelNodeSignature] = []
    for node in nodes:
        if not any(node is other or function_identity(node, other) == "same" for other in found):
            found.append(node)
    return tuple(found)
