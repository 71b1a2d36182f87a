"""Every drawing: pure functions from values to text."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
