"""JSON results of commands, except dumps, profiles and comparisons."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.arguments import AllocatorBlock
from sigcontract.model.attributes import LaunchAttribute
from sigcontract.model.dump import Environment
from sigcontract.model.findings import Evidence, Verdict
from sigcontract.model.function import FunctionFacts
from sigcontract.model.record import Int32, Record, Size, Text, UInt32

__all__ = [
    "AddressView",
    "ArgumentView",
    "DumpView",
    "FileFault",
    "FileRemark",
    "FunctionView",
    "GoneAddress",
    "GraphView",
    "LostField",
    "Migration",
    "NodeBlock",
    "NodeView",
    "PendingGolden",
    "RecordedProcess",
    "RecordingReport",
    "ReviewReport",
    "RuleEntry",
    "RuleList",
    "SchemaEntry",
    "SchemaList",
    "UnknownAttribute",
    "ValidatedFile",
    "ValidationReport",
    "WordView",
]


class FunctionView(Record, frozen=True, kw_only=True):
    """One function of the shown kernels."""

    name: Annotated[Text, Meta(description="Name, as the driver returns it.")]
    demangled: Annotated[Text | None, Meta(description="Demangled name; null: not demangled, or too long.")]
    number: Annotated[
        Text | None,
        Meta(description="Number, such as #2, if several functions of the dump share the name; null: unique."),
    ]
    code_sha256: Annotated[Text | None, Meta(description="sha256 of the machine code; null: not observed.")]
    facts: Annotated[
        FunctionFacts | None, Meta(description="Facts of the function; null: not recorded, or not requested.")
    ]


class WordView(Record, frozen=True, kw_only=True):
    """One word of an argument."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset into the argument, in bytes.")]
    size_bytes: Annotated[UInt32, Meta(description="Size, in bytes.")]
    text: Annotated[Text, Meta(description="As an integer, as a float where plausible, or both.")]


class ArgumentView(Record, frozen=True, kw_only=True):
    """One argument of a kernel node."""

    offset_bytes: Annotated[UInt32, Meta(description="Offset in the parameter buffer, in bytes.")]
    size_bytes: Annotated[UInt32, Meta(description="Size, in bytes.")]
    value: Annotated[
        Text | None, Meta(description="The bytes, hexadecimal, in memory order, addresses as zero. null: redacted.")
    ]
    words: Annotated[tuple[WordView, ...] | None, Meta(description="The words except addresses; null: redacted.")]


class AddressView(Record, frozen=True, kw_only=True):
    """An address in the arguments of a kernel node, or an operand of a memcpy or memset."""

    offset_bytes: Annotated[
        UInt32 | None, Meta(description="Offset in the parameter buffer, in bytes; null: an operand.")
    ]
    operand: Annotated[Text | None, Meta(description="source or destination; null: an argument.")]
    allocation: Annotated[
        Size | None, Meta(description="Number of the allocation in this graph, by first use; null: none, or redacted.")
    ]
    allocation_offset_bytes: Annotated[
        Size | None, Meta(description="Offset into the allocation, in bytes; null: in no allocation.")
    ]
    allocation_size_bytes: Annotated[
        Size | None, Meta(description="Size of the allocation, in bytes; null: not known, or in no allocation.")
    ]
    memory: Annotated[
        Text | None, Meta(description="Kind of memory, such as device or managed; null: in no allocation.")
    ]
    device_ordinal: Annotated[Int32 | None, Meta(description="CUDA device ordinal; null: none, or not known.")]
    block: Annotated[AllocatorBlock | None, Meta(description="Block of a framework's allocator; null: not known.")]
    gone: Annotated[
        Text | None, Meta(description="Why the memory is not the graph's to use; null: nothing known against it.")
    ]


class GoneAddress(Record, frozen=True, kw_only=True):
    """An address that leads to memory that is not the graph's to use."""

    path: Annotated[Text, Meta(description="Path of the node, such as nodes[3].graph.nodes[0].")]
    subject: Annotated[Text, Meta(description="Kernel name or node type.")]
    offset_bytes: Annotated[
        UInt32 | None, Meta(description="Offset in the parameter buffer, in bytes; null: an operand.")
    ]
    operand: Annotated[Text | None, Meta(description="source or destination; null: an argument.")]
    reason: Annotated[Text, Meta(description="Where the address leads, such as free block or no allocation.")]
    certain: Annotated[
        bool,
        Meta(description="Whether it is known to be an address; a word of a struct or a redacted one may be a number."),
    ]
    stack: Annotated[
        tuple[Text, ...], Meta(description="Python frames that allocated the block; empty if not recorded.")
    ]


