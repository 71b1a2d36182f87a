"""What a comparison without differences did not compare, and which policy does."""

from sigcontract.model import DumpDiff

__all__ = ["left_out"]

#: Compared where they are recorded, and under policies of which they are a part.
_ARGUMENTS = "arguments of kernels"


def left_out(diff: DumpDiff) -> str:
    """Return one line on what a comparison leaves out; empty where it is not known."""
    by_policy = [what for what in diff.not_compared if not what.startswith(_ARGUMENTS)]
    parts = [what for what in diff.not_compared if what.startswith(_ARGUMENTS)]
    if by_policy:
        parts.append(f"{', '.join(by_policy)} (--policy exact does)")
    return f"not compared: {'; '.join(parts)}" if parts else ""
