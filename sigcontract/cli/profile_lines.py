"""A driver profile as a table: what the driver reads, applies, keeps stale and rejects."""

from collections.abc import Iterator

from sigcontract.model.attributes import AttributeId
from sigcontract.model.profile import AttributeProfile, DriverProfile
from sigcontract.report.names import safe

__all__ = ["profile_lines"]

_COLUMNS = ("launch attribute", "readable", "settable", "as edge", "effect", "update", "how it is known")


def profile_lines(profile: DriverProfile) -> Iterator[str]:
    """Yield the profile line by line."""
    major, minor = profile.cuda_driver_version // 1000, profile.cuda_driver_version % 1000 // 10
    display = f", driver {profile.display_driver_version}" if profile.display_driver_version else ""
    capability = f"{profile.compute_capability_major}.{profile.compute_capability_minor}"
    yield safe(f"{profile.id}: {profile.device_name} ({capability}), CUDA {major}.{minor}{display}")
    yield safe(f"measured on {profile.measured_on}; other drivers may differ")
    yield ""
    table = [_COLUMNS, *(_row(entry) for entry in profile.attributes)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    yield f"an exec's cluster dimension is fixed at: {profile.cluster_fixed_at.replace('_', ' ')}"
    yield f"function of a cooperative node, updated alone: {profile.cooperative_function_update}"
    yield f"update rule: {profile.update_rule}"
    from sigcontract.driver.observe import observable_attributes  # noqa: PLC0415  what shows a dump needs no driver room

    observable = ", ".join(map(_name, observable_attributes(profile)))
    yield f"seen only at the launch (sigcontract record, sigcontract.driver.observe): {observable or 'none'}"


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
