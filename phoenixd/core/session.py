"""A run's session and turn: how a run begins, and what hooks and other signs of life tell of it."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.core import background, cut, doubt, productive, prompts, screen
from phoenixd.core.actions import Action, Alert, LookAtScreen, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import EARLIER_KEPT, MOST_EARLIER, EarlierSession, Mode, Run, Session
from phoenixd.core.agent.state import BackingOff, Live, Running, Starting, Stopping
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.dialogs import UNREADABLE
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.facts import RunProductive, Weight
from phoenixd.core.hooks import (
    CallKept,
    Compacted,
    Hook,
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
from phoenixd.core.merit import Merit
from phoenixd.core.meter import achieved
from phoenixd.core.moment import Moment
from phoenixd.core.parts import SignOfLife, View, WaitBegan, WaitOver
from phoenixd.core.question import leftover
from phoenixd.core.resonance import exchange
from phoenixd.core.spec import AgentSpec
from phoenixd.core.transitions import ASKED_BY_A_RUN, close_items, enter, keep
from phoenixd.core.turn import liveness
from phoenixd.core.waiting import hear_item, is_another, is_of_a_call, waits_for, with_question

CLOCK = "clock"
"""The alert that a heartbeat's times cannot be; told once in a run."""

WORKS = (
    PromptSubmitted, ToolStarted, ToolEnded, ToolFailed, TurnEnded, TurnKept, CallKept, PermissionAsked, Compacted,
)  # fmt: skip
"""The hooks of a main thread that did something."""
SETTLES = (PromptSubmitted, ToolStarted, TurnEnded, TurnFailed)
"""Those after which it is known whether its turn is open."""


def begin(agent: Agent, state: BackingOff, now: Moment, timeout: float) -> Decision:
    """Spawn the next incarnation; a fresh one gets a new session, whose id is derived from the moment."""
    incarnation = agent.incarnation + 1
    session = agent.session
    mode = state.mode if session is not None else Mode.FRESH
    # An answer that was kept is a reason to say something to an agent that would be told nothing.
    prompt = PromptKind.CONTINUE if state.prompt is PromptKind.NONE and leftover.has_answer(agent) else state.prompt
    if mode is Mode.FRESH or session is None:
        new_id = now.new_id(agent.name, incarnation, "session")
        session = Session(new_id, now.wall, now.wall, achieved="nothing", empty=True)
    run = Run(
        incarnation,
        now.new_id(agent.name, incarnation, "run"),
        mode,
        session.session_id,
        prompt,
        now.at,
        now.wall,
        merit=productive.at_begin(agent),
        goes_on=prompt is PromptKind.CONTINUE and agent.session is not None and agent.session.turn_open,
    )
    starting = Starting(run, liveness.first_activity(run, agent.spec, now), now.at + timeout)
    begun = replace(
        agent, incarnation=incarnation, session=session, restarts=agent.restarts + agent.has_ended,
        returns_to=None,
    )  # fmt: skip
    if prompt is not PromptKind.NONE:
        begun = leftover.carried(begun, incarnation)
    spawn = Spawn(agent.name, incarnation, run.run_id, run.mode, run.session_id, run.prompt)
    reason = f"starting incarnation {incarnation}, {run.mode.value}"
    return replace(enter(begun, starting, reason, now), actions=(spawn,))


