"""Golden files: dumps that a test suite agreed to, one file for each check."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
