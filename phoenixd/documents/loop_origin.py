"""Where an open loop comes from: a session, and as what kind; or an operator, whatever keys of its own it has."""

from __future__ import annotations

import hashlib
import re

from phoenixd.documents.state import OpenLoop

KIND, SOURCE, LAST_SEEN = "kind", "source", "seen"
"""Keys of a loop in state.json: what kind it is, whence it comes, and the number of the session that saw it last."""
OLD_SOURCE = "session"
"""The source of loops that an earlier version took from a session, and of those that a lost state.json held."""
SAID, MORE = "said", "more"
"""The kind of loops that are known from words alone; and what a number of loops is within its session."""
SESSION_KINDS = frozenset(
    {
        "question", "request", "inbox", "tasks", "plan", "check", "background", "merge", "uncommitted", "unpushed", SAID
    }
)  # fmt: skip
IN_OTHERS_WORDS = frozenset({"tasks", "plan", SAID})
"""Kinds whose whole text was written by an agent or a person; the text of the others quotes them."""

HEAD = 8
_OF_SESSION = re.compile(rf"(?:[0-9a-f]{{{HEAD}}})?: \S.*", re.DOTALL)


def head_of(session_id: str) -> str:
    """What the sources of a session's loops begin with. Ids that are made of the time share their first characters."""
    return hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:HEAD] if session_id else ""


def source_for(session_id: str, what: str) -> str:
    """The source of a loop of that session; what: what it is within the session."""
    return f"{head_of(session_id)}: {what}" if session_id else OLD_SOURCE


def extra(loop: OpenLoop, key: str) -> str:
    """A key of a loop that is a text; empty where there is none."""
    value = (loop.model_extra or {}).get(key)
    return value if isinstance(value, str) else ""


def kind_of(loop: OpenLoop) -> str:
    """The kind of a loop of a session; empty for an operator's, which only a person or `phoenixctl resolve` closes."""
    kind, source = extra(loop, KIND), extra(loop, SOURCE)
    if source == OLD_SOURCE:
        return kind or SAID
    return kind if kind in SESSION_KINDS and _OF_SESSION.fullmatch(source) else ""


def item_of(loop: OpenLoop) -> int | None:
    """The number in the inbox of what a loop stands for; None where it stands for nothing there."""
    number = extra(loop, SOURCE).partition(": item ")[2] if kind_of(loop) == "inbox" else ""
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 16 else None


def is_number(loop: OpenLoop) -> bool:
    """Whether it tells how many loops of its kind there was no room for."""
    return bool(kind_of(loop)) and extra(loop, SOURCE).partition(": ")[2] == MORE


def is_in_others_words(loop: OpenLoop) -> bool:
    """Whether its text is shown in quotation marks: it is data of a session, and no word of ours."""
    return kind_of(loop) in IN_OTHERS_WORDS and not is_number(loop)
