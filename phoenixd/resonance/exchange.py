"""What goes to a model and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from phoenixd.planting import Verdict


class Message(TypedDict):
    """One message, in the form that most APIs take."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """finish: the API's own word for why the answer ended; empty: it tells none. compacted: before it answered, the
    model's side replaced older messages by a summary."""

    text: str
    finish: str = ""
    compacted: bool = False


Ask = Callable[[list[Message]], "Reply | str"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn's answer. verdict: of the check at the turn's end; None where none was due.

    cut: the API's word for what cut the answer, where asking once to go on did not complete it. restored: the front of
    the context was lost, and a new session goes on; this answer may rest on what was lost.
    """

    text: str
    verdict: Verdict | None = None
    cut: str = ""
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that should be logged, with its wall time. kind: one word, such as `lost`; restore_1 to restore_7 are
    the steps of a restoration."""

    at: float
    kind: str
    words: str


class WindowExceeded(Exception):
    """The model refused a request because it is too long: the function that asks raises this."""


class MarkerLost(RuntimeError):
    """The front of the context is lost, and restoring did not help: a person has to look."""


CUT_BY = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "content_filter", "safety"}
)
"""Finish reasons with which an answer is not whole, as providers word them, in lower case."""

GO_ON = "Your answer was cut: go on from the last line that you wrote."


def reply_of(found: Reply | str) -> Reply:
    return Reply(found) if isinstance(found, str) else found


def cut_by(reply: Reply) -> str:
    """The API's word where it says that an answer was cut; empty otherwise."""
    return reply.finish if reply.finish.lower() in CUT_BY else ""
