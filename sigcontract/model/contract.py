"""A contract: what the graphs of a dump are held against. People write it by hand, as TOML.

Fields that may be left out have defaults here, and nowhere else in the model. What contradicts itself raises
InvariantError on construction.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sigcontract.errors import InvariantError
from sigcontract.model.record import Record, UInt32

__all__ = [
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

#: The worst verdict that passes. ``stale`` passes every difference that is known.
WorstVerdict = Literal["identical", "harmless", "updatable", "rejected", "stale"]

#: allow: a finding of the rule passes, unless it is stale. allow-stale: it passes. fail: it fails whatever its verdict.
RuleAnswer = Literal["allow", "allow-stale", "fail"]

ProgrammaticEdges = Literal["required", "forbidden"]

_Pattern = Annotated[str, Meta(min_length=1, max_length=4096)]
_Name = Annotated[str, Meta(min_length=1, max_length=4096)]
_Date = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\s\S])")]
_Capability = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,2}(?![\s\S])")]

_WILDCARDS = "* stands for any text, ? for one character, everything else for itself."


class DriverScope(Record, frozen=True, kw_only=True):
    """A driver and device that a contract holds for. What is left out is not asked."""

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
            raise InvariantError("a driver names at least one of its keys; leave it out to hold for every driver")


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
    count: Annotated[UInt32 | None, Meta(description="Exactly so many kernel nodes; 0: none.")] = None
    at_least: Annotated[UInt32 | None, Meta(description="At least so many kernel nodes.")] = None
    at_most: Annotated[UInt32 | None, Meta(description="At most so many kernel nodes.")] = None

    def __post_init__(self) -> None:
        if self.name is None and self.code_sha256 is None:
            raise InvariantError("a kernel is given by name, code_sha256, or both")
        _check_bounds(self)

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the greatest number of kernel nodes; None: any number."""
        return _bounds(self)


class GraphClause(Record, frozen=True, kw_only=True):
    """What every graph whose label matches is held against. Without a number: at least one graph matches."""

    label: Annotated[_Pattern, Meta(description=f"Pattern of labels; {_WILDCARDS}")] = "*"
    count: Annotated[UInt32 | None, Meta(description="Exactly so many graphs match; 0: none.")] = None
    at_least: Annotated[UInt32 | None, Meta(description="At least so many graphs match.")] = None
    at_most: Annotated[UInt32 | None, Meta(description="At most so many graphs match.")] = None
    golden: Annotated[
        _Name | None,
        Meta(description="Dump to agree with, relative to the contract; left out: that of the contract as a whole."),
    ] = None
    golden_graph: Annotated[
        _Name | None, Meta(description="Label of the golden graph; left out: the one that corresponds, by label first.")
    ] = None
    policy: Annotated[
        _Name | None, Meta(description="What counts as a difference; left out: as the contract as a whole.")
    ] = None
    worst: Annotated[
        WorstVerdict | None, Meta(description="Worst verdict that passes; left out: as the contract as a whole.")
    ] = None
    vary: Annotated[
        tuple[_Name, ...],
        Meta(description="Fields that may differ, such as grid_dim or attributes[priority], unless that is stale."),
    ] = ()
    rules: Annotated[
        dict[_Name, RuleAnswer], Meta(description="Answers by rule id, over those of the contract as a whole.")
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
    label: Annotated[_Pattern, Meta(description=f"Pattern of the labels that are counted; {_WILDCARDS}")] = "*"


class Suppression(Record, frozen=True, kw_only=True):
    """Findings that pass until a date, for a reason."""

    rule: Annotated[_Name, Meta(description="Id of the rule, or of a clause's own rule such as contract.kernel.")]
    reason: Annotated[_Name, Meta(description="Why they pass, for the person who reads the report.")]
    expires: Annotated[_Date, Meta(description="The last day, UTC, as 2027-03-31. Later the suppression fails.")]
    graph: Annotated[_Pattern, Meta(description=f"Pattern of labels; {_WILDCARDS}")] = "*"
    kernel: Annotated[
        _Pattern | None, Meta(description=f"Pattern of the name of the kernel that the finding is about; {_WILDCARDS}")
    ] = None
    path: Annotated[
        _Pattern | None, Meta(description=f"Pattern of the finding's path, as nodes[3].*; {_WILDCARDS}")
    ] = None
    stale: Annotated[bool, Meta(description="Whether findings of the verdict stale pass too.")] = False


class Contract(Record, frozen=True, kw_only=True):
    """What a dump is held against."""

    golden: Annotated[
        _Name | None, Meta(description="Dump to agree with, relative to the contract, where a graph names no other.")
    ] = None
    profile: Annotated[
        _Name | None,
        Meta(description="Driver profile, shipped or a file relative to the contract; left out: that of the dumps."),
    ] = None
    policy: Annotated[_Name, Meta(description="What counts as a difference.")] = "portable"
    worst: Annotated[WorstVerdict, Meta(description="Worst verdict that passes.")] = "identical"
    vary: Annotated[tuple[_Name, ...], Meta(description="Fields that may differ in every graph, unless stale.")] = ()
    rules: Annotated[dict[_Name, RuleAnswer], Meta(description="Answers by rule id, for every graph.")] = msgspec.field(
        default_factory=dict
    )
    graphs: Annotated[UInt32 | None, Meta(description="Exactly so many graphs in the dump.")] = None
    driver: Annotated[
        tuple[DriverScope, ...], Meta(description="Drivers that the contract holds for; left out: every driver.")
    ] = ()
    graph: Annotated[
        tuple[GraphClause, ...],
        Meta(description="Clauses on graphs: every one that matches applies. Left out: one for all graphs."),
    ] = ()
    executables: Annotated[tuple[ExecutablesClause, ...], Meta(description="Clauses on executables.")] = ()
    suppress: Annotated[tuple[Suppression, ...], Meta(description="Findings that pass until a date.")] = ()

    def __post_init__(self) -> None:
        if self.golden is None and self.graphs is None and not self.graph and not self.executables:
            raise InvariantError("the contract asks nothing; give golden, graphs, a [[graph]] or an [[executables]]")


def _bounds(clause: KernelClause | GraphClause) -> tuple[int, int | None]:
    if clause.count is not None:
        return clause.count, clause.count
    default = 1 if clause.at_most is None else 0
    return default if clause.at_least is None else clause.at_least, clause.at_most


def _check_bounds(clause: KernelClause | GraphClause) -> None:
    if clause.count is not None and (clause.at_least is not None or clause.at_most is not None):
        raise InvariantError("count is exact; leave out at_least and at_most, or count")
    if clause.at_least is not None and clause.at_most is not None and clause.at_least > clause.at_most:
        raise InvariantError(f"at least {clause.at_least} and at most {clause.at_most} contradict each other")
