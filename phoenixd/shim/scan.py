"""A large hook input, read as it arrives: what is kept of it is taken out, and the rest is never built.

Tool results and file contents of many MiB come by hook, and of them nothing is kept; of the fields that count each is
kept up to a bound, as `payload` would cut it. What is skipped is checked no further than its brackets.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate

import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    Steps = Generator[None, bytes, Any]

# Bytes of JSON. A character of a text may be written as six bytes; a prompt is kept whole for its checksum.
TEXT_LIMIT = 6 * 8192
TAIL_LIMIT = 6 * 1024 + 64
PROMPT_LIMIT = 1024 * 1024
KEY_LIMIT = 64
VALUE_LIMIT = 64 * 1024
MOST_ELEMENTS = 256
LISTS = frozenset({"background_tasks", "session_crons"})
NUMBERS = frozenset({"stop_hook_active", "resets_at", "retry_after"})
WANTED = frozenset({*payload.TEXT_LIMITS, *LISTS, *NUMBERS, "hook_event_name", "tool_input"})
WANTED_OF_TOOL = frozenset({*payload.TOOL_INPUT_TEXT_LIMITS, "timeout", "run_in_background"})

SPACE = re.compile(rb"[ \t\r\n]*")
# No pattern can match one text in two ways, so that none of them ever goes back far. Possessive groups would say the
# same, and match wrongly before Python 3.11.5.
IN_A_TEXT = rb'[^"\\]*(?:\\.[^"\\]*)*'
TEXT = re.compile(IN_A_TEXT, re.DOTALL)
LITERAL = re.compile(rb"[^\s\"{}\[\],:]*")
DULL = re.compile(rb'(?:[^"{}\[\]]+|"' + IN_A_TEXT + rb'")*', re.DOTALL)
WHOLE_TEXTS = re.compile(rb'(?:[^"]+|"' + IN_A_TEXT + rb'")*', re.DOTALL)
A_TEXT = re.compile(b'"' + IN_A_TEXT + b'"', re.DOTALL)
STEPS = dict(zip(b"{[}]", (1, 1, -1, -1), strict=True))
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in STEPS)
MANY, SOME_BYTES = 256, 8192
MOST_AT_ONCE = 16384
"""Bytes that are matched in one go: the matcher remembers every turn that it took in them."""
QUOTE, COMMA, COLON, OPEN, CLOSE = b'",:{}'
ESCAPE = ord("\\")
OPENING, CLOSING = b"{[", b"}]"
END_OF_LIST = ord("]")


class Malformed(ValueError):
    """It is no JSON object."""


class Scan:
    """`feed` it piece by piece, then take `result()`; both raise Malformed."""

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._tapes: list[Tape] = []
        self._tail = bytearray()
        self.found: dict[str, Any] = {}
        """The fields that are kept, as far as they have been read."""
        self._steps = self._document()
        next(self._steps)

    def feed(self, piece: bytes) -> None:
        for begin in range(0, len(piece), MOST_AT_ONCE):
            self._steps.send(piece[begin : begin + MOST_AT_ONCE])

    def result(self) -> dict[str, Any]:
        """The fields that are kept, once the object has ended."""
        if not self._is_over:
            raise Malformed("it ends too early")
        return self.found

    _is_over = False

    def _document(self) -> Steps:
        yield from self._more()
        if (yield from self._peek()) != OPEN:
            raise Malformed("no object")
        yield from self._members(self.found, WANTED, is_tool=False)
        self._is_over = True
        while True:
            self._at = _end(SPACE, self._data, self._at)
            if self._at < len(self._data):
                raise Malformed("more than an object")
            yield from self._more()

    def _members(self, found: dict[str, Any], wanted: frozenset[str], is_tool: bool) -> Steps:
        """Read an object whose brace is next, and keep the members that are wanted."""
        self._at += 1
        if (yield from self._peek()) == CLOSE:
            self._at += 1
            return
        while True:
            if (yield from self._peek()) != QUOTE:
                raise Malformed("no key")
            raw, is_whole = yield from self._text(KEY_LIMIT)
            key = _decoded(raw) if is_whole else ""
            if (yield from self._peek()) != COLON:
                raise Malformed("no value")
            self._at += 1
            if key in wanted:
                yield from self._keep(found, key, is_tool)
            else:
                yield from self._skip()
            following = yield from self._peek()
            self._at += 1
            if following == CLOSE:
                return
            if following != COMMA:
                raise Malformed("no comma")

    def _keep(self, found: dict[str, Any], key: str, is_tool: bool) -> Steps:
        first = yield from self._peek()
        found.pop(key, None)
        if first == QUOTE and key in payload.BOTH_ENDS:
            raw, is_whole = yield from self._text(TEXT_LIMIT, TAIL_LIMIT)
            found[key] = _decoded(raw) if is_whole else _decoded(raw) + payload.GAP + _decoded(_beheaded(self._tail))
        elif first == QUOTE:
            raw, _ = yield from self._text(PROMPT_LIMIT if key == "prompt" and not is_tool else TEXT_LIMIT)
            found[key] = _decoded(raw)
        elif key == "tool_input" and first == OPEN:
            self._record(VALUE_LIMIT)
            part = payload.Part()
            yield from self._members(part, WANTED_OF_TOOL, is_tool=True)
            found[key] = part if (raw_input := self._recorded()) is None else _parsed(raw_input)
        elif key in LISTS and first in OPENING and first != OPEN:
            found[key] = yield from self._elements()
        else:
            value = yield from self._value()
            if value is not None:
                found[key] = value

    def _elements(self) -> Steps:
        """A list whose bracket is next. Of an element that is too long to be kept only that it is there."""
        found: list[Any] = []
        self._at += 1
        if (yield from self._peek()) == END_OF_LIST:
            self._at += 1
            return found
        while True:
            value = yield from self._value()
            found.append(value if len(found) < MOST_ELEMENTS else None)
            following = yield from self._peek()
            self._at += 1
            if following == END_OF_LIST:
                return found
            if following != COMMA:
                raise Malformed("no comma")

    def _value(self) -> Steps:
        """Any value, built where it is short enough; else None."""
        self._record(VALUE_LIMIT)
        yield from self._skip()
        raw = self._recorded()
        return None if raw is None else _parsed(raw)

    def _skip(self) -> Steps:
        """Pass over a value, whatever it is."""
        first = yield from self._peek()
        if first == QUOTE:
            yield from self._text(0)
            return
        if first not in OPENING:
            yield from self._literal()
            return
        depth = tokens = 0
        while True:
            self._at = _end(DULL, self._data, self._at)
            if self._at == len(self._data):
                yield from self._more()
                continue
            byte = self._data[self._at]
            if byte == QUOTE:
                # A text that this piece does not end.
                yield from self._text(0)
                continue
            self._at += 1
            depth += 1 if byte in OPENING else -1
            if depth == 0:
                return
            tokens += 1
            if tokens == MANY:
                # One by one is too slow for millions of them.
                tokens, depth = 0, self._pass_many(depth)

    def _pass_many(self, depth: int) -> int:
        """Pass over some of this piece, unless a value at such a depth ends in it; returns the depth behind it."""
        match = WHOLE_TEXTS.match(self._data, self._at, self._at + SOME_BYTES)
        end = match.end() if match is not None else self._at
        brackets = A_TEXT.sub(b"", self._data[self._at : end]).translate(None, NO_BRACKETS)
        depths = list(accumulate(map(STEPS.__getitem__, brackets), initial=depth))
        if 0 in depths:
            return depth
        self._at = end
        return depths[-1]

    def _literal(self) -> Steps:
        """Pass over a number or a word."""
        length = 0
        while True:
            end = _end(LITERAL, self._data, self._at)
            length += end - self._at
            self._at = end
            if end < len(self._data):
                break
            yield from self._more()
        if length == 0:
            raise Malformed("no value")

    def _text(self, limit: int, tail: int = 0) -> Steps:
        """A text whose quote is next: up to `limit` bytes of what stands in it, and whether that is all.

        tail: bytes of its end that are kept in `_tail` besides.
        """
        self._at += 1
        kept, is_whole = bytearray(), True
        self._tail = bytearray()
        while True:
            end = _end(TEXT, self._data, self._at)
            room = limit - len(kept)
            kept += self._data[self._at : min(end, self._at + room)] if room > 0 else b""
            is_whole = is_whole and end - self._at <= room
            if tail:
                self._tail += self._data[max(self._at, end - tail) : end]
                del self._tail[:-tail]
            self._at = end
            if end == len(self._data):
                yield from self._more()
            elif self._data[end] == QUOTE:
                self._at += 1
                return (bytes(kept) if is_whole else _shortened(kept)), is_whole
            else:
                # A backslash ends the piece; what it escapes comes with the next one.
                yield from self._more(keep=1)

    def _peek(self) -> Steps:
        """The next byte that is no space."""
        while True:
            self._at = _end(SPACE, self._data, self._at)
            if self._at < len(self._data):
                return self._data[self._at]
            yield from self._more()

    def _more(self, keep: int = 0) -> Steps:
        """Wait for the next piece; the last `keep` bytes of this one are looked at again."""
        known = len(self._data) - keep
        for tape in self._tapes:
            tape.wind(self._data, known)
        kept = self._data[known:]
        piece = yield
        self._data, self._at = kept + piece, 0

    def _record(self, limit: int) -> None:
        """Remember what is passed over from here on; one recording may lie within another."""
        self._tapes.append(Tape(self._at, limit))

    def _recorded(self) -> bytes | None:
        """All that was passed over since the newest `_record`; None where that was more than its limit."""
        tape = self._tapes.pop()
        tape.wind(self._data, self._at)
        return bytes(tape.content) if tape.content is not None else None


class Tape:
    __slots__ = ("begin", "content", "limit")

    def __init__(self, begin: int, limit: int) -> None:
        self.begin = begin
        self.limit = limit
        self.content: bytearray | None = bytearray()

    def wind(self, data: bytes, to: int) -> None:
        """Take in the piece up to there; the next one goes on at its beginning."""
        if self.content is not None and len(self.content) + to - self.begin > self.limit:
            self.content = None
        if self.content is not None:
            self.content += data[self.begin : to]
        self.begin = 0


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Where a pattern that matches everywhere ends."""
    match = pattern.match(data, at)
    return match.end() if match is not None else at


