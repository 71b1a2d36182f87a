"""The only way in and out: documents, their versions, digests and schemas."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
