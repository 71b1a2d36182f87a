"""The commands. The rules that they apply live in the packages below."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
