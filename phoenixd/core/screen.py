"""What a look at the screen may conclude of a run: that it is ready, what it asks, and that it asks no more."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import doubt
from phoenixd.core.actions import Alert, DismissDialog, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Afterwards, Running, Starting
from phoenixd.core.decision import Decision
from phoenixd.core.dialogs import DIALOG_WORDS, MENU, SCREEN_DIALOGS, UNREADABLE
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import ASKED_BY_A_RUN, close_items, end_run, enter, keep, open_item
from phoenixd.core.turn import liveness
from phoenixd.core.turn.due import SOON_FOR, is_hidden
from phoenixd.core.typing.answering import APPEARS_WITHIN
from phoenixd.core.typing.escaping import LEAVES_WITHIN

VERDICT_WITHIN = 2 * LEAVES_WITHIN
"""Seconds for Escape to get to a dialog, and for its verdict."""


def judge_screen(agent: Agent, event: ScreenSeen, now: Moment) -> Decision:
    """Conclude from a look at the pane of a run that gave no sign of life (F-PROC-16, F-RES-2)."""
    state = agent.state
    if not isinstance(state, Starting) or state.run.pid is None:
        return Decision(agent)
    if event.verdict == "resume-picker" and state.run.mode is Mode.RESUME:
        why = "the resume opened a picker instead of the session: fresh with the brief"
        return end_run(agent, Afterwards.RESTART, why, now, spoil=True)
    dialog = event.verdict if event.verdict in SCREEN_DIALOGS else None
    if dialog is None and state.activity.looked_at is not None and not state.overdue:
        # Its hooks may still come, and a first frame may show what it likes.
        return Decision(agent)
    if event.verdict in ("working", "idle"):
        ready = f"ready without a hook: it looks {event.verdict}"
        return with_hooks_alert(agent, enter(agent, Running(state.run, state.activity), ready, now))
    if dialog is None and now.at - agent.view().up_since >= agent.spec.resume.window and not event.attended:
        # It may be anything, also a release whose screen is drawn otherwise. Only a person can tell, or its first hook.
        dialog = UNREADABLE
    if dialog is None:
        return replace(keep(agent, f"no sign of life yet; the screen says {event.verdict}"), weight="noise")
    return judge_dialog(agent, state, dialog, now)


def with_hooks_alert(agent: Agent, decision: Decision) -> Decision:
    """Tell once that an agent which should report by hooks was never heard of (F-HB-7)."""
    if not agent.spec.has_hooks or agent.hooks_seen or agent.restarts:
        return decision
    text = "it is at work, but no hook of it has arrived: its turns, dialogs and hangs cannot be seen"
    return replace(decision, actions=(*decision.actions, Alert(agent.name, "hooks missing", text)))


def judge_dialog(agent: Agent, state: Starting | Running, dialog: str, now: Moment) -> Decision:
    """A dialog that no hook told of stands on the screen: the run waits for a person."""
    before, kind = state.activity.waiting, DIALOG_WORDS[dialog]
    since = before.since if before is not None else now.at
    waiting = Waiting("dialog", kind, now.wall, seen=True, since=since, dialog=dialog)
    is_tried = before is not None and before.dismissed and before.dialog == dialog
    if not is_tried and any((one.dialog, one.asks) == ("dialog", kind) for one in agent.spec.answers):
        no = replace(waiting, dismissed=True, touched=now.at)
        dismissing = replace(state.activity, waiting=no, looked_at=None)
        reason = f"{kind}: the configuration says no to it"
        order = DismissDialog(agent.name, state.run.incarnation, kind)
        return replace(enter(agent, Running(state.run, dismissing), reason, now), actions=(order,))
    item = open_item(agent, "dialog", kind, "attach", now)
    activity = replace(state.activity, waiting=waiting, looked_at=None)
    asks = replace(item, state=Running(state.run, activity))
    if isinstance(state, Starting):
        # The reason stays when that is answered, and is true afterwards as well.
        decision = enter(item, asks.state, f"ready without a hook: a person was asked ({kind})", now)
    else:
        decision = keep(asks, f"waits for a person: {kind}")
    return replace(decision, actions=(Alert(agent.name, "dialog", kind),))


def look(agent: Agent, state: Running, now: Moment) -> Decision:
    """Look at the screen for what no hook would tell: a dialog that was refused, a turn that was broken off."""
    order = LookAtScreen(agent.name, state.run.incarnation)
    if state.activity.doubted is not None:
        doubted = replace(state.activity.doubted, looked=now.at)
        looking = replace(agent, state=replace(state, activity=replace(state.activity, doubted=doubted)))
        return Decision(looking, (order,), "looking at the screen whether a dialog is drawn late")
    whether = "the turn was broken off" if state.run.prompt_seen and state.activity.turn_open else "anything asks"
    why = "whether it still asks" if state.activity.waiting else f"whether {whether}"
    later = tuple(at for at in state.activity.looks if at > now.at)
    asked = replace(state, activity=replace(state.activity, looked_at=now.at, looks=later))
    return Decision(replace(agent, state=asked), (order,), f"looking at the screen {why}")


def first_seen(agent: Agent, state: Running, verdict: str, now: Moment) -> Decision:
    """The first look at a run that was found alive without a journal that knew it: now it is known what it is at."""
    works = verdict == "working"
    activity = replace(state.activity, turn_open=works, turn_since=now.at if works else None, leases=())
    told = f"it was found alive, and its screen says {verdict}"
    return keep(replace(agent, state=replace(state, activity=activity)), told)


def judge_waiting(agent: Agent, state: Running, event: ScreenSeen, now: Moment) -> Decision:
    """Close a question whose dialog has left the screen; the hook that opened it comes before the dialog shows."""
    activity, waiting = state.activity, state.activity.waiting
    if waiting is None or is_hidden(waiting, agent.spec):
        # What is held without a dialog tells of its own end, and no screen does.
        return Decision(agent)
    if event.verdict in SCREEN_DIALOGS:
        if _is_leaving(waiting, event, now):
            return Decision(agent)
        if waiting.kind == "dialog" and not waiting.dialog and event.verdict == MENU:
            # A hook told of it, in words that say more than that one is drawn.
            waiting = replace(waiting, dialog=MENU)
        if waiting.dismissed or (waiting.kind == "dialog" and waiting.dialog != event.verdict):
            # One dialog of a start follows the other, and each is a question of its own; so is one that a no left.
            return judge_dialog(agent, state, event.verdict, now)
        seen = replace(activity, waiting=replace(waiting, seen=True))
        return Decision(replace(agent, state=replace(state, activity=seen)))
    answered = liveness.answered(activity, now)
    asked = max(waiting.since, activity.evidence_at, waiting.touched or 0.0)
    if event.verdict == "idle" and not waiting.seen and now.at - asked < SOON_FOR:
        # While its hook runs, a CLI may show neither its work nor the dialog that comes after that.
        return doubt.begin(agent, state, waiting, now) or Decision(agent)
    if event.verdict == "idle":
        over = replace(answered, turn_open=False, leases=())
        why = "no longer waits: its screen is idle, the turn ended without a hook"
        return keep(replace(close_items(agent, *ASKED_BY_A_RUN), state=replace(state, activity=over)), why)
    if event.verdict != "working":
        return Decision(agent)
    is_between = bool(activity.also_asked) and waiting.touched is not None and now.at - waiting.touched < SOON_FOR
    if (is_between or not waiting.seen) and (doubted := doubt.begin(agent, state, waiting, now)) is not None:
        return doubted
    if (waiting.seen and not is_between) or _was_drawn(waiting, now):
        why = "no longer waits: the dialog has left its screen"
        return keep(replace(close_items(agent, *ASKED_BY_A_RUN), state=replace(state, activity=answered)), why)
    return Decision(agent)


def _is_leaving(waiting: Waiting, event: ScreenSeen, now: Moment) -> bool:
    """Whether Escape is on its way to this dialog, or its verdict: until then the screen proves nothing.

    Where the terminal does not answer there is none, and the screen counts again after some time.
    """
    if not waiting.dismissed or waiting.dialog != event.verdict or event.reader == "escape":
        return False
    return waiting.touched is not None and now.at - waiting.touched < VERDICT_WITHIN


def _was_drawn(waiting: Waiting, now: Moment) -> bool:
    """Whether a dialog that nobody saw has been there: somebody touched it, and long after that it is not drawn."""
    return waiting.touched is not None and now.at - waiting.touched >= APPEARS_WITHIN
