"""Record every graph of an unmodified running program in one dump."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
