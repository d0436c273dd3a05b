"""TOML on one line, as the CLI takes it behind -c and as we write a configuration of its own."""

from __future__ import annotations

import json
from typing import Any


def inline(value: Any) -> str:
    """A value as TOML writes it. JSON's strings are TOML's, as long as nothing is escaped by surrogates."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)} = {inline(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
