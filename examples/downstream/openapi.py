"""Turn the JSON Schema of `sigcontract.dump` 3 into an OpenAPI 3.1 document, for openapi-generator.

sigcontract schema sigcontract.dump 3 | python examples/downstream/openapi.py > dump.openapi.json

It accepts the same documents. Each rewrite is one that the Go or Rust types of openapi-generator 7.26 need.
"""

import json
import sys
from typing import Any

COMPONENTS = "#/components/schemas/"
NULLABLE_ROW = "NullableRow"


def openapi(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document of a schema; each `$defs` entry, and the document itself, is a component."""
    root = {key: value for key, value in schema.items() if not key.startswith("$")}
    components: dict[str, Any] = schema["$defs"] | {schema["title"]: root}
    _walk(components)
    for union in [component for component in components.values() if "discriminator" in component]:
        tag = union["discriminator"]["propertyName"]
        union["discriminator"]["mapping"] = {
            _loosen_tag(components, member["$ref"], tag): member["$ref"] for member in union["oneOf"]
        }
    # The Rust types have no null in a list, unless its items are a component that is mapped to a type of your own.
    bodies = components["Conditional"]["properties"]["bodies"]
    components[NULLABLE_ROW] = bodies["items"]
    bodies["items"] = {"$ref": COMPONENTS + NULLABLE_ROW}
    return {
        "openapi": "3.1.0",
        "info": {"title": schema["title"], "version": schema["$id"].rpartition(":")[2]},
        "paths": {},
        "components": {"schemas": components},
    }


def _loosen_tag(components: dict[str, Any], reference: str, tag: str) -> str:
    """Return the value of the tag, which stays as a pattern: of a constant the Rust types write the tag twice."""
    schema = components[reference.rpartition("/")[2]]["properties"][tag]
    value: str = schema.pop("const")
    schema["pattern"] = f"^{value}$"
    return value


def _walk(value: Any) -> None:
    """Rewrite references, widen integers that do not fit 32 bits, and write a constant integer as its bounds."""
    match value:
        case {"$ref": str(reference)}:
            value["$ref"] = COMPONENTS + reference.rpartition("/")[2]
        case {"const": int(constant)}:
            # The Rust types need another crate for an integer of an enum.
            value["minimum"] = value["maximum"] = constant
            del value["const"]
        case {"maximum": int(maximum)} if maximum > 2**31 - 1:
            value["format"] = "int64"
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _walk(child)


if __name__ == "__main__":
    json.dump(openapi(json.load(sys.stdin)), sys.stdout, indent=1)
