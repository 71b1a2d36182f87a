"""JSON Schemas (2020-12) of the documents, generated from the types that decode them, and their frozen files.

What the decoder accepts, the schema accepts; the schema cannot express everything the decoder refuses (a reference to a
missing row, 1.0 for an integer). Run as ``python -m sigcontract.wire.schemas DIRECTORY`` to write the files.
"""

import inspect
import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as types

from sigcontract.errors import FileError, SigcontractError, UsageError
from sigcontract.wire.documents import FORMS, Form, default_version, form_named
from sigcontract.wire.files import read_bytes, write_bytes
from sigcontract.wire.limits import MAX_DOCUMENT_BYTES

__all__ = ["check_files", "schema", "schema_sha256", "schema_text", "write_files"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INDEX = "index.json"
#: Keywords without effect on validation, and those whose value is a map of schemas or not a schema.
_PROSE = ("title", "description")
_SCHEMAS_BY_NAME = ("properties", "$defs")
_VALUES = ("const", "enum", "required", "default")


def schema(document: str, version: int | None = None) -> dict[str, Any]:
    """Return the JSON Schema of a document, by default of the version that is written.

    Raises
    ------
    VersionError
        The document or version is unknown.
    """
    return _schema_of(form_named(document, default_version(document) if version is None else version))


def schema_text(document: str, version: int | None = None) -> str:
    """Return the JSON Schema of a document as text, with sorted keys."""
    return json.dumps(schema(document, version), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def schema_sha256(schema: dict[str, Any]) -> str:
    """Return the sha256 of a schema's meaning: of its JSON without titles and descriptions.

    Wording may improve after a release, meaning may not change. Titles of list items stay: they are the only names of
    those fields. The hashed text has sorted keys and no spaces.
    """
    text = json.dumps(_without_prose(schema), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def _without_prose(value: Any) -> Any:
    """Drop titles and descriptions, except as property names and constants."""
    if isinstance(value, list):
        return [_without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for keyword, item in value.items():
        if keyword in _SCHEMAS_BY_NAME:
            kept[keyword] = {name: _without_prose(schema) for name, schema in item.items()}
        elif keyword == "prefixItems":
            kept[keyword] = [{"title": schema.get("title")} | _without_prose(schema) for schema in item]
        elif keyword not in _PROSE:
            kept[keyword] = item if keyword in _VALUES else _without_prose(item)
    return kept


def file_name(form: Form) -> str:
    """Return the file name of a form's schema."""
    return f"{form.document}-{form.version}.schema.json"


def _schema_of(form: Form) -> dict[str, Any]:
    writer = _GeneratorWriter() if form.for_generators else _Writer()
    whole = writer.record(types.type_info(form.wire))
    return whole | {
        "$schema": _DIALECT,
        "$id": f"urn:sigcontract:schema:{form.document}:{form.version}",
        "title": form.record.__name__ if form.for_generators else f"{form.document} version {form.version}",
        "$defs": writer.definitions,
    }


class _Writer:
    """Converts msgspec's type information to JSON Schema, one definition per record."""

    #: Whether the type of a constant is written beside it.
    states_types = False

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def of(self, info: types.Type) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912  one case per type
        match info:
            case types.Metadata():
                return self.of(info.type) | (info.extra_json_schema or {})
            case types.AnyType():
                return {}
            case types.NoneType():
                return {"type": "null"}
            case types.BoolType():
                return {"type": "boolean"}
            case types.IntType():
                return _stated(type="integer", minimum=info.ge, maximum=info.le)
            case types.StrType():
                bounds = {"minLength": info.min_length, "maxLength": info.max_length, "pattern": info.pattern}
                return _stated(type="string", **bounds)
            case types.LiteralType():
                return {"const": info.values[0]} if len(info.values) == 1 else {"enum": sorted(info.values)}
            case types.EnumType():
                return {"enum": [member.value for member in info.cls]}
            case types.UnionType():
                return {"anyOf": [self.of(member) for member in info.types]}
            case types.VarTupleType():
                return {"type": "array", "items": self.of(info.item_type)}
            case types.TupleType():
                return _list_of([self.of(item) for item in info.item_types])
            case types.DictType():
                names, values = self.of(info.key_type), self.of(info.value_type)
                return {"type": "object", "propertyNames": names, "additionalProperties": values}
            case types.StructType():
                name = info.cls.__name__
                if name not in self.definitions:
                    self.definitions[name] = {}  # a placeholder: records may be recursive
                    self.definitions[name] = self.record(info)
                return {"$ref": f"#/$defs/{name}"}
            case _:
                raise TypeError(f"records cannot have fields of type {info!r}")

    def record(self, info: types.Type) -> dict[str, Any]:
        """Return the schema of a record, not a reference to it."""
        if not isinstance(info, types.StructType):
            raise TypeError(f"{info!r} is not a record")
        fields = {field.encode_name: self.of(field.type) | _default(field) for field in info.fields}
        required = [field.encode_name for field in info.fields if field.required]
        about = {"title": info.cls.__name__, "description": inspect.cleandoc(info.cls.__doc__ or "")}
        if info.array_like:
            return about | _list_of([{"title": name} | field for name, field in fields.items()])
        if info.tag_field is not None:
            tag = {"type": "string", "const": info.tag} if self.states_types else {"const": info.tag}
            fields = {info.tag_field: tag} | fields
            required = [info.tag_field, *required]
        return about | {
            "type": "object",
            "properties": fields,
            "required": required,
            "additionalProperties": False,
        }


class _GeneratorWriter(_Writer):
    """Writes what generators of types take as it is, and what a validator finds one fault in for one fault.

    A union of records has ``discriminator`` and a name of its own; null is one of the types of a value, and not a
    branch; a constant has its type beside it.
    """

    states_types = True

    def of(self, info: types.Type) -> dict[str, Any]:
        match info:
            case types.Metadata(type=types.UnionType()) if "title" in (info.extra_json_schema or {}):
                about = info.extra_json_schema or {}
                name = about["title"]
                if name not in self.definitions:
                    self.definitions[name] = {}
                    self.definitions[name] = about | self.of(info.type)
                return {"$ref": f"#/$defs/{name}"}
            case types.UnionType():
                return self._union(info)
            case types.LiteralType():
                return {"type": "string" if isinstance(info.values[0], str) else "integer"} | super().of(info)
            case types.Metadata(type=types.StructType()) if info.extra_json_schema:
                # A description beside $ref makes json-schema-to-typescript copy the record under another name.
                return info.extra_json_schema | {"allOf": [self.of(info.type)]}
            case _:
                return super().of(info)

    def _union(self, info: types.UnionType) -> dict[str, Any]:
        branches = [member for member in info.types if not isinstance(member, types.NoneType)]
        if len(branches) < len(info.types):
            (branch,) = branches
            found = self.of(branch)
            return found | {"type": [found["type"], "null"]}
        fields = {branch.tag_field if isinstance(branch, types.StructType) else None for branch in branches}
        (field,) = fields
        if field is None:
            raise TypeError(f"a union of records has one tag, {info!r} has none")
        return {
            "type": "object",
            "discriminator": {"propertyName": field},
            "required": [field],
            "oneOf": [self.of(branch) for branch in branches],
        }


def _default(field: types.Field) -> dict[str, Any]:
    """Return the ``default`` keyword of an optional field."""
    if field.required or (field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT):
        return {}  # required, or left out as such (UNSET)
    made = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return {"default": msgspec.json.decode(msgspec.json.encode(made))}


def _stated(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value is not None}


def _list_of(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _index_of(directory: Path) -> dict[str, dict[str, Any]]:
    if not (directory / _INDEX).exists():
        return {}
    entries = json.loads(read_bytes(directory / _INDEX, MAX_DOCUMENT_BYTES))["schemas"]
    return {entry["file"]: entry for entry in entries}


def check_files(directory: Path) -> list[str]:
    """Return mismatches between the records, the files in a directory, and the index.

    Raises
    ------
    FileError
        The directory does not exist, or a file in it cannot be read.
    """
    if not directory.is_dir():
        raise FileError(f"{directory} is not a directory; name the one with the schemas", file=str(directory))
    index = _index_of(directory)
    wrong = []
    for form in FORMS.values():
        name = file_name(form)
        text = schema_text(form.document, form.version)
        file = directory / name
        if not file.exists() or read_bytes(file, MAX_DOCUMENT_BYTES) != text.encode():
            wrong.append(f"{name} does not match the records; write the files again")
        if name not in index:
            wrong.append(f"{name} is not in {_INDEX}; write the files again")
        elif index[name]["sha256"] != schema_sha256(_schema_of(form)):
            frozen = index[name]["status"] != "draft"
            advice = "it is released and cannot change: add a new version" if frozen else "write the files again"
            wrong.append(f"{name} has another sha256 than in {_INDEX}; {advice}")
    known = {file_name(form) for form in FORMS.values()}
    wrong += [f"{name} is in {_INDEX}, but no such document exists" for name in index if name not in known]
    return wrong


def write_files(directory: Path, *, release: bool = False) -> None:
    """Write the schema of every document and version, and the index with their status and sha256.

    Parameters
    ----------
    directory
        Where to.
    release
        Whether to freeze the drafts: what a released schema accepts never changes; its wording may.

    Raises
    ------
    UsageError
        A released schema would change.
    FileError
        The directory cannot be created, or a file in it cannot be written.
    """
    index = _index_of(directory)
    entries = []
    texts = {}
    for form in FORMS.values():
        name = file_name(form)
        texts[name] = schema_text(form.document, form.version)
        found = schema_sha256(_schema_of(form))
        old = index.get(name)
        status = "released" if release or (old is not None and old["status"] == "released") else "draft"
        if old is not None and old["status"] == "released" and old["sha256"] != found:
            raise UsageError(f"{name} is released and cannot change; add a new version of {form.document}")
        entries.append(
            {
                "document": form.document,
                "version": form.version,
                "record": form.record.__name__,
                "file": name,
                "status": status,
                "sha256": found,
            }
        )
    texts[_INDEX] = json.dumps({"schemas": entries}, indent=2) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{directory} cannot be created: {error.strerror}; name another directory"
        raise FileError(msg, file=str(directory)) from error
    for name, text in texts.items():
        write_bytes(directory / name, text.encode())


if __name__ == "__main__":
    try:
        write_files(Path(sys.argv[1]), release="--release" in sys.argv[2:])
    except SigcontractError as error:
        sys.exit(str(error))
