"""ledger.json: a session's ledger, and the place in its transcript up to which it was heard. The daemon's alone.

What stands there is clean of secrets. A file of another version, or one that is no such document, is as none: the
transcript is read anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from phoenixd.documents.deeds import MOST_ROWS, PLAN_LIMIT
from phoenixd.documents.ledger_rows import digest
from phoenixd.documents.ledger_tasks import MOST_TASKS
from phoenixd.documents.ledger_words import MOST_WORDS
from phoenixd.documents.redact import Clean
from phoenixd.documents.session_ledger import (
    MOST_FILES,
    MOST_JOBS,
    MOST_PENDING,
    MOST_PLANS,
    MOST_QUESTIONS,
    MOST_RUNS,
    MOST_TIMERS,
    MOST_WAITING,
    SessionLedger,
)
from phoenixd.documents.times import known_wall

FILE = "ledger.json"
SIZE_LIMIT = 8 << 20
VERSION: Final = 2

MOST_CHARS, MOST_ITEMS = 4 * PLAN_LIMIT, max(MOST_TASKS, MOST_PENDING, MOST_ROWS)
"""Characters of any text, and items of any list."""


@dataclass(frozen=True, slots=True)
class KeptLedger:
    """path: of the transcript. device, inode: of the file. mark: the last bytes before the offset, in hexadecimal.

    is_whole: the transcript was heard to its end; else only its beginning was, and the next reading goes on.
    """

    version: Literal[2]
    path: str
    device: int
    inode: int
    offset: Annotated[int, Field(ge=0)]
    mark: Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2}){0,128}$")]
    is_whole: bool
    ledger: SessionLedger


# Made when the first ledger is read or written: to make both takes a tenth of what the daemon's start takes.
@cache
def _kept() -> TypeAdapter[KeptLedger]:
    return TypeAdapter(KeptLedger)


@cache
def _ledger() -> TypeAdapter[SessionLedger]:
    return TypeAdapter(SessionLedger)


_WORDS = frozenset({"text", "what", "when", "prompt", "path", "options", "answers"})
"""The fields whose texts are an agent's or a person's; digests and words of ours stay as they are."""

_NAMES = frozenset({"call", "id", "job", "timer", "key", "session_id", "prompt_turn"})
_LOOKED_INTO = (str, dict, list, tuple)
_BY_NAME = frozenset({"jobs", "plans", "questions", "timers", "pending"})
"""The fields whose texts, and those whose keys, are what a CLI calls something. An agent may have written those too."""


def render_kept(kept: KeptLedger) -> bytes:
    """Write the document."""
    return _kept().dump_json(kept) + b"\n"


def read_kept(content: bytes) -> KeptLedger | None:
    """What an earlier reading left; None where that is of no use."""
    try:
        kept = _kept().validate_json(content)
    except ValidationError:
        return None
    return kept if _times_hold(_ledger().dump_python(kept.ledger)) and _is_bounded(kept.ledger) else None


def _is_bounded(ledger: SessionLedger) -> bool:
    """Whether no more rows stand there than hearing keeps: a file of another hand must not grow what is held."""
    speech = ledger.speech
    rows = (
        (ledger.tasks.rows, MOST_TASKS), (ledger.runs, MOST_RUNS), (ledger.jobs, MOST_JOBS), (ledger.files, MOST_FILES),
        (ledger.plans, MOST_PLANS), (ledger.questions, MOST_QUESTIONS), (ledger.timers, MOST_TIMERS),
        (ledger.waiting, MOST_WAITING), (ledger.pending, MOST_PENDING), (speech.person, MOST_WORDS),
        (speech.agent, MOST_WORDS),
    )  # fmt: skip
    return all(len(found) <= most for found, most in rows) and _texts_hold(_ledger().dump_python(ledger))


def _texts_hold(value: Any) -> bool:
    """Whether each text is one that hearing may have kept; taking a secret out may have made it longer."""
    if isinstance(value, str):
        return len(value) <= MOST_CHARS
    if isinstance(value, dict):
        return all(map(_texts_hold, value)) and all(map(_texts_hold, value.values()))
    return len(value) <= MOST_ITEMS and all(map(_texts_hold, value)) if isinstance(value, list | tuple) else True


def _times_hold(value: Any) -> bool:
    """Whether all times can be written as dates: of what a ledger holds, times alone are of that type."""
    if isinstance(value, float):
        return known_wall(value) is not None
    if isinstance(value, dict):
        return all(map(_times_hold, value.values()))
    return all(map(_times_hold, value)) if isinstance(value, list | tuple) else True


def cleaned(ledger: SessionLedger, clean: Clean) -> SessionLedger:
    """A copy of a ledger without secrets, which nothing shares with it."""
    return _ledger().validate_python(_swept(_ledger().dump_python(ledger), clean, ""))


def _swept(value: Any, clean: Clean, field: str) -> Any:
    if isinstance(value, str):
        if field in _NAMES:
            return _named(value, clean)
        return clean(value) if field in _WORDS and value else value
    if isinstance(value, dict):
        # Most values are times, codes and states, and each turn's end looks through all of them.
        swept = {key: _swept(one, clean, key) if isinstance(one, _LOOKED_INTO) else one for key, one in value.items()}
        return {_named(key, clean): one for key, one in swept.items()} if field in _BY_NAME else swept
    if isinstance(value, list | tuple):
        return [_swept(one, clean, field) for one in value]
    return value


def _named(name: str, clean: Clean) -> str:
    """A name, or its digest where a secret stands in it: two names stay two."""
    return name if clean(name) == name else digest(name)
