"""sigcontract: the contract for CUDA graph signatures."""
