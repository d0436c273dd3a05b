"""What schemas are made of: plain types, an object of ours, a list, and a reference to another schema."""

from __future__ import annotations

from typing import Any

from phoenixd.api.operations.operation import NAME_PATTERN

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TIME: Schema = {"type": "string", "format": "date-time"}
DAY: Schema = {"type": "string", "format": "date"}
AGENT_NAME: Schema = {"type": "string", "pattern": NAME_PATTERN}


def or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def words(*allowed: str) -> Schema:
    return {"type": "string", "enum": list(allowed)}


def an_object(properties: dict[str, Schema]) -> Schema:
    """An object of ours: all keys are always there, and readers have to ignore keys that a later version adds."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def a_list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable_ref(name: str) -> Schema:
    return {"oneOf": [ref(name), {"type": "null"}]}
