"""Writing TOML: tables of plain values, as `add` declares an agent. The standard library only reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def write_toml(tables: Mapping[str, Any]) -> str:
    """Render strings, numbers, booleans, lists and nested tables; raises ValueError for anything else."""
    lines: list[str] = []
    _table(tables, (), lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    below = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    if path and (values or not below):
        lines += ["", f"[{'.'.join(_key(part) for part in path)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    for key, value in below.items():
        _table(value, (*path, key), lines)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(_value(item) for item in value)}]"
        case Mapping():
            return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
        case _:
            raise ValueError(f"TOML has no {type(value).__name__} of this kind")


def _string(text: str) -> str:
    return f'"{"".join(_character(character) for character in text)}"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("text with a lone surrogate cannot be written")
    return f"\\u{code:04X}" if code < 0x20 or 0x7F <= code < 0xA0 else character
