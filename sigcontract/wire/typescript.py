"""TypeScript types of the documents: generated from the schemas, and shipped beside them."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from sigcontract.errors import FileError, UsageError
from sigcontract.wire.documents import FORMS, form_named

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["typed_versions", "typescript_types"]


def typescript_types(document: str, version: int | None = None) -> str:
    """Return the TypeScript declarations (``.d.ts``) of a document.

    Parameters
    ----------
    document
        The kind, such as ``sigcontract.dump``.
    version
        By default the newest that has types.

    Raises
    ------
    VersionError
        The document or version is unknown.
    UsageError
        That version has no types: the dump has them from version 3 on.
    FileError
        This installation lacks the file.
    """
    versions = typed_versions(document)
    form = form_named(document, max(versions, default=0) if version is None else version)
    if form.version not in versions:
        raise UsageError(
            f"{document} version {form.version} has no TypeScript types, since generators mistake its lists of "
            f"positions; use version {max(versions)}, which `sigcontract migrate --to-version` writes"
        )
    name = f"{document}-{form.version}.d.ts"
    try:
        return _folder().joinpath(name).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{name} is missing from this installation; install sigcontract again", file=name) from error


def typed_versions(document: str) -> list[int]:
    """Return the versions of a document that have TypeScript types, ascending; none of an unknown document."""
    found = [version for name, version in FORMS if name == document]
    return sorted(version for version in found if (document, version) not in _UNTYPED)


#: Edges and attributes of these are lists whose positions have names (prefixItems), which no generator gets right.
_UNTYPED = {("sigcontract.dump", 1), ("sigcontract.dump", 2)}


def _folder() -> "Traversable":
    """Return the folder of the schemas: inside of an installed package, beside that of a source tree."""
    installed = files("sigcontract").joinpath("schemas")
    return installed if installed.is_dir() else Path(__file__).parents[2] / "schemas"
