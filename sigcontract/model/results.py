"""What commands print as JSON besides dumps, profiles and comparisons."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.attributes import LaunchAttribute
from sigcontract.model.dump import Environment
from sigcontract.model.findings import Evidence, Verdict
from sigcontract.model.function import FunctionFacts
from sigcontract.model.record import Record, Size, Text, UInt32

__all__ = [
    "DumpView",
    "FileFault",
    "FileRemark",
    "FunctionView",
    "GraphView",
    "LostField",
    "Migration",
    "NodeBlock",
    "NodeView",
    "PendingGolden",
    "ReviewReport",
    "RuleEntry",
    "RuleList",
    "UnknownAttribute",
    "ValidatedFile",
    "ValidationReport",
]


class FunctionView(Record, frozen=True, kw_only=True):
    """One function of the kernels that are shown."""

    name: Annotated[Text, Meta(description="As the driver gives it.")]
    demangled: Annotated[Text | None, Meta(description="Demangled; null: it is not, or the text is out of proportion.")]
    number: Annotated[
        Text | None, Meta(description="As #2 where the name stands for several functions of the dump; null: for one.")
    ]
    code_sha256: Annotated[Text | None, Meta(description="sha256 of the machine code; null: not observed.")]
    facts: Annotated[FunctionFacts | None, Meta(description="Facts of the function; null: not recorded, or not asked.")]


class NodeView(Record, frozen=True, kw_only=True):
    """One node."""

    path: Annotated[Text, Meta(description="As nodes[3].graph.nodes[0].")]
    type: Annotated[Text, Meta(description="The record's tag, as kernel or memcpy.")]
    after: Annotated[Text | None, Meta(description="What it depends on; null: the node before it, or nothing.")]
    subject: Annotated[Text | None, Meta(description="What it does; null: a kernel, or nothing more to say.")]
    function: Annotated[UInt32 | None, Meta(description="Row of functions; null: no kernel.")]
    grid_dim: Annotated[Text | None, Meta(description="Blocks in the grid, as 8x1x1; null: no kernel.")]
    block_dim: Annotated[Text | None, Meta(description="Threads per block, as 128x1x1; null: no kernel.")]
    dynamic_shared_mem_bytes: Annotated[
        UInt32 | None, Meta(description="Dynamic shared memory per block, in bytes; null: no kernel.")
    ]
    attributes: Annotated[UInt32 | None, Meta(description="Row of attribute_sets; null: no kernel, or not asked.")]


class NodeBlock(Record, frozen=True, kw_only=True):
    """Nodes, one after another, so many times."""

    count: Annotated[UInt32, Meta(description="How many times.")]
    rows: Annotated[tuple[NodeView, ...], Meta(description="The nodes, those of the first time.")]


class UnknownAttribute(Record, frozen=True, kw_only=True):
    """What is not known of kernel nodes."""

    state: Annotated[Text, Meta(description="unreadable, unsupported or unknown.")]
    what: Annotated[Text, Meta(description="The launch attribute, or another part of the node.")]
    kernel_nodes: Annotated[UInt32, Meta(description="Of how many kernel nodes.")]


class GraphView(Record, frozen=True, kw_only=True):
    """One graph, and all labels that stand for it."""

    labels: Annotated[tuple[Text, ...], Meta(description="Labels, in the order of the dump.")]
    portable_digest: Annotated[Text, Meta(description="Equal for equal graphs of any process.")]
    nodes: Annotated[UInt32, Meta(description="Nodes, those of graphs inside not counted.")]
    edges: Annotated[UInt32, Meta(description="Edges.")]
    programmatic_edges: Annotated[UInt32, Meta(description="Programmatic edges among them (PDL).")]
    unknown: Annotated[tuple[UnknownAttribute, ...], Meta(description="What is not known of its kernel nodes.")]
    blocks: Annotated[tuple[NodeBlock, ...], Meta(description="Its nodes in the driver's order, repetitions folded.")]


class DumpView(Record, frozen=True, kw_only=True):
    """What `sigcontract show` shows of a dump."""

    environment: Annotated[Environment, Meta(description="Where and when the graphs were read.")]
    profile: Annotated[Text | None, Meta(description="Driver profile that it was read under; null: none.")]
    complete: Annotated[bool, Meta(description="Whether its writer ended in order.")]
    functions: Annotated[tuple[FunctionView, ...], Meta(description="Functions by first use. Referred to by nodes.")]
    attribute_sets: Annotated[
        tuple[tuple[LaunchAttribute, ...], ...], Meta(description="Lists of launch attributes by first use.")
    ]
    graphs: Annotated[tuple[GraphView, ...], Meta(description="Distinct graphs, by their first label.")]


class FileFault(Record, frozen=True, kw_only=True):
    """One fault of a file."""

    code: Annotated[Text, Meta(description="Stable code of the error.")]
    path: Annotated[Text | None, Meta(description="Where in the document; null: the file as a whole.")]
    message: Annotated[Text, Meta(description="What is wrong, for a person.")]


class FileRemark(Record, frozen=True, kw_only=True):
    """What is worth a look in a valid dump."""

    label: Annotated[Text, Meta(description="Label of the graph.")]
    message: Annotated[Text, Meta(description="What is odd, for a person.")]


class ValidatedFile(Record, frozen=True, kw_only=True):
    """What was found in one file."""

    file: Annotated[Text, Meta(description="Its name, as it was given.")]
    valid: Annotated[bool, Meta(description="Whether it has no fault.")]
    document: Annotated[Text | None, Meta(description="What it holds; null: it is faulty.")]
    version: Annotated[UInt32 | None, Meta(description="Version of the document; null: it is faulty.")]
    graphs: Annotated[UInt32 | None, Meta(description="Graphs; null: it is faulty, or no dump.")]
    complete: Annotated[bool | None, Meta(description="Whether the dump is complete; null: it is faulty, or no dump.")]
    remarks: Annotated[tuple[FileRemark, ...], Meta(description="What is worth a look, once for each graph.")]
    faults: Annotated[tuple[FileFault, ...], Meta(description="Every fault.")]


class ValidationReport(Record, frozen=True, kw_only=True):
    """What `sigcontract validate` found."""

    files: Annotated[tuple[ValidatedFile, ...], Meta(description="In the order in which they were given.")]


class LostField(Record, frozen=True, kw_only=True):
    """A field that an older version of a document cannot hold."""

    field: Annotated[Text, Meta(description="Its path without indices, as graphs.graph.nodes.func.")]
    count: Annotated[UInt32, Meta(description="How many values are left out.")]


class Migration(Record, frozen=True, kw_only=True):
    """What `sigcontract migrate` wrote."""

    source: Annotated[Text, Meta(description="The file that was read.")]
    target: Annotated[Text, Meta(description="The file that was written.")]
    target_document: Annotated[Text, Meta(description="What it holds.")]
    target_version: Annotated[UInt32, Meta(description="Version of that document.")]
    target_bytes: Annotated[Size, Meta(description="Its size.")]
    left_out: Annotated[tuple[LostField, ...], Meta(description="What that version has no field for.")]


class PendingGolden(Record, frozen=True, kw_only=True):
    """A pending golden, how it differs from the golden in whose place it would go, and what was done with it."""

    pending: Annotated[Text, Meta(description="The pending file.")]
    golden: Annotated[Text, Meta(description="The golden.")]
    state: Annotated[
        Literal["same", "missing", "unreadable", "different", "unusable"],
        Meta(
            description="missing: there is no golden. unreadable: it is not valid. unusable: the pending file is not."
        ),
    ]
    verdict: Annotated[Verdict | None, Meta(description="The worst difference; null: not compared.")]
    error: Annotated[Text | None, Meta(description="Code of what makes the pending file unusable; null: it is usable.")]
    action: Annotated[Literal["accept", "reject", "skip"], Meta(description="What was done.")]


class ReviewReport(Record, frozen=True, kw_only=True):
    """What `sigcontract review` found and did."""

    pending: Annotated[tuple[PendingGolden, ...], Meta(description="By path.")]


class RuleEntry(Record, frozen=True, kw_only=True):
    """What a difference means."""

    id: Annotated[Text, Meta(description="Stable id, as kernel.grid-dim.")]
    field: Annotated[Text, Meta(description="Record fields that it judges, separated by commas.")]
    verdict: Annotated[Verdict, Meta(description="What the difference means where no profile says more.")]
    evidence: Annotated[Evidence, Meta(description="How that is known.")]
    why: Annotated[Text, Meta(description="The reason, for a person.")]
    source: Annotated[Text, Meta(description="CUDA function or enum, measurement, or public report.")]
    depends: Annotated[Text | None, Meta(description="What can change the verdict; null: it always holds.")]


class RuleList(Record, frozen=True, kw_only=True):
    """Rules of findings."""

    rules: Annotated[tuple[RuleEntry, ...], Meta(description="All rules, or the one that was asked for.")]
