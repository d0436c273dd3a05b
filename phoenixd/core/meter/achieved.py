"""What was done in a session so far: nothing, some calls, or a turn that came to its end.

A session that is full after it worked was filled by its work, and a fresh one has room. One that is full before
anything was done in it was full as it began, and so is the next one.
"""

from __future__ import annotations

from phoenixd.core.agent.run import Session
from phoenixd.core.change import replace
from phoenixd.core.hooks import (
    Beginning,
    CallKept,
    CallOver,
    Hook,
    PermissionAsked,
    PromptSubmitted,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from phoenixd.core.spec import AgentSpec

EMPTY: frozenset[Beginning] = frozenset({"startup", "clear"})
"""How a session begins in which nothing was done yet."""

CALLED = ToolStarted | CallOver | CallKept | PermissionAsked
"""What tells of a call, and so of an answer to what the session began with."""


def begun(event: SessionStarted, wall: float) -> Session:
    """A session that began without us. Where it was not empty at its beginning, much may have been done in it."""
    is_empty = event.beginning in EMPTY
    return Session(event.session_id or "", wall, wall, achieved="nothing" if is_empty else "turn", empty=is_empty)


def after(session: Session, event: Hook, spec: AgentSpec) -> Session:
    """The session after a hook of its main thread."""
    if session.achieved == "turn":
        return session
    match event:
        case TurnEnded() if spec.stops_either_way:
            return replace(session, may_be_over=True)
        case TurnFailed():
            return replace(session, may_be_over=False)
        case TurnEnded():
            return replace(session, achieved="turn")
        case PromptSubmitted() | ToolStarted() if session.may_be_over:
            return replace(session, achieved="turn", may_be_over=False)
        case _ if isinstance(event, CALLED) and session.achieved == "nothing":
            return replace(session, achieved="calls")
        case _:
            return session
