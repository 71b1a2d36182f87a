"""The records: immutable typed values, no I/O, no CUDA."""
