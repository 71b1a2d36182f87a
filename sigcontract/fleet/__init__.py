"""Many dumps: which ranks captured the same graphs, which did not, what is missing; queries in SQL."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
