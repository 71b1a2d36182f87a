"""Groups of graphs that are the same, and executables shared where that is safe.

Each name is imported when it is first used, so that `SignatureRegistry`, which needs no CUDA, loads no driver module.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sigcontract.registry.entries import ExecGroup, GraphEntry
    from sigcontract.registry.reasons import Reason
    from sigcontract.registry.registry import GraphExecRegistry
    from sigcontract.registry.signature_registry import (
        Group,
        GroupReport,
        GroupStats,
        GroupSummary,
        NearestMiss,
        SignatureRegistry,
    )
    from sigcontract.registry.stats import RegistryStats

__all__ = [
    "ExecGroup",
    "GraphEntry",
    "GraphExecRegistry",
    "Group",
    "GroupReport",
    "GroupStats",
    "GroupSummary",
    "NearestMiss",
    "Reason",
    "RegistryStats",
    "SignatureRegistry",
]

#: The module of each name that does not come from `signature_registry`.
_MODULES: Final = {
    "ExecGroup": "entries",
    "GraphEntry": "entries",
    "GraphExecRegistry": "registry",
    "Reason": "reasons",
    "RegistryStats": "stats",
}


if not TYPE_CHECKING:  # or a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'signature_registry')}")
        value = getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