class NodeView(Record, frozen=True, kw_only=True):
    """One node."""

    path: Annotated[Text, Meta(description="Path, such as nodes[3].graph.nodes[0].")]
    type: Annotated[Text, Meta(description="Node type: the record's tag, such as kernel or memcpy.")]
    after: Annotated[Text | None, Meta(description="Its dependencies; null: the previous node, or none.")]
    subject: Annotated[Text | None, Meta(description="Description; null: a kernel, or none.")]
    function: Annotated[UInt32 | None, Meta(description="Row of functions; null: not a kernel.")]
    grid_dim: Annotated[Text | None, Meta(description="Blocks in the grid, such as 8x1x1; null: not a kernel.")]
    block_dim: Annotated[Text | None, Meta(description="Threads per block, such as 128x1x1; null: not a kernel.")]
    dynamic_shared_mem_bytes: Annotated[
        UInt32 | None, Meta(description="Dynamic shared memory per block, in bytes; null: not a kernel.")
    ]
    attributes: Annotated[
        UInt32 | None, Meta(description="Row of attribute_sets; null: not a kernel, or not requested.")
    ]
    arguments: Annotated[
        tuple[ArgumentView, ...] | None,
        Meta(description="Arguments of the kernel; null: not a kernel, not recorded, or not requested."),
    ]
    addresses: Annotated[
        tuple[AddressView, ...] | None,
        Meta(description="Where its addresses lead, those of arguments in their order; null: not requested."),
    ]


class NodeBlock(Record, frozen=True, kw_only=True):
    """Consecutive nodes, and how often they repeat."""

    count: Annotated[UInt32, Meta(description="Number of repetitions.")]
    rows: Annotated[tuple[NodeView, ...], Meta(description="The nodes, of the first repetition.")]


class UnknownAttribute(Record, frozen=True, kw_only=True):
    """An unknown of kernel nodes."""

    state: Annotated[Text, Meta(description="unreadable, unsupported or unknown.")]
    what: Annotated[Text, Meta(description="The launch attribute, or other field of the node.")]
    kernel_nodes: Annotated[UInt32, Meta(description="Number of kernel nodes.")]


class GraphView(Record, frozen=True, kw_only=True):
    """One graph, with all its labels."""

    labels: Annotated[tuple[Text, ...], Meta(description="Labels, in the order of the dump.")]
    portable_digest: Annotated[Text, Meta(description="Digest, equal for equal graphs of any process.")]
    nodes: Annotated[UInt32, Meta(description="Nodes, without those of nested graphs.")]
    edges: Annotated[UInt32, Meta(description="Edges.")]
    programmatic_edges: Annotated[UInt32, Meta(description="Programmatic edges among them (PDL).")]
    unknown: Annotated[tuple[UnknownAttribute, ...], Meta(description="Unknowns of its kernel nodes.")]
    arguments_recorded: Annotated[
        UInt32, Meta(description="Kernel nodes whose arguments were recorded, nested graphs included.")
    ]
    gone: Annotated[
        tuple[GoneAddress, ...], Meta(description="Addresses that lead to memory that is gone, nested graphs included.")
    ]
    blocks: Annotated[tuple[NodeBlock, ...], Meta(description="Its nodes in the driver's order, repetitions folded.")]


class DumpView(Record, frozen=True, kw_only=True):
    """What `sigcontract show` shows of a dump."""

    environment: Annotated[Environment, Meta(description="Environment in which the graphs were read.")]
    profile: Annotated[Text | None, Meta(description="Driver profile the dump was read under; null: none.")]
    complete: Annotated[bool, Meta(description="Whether its writer finished.")]
    functions: Annotated[tuple[FunctionView, ...], Meta(description="Functions, by first use; nodes refer to them.")]
    attribute_sets: Annotated[
        tuple[tuple[LaunchAttribute, ...], ...], Meta(description="Lists of launch attributes, by first use.")
    ]
    graphs: Annotated[tuple[GraphView, ...], Meta(description="Distinct graphs, by their first label.")]


class FileFault(Record, frozen=True, kw_only=True):
    """One fault of a file."""

    code: Annotated[Text, Meta(description="Stable code of the error.")]
    path: Annotated[Text | None, Meta(description="Path in the document; null: the whole file.")]
    pointer: Annotated[
        Text | None,
        Meta(description="The path as a JSON Pointer (RFC 6901), empty for the whole document; null: the whole file."),
    ]
    message: Annotated[Text, Meta(description="What is wrong, for a person.")]


class FileRemark(Record, frozen=True, kw_only=True):
    """A suspicious fact in a valid dump."""

    label: Annotated[Text, Meta(description="Label of the graph.")]
    message: Annotated[Text, Meta(description="The remark, for a person.")]


class ValidatedFile(Record, frozen=True, kw_only=True):
    """The validation of one file."""

    file: Annotated[Text, Meta(description="File name, as given.")]
    valid: Annotated[bool, Meta(description="Whether the file is valid.")]
    document: Annotated[Text | None, Meta(description="Document kind; null: invalid.")]
    version: Annotated[UInt32 | None, Meta(description="Version of the document; null: invalid.")]
    graphs: Annotated[UInt32 | None, Meta(description="Number of graphs; null: invalid, or not a dump.")]
    complete: Annotated[bool | None, Meta(description="Whether the dump is complete; null: invalid, or not a dump.")]
    remarks: Annotated[tuple[FileRemark, ...], Meta(description="Remarks, one per graph.")]
    faults: Annotated[tuple[FileFault, ...], Meta(description="Every fault.")]


