"""A question that its screen closed too soon to be sure: it is opened again if its dialog is drawn after that.

A hook tells of a dialog before the CLI draws it. Where a key was read, and a look finds none, the dialog was answered
before any look saw it, or it is not drawn yet; and between two dialogs that were asked for together there is none for a
moment. No hook tells of a Yes before its call has ended. So the question is closed at once, and its screen is looked at
every `due.DOUBT_LOOKS` seconds: a dialog opens it again as the same item, and for `APPEARS_WITHIN` seconds after the
newest key none proves it over; an idle screen does so sooner, after `SOON_FOR`, and its turn as well. Until then its
request stays held, and nobody is told that its alert is over.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Doubted, Waiting
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision
from phoenixd.core.dialogs import MENU, SCREEN_DIALOGS
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import ASKED_BY_A_RUN, close_items, keep
from phoenixd.core.turn import liveness
from phoenixd.core.turn.due import SOON_FOR
from phoenixd.core.typing.answering import APPEARS_WITHIN

UNSEEN_FOR, BETWEEN = 0.2, 0.4
"""Seconds after a key in which a screen without a dialog closes nothing: no unseen question, and none of several."""


def begin(agent: Agent, state: Running, waiting: Waiting, now: Moment) -> Decision | None:
    """Close the question that a key may have answered; None while it is too soon.

    Where an answer from afar is on its way, only a key closes it: the shim tells of the answer.
    """
    activity = state.activity
    item = next((one for one in agent.items if one.kind in ASKED_BY_A_RUN and not one.left), None)
    if item is None:
        return None
    touched = waiting.keyed if item.answering else waiting.touched
    if touched is None or now.at - touched < (BETWEEN if activity.also_asked else UNSEEN_FOR):
        return None
    alert = next((one for one in agent.alerts if one.id == item.id), None)
    doubted = Doubted(waiting, item, touched, now.at, activity.also_asked, alert)
    closed = replace(liveness.answered(activity, now), doubted=doubted)
    why = "no longer waits: keys were read at its terminal, and no dialog stands on its screen"
    return keep(replace(close_items(agent, *ASKED_BY_A_RUN), state=replace(state, activity=closed)), why)


def unanswered(agent: Agent, hold: int, *, still_held: bool) -> Agent:
    """The agent whose closed question was given an answer from afar that came to nothing: it may be opened again."""
    state = agent.state
    doubted = state.activity.doubted if isinstance(state, Running) else None
    if not isinstance(state, Running) or doubted is None or doubted.item.hold != hold:
        return agent
    item, waiting = replace(doubted.item, answering=""), doubted.waiting
    if not still_held:
        item, waiting = replace(item, hold=0, answer_by="attach"), replace(waiting, hold=0)
    left = replace(doubted, item=item, waiting=waiting)
    return replace(agent, state=replace(state, activity=replace(state.activity, doubted=left)))


def judge(agent: Agent, state: Running, doubted: Doubted, event: ScreenSeen, now: Moment) -> Decision | None:
    """Judge a look at the screen of a run whose question is doubted; None where the rules of any other run hold."""
    if event.verdict in SCREEN_DIALOGS:
        if event.verdict == MENU and event.attended:
            return Decision(agent)
        return open_again(agent, state, doubted, now)
    within = {"idle": SOON_FOR, "working": APPEARS_WITHIN}.get(event.verdict)
    if within is not None and now.at - doubted.touched >= within:
        sure = replace(agent, state=replace(state, activity=replace(state.activity, doubted=None)))
        if event.verdict == "idle" and state.activity.turn_open:
            return None
        return keep(sure, f"the question #{doubted.item.id} is over: no dialog was drawn after it was closed")
    return Decision(agent)


def open_again(agent: Agent, state: Running, doubted: Doubted, now: Moment) -> Decision:
    """It is asked after all, as the same item. People are told only what they do not know yet."""
    waiting = replace(doubted.waiting, seen=True, since=now.at, touched=doubted.touched)
    activity = replace(state.activity, waiting=waiting, also_asked=doubted.also_asked, doubted=None, looked_at=now.at)
    alerts = agent.alerts if doubted.alert is None else (*agent.alerts, doubted.alert)
    asking = replace(agent, state=replace(state, activity=activity), items=(*agent.items, doubted.item), alerts=alerts)
    alert = doubted.alert
    is_known = alert is not None and (not alert.held or alert.ack is not None)
    told = () if is_known else (Alert(agent.name, doubted.item.kind, doubted.item.text),)
    why = f"waits for a person after all: the dialog of #{doubted.item.id} is drawn only now"
    return replace(keep(asking, why), actions=told)
