"""Many dumps: which ranks captured the same, which did not and where, what is missing; questions in SQL."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
