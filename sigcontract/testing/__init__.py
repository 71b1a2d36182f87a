"""What tests ask of CUDA graphs: golden files and structure. The pytest plugin gives it as ``graph_signature``."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
