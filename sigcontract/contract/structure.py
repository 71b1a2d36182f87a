"""Structural clauses: numbers of graphs, kernels and executables, and programmatic edges."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sigcontract.contract.clause_checks import answer_of_bounds, bounds_words, clause_check
from sigcontract.contract.contract_file import ContractFile
from sigcontract.contract.patterns import Demangler, kernel_matches, matches, same_code
from sigcontract.model import (
    ClauseCheck,
    DependencyType,
    DriverProfile,
    GraphClause,
    GraphSignature,
    KernelClause,
    KernelNodeSignature,
    LabeledGraph,
    OpaqueNode,
    SignatureDump,
    holds_graphs,
    inner_graphs,
)
from sigcontract.update import group_dumps

__all__ = ["executables_checks", "graph_count_checks", "graph_structure_checks", "uncovered_checks"]


class _Count(NamedTuple):
    """A number of nodes or edges: at least ``least``, and at most ``most`` if that is known."""

    least: int
    most: int | None

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}, plus those of an unreadable nested graph"
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}"


def graph_count_checks(
    dump: SignatureDump, file: ContractFile, clauses: Sequence[tuple[str, GraphClause]]
) -> Iterator[ClauseCheck]:
    """Yield the number of graphs, in all and per clause. A truncated dump leaves both undetermined."""
    wanted = file.contract.graphs
    partial = not (dump.complete and dump.graphs)
    number = len(dump.graphs)
    if wanted is not None:
        yield clause_check(
            file,
            "graphs",
            "contract.graphs",
            answer=answer_of_bounds(number, None if partial else number, (wanted, wanted)),
            expected=f"{bounds_words((wanted, wanted))} graphs",
            found=str(number),
            advice="compare the labels with those of the golden dump: sigcontract show lists them",
        )
    for path, clause in clauses:
        found = sum(matches(clause.label, entry.label) for entry in dump.graphs)
        yield clause_check(
            file,
            path,
            "contract.graph-count",
            answer=answer_of_bounds(found, None if partial else found, clause.bounds),
            expected=f"{bounds_words(clause.bounds)} graphs labelled {clause.label}",
            found=str(found),
        )


def uncovered_checks(
    dump: SignatureDump, file: ContractFile, clauses: Sequence[tuple[str, GraphClause]]
) -> Iterator[ClauseCheck]:
    """Yield each graph without a matching clause."""
    for entry in dump.graphs:
        if not any(matches(clause.label, entry.label) for _, clause in clauses):
            yield clause_check(
                file,
                "graph",
                "contract.graph-uncovered",
                graph=entry.label,
                answer="failed",
                expected="every graph matches the label of a [[graph]]",
                found="no [[graph]] matches",
                advice="add a [[graph]] for it; a label alone requires nothing more",
            )


def graph_structure_checks(
    dump: SignatureDump, file: ContractFile, clauses: Sequence[tuple[str, GraphClause]], demangle: Demangler
) -> Iterator[ClauseCheck]:
    """Check kernels and programmatic edges of each graph with a clause."""
    for path, clause in clauses:
        if clause.programmatic_edges is None and not clause.kernel:
            continue
        for entry in dump.graphs:
            if not matches(clause.label, entry.label):
                continue
            if clause.programmatic_edges is not None:
                edges = _programmatic_edges(entry.graph)
                wanted = (1, None) if clause.programmatic_edges == "required" else (0, 0)
                yield clause_check(
                    file,
                    f"{path}.programmatic_edges",
                    "contract.programmatic-edges",
                    graph=entry.label,
                    answer=answer_of_bounds(*edges, wanted),
                    expected=f"{bounds_words(wanted)} programmatic edges",
                    found=str(edges),
                )
            for index, kernel in enumerate(clause.kernel):
                yield _kernel(file, f"{path}.kernel[{index}]", kernel, entry, demangle)


def executables_checks(dump: SignatureDump, file: ContractFile, profile: DriverProfile | None) -> Iterator[ClauseCheck]:
    """Check the number of executables under each policy with a clause."""
    for index, clause in enumerate(file.contract.executables):
        counted = replace(dump, graphs=tuple(entry for entry in dump.graphs if matches(clause.label, entry.label)))
        (groups,) = group_dumps([counted], [clause.policy], profile, nearest=0)
        partial = not (dump.complete and dump.graphs)
        yield clause_check(
            file,
            f"executables[{index}]",
            "contract.executables",
            answer=answer_of_bounds(groups.executables, None if partial else groups.executables, (0, clause.at_most)),
            expected=f"at most {clause.at_most} executables under {clause.policy} for graphs labelled {clause.label}",
            found=f"{groups.executables} for {groups.graphs} graphs",
            advice="sigcontract groups shows the differences that prevent sharing",
        )


def _kernel(
    file: ContractFile, path: str, clause: KernelClause, entry: LabeledGraph, demangle: Demangler
) -> ClauseCheck:
    known = unknown = 0
    for node in _kernels(entry.graph):
        meant = _is_kernel(clause, node, demangle)
        known += meant is True
        unknown += meant is None
    count = _Count(known, None if _is_open(entry.graph) else known + unknown)
    wanted = [f"named {clause.name}"] if clause.name is not None else []
    wanted += [f"with code {clause.code_sha256[:12]}"] if clause.code_sha256 is not None else []
    answer = answer_of_bounds(*count, clause.bounds)
    return clause_check(
        file,
        path,
        "contract.kernel",
        graph=entry.label,
        answer=answer,
        expected=f"{bounds_words(clause.bounds)} kernel nodes {' and '.join(wanted)}",
        found=str(count),
        advice=_advice(clause) if answer == "undetermined" else None,
    )


def _advice(clause: KernelClause) -> str:
    if clause.code_sha256 is not None:
        return "record with `sigcontract record`: machine code must be observed to be compared"
    return "install the extra report, which demangles names, or use a pattern of mangled names, such as _Z*gemm*"


def _is_kernel(clause: KernelClause, node: KernelNodeSignature, demangle: Demangler) -> bool | None:
    answers = []
    if clause.name is not None:
        answers.append(kernel_matches(clause.name, node.name, demangle))
    if clause.code_sha256 is not None:
        answers.append(same_code(clause.code_sha256, node))
    if False in answers:
        return False
    return None if None in answers else True


def _kernels(graph: GraphSignature) -> Iterator[KernelNodeSignature]:
    return (node for _, node in graph.walk() if isinstance(node, KernelNodeSignature))


def _graphs(graph: GraphSignature) -> Iterator[GraphSignature | None]:
    """Yield a graph and its nested graphs; None for unreadable ones."""
    yield graph
    for node in graph.nodes:
        if isinstance(node, OpaqueNode) or (holds_graphs(node) and not list(inner_graphs(node))):
            yield None
        for _, inner in inner_graphs(node):
            if inner is None:
                yield None
            else:
                yield from _graphs(inner)


def _is_open(graph: GraphSignature) -> bool:
    """Whether a graph may contain more than was read: unreadable bodies, nodes of unknown types."""
    return any(inner is None for inner in _graphs(graph))


def _programmatic_edges(graph: GraphSignature) -> _Count:
    found = sum(
        edge.type == DependencyType.PROGRAMMATIC
        for inner in _graphs(graph)
        if inner is not None
        for edges in inner.dependencies
        for edge in edges
    )
    return _Count(found, None if _is_open(graph) else found)
