"""What ``show`` shows of a dump, as a value: each graph, function and attribute list once."""

from collections.abc import Iterable, Sequence

from sigcontract.compare import Block
from sigcontract.errors import LimitError
from sigcontract.model import (
    DumpView,
    FunctionFacts,
    FunctionView,
    GraphSignature,
    GraphView,
    LaunchAttribute,
    NodeBlock,
    NodeView,
    SignatureDump,
    UnknownAttribute,
)
from sigcontract.report.argument_rows import GraphArguments, NodeArguments
from sigcontract.report.graph_summary import kernels_of, unknown
from sigcontract.report.names import demangle
from sigcontract.report.node_rows import NodeRow
from sigcontract.report.phrases import programmatic_edges
from sigcontract.wire import MAX_DOCUMENT_BYTES

__all__ = ["DumpViewer"]

#: Longest text of a document.
_TEXT_CHARACTERS = 65_536
#: Bytes of a word of an argument in JSON, and of the quotes and comma of a text.
_WORD_BYTES, _TEXT_BYTES = 48, 3


class DumpViewer:
    """Collects the graphs of a dump that are shown.

    Parameters
    ----------
    attributes
        Whether launch attributes and facts of functions are shown.
    arguments
        Whether what kernels are given is shown, and where addresses lead.
    """

    def __init__(self, *, attributes: bool, arguments: bool = False) -> None:
        self._attributes = attributes
        self._arguments = arguments
        self._functions: dict[tuple[str, str, str, int], int] = {}
        self._function_views: list[FunctionView] = []
        self._sets: dict[int, int] = {}
        self._attribute_sets: list[tuple[LaunchAttribute, ...]] = []
        self._graphs: list[GraphView] = []
        #: Facts are distinguished by their ids, and kept so that those stay their own.
        self._kept: list[FunctionFacts | None] = []
        self._left = MAX_DOCUMENT_BYTES

    def add(  # noqa: PLR0913  a graph and what was found in it
        self,
        graph: GraphSignature,
        labels: Iterable[str],
        digest: str,
        rows: Sequence[NodeRow],
        blocks: Iterable[Block],
        *,
        arguments: GraphArguments,
    ) -> None:
        """Add a distinct graph: its labels, its portable digest, its rows and how they repeat, and its arguments.

        Raises
        ------
        LimitError
            Arguments and stacks, which many nodes may share and each shows, make a document that is too large to read.
        """
        for address in arguments.gone:
            self._count_texts(address.stack)
        self._graphs.append(
            GraphView(
                labels=tuple(labels),
                portable_digest=digest,
                nodes=len(graph.nodes),
                edges=sum(map(len, graph.dependencies)),
                programmatic_edges=programmatic_edges(graph),
                unknown=tuple(
                    UnknownAttribute(state=state, what=what, kernel_nodes=count)
                    for (state, what), count in sorted(unknown(kernels_of([graph])).items())
                ),
                arguments_recorded=arguments.recorded,
                gone=arguments.gone,
                blocks=tuple(
                    NodeBlock(
                        count=block.count,
                        rows=tuple(
                            self._node(row, arguments) for row in rows[block.start : block.start + block.length]
                        ),
                    )
                    for block in blocks
                ),
            )
        )

    def view(self, dump: SignatureDump) -> DumpView:
        """Return the view of the dump that the graphs are of."""
        return DumpView(
            environment=dump.environment,
            profile=dump.profile,
            complete=dump.complete,
            functions=tuple(self._function_views),
            attribute_sets=tuple(self._attribute_sets),
            graphs=tuple(self._graphs),
        )

    def _node(self, row: NodeRow, arguments: GraphArguments) -> NodeView:
        kernel = row.type == "kernel"
        given = arguments.of(row.path) if self._arguments else None
        if given is not None:
            self._count_arguments(given)
        return NodeView(
            path=row.path,
            type=row.type,
            after=row.after or None,
            subject=None if kernel else row.subject or None,
            function=self._function(row) if kernel else None,
            grid_dim=row.grid if kernel else None,
            block_dim=row.block if kernel else None,
            dynamic_shared_mem_bytes=int(row.shared) if kernel else None,
            attributes=self._attribute_set(row) if kernel and self._attributes else None,
            arguments=None if given is None else given.arguments,
            addresses=None if given is None else given.addresses,
        )

    def _count_arguments(self, given: NodeArguments) -> None:
        for argument in given.arguments or ():
            self._count(len(argument.value or "") + _WORD_BYTES * len(argument.words or ()))
        for address in given.addresses:
            if address.block is not None:
                self._count_texts(address.block.stack)

    def _count_texts(self, texts: Sequence[str]) -> None:
        self._count(sum(map(len, texts)) + _TEXT_BYTES * len(texts))

    def _count(self, size_bytes: int) -> None:
        self._left -= size_bytes
        if self._left < 0:
            msg = f"the arguments of all nodes are more than {MAX_DOCUMENT_BYTES} bytes of JSON; "
            raise LimitError(msg + "show fewer graphs (--graph), or text", code="size")

    def _function(self, row: NodeRow) -> int:
        facts = row.facts if self._attributes else None
        key = row.subject, row.function, row.code, id(facts)
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = len(self._function_views)
            self._kept.append(facts)
            demangled = demangle(row.subject)
            shown = demangled != row.subject and len(demangled) <= _TEXT_CHARACTERS
            self._function_views.append(
                FunctionView(
                    name=row.subject,
                    demangled=demangled if shown else None,
                    number=row.function or None,
                    code_sha256=row.code or None,
                    facts=facts,
                )
            )
        return known

    def _attribute_set(self, row: NodeRow) -> int:
        known = self._sets.get(id(row.attributes))
        if known is None:
            known = self._sets[id(row.attributes)] = len(self._attribute_sets)
            self._attribute_sets.append(row.attributes)
        return known
