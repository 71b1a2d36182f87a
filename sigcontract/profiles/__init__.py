"""The driver profiles shipped with this release, and their loader."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
