"""Compare dumps of many ranks; export them to Parquet and query them in SQL."""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