class ValidationReport(Record, frozen=True, kw_only=True):
    """The result of `sigcontract validate`."""

    files: Annotated[tuple[ValidatedFile, ...], Meta(description="In the order given.")]


class LostField(Record, frozen=True, kw_only=True):
    """A field that an older version of a document cannot hold."""

    field: Annotated[Text, Meta(description="Its path without indices, such as graphs.graph.nodes.func.")]
    count: Annotated[UInt32, Meta(description="Number of omitted values.")]


class Migration(Record, frozen=True, kw_only=True):
    """The result of `sigcontract migrate`."""

    source: Annotated[Text, Meta(description="Input file.")]
    target: Annotated[Text, Meta(description="Output file.")]
    target_document: Annotated[Text, Meta(description="Kind of the written document.")]
    target_version: Annotated[UInt32, Meta(description="Version of the written document.")]
    target_bytes: Annotated[Size, Meta(description="Size of the output file, in bytes.")]
    left_out: Annotated[tuple[LostField, ...], Meta(description="Fields that the version lacks.")]


class PendingGolden(Record, frozen=True, kw_only=True):
    """A pending golden, how it differs from its golden, and the action taken."""

    pending: Annotated[Text, Meta(description="The pending file.")]
    golden: Annotated[Text, Meta(description="The golden.")]
    state: Annotated[
        Literal["same", "missing", "unreadable", "different", "unusable"],
        Meta(description="missing: no golden. unreadable: an invalid golden. unusable: an invalid pending file."),
    ]
    verdict: Annotated[Verdict | None, Meta(description="The worst difference; null: not compared.")]
    error: Annotated[Text | None, Meta(description="Error code of an unusable pending file; null: usable.")]
    action: Annotated[Literal["accept", "reject", "skip"], Meta(description="The action taken.")]


class ReviewReport(Record, frozen=True, kw_only=True):
    """The result of `sigcontract review`."""

    pending: Annotated[tuple[PendingGolden, ...], Meta(description="By path.")]


class RuleEntry(Record, frozen=True, kw_only=True):
    """A rule of findings."""

    id: Annotated[Text, Meta(description="Stable id, such as kernel.grid-dim.")]
    field: Annotated[Text, Meta(description="Record fields it applies to, separated by commas.")]
    verdict: Annotated[Verdict, Meta(description="Verdict on a difference, unless a profile is more specific.")]
    evidence: Annotated[Evidence, Meta(description="Evidence for the verdict.")]
    why: Annotated[Text, Meta(description="The reason, for a person.")]
    source: Annotated[Text, Meta(description="CUDA function or enum, measurement, or public report.")]
    depends: Annotated[Text | None, Meta(description="What can change the verdict; null: nothing.")]


class RuleList(Record, frozen=True, kw_only=True):
    """Rules of findings."""

    rules: Annotated[tuple[RuleEntry, ...], Meta(description="All rules, or the requested one.")]


class SchemaEntry(Record, frozen=True, kw_only=True):
    """A JSON Schema of this release."""

    document: Annotated[Text, Meta(description="Document, such as sigcontract.dump.")]
    version: Annotated[UInt32, Meta(description="Version of the document.")]
    sha256: Annotated[Text, Meta(description="sha256 of the schema, without titles and descriptions.")]


class SchemaList(Record, frozen=True, kw_only=True):
    """JSON Schemas of this release."""

    schemas: Annotated[tuple[SchemaEntry, ...], Meta(description="All schemas.")]
    out_of_step: Annotated[
        tuple[Text, ...] | None,
        Meta(description="Files of a directory that differ from this release, and how; null: not compared."),
    ]


class RecordedProcess(Record, frozen=True, kw_only=True):
    """One process of a recorded program."""

    process_id: Annotated[UInt32, Meta(description="Process id.")]
    program: Annotated[Text, Meta(description="First words of its command line.")]
    dump: Annotated[Text | None, Meta(description="Path of its dump; null: none was written.")]
    graphs: Annotated[UInt32, Meta(description="Graphs in the dump.")]
    unknown_code: Annotated[UInt32, Meta(description="Distinct functions in the dump whose machine code is unknown.")]
    complete: Annotated[bool, Meta(description="Whether the process exited cleanly, so that no graph is missing.")]
    problems: Annotated[tuple[Text, ...], Meta(description="What could not be recorded, for a person.")]


class RecordingReport(Record, frozen=True, kw_only=True):
    """What `record` wrote."""

    processes: Annotated[tuple[RecordedProcess, ...], Meta(description="Every process that reported.")]
