"""sigcontract: the contract for CUDA graph signatures.

Every public name is imported when it is first used: ``import sigcontract`` costs next to nothing, and brings in neither
CUDA nor pydantic. Live graphs are read by `sigcontract.driver`, shared by `sigcontract.registry`.
"""

from sigcontract.doors import attach

__version__ = "0.2.0.dev0"

__getattr__, __dir__, __all__ = attach(__spec__)
