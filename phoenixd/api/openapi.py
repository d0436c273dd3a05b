"""The OpenAPI 3.1 description, derived from the table of operations."""

from __future__ import annotations

from typing import Any

from phoenixd.api import examples
from phoenixd.api.arguments import MAX_ITEMS
from phoenixd.api.operations import CONCERNS, OPERATIONS
from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.api.schemas import SCHEMAS
from phoenixd.core.durations import DURATION_PATTERN

Json = dict[str, Any]

STREAMED: dict[str, dict[str, str]] = {
    "follow_feed": {
        "hello": "FeedHello",
        "agent": "Agent",
        "gone": "FeedGone",
        "item": "Item",
        "item-closed": "FeedItemClosed",
        "alert": "FeedAlert",
        "note": "Event",
        "beat": "FeedBeat",
        "resync": "FeedResync",
    },
    "list_events": {"message": "Event"},
}
"""The events of streams by their names, and what the data of each is."""


TAGS = {operation.name: concern for concern, (_, found) in CONCERNS.items() for operation in found}
"""The concern of each operation."""


def document(version: str) -> Json:
    """The whole description, for the operations that have a path."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        if operation.path is not None:
            paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "phoenixd control API",
            "version": version,
            "description": "HTTP over the unix socket RUNTIME_DIR/api.sock. Who asks is known by SO_PEERCRED, or by "
            "the token of an agent's living run. `Accept: text/plain` answers with the text that phoenixctl prints.",
        },
        "servers": [{"url": "http://phoenixd", "description": "the host name is ignored"}],
        "tags": [{"name": concern, "description": words} for concern, (words, _) in CONCERNS.items()],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "agentToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "PHOENIX_TOKEN of a living run: that agent's rights and no more",
                }
            },
            "responses": {
                "Problem": {
                    "description": "Refused or failed: what, why, and what to do",
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
        },
        "security": [{}, {"agentToken": []}],
    }


def _operation(operation: Operation) -> Json:
    told: Json = {
        "operationId": operation.name,
        "tags": [TAGS[operation.name]],
        "summary": operation.summary,
        "x-rights": operation.rights,
        "x-idempotent": operation.idempotent,
        "parameters": [_parameter(parameter) for parameter in (*operation.at("path"), *operation.at("query"))],
        "responses": {"200": _answer(operation), "default": {"$ref": "#/components/responses/Problem"}},
    }
    if operation.words:
        told["x-phoenixctl"] = " ".join(operation.words)
    if operation.exits:
        told["x-exit-codes"] = {str(code): meaning for code, meaning in operation.exits}
    if operation.method == "POST":
        told["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "the same key and request again gets the same answer, and nothing is done twice",
                "schema": {"type": "string", "minLength": 1, "maxLength": 128},
            }
        )
    if operation.stream:
        told["parameters"].append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": "go on after this row, also over restarts of the daemon",
                "schema": {"type": "string"},
            }
        )
    if body := operation.at("body"):
        told["requestBody"] = {
            "required": any(parameter.required for parameter in body),
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {parameter.name: schema(parameter) for parameter in body},
                        "required": [parameter.name for parameter in body if parameter.required],
                        "additionalProperties": False,
                    },
                    "example": examples.body(operation),
                }
            },
        }
    return told


def _answer(operation: Operation) -> Json:
    told = {"$ref": f"#/components/schemas/{operation.response}"}
    content: Json = {"application/json": {"schema": told, "example": examples.answer(told)}}
    if operation.text:
        content["text/plain"] = {"schema": {"type": "string"}}
    if operation.stream:
        content["text/event-stream"] = {"schema": {"type": "string"}}
        if events := STREAMED.get(operation.name):
            content["text/event-stream"]["example"] = examples.frames(events)
            content["text/event-stream"]["x-events"] = {
                event: {"$ref": f"#/components/schemas/{schema}"} for event, schema in events.items()
            }
    return {"description": operation.summary, "content": content}


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.help,
        "schema": schema(parameter),
        "example": examples.question(parameter),
    }


def schema(parameter: Parameter) -> Json:
    """JSON Schema of one parameter."""
    told: Json = {"description": parameter.help}
    match parameter.type:
        case "strings" | "words":
            told |= {"type": "array", "items": {"type": "string"}, "maxItems": parameter.maximum or MAX_ITEMS}
        case "pairs":
            told |= {"type": "object", "additionalProperties": {"type": "string"}}
        case "duration":
            told |= {"type": ["string", "number"], "pattern": DURATION_PATTERN, "minimum": 0}
        case _:
            told["type"] = parameter.type
    if parameter.choices:
        told["enum"] = list(parameter.choices)
    if parameter.pattern:
        told["pattern"] = parameter.pattern
    if parameter.minimum is not None:
        told["minimum"] = parameter.minimum
    if parameter.maximum is not None and parameter.type == "integer":
        told["maximum"] = parameter.maximum
    if parameter.default is not None:
        told["default"] = parameter.default
    return told
