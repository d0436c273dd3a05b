"""What the daemon says while it works: one line an event on stderr, as JSON, or as text where a person looks.

Keys, the same everywhere: time (RFC 3339 UTC), level, event (a constant, never made from data), agent, incarnation,
state, cause (the event that a decision answers), reason (why, in words), remedy (what to do), exception (a traceback).
Under systemd each line begins with its priority, `<3>` for errors. Values are an agent's words as often as not: they
are redacted, bounded, and without control characters; a line can be neither forged nor split, nor steer a terminal.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import structlog

from phoenixd.documents.plain_text import clip, one_line, plain
from phoenixd.documents.redact import redact as redact_shapes

Form = Literal["auto", "json", "text"]
Event = MutableMapping[str, Any]

VALUE_LIMIT = 4000
"""Characters that one value may take; a traceback may take more, for its end says most."""
TRACEBACK_LIMIT = 16_000
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
TALKATIVE = ("asyncio", "uvicorn.access", "watchfiles", "httpx")
"""Libraries whose chatter below a warning is not ours to repeat."""


def configure(
    level: str = "info",
    form: Form = "auto",
    redact: Callable[[str], str] = redact_shapes,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Lines:
    """Set up structlog and the standard library's logging to write to `stream`, which is stderr by default.

    auto: text on a terminal, else JSON. redact: applied to every text in every value. Returns where lines go.
    """
    stream = stream or sys.stderr
    as_text = form == "text" or (form == "auto" and stream.isatty())
    prefixed = is_systemd_journal(stream, environ)
    render = render_text if as_text else render_json

    def finish(_: Any, __: str, event: Event) -> str:
        cleaned = {key: _cleaned(value, redact) for key, value in event.items()}
        line = render(cleaned)
        return f"<{PRIORITIES.get(str(event.get('level')), 6)}>{line}" if prefixed else line

    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [structlog.stdlib.add_log_level, _add_time, structlog.processors.format_exc_info]
    lines = Lines(stream)
    structlog.configure(
        processors=[*shared, finish],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,
    )
    handler = _Foreign(lines, [*shared, finish])
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(threshold)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(max(threshold, logging.WARNING))
    logging.captureWarnings(True)
    return lines


def is_systemd_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream is the one that systemd named in JOURNAL_STREAM, and no file or pipe put in its place."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def render_json(event: Mapping[str, Any]) -> str:
    """One line of ASCII; time, level and event first."""
    first = {key: event[key] for key in ("time", "level", "event") if key in event}
    return json.dumps(first | dict(event), default=str)


def render_text(event: Mapping[str, Any]) -> str:
    """For people: time of day, level, event, then key=value; a traceback follows, indented."""
    fields = dict(event)
    time, level, name = (str(fields.pop(key, "")) for key in ("time", "level", "event"))
    exception = fields.pop("exception", None)
    stated = [f"{key}={_shown(value)}" for key, value in fields.items() if value is not None]
    line = " ".join([time[11:19], f"{level:7}", one_line(name, VALUE_LIMIT), *stated])
    if exception is None:
        return line
    return line + "".join(f"\n    {part}" for part in plain(str(exception)).split("\n"))


class Lines:
    """Where finished lines go. A log that cannot be written must not end what it tells of: lines are then dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.dropped = 0
        self.tend: Callable[[], object] | None = None
        """Called after each line: has the file that the stream leads to kept small."""

    def msg(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += 1
        if self.tend is not None:
            self.tend()

    debug = info = warning = error = critical = exception = log = msg


class _Foreign(logging.Handler):
    """Records of the standard library's logging, told in the same form."""

    def __init__(self, lines: Lines, processors: list[Any]) -> None:
        super().__init__()
        self._lines = lines
        self._processors = processors

    def emit(self, record: logging.LogRecord) -> None:
        event: Any = {"event": "library_says", "library": record.name, "reason": record.getMessage()}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        for processor in self._processors:
            event = processor(None, record.levelname.lower(), event)
        self._lines.msg(event)


def _add_time(_: Any, __: str, event: Event) -> Event:
    now = datetime.now(UTC)
    event["time"] = f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z"
    return event


def _cleaned(value: Any, redact: Callable[[str], str]) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key)[:100]: _cleaned(item, redact) for key, item in list(value.items())[:100]}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cleaned(item, redact) for item in list(value)[:100]]
    text = str(value)
    if text.startswith("Traceback (most recent call last)"):
        return redact(text[-TRACEBACK_LIMIT:])
    # Redacted before it is cut: half a secret is no longer recognised as one.
    return clip(redact(text[: 4 * VALUE_LIMIT]), VALUE_LIMIT)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = one_line(text, VALUE_LIMIT)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or '"' in text or "=" in text else text