def hear_hook(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Fold a hook into session, turn and liveness; the first one makes a starting run a running one."""
    state = agent.state
    if not isinstance(state, Live) or not seen.is_news:
        return Decision(agent)
    before, activity = seen.before.activity, state.activity
    assert before is not None
    known_as = seen.before.view() if isinstance(event, SessionStarted | PromptSubmitted) else None
    is_beside = known_as is not None and known_as.begins_beside(event)
    # Evidence has no number, and most of it changes little: a copy that would be equal is not made.
    counted = state.run if event.seq <= state.run.hook_seq else replace(state.run, hook_seq=event.seq)
    run, notes = _hear_run(counted, event, agent.spec, known_as)
    run = background.hear(run, event)
    if (run.guessed or run.goes_on) and not event.sub and _is_settled_by(event):
        run = replace(run, guessed=False, goes_on=False)
    known = agent.session if is_beside else _hear_session(agent.session, event, run, agent.spec, now)
    dead_ends = 0 if known is not None and known.achieved == "turn" else agent.dead_ends
    heard = replace(agent, hooks_seen=True, session=known, dead_ends=dead_ends)
    if run.session_id != state.run.session_id and state.run.session_seen:
        heard = replace(heard, earlier=_with_earlier(agent, state.run, now))
    if not agent.hooks_seen:
        notes = (*notes, "its hooks arrive")
    if isinstance(state, Stopping):
        return _hear_last_words(heard, state, run, before, notes)
    actions: tuple[Action, ...] = ()
    if isinstance(state, Running) and activity.doubted is not None and is_of_a_call(event):
        # Who hears of its dialog now is told of no second question.
        again = doubt.open_again(heard, state, activity.doubted, now)
        assert again.agent is not None
        assert isinstance(again.agent.state, Running)
        heard, activity, actions, notes = again.agent, again.agent.state.activity, again.actions, (*notes, again.reason)
    facts: tuple[RunProductive, ...] = ()
    if isinstance(event, PromptSubmitted) and not event.sub:
        heard, run, said = prompts.hear_prompt(cut.begun(heard, event.text), run, event, before.turn_open, seen)
        run, notes = replace(run, prompt_bytes=event.size), (*notes, said)
    else:
        heard, run, facts = _hear_work(heard, run, event, now)
    waiting, asked = waits_for(activity, event, now)
    activity = with_question(activity, asked)
    if asked is None and is_another(before.waiting, waiting):
        asked = waiting
    if waiting is not activity.waiting:
        activity = replace(activity, waiting=waiting)
    if isinstance(event, TurnEnded):
        heard = background.made_good(heard, event)
    heard = hear_item(heard, before.waiting, waiting, now)
    if asked:
        actions = (*actions, Alert(agent.name, asked.kind, asked.text))
    if is_beside and isinstance(state, Running):
        actions = (*actions, LookAtScreen(agent.name, state.run.incarnation))
        activity = replace(activity, looked_at=now.at)
    elif isinstance(event, TurnEnded) and not event.sub and agent.spec.stops_either_way:
        actions = (*actions, LookAtScreen(agent.name, state.run.incarnation))
    notes = (*notes, *_of_the_turn(event, before, activity, run.merit if facts else None))
    limit = next((one for one in seen.signals if isinstance(one, WaitBegan | WaitOver)), None)
    if limit is not None:
        notes, actions = (*notes, limit.note), (*actions, *seen.decision.actions)
    if asked:
        notes = (*notes, f"waits for a person: {asked.kind}")
    elif (before.waiting or before.doubted) and waiting is None and activity.doubted is None:
        notes = (*notes, f"no longer waits: {event.kind}")
    if isinstance(state, Starting) and state.run.pid is not None:
        ready = enter(heard, Running(run, activity), "; ".join(("ready: its first hook came", *notes)), now)
        return replace(ready, actions=actions, readings=seen.decision.readings, facts=facts)
    changed = replace(state, run=run, activity=activity)
    if limit is not None and isinstance(state, Running):
        moved = enter(heard, changed, "; ".join(notes), now)
        return replace(moved, actions=actions, readings=seen.decision.readings)
    # The first good turn of a run that made up for nothing is no news.
    is_news = isinstance(state, Starting) or run.merit.after_death or actions or heard.items is not agent.items
    weight: Weight | None = "detail" if facts and not is_news else None
    return Decision(replace(heard, state=changed), actions, "; ".join(notes), facts=facts, weight=weight)


def _is_settled_by(event: Hook) -> bool:
    """Whether it is known by this hook how the turn of its run stands, whatever was known before."""
    is_cleared = isinstance(event, SessionStarted) and event.beginning == "clear"
    return isinstance(event, SETTLES) or is_cleared or liveness.is_idle_prompt(event)


def _hear_last_words(heard: Agent, state: Stopping, run: Run, before: Activity, notes: tuple[str, ...]) -> Decision:
    """The run is being ended: what it says counts for its session, but asks nobody any more."""
    activity = state.activity
    if state.code is not None:
        # A hung call that our SIGTERM ends lets the model say a last word; what it was at is not done for that.
        activity = replace(activity, turn_open=before.turn_open)
    return Decision(replace(heard, state=replace(state, run=run, activity=activity)), reason="; ".join(notes))


def _of_the_turn(event: Hook, before: Activity, activity: Activity, proven: Merit | None) -> Iterator[str]:
    """What a hook says of its turn, in words. proven: what the run has to show, where the hook proved it."""
    if isinstance(event, TurnEnded):
        yield "the turn ended"
    if proven is not None and proven.after_death:
        yield f"productive: {productive.PROOFS[proven.proof]}"
    if isinstance(event, TurnFailed):
        yield f"the turn ended with an error: {event.error or 'unknown'}"
    if before.turn_open and not activity.turn_open and liveness.is_idle_prompt(event):
        yield "idle"


def _hear_work(heard: Agent, run: Run, event: Hook, now: Moment) -> tuple[Agent, Run, tuple[RunProductive, ...]]:
    """What the run has to show; a call that it makes to answer a check is no work."""
    if isinstance(event, ToolStarted | ToolEnded | ToolFailed) and exchange.going_on(heard) is not None:
        return heard, run, ()
    merit = productive.hear(run.merit, event, heard.spec, now)
    if merit is run.merit:
        return heard, run, ()
    shown = replace(run, merit=merit)
    if run.merit.proof or not merit.proof:
        return heard, shown, ()
    return productive.made_good(heard), shown, (RunProductive(run.incarnation),)


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
    text = f"the clock of the writer of its heartbeat is wrong: {sign.odd}. It counts from its writing"
    why = one_reason(text, decision.reason)
    return replace(decision, actions=(*decision.actions, Alert(agent.name, CLOCK, text)), reason=why)


def _hear_sign(agent: Agent, state: Starting | Running, activity: Activity, source: str, now: Moment) -> Decision:
    first = f"first evidence of this run: {source}" if not state.run.evidence else ""
    run = replace(state.run, evidence=True)
    session = replace(agent.session, active_wall=now.wall, empty=False) if agent.session else None
    heard = replace(agent, session=session)
    if isinstance(state, Running) and activity.waiting is not None and activity.waiting.dialog == UNREADABLE:
        # A screen that cannot be read will never say that it is over, and an agent that writes a transcript is at work.
        told = f"no longer waits: {source} shows that it is at work"
        over = replace(state, run=run, activity=liveness.answered(activity, now))
        return keep(replace(close_items(heard, *ASKED_BY_A_RUN), state=over), told)
    if isinstance(state, Running) and agent.spec.has_hooks and liveness.stands_on_screen(activity.waiting):
        # What a person answered stands in the transcript before any hook tells of it, if one ever does.
        return screen.look(heard, replace(state, run=run, activity=activity), now)
    if isinstance(state, Starting) and run.pid is not None:
        # Its hooks may be missing for good, and it works all the same (F-HB-7).
        ready = f"ready without a hook: {first or source}"
        return screen.with_hooks_alert(agent, enter(heard, Running(run, activity), ready, now))
    return Decision(replace(heard, state=replace(state, run=run, activity=activity)), reason=first)


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
    if isinstance(event, SessionEnded) and not event.sub and _is_left(event, spec):
        return replace(run, left=True), ("a person ended the session from inside",)
    if not run.evidence and not event.sub and isinstance(event, WORKS):
        return replace(run, evidence=True, session_seen=True), (*notes, "first evidence of this run: " + event.kind)
    if run.session_seen or isinstance(event, SessionEnded):
        return run, notes
    return replace(run, session_seen=True), notes


def _with_earlier(agent: Agent, run: Run, now: Moment) -> tuple[EarlierSession, ...]:
    """With the session that this run has left: its id before its first hook was none that a CLI knew."""
    session = agent.session
    began = session.created_wall if session is not None and session.session_id == run.session_id else run.began_wall
    left = EarlierSession(run.session_id, run.incarnation, began, now.wall)
    kept = [one for one in agent.earlier if now.wall - one.until_wall < EARLIER_KEPT]
    return (*kept, left)[-MOST_EARLIER:]


def _is_left(event: SessionEnded, spec: AgentSpec) -> bool:
    """Whether a person left the session that has ended. A worker has no input line: its session ends with its turn."""
    return not spec.task and (event.by_person or spec.ends_with_a_word)


def _hear_session(session: Session | None, event: Hook, run: Run, spec: AgentSpec, now: Moment) -> Session | None:
    if session is None or event.sub:
        return session
    if isinstance(event, PromptSubmitted) and run.session_id == event.session_id != session.session_id:
        return Session(run.session_id, now.wall, now.wall)
    if isinstance(event, SessionStarted) and event.session_id and event.session_id != session.session_id:
        if event.beginning == "resume":
            # The same context under another name keeps what is known of it.
            return replace(session, session_id=event.session_id, active_wall=now.wall)
        return achieved.begun(event, now.wall)
    empty = session.empty and not isinstance(event, (*WORKS, TurnFailed))
    return replace(achieved.after(session, event, spec), active_wall=now.wall, empty=empty)
