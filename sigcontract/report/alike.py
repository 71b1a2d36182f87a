"""Which nodes look alike to a reader: layers that differ only in the numbers of their kernels are folded."""

import re
from collections.abc import Hashable, Iterable, Sequence

from sigcontract.compare import unnumbered
from sigcontract.model import KernelNodeSignature, NodeSignature

__all__ = ["ANY", "alike_key", "common_name", "family"]

#: What stands in a name for the part in which the names of folded nodes differ.
ANY = "*"
#: Inductor names a kernel by its kind and by all operators fused into it, and numbers it.
_INDUCTOR = re.compile(r"(triton_[a-z]{3})_fused_")


def family(name: str) -> str:
    """Return what kernels' names have in common at one position in two layers.

    Of Inductor's names that is the kind of kernel (pointwise, reduction): which operators are fused differs between the
    first layers and the last. Of other names it is the name without the compiler's number.
    """
    kind = _INDUCTOR.match(name)
    return kind[1] if kind else unnumbered(name)


def alike_key(node: NodeSignature) -> Hashable:
    """Return what is equal for nodes that look alike: their type, and a kernel's family and launch."""
    if isinstance(node, KernelNodeSignature):
        # As text: the hash of numbers is the same everywhere, so that a file can have very many of one hash.
        return family(node.name), str(node.grid_dim), str(node.block_dim), node.dynamic_shared_mem_bytes
    return type(node)


def common_name(names: Iterable[str]) -> str:
    """Return the one name, or what names have in common at both ends, with a star between."""
    distinct = sorted(set(names))
    if len(distinct) == 1:
        return distinct[0]
    start = _common_start(distinct)
    end = _common_start(sorted(name[len(start) :][::-1] for name in distinct))[::-1]
    return start + ANY + end


def _common_start(ordered: Sequence[str]) -> str:
    """Return what sorted texts begin with: what the first and the last have in common, all have."""
    first, last = ordered[0], ordered[-1]
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same]
