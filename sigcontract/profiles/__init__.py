"""The driver profiles that come with this release, and their one loader."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
