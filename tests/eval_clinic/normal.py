"""What a record keeps of a CLI's words: without a path of the machine that made it, and short."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 1500
"""Characters of one string in a transcript or a hook; what is longer loses its middle."""
TRANSCRIPT = 30_000
TEXT = 6_000

Names = tuple[tuple[str, str], ...]
"""What is replaced by what, in order."""


def renamed(text: str, names: Names) -> str:
    for found, name in names:
        text = text.replace(found, name)
    # A screen cuts a path where it ends.
    return re.sub(r"/tmp/phx?[-\w./]*", "/usr", re.sub(r"\bphx-rec-\w+", "run", text))


def shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]} [... {len(text) - head - tail} characters ...] {text[len(text) - tail :]}"


def trimmed(value: Any) -> Any:
    """The same JSON value with short strings."""
    if isinstance(value, str):
        return shortened(value, LONGEST)
    if isinstance(value, list):
        return [trimmed(item) for item in value]
    if isinstance(value, dict):
        return {key: trimmed(item) for key, item in value.items()}
    return value


def trimmed_lines(text: str) -> str:
    """The lines of a transcript, each with short strings; of a long one a part goes, and a line says so.

    A line that is no JSON is kept as it is, for that is what the CLI wrote.
    """
    lines = [_trimmed_line(line) for line in text.splitlines() if line]
    size = sum(map(len, lines))
    dropped: set[int] = set()
    # What was said goes last: the settings and tools that a CLI notes for itself are larger, and tell less.
    for number in sorted(range(len(lines) - 1), key=lambda number: (_is_said(lines[number]), -len(lines[number]))):
        if size <= TRANSCRIPT:
            break
        size -= len(lines[number])
        dropped.add(number)
    kept = [line for number, line in enumerate(lines) if number not in dropped]
    if dropped:
        kept.insert(min(dropped), json.dumps({"type": "left-out", "lines": len(dropped)}))
    return "".join(f"{line}\n" for line in kept)


def _is_said(line: str) -> bool:
    try:
        record = json.loads(line)
    except ValueError:
        return True
    kinds = ("user", "assistant", "system", "response_item", "event_msg", "compacted", "gemini", "error", "info")
    return isinstance(record, dict) and record.get("type") in kinds


def _trimmed_line(line: str) -> str:
    try:
        return json.dumps(trimmed(json.loads(line)), ensure_ascii=False)
    except ValueError:
        return shortened(line, LONGEST)
