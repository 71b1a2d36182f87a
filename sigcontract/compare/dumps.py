"""Compare two dumps: environment first, then each graph, every difference with its verdict."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from sigcontract.compare.causes import causes_of_findings
from sigcontract.compare.graph_changes import GraphChanges
from sigcontract.compare.graphs import compare_graphs
from sigcontract.compare.matching import GraphPair, is_partial, match_graphs
from sigcontract.compare.one_capture import with_prediction
from sigcontract.model import (
    MAX_EXACT_INT,
    DependencyType,
    DeviceInfo,
    DriverProfile,
    DumpDiff,
    Environment,
    Finding,
    GraphDiff,
    GraphSignature,
    GraphSize,
    KernelNodeSignature,
    LabeledGraph,
    SignatureDump,
    Verdict,
    equal_dumps,
)
from sigcontract.profiles import (
    check_profile,
    named_profile,
)
from sigcontract.update import (
    RULES,
    NodeJudge,
    SharedLayouts,
    argument_unknowns,
    check_policy,
    fitting,
    fitting_values,
    judged_update,
    no_graph,
)
from sigcontract.wire import (
    explains_invalid,
    wrong_type,
)

__all__ = ["DumpComparison", "compare_dumps", "diff"]

_Key = TypeVar("_Key", int, str)
_ARGUMENTS: Final = "arguments of kernels"
#: Where neither dump has them.
_NOT_RECORDED: Final = f"{_ARGUMENTS} (not recorded)"
#: Fields that every update applies.
_UPDATED: Final = ("dimensions", "shared memory", "1D copies and memsets")
_NOT_COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "exact": (),
    "share": (_ARGUMENTS, *_UPDATED),
    "share-functions": (_ARGUMENTS, *_UPDATED, "functions"),
    "portable": ("addresses", "values of handles", "order of nodes"),
}
_COMPLETE: Final = {True: "complete", False: "incomplete"}


def diff(
    old: SignatureDump,
    new: SignatureDump,
    profile: DriverProfile | None = None,
    *,
    policy: str = "portable",
    flags: int = 0,
) -> DumpDiff:
    """Compare two dumps of one or of two processes.

    Parameters
    ----------
    old, new
        The dumps.
    profile
        The driver's profile. None: the shipped profile named in both dumps; without one, only documented and reported
        rules apply, and the rest is undetermined.
    policy
        What counts as a difference. ``portable``: everything that is the same in two runs of one program, handles
        renumbered by first use; for two graphs of one capture also what an update rejects or keeps stale, such as
        another context. ``exact``: every recorded field, handles and addresses included. ``share`` and
        ``share-functions``: only what prevents two graphs from sharing an executable.
    flags
        CUgraphInstantiate_flags of the executables.

    Returns
    -------
    DumpDiff
        No findings for a complete, nonempty dump and itself, and for two runs known to have captured the same. Unknowns
        are findings with the verdict ``undetermined``.

    Raises
    ------
    NotComparableError
        Two graphs of a dump share a label, or the profile is of another driver or device.
    UsageError
        The policy is unknown.
    """
    return compare_dumps(old, new, profile, policy=policy, flags=flags).diff


class DumpComparison(NamedTuple):
    """The result of a diff, with every node of every difference.

    ``changes`` is parallel to ``diff.graphs``; None for a graph without counterpart or equal to itself. ``policy`` is
    the policy used.
    """

    diff: DumpDiff
    changes: tuple[GraphChanges | None, ...]
    policy: str


@explains_invalid("old", "new", "profile")
def compare_dumps(  # noqa: PLR0913  two dumps, and independent options
    old: SignatureDump,
    new: SignatureDump,
    profile: DriverProfile | None = None,
    *,
    policy: str = "portable",
    flags: int = 0,
    labels: Collection[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
) -> DumpComparison:
    """Compare two dumps as `diff` does, and keep the details for reports.

    Parameters
    ----------
    old, new, profile, policy, flags
        As for `diff`, including errors raised.
    labels
        Compare only graphs with one of these labels, in either dump; default: all.
    pairs
        Pairs of old and new labels: compare these graphs only.

    Raises
    ------
    UsageError
        A label of ``pairs`` is not in its dump, or one of ``labels`` is in neither.
    """
    check_policy(policy)
    named = profile is not None
    if profile is None:
        profile = named_profile(old, new)
    else:
        for dump in (old, new):
            check_profile(profile, dump.environment)
    matched = match_graphs(old, new, pairs)
    if isinstance(labels, str):
        raise wrong_type("labels", "collection of str", labels)
    labels = tuple(labels)
    known_labels = {entry.label for dump in (old, new) for entry in dump.graphs}
    for label in labels:
        if label not in known_labels:
            raise no_graph(label, sorted(known_labels), "either dump")
    chosen = [pair for pair in matched if not labels or not pair.labels.isdisjoint(labels)]
    environment = tuple(_dump_findings(old, new, judged_by_one=named))
    # A graph equals itself even with unknown values: they are of one process and time.
    same_dump = old is new or (equal_dumps(old, new) and _identified(old))
    one_capture = same_dump or _one_capture(old.environment, new.environment)
    # Equal graphs under several labels are compared once. The dumps keep them alive, so ids stay unique.
    judged_of: dict[tuple[int, int], tuple[GraphChanges, Verdict | None]] = {}
    judged: list[tuple[GraphChanges | None, Verdict | None]] = []
    sharing = SharedLayouts()
    for pair in chosen:
        if pair.old is None or pair.new is None or (same_dump and pair.one_label):
            judged.append((None, None))
            continue
        objects = id(pair.old.graph), id(pair.new.graph)
        if objects not in judged_of:
            both = sharing.graph(pair.old.graph), sharing.graph(pair.new.graph)
            judged_of[objects] = _judged(*both, profile, policy, one_capture=one_capture, flags=flags)
        judged.append(judged_of[objects])
    partial = is_partial(old), is_partial(new)
    graphs = tuple(
        _graph_diff(pair, _findings(pair, found, profile, partial, given=bool(pairs)), verdict)
        for pair, (found, verdict) in zip(chosen, judged, strict=True)
    )
    worst = Verdict.worst([*(finding.verdict for finding in environment), *(graph.verdict for graph in graphs)])
    result = DumpDiff(
        verdict=worst,
        policy=policy,
        one_capture=one_capture,
        not_compared=_not_compared(policy, chosen),
        profile=None if profile is None else profile.id,
        environment=environment,
        graphs=graphs,
    )
    return DumpComparison(result, tuple(found for found, _ in judged), policy)


def _not_compared(policy: str, pairs: Iterable[GraphPair]) -> tuple[str, ...]:
    """Return what a comparison leaves out: arguments of kernels too, where neither side has them."""
    always = _NOT_COMPARED[policy]
    graphs = {id(entry.graph): entry.graph for pair in pairs for entry in (pair.old, pair.new) if entry is not None}
    recorded = any(
        isinstance(node, KernelNodeSignature) and node.arguments is not None
        for graph in graphs.values()
        for _, node in graph.walk()
    )
    return always if recorded or _ARGUMENTS in always else (_NOT_RECORDED, *always)


def _judged(  # noqa: PLR0913  two graphs, and independent options
    old: GraphSignature,
    new: GraphSignature,
    profile: DriverProfile | None,
    policy: str,
    *,
    one_capture: bool,
    flags: int,
) -> tuple[GraphChanges, Verdict | None]:
    """Compare two graphs; within one capture also return the verdict on the update, else None."""
    found = compare_graphs(old, new, profile, policy=policy, one_capture=one_capture, flags=flags)
    if not one_capture:
        return found, None
    # Every node counts here: equal changes of layers are folded.
    prediction = judged_update(old, new, NodeJudge(profile, flags), max_also=MAX_EXACT_INT)
    return (with_prediction(found, prediction) if policy == "portable" else found), prediction.verdict


def _findings(
    pair: GraphPair,
    found: GraphChanges | None,
    profile: DriverProfile | None,
    partial: tuple[bool, bool],
    *,
    given: bool,
) -> Iterator[Finding]:
    if pair.old is None or pair.new is None:
        rule = "graph.added" if pair.old is None else "graph.removed"
        if partial[pair.index(None)]:
            rule = "graph.not-recorded"
        yield _finding(rule, "graph", _size(pair.old), _size(pair.new))
        return
    if not pair.one_label and not given:
        yield _finding("graph.label", "label", pair.old.label, pair.new.label)
    if found is not None:
        yield from found.findings(profile)


def _graph_diff(pair: GraphPair, found: Iterable[Finding], verdict: Verdict | None) -> GraphDiff:
    findings = tuple(found)
    old_label = None if pair.old is None else pair.old.label
    new_label = None if pair.new is None else pair.new.label
    if verdict is None:
        verdict = Verdict.of_update(finding.verdict for finding in findings)
    return GraphDiff(
        label=new_label or old_label or "",
        old_label=old_label,
        new_label=new_label,
        verdict=verdict if findings else Verdict.IDENTICAL,
        old_size=_graph_size(pair.old),
        new_size=_graph_size(pair.new),
        causes=causes_of_findings(findings),
        findings=findings,
    )


def _graph_size(entry: LabeledGraph | None) -> GraphSize | None:
    if entry is None:
        return None
    edges = [edge.type for edges in entry.graph.dependencies for edge in edges]
    return GraphSize(
        nodes=len(entry.graph.nodes), edges=len(edges), programmatic_edges=edges.count(DependencyType.PROGRAMMATIC)
    )


def _size(entry: LabeledGraph | None) -> str | None:
    if entry is None:
        return None
    number = len(entry.graph.nodes)
    return f"{number} node" if number == 1 else f"{number} nodes"


def _identified(dump: SignatureDump) -> bool:
    """Whether a dump has a handle for every function, and every argument: then an equal one is a copy, not another run.

    Version 1 dumps of different kernels may be equal, having no field in which they differ, and so may redacted ones.
    """
    graphs = {id(entry.graph): entry.graph for entry in dump.graphs}
    return all(
        (node.kern or node.func) and not any(argument_unknowns(node.arguments, across=False))
        for graph in graphs.values()
        for _, node in graph.walk()
        if isinstance(node, KernelNodeSignature)
    )


def _one_capture(old: Environment, new: Environment) -> bool:
    """Whether one process wrote both within one second, so a handle means one function in both.

    At another time it may not: the driver reuses CUkernel handles after an unload.
    """
    return (
        old.process_id is not None
        and old.hostname is not None
        and (old.process_id, old.hostname, old.created_at) == (new.process_id, new.hostname, new.created_at)
    )


def _dump_findings(old: SignatureDump, new: SignatureDump, *, judged_by_one: bool) -> Iterator[Finding]:
    """Yield differences of whole dumps, and what prevents a full comparison.

    Named profiles do not matter if both dumps are judged by one that applies to them.
    """
    yield from _environment_findings(old.environment, new.environment)
    if old.profile != new.profile and not judged_by_one:
        yield _finding("dump.profile", "profile", old.profile, new.profile)
    if not (old.complete and new.complete):
        yield _finding("dump.incomplete", "complete", *(_COMPLETE[dump.complete] for dump in (old, new)))
    if not (old.graphs and new.graphs):
        yield _finding("dump.empty", "graphs", len(old.graphs), len(new.graphs))


def _environment_findings(old: Environment, new: Environment) -> Iterator[Finding]:
    for name in ("cuda_driver_version", "display_driver_version"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield _finding("environment.driver", f"environment.{name}", before, after)
    old_devices, new_devices = ({d.ordinal: _device(d) for d in environment.devices} for environment in (old, new))
    yield from _by_key("environment.device", "environment.devices", old_devices, new_devices)
    old_libraries, new_libraries = ({lib.name: lib.version for lib in e.libraries} for e in (old, new))
    yield from _by_key("environment.library", "environment.libraries", old_libraries, new_libraries)


def _by_key(rule: str, path: str, old: Mapping[_Key, str], new: Mapping[_Key, str]) -> Iterator[Finding]:
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield _finding(rule, f"{path}[{key}]", old.get(key), new.get(key))


def _device(device: DeviceInfo) -> str:
    return f"{device.name}, compute capability {device.compute_capability_major}.{device.compute_capability_minor}"


def _finding(rule_id: str, path: str, old: int | str | None, new: int | str | None) -> Finding:
    rule = RULES[rule_id]
    old, new = fitting_values(old, new)
    return Finding(
        rule=rule.id,
        path=fitting(path),
        verdict=rule.verdict,
        evidence=rule.evidence,
        old=old,
        new=new,
        subject=None,
        count=1,
        also=(),
    )
