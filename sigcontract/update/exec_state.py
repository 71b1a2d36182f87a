"""What an executable may run, given its history of updates, launches and uploads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sigcontract.model import KernelNodeSignature
from sigcontract.update.kernels import NodeJudge
from sigcontract.update.located import differences_along
from sigcontract.update.pairing import Pairing, pair_graphs
from sigcontract.wire import explains_invalid

if TYPE_CHECKING:
    from sigcontract.model import (
        DriverProfile,
        GraphSignature,
    )
    from sigcontract.update.kernel_state import KernelState

__all__ = ["ExecState", "Unproven"]

#: Rules whose effect the state of a node models. After any other unsafe one, the history proves nothing.
_FOLLOWED: Final = frozenset(
    {"kernel.cluster-carried", "kernel.cluster-dim", "kernel.cluster-one", "kernel.cooperative-function"}
)


@dataclass(frozen=True, slots=True)
class Unproven:
    """The first update after which it is unknown what the executable runs.

    Attributes
    ----------
    path
        Path of the node in the graph of the update; ``nodes`` if the whole history is unknown.
    what
        The rule of the finding, or what is unknown.
    subject
        Description of the node, or None.
    """

    path: str
    what: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class ExecState:
    """The possible states of an executable: created by `instantiated` or `unknown`, advanced by `updated` and `used`.

    Pass it to `sigcontract.predict_update` as ``fixed``. It holds for one profile and one set of instantiation flags;
    pass the same to all calls.

    Attributes
    ----------
    held
        The graph that the executable holds.
    is_used
        Whether it was uploaded or launched.
    kernels
        State of each kernel node of ``held``, by path.
    unproven
        Why the history proves nothing, or None. A new executable has no history.
    """

    held: "GraphSignature"
    is_used: bool
    kernels: Mapping[str, "KernelState"]
    unproven: Unproven | None

    @classmethod
    @explains_invalid("graph", "profile")
    def instantiated(
        cls, graph: "GraphSignature", profile: "DriverProfile | None" = None, *, flags: int = 0
    ) -> "ExecState":
        """Return the state of an executable instantiated from a graph.

        Parameters
        ----------
        graph
            The graph.
        profile
            The driver's profile, as for `sigcontract.predict_update`.
        flags
            CUgraphInstantiate_flags of the executable.
        """
        return cls.judged(graph, NodeJudge(profile, flags))

    @classmethod
    @explains_invalid("graph")
    def unknown(cls, graph: "GraphSignature") -> "ExecState":
        """Return the state of an executable that holds a graph, with unknown history."""
        return cls(graph, is_used=True, kernels={}, unproven=Unproven("nodes", "history"))

    @explains_invalid("candidate", "profile")
    def updated(
        self, candidate: "GraphSignature", profile: "DriverProfile | None" = None, *, flags: int = 0
    ) -> "ExecState":
        """Return the state after an accepted update. A rejected update does not change the state.

        If the driver accepted an update that the rules call rejected, the history proves nothing.

        Parameters
        ----------
        candidate
            The graph of the update.
        profile, flags
            As for `instantiated`.
        """
        return self.judged_updated(candidate, NodeJudge(profile, flags))

    def used(self, *, launched: bool = True) -> "ExecState":
        """Return the state after a launch, or, with ``launched=False``, after an upload."""
        after = self._with_kernels(lambda state, node: state.used(node, launched=launched))
        return replace(after, is_used=True)

    def after_other_work(self) -> "ExecState":
        """Return the state once other work ran on the device since the last launch, before or after an update.

        Other work is a kernel launched outside graphs, or a memset or copy of 512 KiB or more in device memory. Nodes
        of graphs do not count, neither of this executable nor of another: they do not change what an executable keeps.

        Without it, an update is safe only if the next launch is right whether or not other work ran.
        """
        return self._with_kernels(lambda state, _: state.after_other_work())

    def _with_kernels(self, change: "Callable[[KernelState, KernelNodeSignature], KernelState]") -> "ExecState":
        """Return the state with that of each kernel node changed; equal layers share nodes and states."""
        after: dict[tuple[int, int], KernelState] = {}
        kernels: dict[str, KernelState] = {}
        for path, node in self.held.walk():
            if path in self.kernels and isinstance(node, KernelNodeSignature):
                state = self.kernels[path]
                key = id(state), id(node)
                if key not in after:
                    after[key] = change(state, node)
                kernels[path] = after[key]
        return replace(self, kernels=kernels)

    @classmethod
    def judged(cls, graph: "GraphSignature", judge: NodeJudge) -> "ExecState":
        """As `instantiated`, for a valid graph."""
        first: dict[int, KernelState] = {}
        kernels: dict[str, KernelState] = {}
        for path, node in graph.walk():
            if isinstance(node, KernelNodeSignature):
                if id(node) not in first:
                    first[id(node)] = judge.state_of(node)
                kernels[path] = first[id(node)]
        return cls(graph, is_used=False, kernels=kernels, unproven=None)

    def judged_updated(self, candidate: "GraphSignature", judge: NodeJudge) -> "ExecState":
        """As `updated`, for a valid graph."""
        pairing = pair_graphs(self.held, candidate, judge.refusal)
        if pairing.refusal is not None:
            refusal = pairing.refusal
            unproven = self.unproven or Unproven(refusal.path, refusal.rule, refusal.subject)
            return ExecState(candidate, is_used=True, kernels={}, unproven=unproven)
        after: dict[tuple[int, int, int], KernelState] = {}
        kernels: dict[str, KernelState] = {}
        for pair in pairing.walk(self.held, candidate):
            old, new, path = pair.held, pair.candidate, pair.candidate_path
            state = self.kernels.get(pair.held_path)
            if isinstance(old, KernelNodeSignature) and isinstance(new, KernelNodeSignature) and state is not None:
                key = id(state), id(old), id(new)
                if key not in after:
                    after[key] = judge.state_after(state, old, new)
                kernels[path] = after[key]
        return ExecState(candidate, self.is_used, kernels, self.unproven or self._unproven(pairing, candidate, judge))

    def _unproven(self, pairing: Pairing, candidate: "GraphSignature", judge: NodeJudge) -> Unproven | None:
        """Return the first unsafe change that the nodes' states do not model, or None."""
        for difference, path, subject in differences_along(pairing, (self.held, candidate), judge, self.kernels):
            followed = judge.has_state_model and difference.rule in _FOLLOWED
            if not (difference.verdict.safe or followed):
                return Unproven(path, difference.rule, subject)
        return None
