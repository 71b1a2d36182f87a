"""Compare two dumps: match graphs, align nodes, put handles in correspondence."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
