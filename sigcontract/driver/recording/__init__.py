"""Every graph of a running program in one dump, also where the program knows nothing of it."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
