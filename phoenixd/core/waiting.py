"""What a run waits for: what a hook says of that, which question covers another, and its item in the inbox."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Waiting
from phoenixd.core.hooks import Failure, Hook, Notice, Notified, PermissionAsked, TurnFailed
from phoenixd.core.limits import waits
from phoenixd.core.moment import Moment
from phoenixd.core.question.call import ASKS, kind_of
from phoenixd.core.transitions import ASKED_BY_A_RUN, FAILED_TURN, TOO_LONG, close_items, open_item
from phoenixd.core.turn import calls

MAX_TEXT = 2048
"""Characters of an agent's or person's words that are kept in a state."""

MAX_QUESTIONS = 8
"""Questions at once that are remembered; an agent cannot make the daemon remember more."""

ASKING: frozenset[Notice] = frozenset({"permission", "question", "dialog"})
"""Notifications of a dialog; what a person is asked then bears the same name."""
FOR_PEOPLE: frozenset[Failure] = frozenset({"login", "billing"})
"""Failures that only a person can remove; what a person is asked then bears the same name."""
ONLY_PEOPLE = FOR_PEOPLE | {TOO_LONG}
"""What a further run would meet as well until a person has done something."""
MAX_WORD = 64


def waits_for(activity: Activity, event: Hook, now: Moment) -> tuple[Waiting | None, Waiting | None]:
    """Return what the run waits for after this hook, and the same again if it is new and a person must be told."""
    # One question after the other is one wait.
    since = activity.waiting.since if activity.waiting is not None else now.at
    if isinstance(event, PermissionAsked):
        text = " ".join(filter(None, (event.tool, event.text)))
        # What can be approved from afar is shown whole; its length was bounded by who holds it.
        text = text if event.held else text[:MAX_TEXT]
        hold = event.seq if event.held else 0
        asked = Waiting(kind_of(event.tool), text, now.wall, event.tool, event.sub, since=since, hold=hold)
        call = calls.asking(activity.leases, event)
        asked = replace(asked, veiled=event.held and event.veiled, whole=event.held, call=call)
        return asked, asked
    if isinstance(event, Notified) and event.notice in ASKING:
        if activity.waiting is not None:
            return activity.waiting, None
        # The CLI tells of a dialog of its own seconds after it has drawn it: a screen without one proves it gone.
        is_drawn = event.notice == "dialog"
        asked = Waiting(event.notice, event.text[:MAX_TEXT], now.wall, seen=is_drawn, since=since)
        return asked, asked
    if isinstance(event, TurnFailed) and event.failure in FOR_PEOPLE:
        asked = Waiting(event.failure, event.text[:MAX_TEXT] or event.error or "", now.wall, since=since)
        return asked, asked
    if isinstance(event, TurnFailed) and not event.sub and waits.signal(event) is None:
        asked = Waiting(FAILED_TURN, _failure(event), now.wall, since=since)
        return asked, asked
    return activity.waiting, None


def is_of_a_call(event: Hook) -> bool:
    """Whether the harness says that its screen shows the dialog of a call that a hook told of."""
    return isinstance(event, Notified) and event.notice in ASKING and event.notice != "dialog"


def refusal(activity: Activity) -> str | None:
    """What of this run only a person can fix: a login that is refused, a bill that is not paid, a start too long."""
    waiting = activity.waiting
    if waiting is None or waiting.kind not in ONLY_PEOPLE:
        return None
    return f"{waiting.kind}: {waiting.text}" if waiting.text else waiting.kind


def is_too_long(activity: Activity) -> bool:
    """Whether a person was called because nothing fits into this session, and the next one would be as full."""
    return activity.waiting is not None and activity.waiting.kind == TOO_LONG


def is_owed(activity: Activity) -> bool:
    """Whether a turn ended without being done, so that the next run has to go on with it."""
    return refusal(activity) is not None or (activity.waiting is not None and activity.waiting.kind == FAILED_TURN)


def _failure(event: TurnFailed) -> str:
    """Why a turn ended, in the harness's own words; the word itself is an agent's, and may be anything."""
    word = " ".join((event.error or "no reason was named").split())[:MAX_WORD]
    return f"{word}: {event.text[:MAX_TEXT]}" if event.text else word


def with_question(activity: Activity, asked: Waiting | None) -> Activity:
    """Remember the question that a newer one covers: calls that are made together ask all at once."""
    if asked is not None and activity.doubted is not None:
        # What is not sure to be over may come up again as well.
        doubted = activity.doubted
        activity = replace(activity, waiting=doubted.waiting, also_asked=doubted.also_asked, doubted=None)
    covered = activity.waiting
    if asked is None or covered is None or covered.kind not in ASKS:
        return activity
    return replace(activity, also_asked=(covered, *activity.also_asked)[:MAX_QUESTIONS])


def is_another(before: Waiting | None, after: Waiting | None) -> bool:
    """Whether a question came up again that another one had covered."""
    return before is not None and after is not None and (before.kind, before.text) != (after.kind, after.text)


def hear_item(agent: Agent, before: Waiting | None, after: Waiting | None, now: Moment) -> Agent:
    """Keep the inbox item in step with what the run waits for."""
    if after is None:
        return close_items(agent, *ASKED_BY_A_RUN) if before is not None else agent
    if after is before:
        return agent
    return open_item(agent, after.kind, after.text, "attach", now, after.hold, after.veiled, after.tool, after.whole)
