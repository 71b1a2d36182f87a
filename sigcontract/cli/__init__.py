"""The commands; the rules they apply live in the rooms below."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
