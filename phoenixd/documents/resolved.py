"""resolved.jsonl: one line for each loop that was closed, appended and never rewritten (P38, P50)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic_core import from_json

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact
from phoenixd.documents.state import StateDocument, resolve_loop
from phoenixd.documents.times import read_date, timestamp

LOG, ARCHIVE, ASIDE = "resolved.jsonl", "resolved.archive.jsonl", ".resolved.archiving"
"""The log; where brief runs move what they have read of it; and its name meanwhile."""
REASON_LIMIT = 1000
Resolved = Literal["resolved", "already", "unknown", "frozen"]
"""What became of a wish to close a loop; frozen: state.json is of a newer version, and must not be written."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A loop that was closed. `domain` is the agent, `ts` RFC 3339 in UTC."""

    id: str
    reason: str
    ts: str
    domain: str


def resolution(loop_id: str, reason: str, wall: float, agent: str) -> Resolution:
    """A new resolution; the reason becomes one redacted line."""
    return Resolution(loop_id, redact(one_line(reason, REASON_LIMIT)), timestamp(wall), agent)


def render_resolution(made: Resolution) -> bytes:
    """One line of resolved.jsonl, without its newline."""
    plain = {"id": made.id, "reason": made.reason, "ts": made.ts, "domain": made.domain}
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


def read_resolutions(content: bytes) -> Iterator[Resolution]:
    """Read lines of any hand; a torn or odd line is passed over."""
    for line in content.split(b"\n"):
        try:
            found = from_json(line, allow_inf_nan=False)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("id"), str):
            reason, ts, domain = (str(found.get(key) or "") for key in ("reason", "ts", "domain"))
            yield Resolution(found["id"], one_line(reason, REASON_LIMIT), ts, domain)


def apply_resolutions(document: StateDocument, content: bytes, today: date) -> StateDocument:
    """Close the loops that lines written while the daemon was down name (F-ST-10); others are passed over."""
    for made in read_resolutions(content):
        day = read_date(made.ts) or today
        document = resolve_loop(document, made.id, made.reason, min(day, today)) or document
    return document
