"""What a comparison that found nothing did not look at, and which policy would."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["left_out"]

_LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "exact": "not compared: arguments of kernels",
        "share": "not compared: what an update carries, grid and arguments among it (--policy exact compares it)",
        "share-functions": "not compared: what an update carries, functions and grid among it (--policy exact does)",
        "portable": "not compared: addresses, handles beyond which are the same (--policy exact does), arguments",
    }
)


def left_out(policy: str) -> str:
    """Return one line on what a comparison under that policy leaves out."""
    return _LEFT_OUT[policy]
