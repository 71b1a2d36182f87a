"""How two dumps differ: graphs matched, nodes aligned, handles put in correspondence."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
