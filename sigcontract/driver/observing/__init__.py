"""Launch attributes and machine code that nodes do not return, observed through CUPTI."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
