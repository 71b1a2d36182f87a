"""A new contract from a dump: what it satisfies now, with further clauses as comments."""

from collections import Counter
from collections.abc import Iterator

from sigcontract.contract.patterns import Demangler
from sigcontract.model import (
    MAX_PATTERN_CHARACTERS,
    DependencyType,
    DriverProfile,
    Environment,
    SignatureDump,
)
from sigcontract.profiles import named_profile
from sigcontract.update import group_dumps

__all__ = ["first_contract"]


def first_contract(dump: SignatureDump, golden: str, demangle: Demangler) -> str:
    """Return the text of a contract that a dump satisfies.

    Parameters
    ----------
    dump
        The dump.
    golden
        Its golden dump, as named in the contract.
    demangle
        Returns the C++ name of a mangled kernel name.
    """
    profile = named_profile(dump)
    policy = "share" if profile is None else "share-functions"
    return "\n".join(
        [*_head(golden), *_driver(dump.environment), *_graphs(dump, demangle), *_end(dump, policy, profile)]
    )


def _head(golden: str) -> Iterator[str]:
    yield "# The contract for a dump. Check it: sigcontract check DUMP --contract THIS FILE"
    yield 'document = "sigcontract.contract"'
    yield "version = 1"
    yield ""
    yield "# The golden dump. Rewrite it: sigcontract check DUMP --contract THIS FILE --update"
    yield f"golden = {_string(golden)}"
    yield "# Worst verdict that passes: identical, harmless, updatable, rejected or stale."
    yield 'worst = "identical"'


def _driver(environment: Environment) -> Iterator[str]:
    facts: dict[str, int | str | None] = {"cuda_driver_version": environment.cuda_driver_version}
    if len({device.name for device in environment.devices}) == 1:
        facts["device"] = _fitting(environment.devices[0].name) or None
    known = {key: value for key, value in facts.items() if value is not None}
    if not known:
        return
    yield from ("", "# Drivers and devices covered; a dump of any other is undetermined.", "[[driver]]")
    for key, value in known.items():
        yield f"{key} = {value if isinstance(value, int) else _string(value)}"


def _graphs(dump: SignatureDump, demangle: Demangler) -> Iterator[str]:
    kernels = Counter(node.name for entry in dump.graphs for node in entry.graph.kernel_nodes)
    edges = any(
        edge.type == DependencyType.PROGRAMMATIC
        for entry in dump.graphs
        for edges in entry.graph.dependencies
        for edge in edges
    )
    yield from ("", "# Every [[graph]] whose label matches applies to a graph; * matches any text.")
    yield from ("[[graph]]", 'label = "*"', f"count = {len(dump.graphs)}")
    yield '# vary = ["grid_dim", "attributes[priority]"]  # fields that may differ'
    yield '# rules = { "kernel.grid-dim" = "allow" }  # or "fail", or "allow-stale"; `sigcontract rules` lists them'
    yield f'# programmatic_edges = "{"required" if edges else "forbidden"}"'
    if kernels:
        name, number = kernels.most_common(1)[0]
        yield from ("", "# Kernels that each graph must have, or must not with count = 0.", "# [[graph.kernel]]")
        yield f"# name = {_string(_pattern(demangle(name)))}  # {number} nodes in all graphs"
        yield "# at_least = 1"


def _end(dump: SignatureDump, policy: str, profile: DriverProfile | None) -> Iterator[str]:
    (groups,) = group_dumps([dump], [policy], profile, nearest=0)
    yield from ("", "# Most executables that a registry may need under a policy.", "[[executables]]")
    yield from (f'policy = "{policy}"', f"at_most = {groups.executables}", "")
    yield "# Allowed until a date; afterwards the suppression itself fails."
    yield from ("# [[suppress]]", '# rule = "kernel.grid-dim"', '# graph = "*"', '# reason = "until ..."')
    yield from ("# expires = 2027-03-31", "")


def _pattern(name: str) -> str:
    """Return a pattern of a kernel's name, without parameters and template arguments."""
    head = name.partition("(")[0].partition("<")[0].rpartition(" ")[2]
    return _fitting(f"*{head.rpartition('::')[2] or head or name}*")


def _fitting(pattern: str) -> str:
    """Return a pattern; of one that is too long for a contract its beginning."""
    return pattern if len(pattern) <= MAX_PATTERN_CHARACTERS else f"{pattern[: MAX_PATTERN_CHARACTERS - 1]}*"


def _string(text: str) -> str:
    """Return a TOML string, unprintable characters escaped."""
    escaped = {'"': '\\"', "\\": "\\\\"}
    return f'"{"".join(escaped.get(c) or (c if c.isprintable() else _escape(c)) for c in text)}"'


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 1 << 16 else f"\\U{ord(character):08x}"
