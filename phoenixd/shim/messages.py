"""Fields of the daemon's messages, each with the type that it must have."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Malformed(Exception):
    """A message with a field that is missing or of another type."""


def number(message: dict[str, Any], name: str) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Malformed(f"{name}: a number is required")
    return value


def text(message: dict[str, Any], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str) or not value:
        raise Malformed(f"{name}: a text is required")
    return value


def texts(message: dict[str, Any], name: str) -> list[str]:
    value = message.get(name)
    if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
        raise Malformed(f"{name}: a list of texts is required")
    return value


def table(message: dict[str, Any], name: str) -> dict[str, Any]:
    value = message.get(name)
    if not isinstance(value, dict):
        raise Malformed(f"{name}: an object is required")
    return value
