"""libcuda: its entry points, struct layouts and handles, behind protocols that a fake driver satisfies too."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
