"""From bytes that an agent or a person may have written to a document, and back. Nothing is guessed, nothing cut."""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from phoenixd.documents.project.models import Document
from phoenixd.errors import BadProject

T = TypeVar("T", bound=Document)

JSON_LIMIT: Final = 4 << 20
TEXT_LIMIT: Final = 2 << 20
"""Bytes of a plan or a claude.md: far beyond 3000 lines, so that one that is too long can still be split."""
_NEWLINE = re.compile(r"\r\n?|\n")


def read_document(kind: type[T], content: bytes, name: str) -> T:
    """The document that a file holds; raises BadProject, whose message names the file and the key."""
    found = _parsed(content, name)
    if not isinstance(found, dict):
        raise _refused(name, "it holds no JSON object")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"])
        raise _refused(name, f"{place or 'it'}: {first['msg'][:200]}") from error


def render_document(document: Document) -> bytes:
    """As people read it; keys that nobody set are left out, unknown ones stand behind the others."""
    return f"{json.dumps(plain(document), indent=2, ensure_ascii=False)}\n".encode()


def plain(document: Document) -> dict[str, Any]:
    """The document as JSON values under the names that its file has."""
    return document.model_dump(mode="json", by_alias=True, exclude_unset=True)


def read_text(content: bytes, name: str, limit: int = TEXT_LIMIT) -> str:
    """The text of a Markdown file, byte for byte; raises BadProject."""
    if len(content) > limit:
        raise _refused(name, f"it holds {len(content)} bytes, more than {limit}")
    if (at := content.find(b"\0")) >= 0:
        raise _refused(name, f"it holds a zero byte at {at}, so it is no text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(name, f"it is no UTF-8 at byte {error.start}") from error


def lines_of(text: str) -> tuple[str, ...]:
    """The lines with their own ends: `\\n`, `\\r\\n` or `\\r`, as Markdown counts them; together they are the text."""
    lines, begin = [], 0
    for end in _NEWLINE.finditer(text):
        lines.append(text[begin : end.end()])
        begin = end.end()
    return (*lines, text[begin:]) if begin < len(text) else tuple(lines)


def line_count(content: bytes) -> int:
    """How many lines a file has: those that end in a newline, and what stands behind the last one (E62)."""
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))


def _parsed(content: bytes, name: str) -> Any:
    if len(content) > JSON_LIMIT:
        raise _refused(name, f"it holds {len(content)} bytes, more than {JSON_LIMIT}")
    text = read_text(content, name, JSON_LIMIT).removeprefix("\ufeff")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except RecursionError as error:
        raise _refused(name, "it is nested too deeply") from error
    except ValueError as error:
        raise _refused(name, f"it is no JSON that can be used: {str(error)[:160]}") from error
    if "\\u0000" in text or "\\ud" in text.lower():
        _require_text(found, name)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} stands twice")
    return found


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _require_text(value: Any, name: str) -> None:
    """Strings that no file name, line or encoder can hold do not get in by way of an escape."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise _refused(name, "a text in it holds a zero byte or half a character")
    if isinstance(value, dict):
        for key, item in value.items():
            _require_text(key, name)
            _require_text(item, name)
    elif isinstance(value, list):
        for item in value:
            _require_text(item, name)


def _refused(name: str, why: str) -> BadProject:
    return BadProject(f"{name} was not taken: {why}", f"repair {name}, or move it away; then: phoenixctl phase check")
