"""What the time of the newest key says of a person at an agent's terminal.

Where the wall clock was set back, a key from before lies in the future until another one is pressed, and tells nothing.
"""

from __future__ import annotations

QUIET = 5.0
"""Seconds without a key after which a person at the terminal has stopped typing; attaching is taken for a key, for who
sits down is about to type."""
ATTENDED = 60.0
"""Seconds without a key after which nobody sits at the terminal any more."""


def is_typing(typed: float | None, wall: float) -> bool:
    """Whether a person is typing. typed: when the newest key came from a client; both in wall seconds."""
    return typed is not None and abs(wall - typed) < QUIET


def was_touched(typed: float | None, wall: float) -> bool:
    """Whether a person sits at the terminal."""
    return typed is not None and abs(wall - typed) < ATTENDED


def came_since(typed: float | None, since: float, wall: float) -> bool:
    """Whether a person has pressed a key since that time; tmux counts whole seconds."""
    return typed is not None and int(since) <= typed < wall + QUIET
