"""Records as fields of pydantic models, derived from msgspec's type information.

Imported only when pydantic requests a record's schema, or to list every fault of a file.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any, get_args

import msgspec
from msgspec import Struct, inspect as types
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, ValidationError, core_schema

from sigcontract.errors import RecordError
from sigcontract.model.record import Record

__all__ = ["BRANCH_MARK", "core_schema_of", "core_schema_of_record", "core_schema_of_type", "core_schema_of_union"]

#: Locations in pydantic errors include the chosen branch of a union, as ``<kernel>``.
BRANCH_MARK = "<"
#: The room above, which knows the documents: looked up by name, since imports run downwards.
_WIRE = "sigcontract.wire"


def core_schema_of(cls: type[Record]) -> CoreSchema:
    """Return the pydantic schema of a record; for a document, that of `sigcontract.wire.core_schema_of_document`."""
    document: CoreSchema | None = import_module(_WIRE).core_schema_of_document(cls)
    return core_schema_of_record(cls) if document is None else document


def core_schema_of_record(cls: type[Record]) -> CoreSchema:
    """Return the pydantic schema of a record: strict, with its bounds, without unknown fields.

    Accepts instances, mappings and JSON; instances are validated too, since construction does not. Every fault is a
    separate error with its location. Serializes to the mapping that it accepts.
    """
    return core_schema_of_type(types.type_info(cls), _located)


def core_schema_of_union(union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Return the pydantic schema of a union of tagged records: the tag chooses the record."""
    records: tuple[type[Record], ...] = get_args(union)
    branches = {f"<{record.__struct_config__.tag}>": handler.generate_schema(record) for record in records}
    return _located(_tagged(branches, records[0].__struct_config__.tag_field))


def _located(schema: CoreSchema) -> CoreSchema:
    """Return a schema whose errors are located by keys and indices of the input, without branches of unions."""

    def validate(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            lines = list(map(_located_line, error.errors(include_url=False)))
        raise ValidationError.from_exception_data("", lines)

    return core_schema.no_info_wrap_validator_function(validate, schema)


def _located_line(line: ErrorDetails) -> InitErrorDetails:
    location: tuple[int | str, ...] = tuple(step for step in line["loc"] if not str(step).startswith(BRANCH_MARK))
    message, context = line["msg"], line.get("ctx")
    if context is not None and context.keys() >= {"reason", "path"}:  # of an invariant: where in the record
        message = context["reason"]
        location += RecordError(message, path=context["path"]).location
    kind = PydanticCustomError(line["type"], message, context)
    return InitErrorDetails(type=kind, loc=location, input=line["input"])


def core_schema_of_type(
    info: types.Type, around: Callable[[CoreSchema], CoreSchema] = lambda schema: schema
) -> CoreSchema:
    """Return the pydantic schema of a field's msgspec type information.

    ``around`` wraps the schema; pydantic requires the definitions outside of the wrapper.
    """
    builder = _Builder()
    schema = around(builder.schema(info))
    return core_schema.definitions_schema(schema, list(builder.definitions.values()))


class _Builder:
    """Converts msgspec's type information to a pydantic schema, one definition per record."""

    def __init__(self) -> None:
        self.definitions: dict[str, CoreSchema] = {}

    def schema(self, info: types.Type) -> CoreSchema:  # noqa: C901, PLR0911, PLR0912  one case per type
        match info:
            case types.Metadata():
                return self.schema(info.type)
            case types.AnyType():
                return core_schema.any_schema()
            case types.NoneType():
                return core_schema.none_schema()
            case types.BoolType():
                return core_schema.bool_schema(strict=True)
            case types.IntType():
                return core_schema.int_schema(strict=True, ge=info.ge, le=info.le)
            case types.StrType():
                return core_schema.str_schema(
                    strict=True,
                    pattern=info.pattern,
                    min_length=info.min_length,
                    max_length=info.max_length,
                    regex_engine="python-re",  # the patterns look ahead
                )
            case types.LiteralType():
                return _literal(list(info.values))
            case types.EnumType():
                return self._enum(info.cls)
            case types.UnionType():
                return self._union(info)
            case types.VarTupleType():
                items = self.schema(info.item_type)
                return _tuple_or_list(core_schema.tuple_schema([items], variadic_item_index=0, strict=True))
            case types.TupleType():
                items_schema = [self.schema(item) for item in info.item_types]
                return _tuple_or_list(core_schema.tuple_schema(items_schema, strict=True))
            case types.DictType():
                return core_schema.dict_schema(self.schema(info.key_type), self.schema(info.value_type), strict=True)
            case types.StructType():
                return self._struct(info)
            case _:
                raise TypeError(f"records cannot have fields of type {info!r}")

    def _struct(self, info: types.StructType) -> CoreSchema:
        cls = info.cls
        ref = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
        if ref not in self.definitions:
            self.definitions[ref] = core_schema.any_schema()  # a placeholder while building the record's fields
            fields = {field.encode_name: self.schema(field.type) for field in info.fields}
            inner = _list_like(cls, fields) if info.array_like else _mapping(info, fields)
            self.definitions[ref] = core_schema.no_info_before_validator_function(
                partial(_parts_of, cls),
                core_schema.no_info_after_validator_function(partial(_made, cls), inner),
                ref=ref,
                serialization=core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins),
            )
        return core_schema.definition_reference_schema(ref)

    def _enum(self, cls: type[Enum]) -> CoreSchema:
        values = _literal([member.value for member in cls])
        return core_schema.no_info_before_validator_function(
            lambda value: value.value if isinstance(value, cls) else value,
            core_schema.no_info_after_validator_function(cls, values),
            serialization=core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins),
        )

    def _union(self, info: types.UnionType) -> CoreSchema:
        """Choose the branch by the value, so a fault is one error, not one per branch."""
        branches = {_branch_of_type(member): self.schema(member) for member in info.types}
        tag_fields = {member.tag_field for member in info.types if isinstance(member, types.StructType)} - {None}
        return _tagged(branches, tag_fields.pop() if tag_fields else None)


