"""What cuGraphExecUpdate does with two graphs, and what may therefore share an executable."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
