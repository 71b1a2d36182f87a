"""The records: immutable typed values, no I/O, no CUDA."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
