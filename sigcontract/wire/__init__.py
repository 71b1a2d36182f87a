"""Reading and writing documents: versions, digests, schemas."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
