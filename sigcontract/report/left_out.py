"""What a comparison that found nothing did not look at, and which policy would."""

from sigcontract.model import DumpDiff

__all__ = ["left_out"]


def left_out(diff: DumpDiff) -> str:
    """Return one line on what a comparison leaves out; empty where it is not known."""
    if not diff.not_compared:
        return ""
    always, *others = diff.not_compared
    more = f"; {', '.join(others)} (--policy exact does)" if others else ""
    return f"not compared: {always}{more}"
