"""A run's session and turn: how a run begins, what hooks tell of it, and what a look at the screen may conclude."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import background, cut, productive
from phoenixd.core.actions import Action, Alert, DismissDialog, LookAtScreen, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind, Waiting
from phoenixd.core.agent.run import Mode, Run, Session
from phoenixd.core.agent.state import Afterwards, BackingOff, Running, Starting, Stopping
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.facts import RunProductive, Weight
from phoenixd.core.handoff import words
from phoenixd.core.hooks import (
    CallKept,
    Compacted,
    Failure,
    Hook,
    Notice,
    Notified,
    PermissionAsked,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolEnded,
    ToolFailed,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnKept,
)
from phoenixd.core.limits import waits
from phoenixd.core.merit import Merit
from phoenixd.core.moment import Moment
from phoenixd.core.parts import SignOfLife, View, WaitBegan, WaitOver
from phoenixd.core.question import leftover
from phoenixd.core.question.call import ASKS, kind_of
from phoenixd.core.resonance import exchange
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.names import is_notice
from phoenixd.core.transitions import ASKED_BY_A_RUN, close_items, end_run, enter, keep, open_item
from phoenixd.core.turn import liveness

MAX_TEXT = 2048
"""Characters of an agent's or person's words that are kept in a state."""

CLOCK = "clock"
"""The alert that a heartbeat's times cannot be; told once in a run."""

MAX_QUESTIONS = 8
"""Questions at once that are remembered; an agent cannot make the daemon remember more."""

ASKING: frozenset[Notice] = frozenset({"permission", "question"})
"""Notifications of a dialog; what a person is asked then bears the same name."""
FOR_PEOPLE: frozenset[Failure] = frozenset({"login", "billing"})
"""Failures that only a person can remove; what a person is asked then bears the same name."""
WORKS = (
    PromptSubmitted, ToolStarted, ToolEnded, ToolFailed, TurnEnded, TurnKept, CallKept, PermissionAsked, Compacted,
)  # fmt: skip
"""The hooks of a main thread that did something."""
FAILED_TURN = "failed turn"
"""What a person is asked about where a turn ended by a word that none of our rules knows, or knows no remedy for: the
output limit, a request that the API refuses, a model that does not exist."""
MAX_WORD = 64
MENU = "dialog"
"""What a screen shows that may be a person's own doing."""
SCREEN_DIALOGS = {
    "permission": "permission",
    "trust": "trust dialog",
    "api-key": "API key dialog",
    "resume-picker": "resume picker",
    "bypass-warning": "warning dialog",
    "login": "login",
    "question": "question",
    "settings": "settings dialog",
    "hooks": "hook review dialog",
    "in-use": "session in use elsewhere",
    "limit": "usage limit",
    "renderer": "offer of another renderer",
    "away": "its session has moved into the background, away from this terminal",
    "dialog": "dialog",
}
"""What a harness may read from a screen that has the keyboard in place of the input line, in words for people."""
UNREADABLE = "unread"
"""Stands for a dialog where a start gives no sign of life, and the screen shows nothing that can be judged."""
UNREAD = "no hook came, and its screen is none that phoenixd knows: attach and look"
"""What a person is asked about then."""
DIALOG_WORDS = {**SCREEN_DIALOGS, UNREADABLE: UNREAD}


def begin(agent: Agent, state: BackingOff, now: Moment, timeout: float) -> Decision:
    """Spawn the next incarnation; a fresh one gets a new session, whose id is derived from the moment."""
    incarnation = agent.incarnation + 1
    session = agent.session
    mode = state.mode if session is not None else Mode.FRESH
    # An answer that was kept is a reason to say something to an agent that would be told nothing.
    prompt = PromptKind.CONTINUE if state.prompt is PromptKind.NONE and leftover.has_answer(agent) else state.prompt
    if mode is Mode.FRESH or session is None:
        new_id = now.new_id(agent.name, incarnation, "session")
        session = Session(new_id, now.wall, now.wall)
    run = Run(
        incarnation,
        now.new_id(agent.name, incarnation, "run"),
        mode,
        session.session_id,
        prompt,
        now.at,
        now.wall,
        merit=productive.at_begin(agent),
    )
    starting = Starting(run, liveness.first_activity(run, agent.spec, now), now.at + timeout)
    begun = replace(
        agent, incarnation=incarnation, session=session, restarts=agent.restarts + (1 if agent.has_begun else 0)
    )
    if prompt is not PromptKind.NONE:
        begun = leftover.carried(begun, incarnation)
    spawn = Spawn(agent.name, incarnation, run.run_id, run.mode, run.session_id, run.prompt)
    reason = f"starting incarnation {incarnation}, {run.mode.value}"
    return replace(enter(begun, starting, reason, now), actions=(spawn,))


