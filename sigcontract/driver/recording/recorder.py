"""Record every graph of a process, when it is instantiated, into one dump.

A background thread rewrites the dump as graphs arrive, so a process that dies loses only graphs after the last write.
Problems are added to `Recorder.problems` and never reach the program.
"""

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from sigcontract.driver.observing import (
    CodeSource,
    Observations,
    acquire,
    in_forked_child,
    release,
)
from sigcontract.driver.reading import (
    AllocatorBlocks,
    environment,
    read_graph,
    read_profile,
)
from sigcontract.driver.recording.frameworks import distributed_rank, instantiating_graph, watch_frameworks
from sigcontract.driver.recording.labels import DEFAULT_LABEL, caller_of, check_label, program_frames, stack_lines
from sigcontract.driver.recording.signals import EndHooks
from sigcontract.driver.recording.torch_allocator import torch_blocks
from sigcontract.driver.recording.writer import BackgroundWriter
from sigcontract.errors import DriverError, MissingExtraError, ObserveError, SigcontractError, UsageError
from sigcontract.model import (
    Environment,
    GraphSignature,
    KernelNodeSignature,
    LabeledGraph,
    NodeSignature,
    SignatureDump,
)
from sigcontract.wire import (
    redacted_graph,
    save,
)

__all__ = ["EXTENSION", "RecordOptions", "Recorder", "record_to"]

