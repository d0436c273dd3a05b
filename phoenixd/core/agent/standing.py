"""What stands until a person, or a proof, ends it: items of the inbox and alerts."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal


def text_hash(text: str) -> str:
    """By which an answer names the question that it answers, and a hook the text that was typed."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Ack:
    """An operator's word that it was seen. at_wall: when."""

    by: str
    at_wall: float


@dataclass(frozen=True, slots=True)
class InboxItem:
    """Something that needs a person; opened by a typed event, closed by the event that proves it."""

    id: int
    agent: str
    incarnation: int
    kind: str
    text: str
    text_hash: str
    opened_wall: float
    answer_by: Literal["reply", "attach", "command", "answer"]
    hold: int = 0
    """The request that an answer goes to; 0 where only the terminal can answer."""
    answering: str = ""
    """The answer that is under way: allow, deny, or the message that types it."""
    veiled: bool = False
    """It asks for more than its text shows, so it cannot be allowed from afar."""
    tool: str | None = None
    whole: bool = False
    """The text holds the whole call."""
    left: bool = False
    """The run that asked is over, and its program has forgotten the question: it is told again, with the answer."""
    answer: str = ""
    """What the agent is to be told of it, once it can be told."""
    carried: int = 0
    """The incarnation whose first prompt says the answer."""
    about: tuple[str, ...] = ()
    """Of a proposal of the clinic's: the Case, and the treatment."""
    ack: Ack | None = None


@dataclass(frozen=True, slots=True)
class StandingAlert:
    """An alert that was raised and is not over. watched: a watch outside the core says when it is."""

    id: int
    kind: str
    text: str
    raised_wall: float
    incarnation: int = 0
    watched: bool = False
    about: tuple[str, ...] = ()
    """What its text was made of, where that may have to be made anew; of an outage its group."""
    gist: str = ""
    """The text without the next command, where it holds one."""
    held: bool = False
    """A mute held it back: nobody was told of it."""
    ack: Ack | None = None
    waits: tuple[str, ...] = ()
    """The ways to the operator, by name, that are not known to have told it: saved with the alert itself."""
