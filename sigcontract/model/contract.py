"""A contract for the graphs of a dump. People write it by hand, as TOML.

Optional fields have defaults, here and nowhere else in the model. Contradictions raise InvariantError on construction.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError
from sigcontract.model.record import Record, UInt32

__all__ = [
    "MAX_PATTERN_CHARACTERS",
    "Contract",
    "DriverScope",
    "ExecutablesClause",
    "GraphClause",
    "KernelClause",
    "ProgrammaticEdges",
    "RuleAnswer",
    "Suppression",
    "WorstVerdict",
]

#: The worst verdict that passes. ``stale`` passes every known difference.
WorstVerdict = Literal["identical", "harmless", "updatable", "rejected", "stale"]

#: allow: a finding of the rule passes, unless it is stale. allow-stale: it passes. fail: it fails whatever its verdict.
RuleAnswer = Literal["allow", "allow-stale", "fail"]

ProgrammaticEdges = Literal["required", "forbidden"]

#: Longest pattern, in characters.
MAX_PATTERN_CHARACTERS: Final = 4096
_Pattern = Annotated[str, Meta(min_length=1, max_length=MAX_PATTERN_CHARACTERS)]
_Name = Annotated[str, Meta(min_length=1, max_length=4096)]
_Date = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\s\S])")]
_Capability = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,2}(?![\s\S])")]

_WILDCARDS = "* matches any text, ? one character."


class DriverScope(Record, frozen=True, kw_only=True):
    """A driver and device that a contract covers. Omitted keys match any."""

    cuda_driver_version: Annotated[
        UInt32 | None, Meta(description="cuDriverGetVersion, such as 13000 for CUDA 13.0.")
    ] = None
    display_driver_version: Annotated[
        _Pattern | None, Meta(description=f"Pattern of the display driver version, such as 580.*; {_WILDCARDS}")
    ] = None
    device: Annotated[
        _Pattern | None, Meta(description=f"Pattern of the name of every device of the dump; {_WILDCARDS}")
    ] = None
    compute_capability: Annotated[
        _Capability | None, Meta(description="Compute capability of every device of the dump, such as 9.0.")
    ] = None

    def __post_init__(self) -> None:
        asked = (self.cuda_driver_version, self.display_driver_version, self.device, self.compute_capability)
        if all(each is None for each in asked):
            raise InvariantError("set at least one key of driver, or omit it to cover every driver")


class KernelClause(Record, frozen=True, kw_only=True):
    """How often a kernel appears in each graph. Without a number: at least once."""

    name: Annotated[
        _Pattern | None,
        Meta(
            description="Pattern of the kernel's name, demangled with or without its parameters, or mangled. One that "
            f"begins with _Z is compared with mangled names alone; {_WILDCARDS}"
        ),
    ] = None
    code_sha256: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")] | None,
        Meta(description="sha256 of the kernel's machine code."),
    ] = None
    count: Annotated[UInt32 | None, Meta(description="Exact number of kernel nodes; 0: none.")] = None
    at_least: Annotated[UInt32 | None, Meta(description="Least number of kernel nodes.")] = None
    at_most: Annotated[UInt32 | None, Meta(description="Greatest number of kernel nodes.")] = None

    def __post_init__(self) -> None:
        if self.name is None and self.code_sha256 is None:
            raise InvariantError("a kernel needs name, code_sha256, or both")
        _check_bounds(self)

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the greatest number of kernel nodes; None: any number."""
        return _bounds(self)