def hear_hook(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Fold a hook into session, turn and liveness; the first one makes a starting run a running one."""
    state = agent.state
    if not isinstance(state, Starting | Running | Stopping) or not seen.is_news:
        return Decision(agent)
    before, activity = seen.before.activity, state.activity
    assert before is not None
    known_as = seen.before.view() if isinstance(event, SessionStarted | PromptSubmitted) else None
    is_beside = known_as is not None and known_as.begins_beside(event)
    # Evidence has no number, and most of it changes little: a copy that would be equal is not made.
    counted = state.run if event.seq <= state.run.hook_seq else replace(state.run, hook_seq=event.seq)
    run, notes = _hear_run(counted, event, agent.spec, known_as)
    run = background.hear(run, event)
    known = agent.session if is_beside else _hear_session(agent.session, event, run, now)
    heard = agent
    if not agent.hooks_seen:
        notes = (*notes, "its hooks arrive")
    if isinstance(state, Stopping):
        if state.code is not None:
            # A hung call that our SIGTERM ends lets the model say a last word; what it was at is not done for that.
            activity = replace(activity, turn_open=before.turn_open)
        # It is being ended: what it says counts for its session, but asks nobody any more.
        left = replace(state, run=run, activity=activity)
        return Decision(replace(heard, hooks_seen=True, session=known, state=left), reason="; ".join(notes))
    facts: tuple[RunProductive, ...] = ()
    if isinstance(event, PromptSubmitted) and not event.sub:
        heard, run, said = _hear_prompt(cut.begun(heard, event.text), run, event, before.turn_open, seen)
        notes = (*notes, said)
    elif (merit := _merit(agent, run, event, now)) is not run.merit:
        is_proven = bool(merit.proof and not run.merit.proof)
        run = replace(run, merit=merit)
        if is_proven:
            facts, heard = (RunProductive(run.incarnation),), productive.made_good(heard)
    waiting, asked = _waiting(activity, event, now)
    activity = _with_question(activity, asked)
    if asked is None and _is_another(before.waiting, waiting):
        asked = waiting
    if waiting is not activity.waiting:
        activity = replace(activity, waiting=waiting)
    if isinstance(event, TurnEnded):
        notes = (*notes, "the turn ended")
        heard = background.made_good(heard, event)
    if facts and run.merit.after_death:
        notes = (*notes, f"productive: {productive.PROOFS[run.merit.proof]}")
    if isinstance(event, TurnFailed):
        notes = (*notes, f"the turn ended with an error: {event.error or 'unknown'}")
    if before.turn_open and not activity.turn_open and liveness.is_idle_prompt(event):
        notes = (*notes, "idle")
    heard = hear_item(heard, before.waiting, waiting, now)
    actions: tuple[Action, ...] = (Alert(agent.name, asked.kind, asked.text),) if asked else ()
    if isinstance(event, TurnEnded) and not event.sub and agent.spec.stops_either_way:
        actions = (*actions, LookAtScreen(agent.name, state.run.incarnation))
    if is_beside and isinstance(state, Running):
        actions = (*actions, LookAtScreen(agent.name, state.run.incarnation))
        activity = replace(activity, looked_at=now.at)
    limit = next((one for one in seen.signals if isinstance(one, WaitBegan | WaitOver)), None)
    if limit is not None:
        notes, actions = (*notes, limit.note), (*actions, *seen.decision.actions)
    if asked:
        notes = (*notes, f"waits for a person: {asked.kind}")
    elif before.waiting and waiting is None:
        notes = (*notes, f"no longer waits: {event.kind}")
    if isinstance(state, Starting) and state.run.pid is not None:
        reason = "; ".join(("ready: its first hook came", *notes))
        ready = enter(replace(heard, hooks_seen=True, session=known), Running(run, activity), reason, now)
        return replace(ready, actions=actions, readings=seen.decision.readings, facts=facts)
    if isinstance(state, Starting):
        early = replace(state, run=run, activity=activity)
        told = replace(heard, hooks_seen=True, session=known, state=early)
        return Decision(told, actions, "; ".join(notes), facts=facts)
    changed = replace(state, run=run, activity=activity)
    if limit is not None:
        moved = enter(replace(heard, hooks_seen=True, session=known), changed, "; ".join(notes), now)
        return replace(moved, actions=actions, readings=seen.decision.readings)
    # The first good turn of a run that made up for nothing is no news.
    is_news = run.merit.after_death or bool(actions) or heard.items is not agent.items
    weight: Weight | None = "detail" if facts and not is_news else None
    told = replace(heard, hooks_seen=True, session=known, state=changed)
    return Decision(told, actions, "; ".join(notes), facts=facts, weight=weight)


def _merit(agent: Agent, run: Run, event: Hook, now: Moment) -> Merit:
    """What the run has to show; a call that it makes to answer a check is no work."""
    if isinstance(event, ToolStarted | ToolEnded | ToolFailed) and exchange.going_on(agent) is not None:
        return run.merit
    return productive.hear(run.merit, event, agent.spec, now)


def refusal(activity: Activity) -> str | None:
    """What of this run only a person can mend: a login that is refused, a bill that is not paid."""
    waiting = activity.waiting
    if waiting is None or waiting.kind not in FOR_PEOPLE:
        return None
    return f"{waiting.kind}: {waiting.text}" if waiting.text else waiting.kind


def is_owed(activity: Activity) -> bool:
    """Whether a turn ended without being done, so that the next run has to go on with it."""
    return refusal(activity) is not None or (activity.waiting is not None and activity.waiting.kind == FAILED_TURN)


def hear_evidence(agent: Agent, event: EvidenceSeen, seen: Seen, now: Moment) -> Decision:
    """Fold a heartbeat or a growing transcript; only the first of a run is worth a line in the journal."""
    state = agent.state
    if not isinstance(state, Starting | Running):
        return Decision(agent)
    sign = next((one for one in seen.signals if isinstance(one, SignOfLife)), None)
    if sign is None:
        return Decision(agent)
    decision = _hear_sign(agent, state, state.activity, event.source, now)
    if not sign.odd or any(one.kind == CLOCK and one.incarnation == event.incarnation for one in agent.alerts):
        return decision
    text = f"the clock of whoever writes its heartbeat is wrong: {sign.odd}. It counts from its writing"
    why = "; ".join(filter(None, (text, decision.reason)))
    return replace(decision, actions=(*decision.actions, Alert(agent.name, CLOCK, text)), reason=why)


def _hear_sign(agent: Agent, state: Starting | Running, activity: Activity, source: str, now: Moment) -> Decision:
    first = f"first evidence of this run: {source}" if not state.run.evidence else ""
    run = replace(state.run, evidence=True)
    session = replace(agent.session, active_wall=now.wall) if agent.session else None
    heard = replace(agent, session=session)
    if isinstance(state, Running) and activity.waiting is not None and activity.waiting.dialog == UNREADABLE:
        # A screen that cannot be read will never say that it is over, and whoever writes a transcript is at work.
        told = f"no longer waits: {source} shows that it is at work"
        over = replace(state, run=run, activity=liveness.answered(activity, now))
        return keep(replace(close_items(heard, *ASKED_BY_A_RUN), state=over), told)
    if isinstance(state, Running) and agent.spec.has_hooks and liveness.stands_on_screen(activity.waiting):
        # What a person answered stands in the transcript before any hook tells of it, if one ever does.
        return look(heard, replace(state, run=run, activity=activity), now)
    if isinstance(state, Starting) and run.pid is not None:
        # Its hooks may be missing for good, and it works all the same (F-HB-7).
        ready = f"ready without a hook: {first or source}"
        return _with_hooks_alert(agent, enter(heard, Running(run, activity), ready, now))
    return Decision(replace(heard, state=replace(state, run=run, activity=activity)), reason=first)


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
        return _with_hooks_alert(agent, enter(agent, Running(state.run, state.activity), ready, now))
    if dialog is None and now.at - agent.view().up_since >= agent.spec.resume.window and not event.attended:
        # It may be anything, also a release whose screen is drawn otherwise. Only a person can tell, or its first hook.
        dialog = UNREADABLE
    if dialog is None:
        return replace(keep(agent, f"no sign of life yet; the screen says {event.verdict}"), weight="noise")
    return judge_dialog(agent, state, dialog, now)


def _with_hooks_alert(agent: Agent, decision: Decision) -> Decision:
    """Tell once that an agent which should report by hooks was never heard of (F-HB-7)."""
    if not agent.spec.has_hooks or agent.hooks_seen or agent.restarts:
        return decision
    text = "it is at work, but no hook of it has arrived: its turns, dialogs and hangs cannot be seen"
    return replace(decision, actions=(*decision.actions, Alert(agent.name, "hooks missing", text)))


def judge_dialog(agent: Agent, state: Starting | Running, dialog: str, now: Moment) -> Decision:
    """A dialog stands on the screen of which no hook told: the run waits for a person."""
    before, kind = state.activity.waiting, DIALOG_WORDS[dialog]
    since = before.since if before is not None else now.at
    waiting = Waiting("dialog", kind, now.wall, seen=True, since=since, dialog=dialog)
    is_tried = before is not None and before.dismissed and before.dialog == dialog
    if not is_tried and any((one.dialog, one.asks) == ("dialog", kind) for one in agent.spec.answers):
        dismissing = replace(state.activity, waiting=replace(waiting, dismissed=True), looked_at=None)
        reason = f"{kind}: the configuration says no to it"
        order = DismissDialog(agent.name, state.run.incarnation, kind)
        return replace(enter(agent, Running(state.run, dismissing), reason, now), actions=(order,))
    item = open_item(agent, "dialog", kind, "attach", now)
    activity = replace(state.activity, waiting=waiting, looked_at=None)
    decision = enter(item, Running(state.run, activity), f"waits for a person: {kind}", now)
    return replace(decision, actions=(Alert(agent.name, "dialog", kind),))


def look(agent: Agent, state: Running, now: Moment) -> Decision:
    """Look at the screen for what no hook would tell: a dialog that was refused, a turn that was broken off."""
    asked = replace(state, activity=replace(state.activity, looked_at=now.at))
    order = LookAtScreen(agent.name, state.run.incarnation)
    waiting = state.activity.waiting
    whether = "the turn was broken off" if state.run.prompt_seen and state.activity.turn_open else "anything asks"
    why = "whether it still asks" if waiting else f"whether {whether}"
    return Decision(replace(agent, state=asked), (order,), f"looking at the screen {why}")


def judge_waiting(agent: Agent, state: Running, event: ScreenSeen, now: Moment) -> Decision:
    """Close a question whose dialog has left the screen; the hook that opened it comes before the dialog shows."""
    activity, waiting = state.activity, state.activity.waiting
    if waiting is None or (waiting.hold and agent.spec.hides_its_dialog):
        # What is held without a dialog tells of its own end, and no screen does.
        return Decision(agent)
    if event.verdict in SCREEN_DIALOGS:
        if waiting.dismissed or (waiting.kind == "dialog" and waiting.dialog != event.verdict):
            # One dialog of a start follows the other, and each is a question of its own; so is one that a no left.
            return judge_dialog(agent, state, event.verdict, now)
        seen = replace(activity, waiting=replace(waiting, seen=True))
        return Decision(replace(agent, state=replace(state, activity=seen)))
    answered = liveness.answered(activity, now)
    if event.verdict == "idle":
        over = replace(answered, turn_open=False, leases=())
        why = "no longer waits: its screen is idle, the turn ended without a hook"
        return keep(replace(close_items(agent, *ASKED_BY_A_RUN), state=replace(state, activity=over)), why)
    if event.verdict == "working" and waiting.seen:
        why = "no longer waits: the dialog has left its screen"
        return keep(replace(close_items(agent, *ASKED_BY_A_RUN), state=replace(state, activity=answered)), why)
    return Decision(agent)


def _hear_run(run: Run, event: Hook, spec: AgentSpec, known_as: View | None) -> tuple[Run, tuple[str, ...]]:
    session_id = run.session_id
    notes: tuple[str, ...] = ()
    if known_as is not None and known_as.begins_beside(event):
        return run, (f"a second session began beside its own, which has not ended: {event.session_id}",)
    if known_as is not None and isinstance(event, PromptSubmitted) and known_as.is_foreign(event):
        run = replace(run, session_id=event.session_id or run.session_id)
        notes = (f"the session is now {run.session_id} (it took a prompt)",)
    if isinstance(event, SessionStarted) and not event.sub:
        if event.session_id and event.session_id != run.session_id:
            session_id = event.session_id
            notes = (f"the session is now {session_id} ({event.source or 'unknown source'})",)
        elif not run.session_seen:
            notes = (f"session {event.source or 'started'}",)
        return replace(run, session_seen=True, session_id=session_id), notes
    if isinstance(event, SessionEnded) and (event.by_person or spec.ends_with_a_word) and not event.sub:
        return replace(run, left=True), ("a person ended the session from inside",)
    if not run.evidence and not event.sub and isinstance(event, WORKS):
        return replace(run, evidence=True, session_seen=True), (*notes, "first evidence of this run: " + event.kind)
    if run.session_seen or isinstance(event, SessionEnded):
        return run, notes
    return replace(run, session_seen=True), notes


def _hear_session(session: Session | None, event: Hook, run: Run, now: Moment) -> Session | None:
    if session is None or event.sub:
        return session
    if isinstance(event, PromptSubmitted) and run.session_id == event.session_id != session.session_id:
        return Session(run.session_id, now.wall, now.wall)
    if isinstance(event, SessionStarted) and event.session_id and event.session_id != session.session_id:
        if event.beginning == "resume":
            # The same context under another name keeps what is known of it.
            return replace(session, session_id=event.session_id, active_wall=now.wall)
        return Session(event.session_id, now.wall, now.wall)
    return replace(session, active_wall=now.wall)


def is_ours(prompt: str) -> bool:
    """Whether a prompt is a word of phoenixd's own, and no task in hand."""
    return cut.is_ours(prompt) or words.is_ours(prompt) or is_notice(prompt)


def hear_sent(agent: Agent, message_id: str) -> Agent:
    """A text arrived. If somebody sent it, what the agent does now was asked for; what we say by ourselves was not."""
    state = agent.state
    if not isinstance(state, Running) or state.run.merit.sent != message_id:
        return agent
    run = replace(state.run, merit=replace(state.run.merit, asked=True, sent=""))
    return productive.asked_again(replace(agent, state=replace(state, run=run)))


def _hear_prompt(agent: Agent, run: Run, event: PromptSubmitted, was_open: bool, seen: Seen) -> tuple[Agent, Run, str]:
    """The first prompt of a run that was started with one is ours; any other is the task in hand now."""
    told = replace(run, merit=productive.turn_begins(run.merit, False, was_open))
    if cut.is_ours(event.text):
        return agent, replace(told, prompt_seen=True), "a turn began with the word to go on with a cut answer"
    if event.source == "machine":
        return agent, told, "a turn began with a note of its own about background work"
    if any(isinstance(one, WaitOver) and one.told for one in seen.signals):
        # It goes on with the turn that the limit had ended, and with what that holds.
        return agent, replace(run, prompt_seen=True), "a turn began with the prompt to go on"
    ours = liveness.was_told(run, agent.spec) and not run.prompt_seen
    if ours:
        told = replace(told, prompt_seen=True)
        return leftover.heard(agent, run.incarnation), told, "a turn began with the prompt it was started with"
    asked = productive.turn_begins(run.merit, True, was_open)
    if leftover.is_ours(event.text):
        heard = leftover.taken(productive.asked_again(agent), event.text)
        said = "a turn began with the answer to a question that an earlier run had asked"
        return heard, replace(run, prompt_seen=True, merit=asked), said
    if words.is_ours(event.text):
        return agent, replace(told, prompt_seen=True), f"a turn began with {words.what(event.text)}"
    if is_notice(event.text):
        return agent, replace(told, prompt_seen=True), "a turn began with word of a task that it had handed out"
    text = event.text[:MAX_TEXT]
    if not run.prompt_seen and (text == agent.last_prompt or text.strip() in agent.spec.argv):
        # The command brings it along, at every start: nobody asks for anything by that.
        told = replace(told, prompt_seen=True)
        return replace(agent, last_prompt=text), told, "a turn began with the prompt of its command"
    heard = productive.asked_again(replace(agent, last_prompt=text))
    return heard, replace(run, prompt_seen=True, merit=asked), "a turn began with a new prompt"


def _waiting(activity: Activity, event: Hook, now: Moment) -> tuple[Waiting | None, Waiting | None]:
    """Return what the run waits for after this hook, and the same again if it is new and a person must be told."""
    # One question after the other is one wait.
    since = activity.waiting.since if activity.waiting is not None else now.at
    if isinstance(event, PermissionAsked):
        text = " ".join(filter(None, (event.tool, event.text)))
        # What can be approved from afar is shown whole; its length was bounded by who holds it.
        text = text if event.held else text[:MAX_TEXT]
        hold = event.seq if event.held else 0
        asked = Waiting(kind_of(event.tool), text, now.wall, event.tool, event.sub, since=since, hold=hold)
        asked = replace(asked, veiled=event.held and event.veiled, whole=event.held)
        return asked, asked
    if isinstance(event, Notified) and event.notice in ASKING:
        if activity.waiting is not None:
            return activity.waiting, None
        asked = Waiting(event.notice, event.text[:MAX_TEXT], now.wall, since=since)
        return asked, asked
    if isinstance(event, TurnFailed) and event.failure in FOR_PEOPLE:
        asked = Waiting(event.failure, event.text[:MAX_TEXT] or event.error or "", now.wall, since=since)
        return asked, asked
    if isinstance(event, TurnFailed) and not event.sub and waits.signal(event) is None:
        asked = Waiting(FAILED_TURN, _failure(event), now.wall, since=since)
        return asked, asked
    return activity.waiting, None


def _failure(event: TurnFailed) -> str:
    """Why a turn ended, in the harness's own words; the word itself is an agent's, and may be anything."""
    word = " ".join((event.error or "no reason was named").split())[:MAX_WORD]
    return f"{word}: {event.text[:MAX_TEXT]}" if event.text else word


def _with_question(activity: Activity, asked: Waiting | None) -> Activity:
    """Remember the question that a newer one covers: calls that are made together ask all at once."""
    covered = activity.waiting
    if asked is None or covered is None or covered.kind not in ASKS:
        return activity
    return replace(activity, also_asked=(covered, *activity.also_asked)[:MAX_QUESTIONS])


def _is_another(before: Waiting | None, after: Waiting | None) -> bool:
    """Whether a question came up again that another one had covered."""
    return before is not None and after is not None and (before.kind, before.text) != (after.kind, after.text)


def hear_item(agent: Agent, before: Waiting | None, after: Waiting | None, now: Moment) -> Agent:
    """Keep the inbox item in step with what the run waits for."""
    if after is None:
        return close_items(agent, *ASKED_BY_A_RUN) if before is not None else agent
    if after is before:
        return agent
    return open_item(agent, after.kind, after.text, "attach", now, after.hold, after.veiled, after.tool, after.whole)
