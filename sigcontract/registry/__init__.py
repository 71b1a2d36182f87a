"""Group equal graphs, and share executables where that is safe.

`SignatureRegistry` needs no CUDA and loads no driver module.
"""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
