"""Contracts for dumps: the contract file, its clauses, suppressions and baselines."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
