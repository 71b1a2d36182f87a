"""Golden files: the expected dumps of a test suite, one file per check."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
