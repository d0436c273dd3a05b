"""An example of each question and answer, made of the schemas: what a key holds is drawn from one small table."""

from __future__ import annotations

import json
import re
from typing import Any

from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.api.schemas import SCHEMAS

WHEN, DAY = "2026-11-21T08:14:07.000Z", "2026-11-21"
WORDS = {
    "name": "shop-api", "agent": "shop-api", "harness": "command", "kind": "permission", "text": "npm publish",
    "title": "Bash npm publish --tag next", "tool": "Bash", "command": "npm test", "argument": "npm test",
    "reason": "its program began, pid 4711", "message": "shop-api is running, incarnation 4", "how": "answered",
    "by": "operator", "remedy": "phoenixctl status shop-api", "state": "/srv/phoenixd", "event": "agent_started",
    "session_id": "0b8f3a52-5c1e-4d0f-9b5e-2f6f0f7d8c11", "cwd": "/srv/shop", "workspace": "/srv/shop",
    "project": "shop", "branch": "main", "model": "opus", "prompt": "Fix the login page", "version": "0.1.0",
    "verb": "stop", "boot": "3f0c9a1b7e52d846", "cursor": "3f0c9a1b7e52d846-4711-902", "id": "h1",
    "text_hash": "9f2c", "source": "model", "hex": "7f3a9c", "phrase": "the orchard gate", "tmux": "3.3a",
    "tier": "cgroup", "advice": "phoenixctl answer 71 allow", "group": "account work",
    "marker": "the orchard gate 7f3a9c", "path": "docs/plan.md", "phase": "phase-02-build",
}  # fmt: skip
NUMBERS = {
    "incarnation": 4, "pid": 4711, "row": 4711, "change": 902, "item": 71, "tokens": 45_000, "limit": 200_000,
    "percent": 22.5, "usd": 1.25, "generation": 2, "status": 409, "next": 4711, "uid": 1000, "calls": 2, "output": 900,
}  # fmt: skip
GIVEN: dict[str, Any] = {
    "select": "shop-*", "argv": ["npm", "start"], "env": {"STAGE": "test"}, "for": "2h", "timeout": "1m", "since": "8h",
    "time": "8h", "age": "20m", "expect": ["shop-api"], "answer": ["allow"], "upto": "4711", "said": "{}",
    "after": "t1", "threshold": "0.9", "withdraw": "shop", "agent": "shop-api", "name": "shop-api",
    "numbers": "7,8",
}  # fmt: skip
"""What arguments are given, by name."""


def answer(schema: dict[str, Any], key: str = "") -> Any:
    """A value that this schema of an answer holds. key: under which it stands."""
    if "$ref" in schema:
        return answer(SCHEMAS[schema["$ref"].rpartition("/")[2]], key)
    if "allOf" in schema:
        return {name: value for part in schema["allOf"] for name, value in answer(part, key).items()}
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return answer(next(one for one in schema[choice] if one.get("type") != "null"), key)
    if "enum" in schema:
        return next(one for one in schema["enum"] if one is not None)
    if "const" in schema:
        return schema["const"]
    types = schema.get("type", "object")
    kind = types if isinstance(types, str) else next(one for one in types if one != "null")
    match kind:
        case "object":
            return {name: answer(one, name) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [answer(schema.get("items", {}), key.removesuffix("s"))]
        case "string":
            return _text(schema, key)
        case "boolean":
            return False
        case _:
            number = NUMBERS.get(key, 71 if key == "id" else 1)
            return int(number) if kind == "integer" else number


def question(parameter: Parameter) -> Any:
    """A value of this argument."""
    if parameter.choices:
        return parameter.choices[0]
    match parameter.type:
        case "boolean":
            return True
        case "integer":
            return max(parameter.minimum or 0, 5)
        case "strings" | "words":
            return GIVEN.get(parameter.name, ["shop-api"])
        case "duration":
            return GIVEN.get(parameter.name, "1m")
        case "pairs":
            return GIVEN["env"]
        case _:
            fits = (GIVEN.get(parameter.name), WORDS.get(parameter.name), "shop-api", "c1", "t1")
            return next(one for one in fits if one is not None and _matches(parameter.pattern, one))


def body(operation: Operation) -> dict[str, Any]:
    """What a question carries: what it needs, and of the rest what people say."""
    told = [one for one in operation.at("body") if one.required or not (one.hidden or one.default is not None)]
    return {one.name: question(one) for one in told}


def frames(events: dict[str, str]) -> str:
    """Each event of a stream once, as it comes over the wire."""
    told = []
    for event, schema in events.items():
        data = json.dumps(answer({"$ref": f"#/components/schemas/{schema}"}), separators=(",", ":"))
        has_id = event not in ("hello", "resync")
        head = f"event: {event}\n" if event != "message" else ""
        told.append(f"{'id: 4711' + chr(10) if has_id else ''}{head}data: {data}\n\n")
    return "".join(told)


def _text(schema: dict[str, Any], key: str) -> str:
    match schema.get("format"):
        case "date-time":
            return WHEN
        case "date":
            return DAY
        case _:
            fits = (WORDS.get(key), "shop-api", "7f3a9c", "c1", "t1")
            found = next((one for one in fits if one is not None and _matches(schema.get("pattern"), one)), key)
            return found[: schema.get("maxLength", len(found))] if key in WORDS else key.replace("_", " ") or found


def _matches(pattern: str | None, text: str) -> bool:
    return pattern is None or re.fullmatch(pattern, text) is not None
