"""What a launch shows and a node does not, seen through CUPTI as it happens."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
