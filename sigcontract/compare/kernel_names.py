"""Kernel names without the numbers that compilers count their kernels with."""

import re

__all__ = ["unnumbered"]

_NUMBER = re.compile(r"_\d+\Z")


def unnumbered(name: str) -> str:
    """Return a name without the number at its end, ``triton_poi_fused_silu`` for ``triton_poi_fused_silu_9``.

    Inductor and XLA number the kernels of a program: one more renames all that follow. A mangled C++ name has no such
    number, and comes back as it is.
    """
    return name if name.startswith("_Z") else _NUMBER.sub("", name)