class GraphClause(Record, frozen=True, kw_only=True):
    """A clause on every graph whose label matches. Without a number: at least one graph matches."""

    label: Annotated[_Pattern, Meta(description=f"Pattern of labels; {_WILDCARDS}")] = "*"
    count: Annotated[UInt32 | None, Meta(description="Exact number of matching graphs; 0: none.")] = None
    at_least: Annotated[UInt32 | None, Meta(description="Least number of matching graphs.")] = None
    at_most: Annotated[UInt32 | None, Meta(description="Greatest number of matching graphs.")] = None
    golden: Annotated[
        _Name | None,
        Meta(description="Golden dump, relative to the contract; omitted: that of the contract."),
    ] = None
    golden_graph: Annotated[
        _Name | None, Meta(description="Label of the golden graph; omitted: the corresponding one, by label first.")
    ] = None
    policy: Annotated[
        _Name | None, Meta(description="Policy: what counts as a difference; omitted: that of the contract.")
    ] = None
    worst: Annotated[
        WorstVerdict | None, Meta(description="Worst verdict that passes; omitted: that of the contract.")
    ] = None
    vary: Annotated[
        tuple[_Name, ...],
        Meta(description="Fields that may differ, such as grid_dim or attributes[priority], unless that is stale."),
    ] = ()
    rules: Annotated[
        dict[_Name, RuleAnswer], Meta(description="Answers by rule id, overriding those of the contract.")
    ] = msgspec.field(default_factory=dict)
    programmatic_edges: Annotated[
        ProgrammaticEdges | None, Meta(description="Whether each graph must, or must not, have programmatic edges.")
    ] = None
    kernel: Annotated[tuple[KernelClause, ...], Meta(description="Kernels that each graph must or must not have.")] = ()

    def __post_init__(self) -> None:
        _check_bounds(self)

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the greatest number of graphs; None: any number."""
        return _bounds(self)


class ExecutablesClause(Record, frozen=True, kw_only=True):
    """How many executables the graphs may need under a policy."""

    policy: Annotated[_Name, Meta(description="share, share-functions, exact or portable.")]
    at_most: Annotated[UInt32, Meta(description="The most executables.")]
    label: Annotated[_Pattern, Meta(description=f"Pattern of the labels to count; {_WILDCARDS}")] = "*"


class Suppression(Record, frozen=True, kw_only=True):
    """Findings to let pass until a date, for a reason."""

    rule: Annotated[_Name, Meta(description="Id of the rule, or of a clause's own rule such as contract.kernel.")]
    reason: Annotated[_Name, Meta(description="Why they pass, for readers of the report.")]
    expires: Annotated[_Date, Meta(description="The last day, UTC, as 2027-03-31. Later the suppression fails.")]
    graph: Annotated[_Pattern, Meta(description=f"Pattern of labels; {_WILDCARDS}")] = "*"
    kernel: Annotated[_Pattern | None, Meta(description=f"Pattern of the finding's kernel name; {_WILDCARDS}")] = None
    path: Annotated[
        _Pattern | None, Meta(description=f"Pattern of the finding's path, as nodes[3].*; {_WILDCARDS}")
    ] = None
    stale: Annotated[bool, Meta(description="Whether findings of the verdict stale pass too.")] = False


class Contract(Record, frozen=True, kw_only=True):
    """A contract for dumps."""

    golden: Annotated[
        _Name | None, Meta(description="Golden dump, relative to the contract, for graphs that name no other.")
    ] = None
    profile: Annotated[
        _Name | None,
        Meta(
            description="Driver profile: a shipped id, or a file relative to the contract; omitted: that of the dumps."
        ),
    ] = None
    policy: Annotated[_Name, Meta(description="Policy: what counts as a difference.")] = "portable"
    worst: Annotated[WorstVerdict, Meta(description="Worst verdict that passes.")] = "identical"
    vary: Annotated[tuple[_Name, ...], Meta(description="Fields that may differ in every graph, unless stale.")] = ()
    rules: Annotated[dict[_Name, RuleAnswer], Meta(description="Answers by rule id, for every graph.")] = msgspec.field(
        default_factory=dict
    )
    graphs: Annotated[UInt32 | None, Meta(description="Exact number of graphs in the dump.")] = None
    driver: Annotated[
        tuple[DriverScope, ...], Meta(description="Drivers that the contract covers; omitted: every driver.")
    ] = ()
    graph: Annotated[
        tuple[GraphClause, ...],
        Meta(description="Clauses on graphs; every matching one applies. Omitted: one for all graphs."),
    ] = ()
    executables: Annotated[tuple[ExecutablesClause, ...], Meta(description="Clauses on executables.")] = ()
    suppress: Annotated[tuple[Suppression, ...], Meta(description="Findings to let pass until a date.")] = ()

    def __post_init__(self) -> None:
        if self.golden is None and self.graphs is None and not self.graph and not self.executables:
            raise InvariantError("the contract requires nothing; set golden, graphs, a [[graph]] or an [[executables]]")


def _bounds(clause: KernelClause | GraphClause) -> tuple[int, int | None]:
    if clause.count is not None:
        return clause.count, clause.count
    default = 1 if clause.at_most is None else 0
    return default if clause.at_least is None else clause.at_least, clause.at_most


def _check_bounds(clause: KernelClause | GraphClause) -> None:
    if clause.count is not None and (clause.at_least is not None or clause.at_most is not None):
        raise InvariantError("count is exact; drop at_least and at_most, or count")
    if clause.at_least is not None and clause.at_most is not None and clause.at_least > clause.at_most:
        raise InvariantError(f"at least {clause.at_least} and at most {clause.at_most} contradict each other")
