"""Kernel names without the numbers that compilers append."""

import re

__all__ = ["unnumbered"]

_NUMBER = re.compile(r"_\d+\Z")


def unnumbered(name: str) -> str:
    """Return a name without its trailing number, ``triton_poi_fused_silu`` for ``triton_poi_fused_silu_9``.

    Inductor and XLA number the kernels of a program, so one more renames all that follow. A mangled C++ name is
    returned unchanged.
    """
    return name if name.startswith("_Z") else _NUMBER.sub("", name)
