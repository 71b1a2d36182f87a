"""The public names of a package, listed once: in its ``__init__.pyi``.

Type checkers read that file. At run time a name is imported on first use, so importing a package stays cheap.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from pkgutil import get_data
from typing import Any

__all__ = ["attach"]


def attach(spec: ModuleSpec) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of the package with this spec.

    Only ``from module import name as name`` statements of the stub ``__init__.pyi`` count. It is read through the
    package's loader, so zipped packages work too.
    """
    stub = get_data(spec.name, "__init__.pyi")
    if stub is None:
        raise ImportError(f"the loader of {spec.name} cannot read its __init__.pyi, which lists the package's names")
    modules = {
        alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {spec.name!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[spec.name], name, value)
        return value

    return get, lambda: sorted(modules), sorted(modules)