def _tagged(branches: dict[str, CoreSchema], tag_field: str | None) -> CoreSchema:
    names = ", ".join(branch.strip("<>") for branch in branches)
    return core_schema.tagged_union_schema(
        branches,
        _discriminator(tag_field),
        custom_error_type="record_type",
        custom_error_message=f"Input should be one of: {names}",
    )


def _mapping(info: types.StructType, fields: dict[str, CoreSchema]) -> CoreSchema:
    required = {field.encode_name: field.required for field in info.fields}
    typed = {name: core_schema.typed_dict_field(schema, required=required[name]) for name, schema in fields.items()}
    if info.tag_field is not None:
        tag = core_schema.literal_schema([info.tag])
        typed = {info.tag_field: core_schema.typed_dict_field(tag, required=True)} | typed
    return core_schema.typed_dict_schema(
        typed, cls=_described(info), cls_name=info.cls.__name__, strict=True, extra_behavior="forbid"
    )


def _described(info: types.StructType) -> type:
    """Return a class that gives pydantic's JSON Schema the record's title and descriptions."""
    sentences = {
        field.encode_name: field.type.extra_json_schema["description"]
        for field in info.fields
        if isinstance(field.type, types.Metadata) and field.type.extra_json_schema
    }

    def describe(schema: dict[str, Any]) -> None:
        schema["additionalProperties"] = False  # pydantic adds it only from 2.12
        for name, sentence in sentences.items():
            schema["properties"][name]["description"] = sentence

    config = {"json_schema_extra": describe}
    return type(info.cls.__name__, (), {"__doc__": info.cls.__doc__, "__pydantic_config__": config})


def _list_like(cls: type[Struct], fields: dict[str, CoreSchema]) -> CoreSchema:
    positions = _tuple_or_list(core_schema.tuple_schema(list(fields.values()), strict=True))
    return core_schema.no_info_after_validator_function(
        lambda values: dict(zip(cls.__struct_fields__, values, strict=True)), positions
    )


def _tuple_or_list(schema: CoreSchema) -> CoreSchema:
    """Accept a list for a tuple: JSON has only arrays."""
    return core_schema.no_info_before_validator_function(
        lambda value: tuple(value) if isinstance(value, list) else value, schema
    )


def _literal(values: list[Any]) -> CoreSchema:
    """Accept exactly these values: to pydantic ``true`` and 1.0 equal 1."""
    kinds = {type(value) for value in values}

    def exact(value: Any) -> Any:
        if type(value) not in kinds:
            raise PydanticCustomError("literal_error", "Input should be one of: {values}", {"values": str(values)})
        return value

    return core_schema.no_info_before_validator_function(exact, core_schema.literal_schema(values))


def _parts_of(cls: type[Struct], value: Any) -> Any:
    """Return an instance as the mapping or list it decodes from, so its fields are validated."""
    if not isinstance(value, cls):
        return value
    config = cls.__struct_config__
    parts = {name: getattr(value, name) for name in cls.__struct_fields__}
    parts = {name: part for name, part in parts.items() if part is not msgspec.UNSET}
    if config.array_like:
        return tuple(parts.values())
    return parts if config.tag_field is None else {config.tag_field: config.tag} | parts


def _made(cls: type[Struct], parts: dict[str, Any]) -> Struct:
    tag_field = cls.__struct_config__.tag_field
    try:
        record = cls(**{name: value for name, value in parts.items() if name != tag_field})
        if isinstance(record, Record):
            record.check()
    except RecordError as error:
        context = {"reason": error.reason, "path": error.path, "code": error.code}
        raise PydanticCustomError("invariant", "{reason} (at {path})", context) from error
    return record


def _branch_of_type(info: types.Type) -> str:
    match info:
        case types.Metadata():
            return _branch_of_type(info.type)
        case types.StructType() if info.array_like:
            return "<list>"
        case types.StructType():
            return "<object>" if info.tag is None else f"<{info.tag}>"
        case types.LiteralType():
            return _BRANCHES[type(info.values[0])]
        case types.EnumType():
            return "<string>" if issubclass(info.cls, str) else "<integer>"
        case _:
            return _BRANCHES[type(info)]


#: Branch names by msgspec type, and by type of a value.
_BRANCHES: dict[type, str] = {
    types.NoneType: "<null>",
    types.BoolType: "<boolean>",
    types.IntType: "<integer>",
    types.StrType: "<string>",
    types.VarTupleType: "<list>",
    type(None): "<null>",
    bool: "<boolean>",
    int: "<integer>",
    str: "<string>",
    list: "<list>",
    tuple: "<list>",
}


def _discriminator(tag_field: str | None) -> Callable[[Any], str | None]:
    def branch(value: Any) -> str | None:
        """Return the branch for a value, or None."""
        if isinstance(value, Record):
            config = value.__struct_config__
            tag = "list" if config.array_like else config.tag or "object"
            return f"<{tag}>"
        if isinstance(value, dict):
            return "<object>" if tag_field is None else f"<{value.get(tag_field)}>"
        return next((_BRANCHES[kind] for kind in type(value).__mro__ if kind in _BRANCHES), None)

    return branch
