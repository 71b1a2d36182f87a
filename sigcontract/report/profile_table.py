"""A driver profile as a table: what the driver reads, applies, keeps stale and rejects."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from sigcontract.model import (
    AttributeId,
    AttributeProfile,
    DriverProfile,
)
from sigcontract.report.names import safe

__all__ = ["COLUMNS", "profile_facts", "profile_head", "profile_lines", "profile_rows"]

#: Fewer columns than these make a ribbon of the prose beside a row.
_NARROWEST_NOTE = 24
#: What a row has of each launch attribute.
COLUMNS = ("launch attribute", "readable", "settable", "as edge", "effect", "update", "how it is known")


def profile_lines(profile: DriverProfile, width: int) -> Iterator[str]:
    """Yield the profile line by line, lines broken at ``width`` columns."""
    yield from (safe(line) for line in profile_head(profile))
    yield ""
    yield from _table([COLUMNS, *profile_rows(profile)], width)
    yield ""
    yield from (f"{name}: {value}" for name, value in profile_facts(profile))


def profile_head(profile: DriverProfile) -> tuple[str, str]:
    """Return what was measured, and when."""
    major, minor = profile.cuda_driver_version // 1000, profile.cuda_driver_version % 1000 // 10
    display = f", driver {profile.display_driver_version}" if profile.display_driver_version else ""
    capability = f"{profile.compute_capability_major}.{profile.compute_capability_minor}"
    return (
        f"{profile.id}: {profile.device_name} ({capability}), CUDA {major}.{minor}{display}",
        f"measured on {profile.measured_on}; other drivers may differ",
    )


def profile_rows(profile: DriverProfile) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each launch attribute."""
    return [_row(entry) for entry in profile.attributes]


def profile_facts(profile: DriverProfile) -> Iterator[tuple[str, str]]:
    """Yield what holds for no single attribute."""
    from sigcontract.driver import observable_attributes  # noqa: PLC0415  slow to import; a dump needs none of it

    yield "an exec's cluster dimension is fixed at", profile.cluster_fixed_at.replace("_", " ")
    yield "function of a cooperative node, updated alone", profile.cooperative_function_update
    yield "update rule", profile.update_rule
    observable = ", ".join(map(_name, observable_attributes(profile)))
    yield "readable only at the launch (sigcontract record, sigcontract.driver.observe)", observable or "none"


def _table(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Yield rows; their last cells are prose, and go below the row where too little is left of the line."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    beside = width - sum(widths) - 2 * len(widths)
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= width else " "
    for *cells, note in rows:
        row = gap.join(f"{cell:<{size}}" for cell, size in zip(cells, widths, strict=True))
        if beside >= _NARROWEST_NOTE:
            first, *more = wrap(note, beside) or [""]
            yield f"{row}  {first}".rstrip()
            yield from (f"{'':{len(row) + 2}}{line}" for line in more)
        else:
            yield row.rstrip()
            yield from wrap(note, width, initial_indent="    ", subsequent_indent="    ")


def _name(attribute_id: int) -> str:
    try:
        return AttributeId(attribute_id).name.lower()
    except ValueError:
        return f"attribute_{attribute_id}"


def _row(entry: AttributeProfile) -> tuple[str, ...]:
    return (
        _name(entry.id),
        entry.readable,
        entry.settable,
        entry.becomes_edge,
        entry.has_effect,
        entry.update,
        safe(entry.note),
    )
