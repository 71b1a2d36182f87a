"""A recording that does not agree with its golden, as text for people."""

from collections.abc import Iterator
from textwrap import wrap

from sigcontract.golden import Agreement
from sigcontract.model import Environment, SignatureDump
from sigcontract.report.graph_table import graph_lines
from sigcontract.report.names import safe
from sigcontract.report.phrases import counted
from sigcontract.report.text import diff_text

__all__ = ["disagreement_text"]

#: Graphs of a recording without a golden that are drawn, and labels that a sentence names.
_GRAPHS = 3
_LABELS = 6


def disagreement_text(found: Agreement, *, color: bool = False, width: int = 110) -> str:
    """Return why a recording does not agree with its golden, causes first; where there is none, what was recorded."""
    lines = (line for text in _sentences(found) for line in wrap(text, width, break_on_hyphens=False))
    drawn: Iterator[str] = iter(())
    if found.comparison is not None:
        drawn = iter(diff_text(found.comparison, color=color, width=width).splitlines())
    elif found.state == "missing":
        drawn = _recorded(found.recorded, width)
    return "\n".join([*lines, "", *drawn]).rstrip() + "\n"


def _sentences(found: Agreement) -> Iterator[str]:
    match found.state:
        case "missing":
            yield f"no golden yet for {_labels(found.recorded)}"
        case "unreadable":
            code = "" if found.error is None else f"[{found.error.code}]: {found.error}"
            yield f"the golden is invalid {safe(code)}"
        case "undetermined":
            yield "the recording equals the golden as recorded, but unknowns fail a strict "
            yield f"check: {', '.join(found.open)}"
        case "different" | "same":
            yield f"{_labels(found.recorded)}: {'matches the golden' if found.agrees else 'differs from the golden'}"
    if found.golden is not None:
        yield from _of_another(found.golden, found.recorded)


def _of_another(golden: SignatureDump, recorded: SignatureDump) -> Iterator[str]:
    """Yield in what the two are not of one kind: other graphs, another driver or device."""
    if {entry.label for entry in golden.graphs} != {entry.label for entry in recorded.graphs}:
        yield f"the golden has {_labels(golden)}: graphs were added, removed or renamed, or the file was copied"
    old, new = _where(golden.environment), _where(recorded.environment)
    if old and new and old != new:
        yield f"the golden is from {old}, the recording from {new}: libraries select kernels by device and driver"


def _where(environment: Environment) -> str:
    version = environment.cuda_driver_version
    cuda = [] if version is None else [f"CUDA {version // 1000}.{version % 1000 // 10}"]
    display = environment.display_driver_version
    driver = [] if display is None else [f"driver {display}"]
    return safe(", ".join([*cuda, *driver, *sorted({device.name for device in environment.devices})]))


def _labels(dump: SignatureDump) -> str:
    labels = [repr(entry.label) for entry in dump.graphs[:_LABELS]]
    more = f" and {len(dump.graphs) - _LABELS} more" if len(dump.graphs) > _LABELS else ""
    return safe(f"{'graph' if len(dump.graphs) == 1 else 'graphs'} {', '.join(labels)}{more}")


def _recorded(dump: SignatureDump, width: int) -> Iterator[str]:
    for entry in dump.graphs[:_GRAPHS]:
        first, *table = graph_lines(entry.graph, width=width - 2)
        yield f"{safe(entry.label)}: {first}"
        yield from (f"  {line}" for line in table)
    if len(dump.graphs) > _GRAPHS:
        yield f"… and {counted(len(dump.graphs) - _GRAPHS, 'more graph')}"
