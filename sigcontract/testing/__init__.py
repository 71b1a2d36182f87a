"""Checks of CUDA graphs in tests: golden files and structure; the pytest fixture ``graph_signature``."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