#: Extension key of a recorded dump: what is missing, and where graphs were captured.
EXTENSION = "sigcontract.record"


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a recording."""

    #: Template of the graphs' labels, see `check_label`.
    label: str = DEFAULT_LABEL
    #: Whether to keep the Python stack of every instantiation.
    stacks: bool = False
    #: Whether the dump names host and process.
    host: bool = True
    #: Where machine code is taken from, see `sigcontract.driver.observe`.
    code: CodeSource = "images"
    #: Whether to record what kernels are passed, see `sigcontract.driver.read_graph`.
    arguments: bool = False
    #: Whether the dump leaves out the values of arguments, and keeps their layout and allocations.
    redact: bool = False

    def check(self) -> None:
        """Raise UsageError if an option is unknown, or has no effect."""
        check_label(self.label)
        if self.redact and not self.arguments:
            raise UsageError("redact applies to arguments, and none are recorded; record arguments as well")


class Recorder:
    """Records every graph of this process from `start` to `close`.

    Parameters
    ----------
    path_of
        Returns the file for a process id. A forked child writes its own file, once it has a graph.
    options
        What is recorded.
    on_write
        Called after every write, successful or not.

    Raises
    ------
    UsageError
        The label is not a valid template, or nothing is recorded that could be redacted.
    """

    def __init__(
        self,
        path_of: Callable[[int], Path],
        options: RecordOptions,
        on_write: "Callable[[Recorder], object] | None" = None,
    ) -> None:
        options.check()
        self._path_of = path_of
        self._options = options
        self._on_write = on_write
        self._observations: Observations | None = None
        self._until_closed = ExitStack()
        self._begin()

    def _begin(self) -> None:
        self._lock = RLock()
        self._writing = RLock()
        self._writer = BackgroundWriter(self.write)
        self._path: Path | None = None
        self._graphs: list[LabeledGraph] = []
        self._labels: dict[str, int] = {}
        self._seen = 0
        self._traces: dict[str, list[str]] = {}
        self._nodes: dict[NodeSignature, NodeSignature] = {}
        self._problems: list[str] = []
        self._where: tuple[Environment, str | None] | None = None
        self._rank: tuple[int, int] | None = None
        self._unwritten = False
        #: Whether the last write was, or is, the last one.
        self.ended = False

    # Queries of a report

    @property
    def path(self) -> Path | None:
        """The dump's file; None until the first write."""
        return self._path

    @property
    def graph_count(self) -> int:
        """Graphs recorded so far."""
        return len(self._graphs)

    @property
    def unknown_code_count(self) -> int:
        """Distinct functions of unknown machine code, which cannot be proven equal to those of another run."""
        # A copy: other threads add graphs meanwhile.
        kernels = (node for node in tuple(self._nodes) if isinstance(node, KernelNodeSignature))
        known = {(node.func, node.kern, node.name): _has_code(node) for node in kernels}
        return sum(not has_code for has_code in known.values())

    @property
    def saved(self) -> bool:
        """Whether everything recorded is on disk."""
        return not self._unwritten

    @property
    def problems(self) -> list[str]:
        """What is missing from the dump, and why."""
        seen = self._observations
        return [*self._problems, *(seen.problems if seen is not None else ())]

    # Life

    def start(self) -> Self:
        """Start recording. Without CUPTI, only PyTorch's captures are recorded, with what their nodes return."""
        try:
            self._observations = self._observe()
            self._observations.on_instantiated.append(self.add)
        except ObserveError as error:
            self._problems.append(
                f"launches are not observed, so attributes that nodes do not return are missing: {error}"
            )
        watch_frameworks(self, self._until_closed)
        atexit.register(self.close)
        in_forked_child(self._begin)
        return self

    def _observe(self) -> Observations:
        try:
            return acquire(code=self._options.code)
        except MissingExtraError as error:
            self._problems.append(str(error))
            return acquire(code="none")

    def close(self) -> None:
        """Write the dump, marked complete, and stop. Idempotent."""
        if self.ended:
            return
        if not self._writer.stop():
            self.complain("the last write did not finish in time; graphs after the previous one are missing")
            return
        self.end()
        self.yield_cupti(None)
        self._until_closed.close()
        atexit.unregister(self.close)

    def end(self) -> None:
        """Write the dump, marked complete, when the process is about to end."""
        if self.ended:
            return
        self.ended = True
        if self._seen:
            self.write(complete=True)
        elif self._on_write is not None:
            self._on_write(self)

    def follow_signals(self, demand: int | None) -> None:
        """Write at SIGTERM and os._exit too, and whenever the signal ``demand`` comes; see `EndHooks`."""
        missing = EndHooks(self._on_signal, demand).install()
        if missing is not None:
            self.complain(missing)

    def _on_signal(self, ends: bool) -> None:  # noqa: FBT001  EndHooks passes it positionally
        if ends:
            self.end()
        elif self._graphs and not self.ended:
            self.write()

    def yield_cupti(self, reason: str | None) -> None:
        """Release CUPTI to the program's profiler; from then on, only attributes that nodes return are recorded."""
        seen, self._observations = self._observations, None
        if seen is None:
            return
        self._problems += seen.problems
        if self.add in seen.on_instantiated:  # unless already closed
            seen.on_instantiated.remove(self.add)
        release()
        if reason is not None:
            self._problems.append(f"{reason}: launches are no longer observed (after {self._seen} graphs)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Graphs

    @property
    def observing(self) -> bool:
        """Whether CUPTI reports instantiations."""
        return self._observations is not None

    def add(self, graph: int) -> None:
        """Record a CUgraph in its current state; does nothing after the end."""
        with self._lock:
            if self.ended:
                return
            order = self._seen
            self._seen += 1
            try:
                signature = self._interned(self._read(graph))
                graph_id = self._observations.graph_id(graph) if self._observations is not None else None
            except SigcontractError as error:
                self._problems.append(f"graph {order} could not be read: {error}")
            else:
                self._keep(order, graph_id, signature)
            self._unwritten = True
            self._writer.wake()
        if order == 0 and self._on_write is not None:
            self._on_write(self)  # so a forked child that dies before its first write is known to have graphs

    def _read(self, graph: int) -> GraphSignature:
        wanted = self._options.arguments
        blocks = self._allocator_blocks() if wanted else None
        signature = read_graph(graph, observations=self._observations, arguments=wanted, blocks=blocks)
        return redacted_graph(signature) if self._options.redact else signature

    def _allocator_blocks(self) -> AllocatorBlocks | None:
        try:
            return torch_blocks(instantiating_graph())
        except DriverError as error:
            self.complain(str(error))
            return None

    def _keep(self, order: int, graph_id: int | None, signature: GraphSignature) -> None:
        stack = program_frames()
        label = self._options.label.format(
            order=order,
            caller=caller_of(stack),
            graph_id="-" if graph_id is None else graph_id,
            nodes=len(signature.nodes),
            pid=os.getpid(),
            rank=self.environment.rank if "{rank" in self._options.label else None,
        )
        count = self._labels[label] = self._labels.get(label, 0) + 1
        if count > 1:
            label = f"{label}#{count}"
        self._graphs.append(LabeledGraph(label=label, graph=signature))
        if self._options.stacks:
            self._traces[label] = stack_lines(stack)

    def _interned(self, graph: GraphSignature) -> GraphSignature:
        """Return the graph, sharing equal nodes with earlier graphs: many graphs of a model cost little more."""
        distinct = {id(node): node for node in graph.nodes}
        shared = {key: self._nodes.setdefault(node, node) for key, node in distinct.items()}
        return GraphSignature(nodes=tuple(shared[id(node)] for node in graph.nodes), dependencies=graph.dependencies)

    # Writing

    def write(self, *, complete: bool = False) -> bool:
        """Write the dump. Returns whether it is on disk; if not, `problems` has why, and the next write tries again.

        Parameters
        ----------
        complete
            Whether the process ends normally, so that this write is the last.
        """
        with self._writing:
            try:
                with self._lock:
                    dump = self._dump(complete=complete)
                    self._unwritten = False
                if self._path is None:
                    self._path = self._path_of(os.getpid())
                save(dump, self._path)
            except Exception as error:  # noqa: BLE001  runs in os._exit, in signal handlers and at process exit
                self._unwritten = True
                what = error if isinstance(error, SigcontractError | OSError) else f"{type(error).__name__}: {error}"
                self.complain(f"the dump could not be written: {what}")
            if self._on_write is not None:
                self._on_write(self)
            return not self._unwritten

    def _dump(self, *, complete: bool) -> SignatureDump:
        where, profile = self._environment()
        # Keep it once known: programs leave their process group before they exit.
        self._rank = distributed_rank() or self._rank
        if self._rank is not None:
            where = replace(where, rank=self._rank[0], world_size=self._rank[1])
        return SignatureDump(
            environment=where,
            profile=profile,
            complete=complete,
            graphs=tuple(self._graphs),
            extensions={EXTENSION: self._remarks()},
        )

    def _remarks(self) -> dict[str, Any]:
        remarks: dict[str, Any] = {"problems": self.problems}
        if self._options.stacks:
            remarks["stacks"] = dict(self._traces)
        return remarks

    @property
    def environment(self) -> Environment:
        """The environment of this process."""
        return self._environment()[0]

    def _environment(self) -> tuple[Environment, str | None]:
        if self._where is None:
            where = environment()
            if not self._options.host:
                where = replace(where, hostname=None, process_id=None)
            try:
                profile = read_profile().id
            except DriverError:
                profile = None
            self._where = where, profile
        return self._where

    def complain(self, problem: str) -> None:
        """Add a problem, once."""
        if problem not in self._problems:
            self._problems.append(problem)


def record_to(  # noqa: PLR0913  keyword arguments, one per option
    path: "str | os.PathLike[str]",
    *,
    label: str = DEFAULT_LABEL,
    stacks: bool = False,
    host: bool = True,
    code: CodeSource = "images",
    arguments: bool = False,
    redact: bool = False,
    signals: bool = False,
) -> Recorder:
    """Record every graph that this process instantiates until the recorder is closed.

    Parameters
    ----------
    path
        The dump; its suffix picks the format, as in `sigcontract.save`. Forked children write beside it, with their
        process id in the name.
    label, stacks, host, code
        As `RecordOptions`.
    arguments
        Whether to record what kernels are passed: every byte of their scalars and structs, which may hold secrets, and
        the allocations that pointers point into, with the blocks of PyTorch's allocator.
    redact
        Whether to leave the values and addresses of arguments out of the file, and keep their layout, the allocations
        and the offsets into them.
    signals
        Whether to write at once on SIGUSR2, and before SIGTERM or os._exit ends the process, as ``sigcontract record``
        does. The program's own handlers are left alone. Call from the main thread.

    Returns
    -------
    Recorder
        The started recorder. Close it or use it in a ``with``; else it is closed at interpreter exit. Its ``problems``
        list what is missing, such as after a failed write or with CUPTI in use elsewhere.

    Raises
    ------
    UsageError
        The label is not a valid template, or `redact` is asked for without `arguments`.

    Examples
    --------
    >>> with record_to("decode.dump.json") as recorder:  # doctest: +SKIP
    ...     engine.capture_graphs()
    >>> recorder.problems  # doctest: +SKIP
    []
    """
    target, owner = Path(path), os.getpid()

    def path_of(process_id: int) -> Path:
        if process_id == owner:
            return target
        stem, dot, suffixes = target.name.partition(".")
        return target.with_name(f"{stem}.pid{process_id}{dot}{suffixes}")

    options = RecordOptions(label=label, stacks=stacks, host=host, code=code, arguments=arguments, redact=redact)
    recorder = Recorder(path_of, options).start()
    if signals:
        recorder.follow_signals(signal.SIGUSR2)
    return recorder


def _has_code(node: KernelNodeSignature) -> bool:
    return node.function is not None and node.function.code_sha256 is not None
