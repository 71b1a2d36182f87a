"""Read a live graph into records: nodes, attributes, functions and environment."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