def _shortened(kept: bytearray) -> bytes:
    """Without the escape sequence, or the character, that the cut went through."""
    escape = kept.rfind(b"\\", max(0, len(kept) - 6))
    if escape >= 0:
        before = escape
        while before > 0 and kept[before - 1] == kept[escape]:
            before -= 1
        # Only the last of an odd number of backslashes begins an escape sequence.
        is_begun = (escape - before) % 2 == 0
        length = 6 if kept[escape + 1 : escape + 2] == b"u" else 2
        if is_begun and len(kept) - escape < length:
            del kept[escape:]
    return kept.decode("utf-8", "ignore").encode()


def _beheaded(tail: bytearray) -> bytes:
    """Without what may be the rest of an escape sequence, or of a character, that the cut went through."""
    for at in range(1, len(tail)):
        byte, before = tail[at], bytes(tail[max(0, at - 6) : at])
        # A backslash behind something else begins a sequence; far from any backslash there is none.
        begins = byte == ESCAPE and before[-1] != ESCAPE
        if begins or (at >= 6 and byte & 0xC0 != 0x80 and byte != ESCAPE and ESCAPE not in before):
            return tail[at:].decode("utf-8", "ignore").encode()
    return b""


def _decoded(raw: bytes) -> str:
    text: str = _parsed(b'"' + raw + b'"')
    return text


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON ({type(error).__name__})") from error
