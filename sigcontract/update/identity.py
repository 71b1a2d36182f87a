"""Whether two kernel nodes of one process run one function."""

from typing import TYPE_CHECKING, Literal

from sigcontract.update.shared_layouts import layout_texts

if TYPE_CHECKING:
    from sigcontract.model import (
        FunctionFacts,
        KernelNodeSignature,
    )

__all__ = ["Identity", "contradiction", "function_identity", "function_texts"]

#: same: proven within one load epoch. reused: one handle, two functions. unknown: no handle to compare.
Identity = Literal["same", "other", "reused", "unknown"]


def function_identity(a: "KernelNodeSignature", b: "KernelNodeSignature") -> Identity:
    """Return whether two nodes of one process run the same function.

    Handles prove it within one load epoch; a handle with another name or facts is another function. Without handles,
    different names or facts prove different functions, and nothing proves the same one.
    """
    if a.kern != b.kern or a.func != b.func:
        if (a.kern or a.func) and (b.kern or b.func):
            return "other"
        known = False
    else:
        known = (a.kern or a.func) != 0
    if a.name == b.name and (a.function == b.function or contradiction(a.function, b.function) is None):
        return "same" if known else "unknown"
    return "reused" if known else "other"


def contradiction(a: "FunctionFacts | None", b: "FunctionFacts | None") -> str | None:
    """Return the first fact known on both sides that differs, or None."""
    if a is None or b is None:
        return None
    for name in a.__struct_fields__:
        old, new = getattr(a, name), getattr(b, name)
        if old is not None and new is not None and old != new:
            return name
    return None


def function_texts(a: "KernelNodeSignature", b: "KernelNodeSignature", identity: Identity) -> tuple[str, str]:
    """Return what distinguishes two functions, one text for each."""
    if a.name != b.name:
        return a.name, b.name
    fact = contradiction(a.function, b.function)
    if identity == "reused" and fact is not None:
        old, new = getattr(a.function, fact), getattr(b.function, fact)
        old, new = layout_texts(old, new) if fact == "parameters" else (old, new)
        return f"{fact} {old}", f"{fact} {new}"
    if a.kern == b.kern and a.func != b.func:
        return f"{a.func:#x}", f"{b.func:#x}"
    return f"kern {a.kern:#x}, func {a.func:#x}", f"kern {b.kern:#x}, func {b.func:#x}"
