"""What a driver reads, applies, keeps stale and rejects, measured by kernels that report their launch."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
