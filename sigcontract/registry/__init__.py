"""Groups of graphs that are the same, and executables shared only where that is true."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
