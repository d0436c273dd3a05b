"""Which evidence counts: what hooks, signs of life and looks at open calls make of a turn (design 8; G4, G54)."""

from __future__ import annotations

from phoenixd.core.agent.activity import Activity, Doubted, PromptKind, Waiting
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.change import replace
from phoenixd.core.decision import Heard
from phoenixd.core.events.evidence import CallWorkSeen, EvidenceSeen, KeysRead
from phoenixd.core.hooks import (
    Hook,
    Notified,
    PermissionDenied,
    PromptSubmitted,
    SessionStarted,
    ToolEnded,
    ToolFailed,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnKept,
)
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.parts import View, WaitOver
from phoenixd.core.question.call import DIALOGS
from phoenixd.core.rules import LivenessRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.turn import call_work, calls, claims, due

TurnEvent = Hook | EvidenceSeen | CallWorkSeen | KeysRead

CALL_ENDS = (ToolEnded, ToolFailed, PermissionDenied)
DRAWN_WITHIN = 1.0
"""Seconds after its hook in which a dialog is drawn, and in which calls begin that were made together with its own."""


def first_activity(run: Run, spec: AgentSpec, now: Moment) -> Activity:
    """A run that was told something, or exists to do one thing, begins with an open turn (G50).

    Where nobody prompts it, and it has no goal to read, a turn that was open before is not gone on with.
    """
    is_told = was_told(run, spec) and (_has_goal(spec) or spec.is_prompted(resumes=run.mode is Mode.RESUME))
    turn_open = is_told or spec.kind in (Kind.LOOP, Kind.EPHEMERAL)
    return Activity(turn_open, evidence_at=now.at, evidence_wall=now.wall, turn_since=now.at if turn_open else None)


def was_told(run: Run, spec: AgentSpec) -> bool:
    """Whether the run was started with a prompt of ours."""
    return run.prompt in (PromptKind.CONTINUE, PromptKind.SEAL) or (run.prompt is PromptKind.GOAL and _has_goal(spec))


def _has_goal(spec: AgentSpec) -> bool:
    return spec.prompt is not None or bool(spec.opening)


def stands_on_screen(waiting: Waiting | None) -> bool:
    """Whether the agent waits for the answer to a dialog, which a look at its screen can see gone."""
    return waiting is not None and waiting.kind in DIALOGS


def may_be_answered(activity: Activity) -> bool:
    """Whether keys at its terminal may answer a dialog: one that stands there, or is perhaps drawn yet."""
    return activity.doubted is not None or stands_on_screen(activity.waiting)


def touched(activity: Activity, spec: AgentSpec, now: Moment) -> Activity:
    """Its dialog may have been answered: no hook tells of a Yes until the call has ended. Looks follow (turn.due)."""
    waiting = activity.waiting
    if activity.doubted is not None:
        # A CLI may draw no dialog while somebody types.
        return replace(activity, doubted=replace(activity.doubted, touched=now.at))
    if waiting is None or not stands_on_screen(waiting) or due.is_hidden(waiting, spec):
        return activity
    if waiting.touched is not None and (activity.looked_at is None or activity.looked_at < waiting.touched):
        # A look is due already, and who types on does not put it off.
        return activity
    return replace(activity, waiting=replace(waiting, touched=now.at))


def _keyed(activity: Activity, now: Moment) -> Activity:
    if activity.waiting is None or not stands_on_screen(activity.waiting):
        return activity
    return replace(activity, waiting=replace(activity.waiting, keyed=now.at))


def hear(activity: Activity | None, event: TurnEvent, seen: View, now: Moment) -> Heard[Activity | None]:
    """Fold in what tells of a turn: a hook, a sign of life, keys, or a look at what an open call does."""
    if activity is None or not seen.is_news:
        return Heard(activity)
    if isinstance(event, EvidenceSeen):
        return claims.hear(activity, event, seen.spec.liveness, now) if seen.state != "stopping" else Heard(activity)
    if isinstance(event, CallWorkSeen):
        is_running = seen.state == "running"
        return call_work.hear(activity, event, seen.spec.liveness, now) if is_running else Heard(activity)
    if isinstance(event, KeysRead):
        return Heard(_keyed(touched(activity, seen.spec, now), now))
    # What the run's own session shows on the screen, another one says nothing about: a look does.
    is_own = not seen.begins_beside(event)
    if is_own and activity.doubted is not None and _is_sure(activity.doubted, event):
        activity = replace(activity, doubted=None)
    answers = is_own and activity.waiting is not None
    heard = _hear_answer(activity, event, seen.spec.has_hooks, now) if answers else activity
    return Heard(_hear_hook(heard, event, seen.spec.liveness, now))


def _hear_hook(activity: Activity, event: Hook, rules: LivenessRules, now: Moment) -> Activity:
    """Fold one hook into the activity; a subagent's events only renew the lease of an open Task call (G54)."""
    if event.sub:
        return calls.hear_subagent(activity, event, rules, now)
    heard = replace(
        activity, evidence_at=now.at, evidence_wall=now.wall, stale_claim=None, claim_due=None, looked_at=None
    )
    match event:
        case PromptSubmitted():
            kept = _was_kept(activity)
            return replace(heard, turn_open=True, turn_since=_begun(activity, now), leases=(), looks=(), kept=kept)
        case ToolStarted():
            begun = calls.begin(heard.leases, event, rules, now)
            since, kept = _begun(activity, now), _was_kept(activity)
            return replace(heard, turn_open=True, turn_since=since, leases=begun, looks=(), kept=kept)
        case TurnKept():
            return replace(heard, kept=True)
        case ToolEnded() | ToolFailed() | PermissionDenied():
            return replace(heard, leases=calls.end(heard.leases, event))
        case TurnEnded() | TurnFailed():
            return replace(heard, turn_open=False, leases=(), looks=())
        case _ if is_idle_prompt(event) or (isinstance(event, SessionStarted) and event.beginning == "clear"):
            # A turn that a person broke off, or cleared away, ends without a stop and leaves its calls unanswered.
            return replace(heard, turn_open=False, leases=(), looks=())
        case _:
            return heard


def _begun(activity: Activity, now: Moment) -> Instant:
    """When the turn began that is open now: a prompt into an open turn begins none."""
    since = activity.open_since
    return since if since is not None else now.at


def _was_kept(activity: Activity) -> bool:
    """Whether the end of the turn that is open now was held up; one that begins has its end before it."""
    return activity.kept and activity.turn_open


def is_idle_prompt(event: Hook) -> bool:
    """Whether the harness says that it waits for its next prompt."""
    return isinstance(event, Notified) and event.notice == "idle" and not event.sub


def waited(activity: Activity, over: WaitOver, now: Moment) -> Activity:
    """A limit is over: the time that it took does not count as silence."""
    return replace(
        activity,
        waited=activity.waited + over.waited,
        evidence_at=now.at,
        stale_claim=None,
        claim_due=None,
        turn_open=activity.turn_open or over.works,
        kept=_was_kept(activity),
        turn_since=_put_off(activity, over.waited) if activity.turn_open else now.at,
    )


def answered(activity: Activity, now: Moment) -> Activity:
    """The person has answered: the time that it took was no silence, and no time of a tool that asked first."""
    waiting = activity.waiting
    if waiting is None:
        return activity
    took = max(0.0, now.at - waiting.since)
    leases = tuple(calls.put_off(lease, took) for lease in activity.leases)
    return replace(
        activity,
        waiting=None,
        also_asked=(),
        waited=activity.waited + took,
        turn_since=_put_off(activity, took),
        leases=leases,
        evidence_at=now.at,
        stale_claim=None,
        claim_due=None,
        looked_at=None,
    )


def _put_off(activity: Activity, took: float) -> Instant | None:
    """When the turn began, without the time for which it waited."""
    return activity.turn_since + took if activity.turn_since is not None else None


def settled(activity: Activity, hold: int, now: Moment) -> Activity:
    """A held question was answered or given up: those that it covered come up again."""
    waiting, covered = activity.waiting, activity.also_asked
    if activity.doubted is not None:
        return _settled_in_doubt(activity, activity.doubted, hold, now)
    if waiting is None:
        return activity
    if waiting.hold != hold:
        return replace(activity, also_asked=tuple(question for question in covered if question.hold != hold))
    if not covered:
        return answered(activity, now)
    return replace(activity, waiting=replace(covered[0], since=waiting.since), also_asked=covered[1:])


def _settled_in_doubt(activity: Activity, doubted: Doubted, hold: int, now: Moment) -> Activity:
    covered = doubted.also_asked
    if doubted.waiting.hold != hold:
        left = tuple(question for question in covered if question.hold != hold)
        return replace(activity, doubted=replace(doubted, also_asked=left))
    if not covered:
        # It was answered; no hook tells whether that has broken its turn off.
        return replace(activity, doubted=None, looks=due.looks_after(doubted.touched, now))
    return replace(activity, waiting=replace(covered[0], since=now.at), also_asked=covered[1:], doubted=None)


def _hear_answer(activity: Activity, event: Hook, has_screen: bool, now: Moment) -> Activity:
    """Close what this hook answers. Of several questions the newest is shown; those before it come up again after it.

    A call that begins says that the question before it was answered, unless both calls were made together. Where a
    screen can be read, it decides.
    """
    waiting = activity.waiting
    if waiting is None:
        return activity
    if has_screen and isinstance(event, ToolStarted) and not event.sub and not waiting.sub:
        drawn = waiting.seen or now.at - waiting.since >= DRAWN_WITHIN
        return replace(activity, waiting=replace(waiting, seen=drawn))
    ends_a_call = isinstance(event, ToolEnded | ToolFailed)
    if has_screen and ends_a_call and waiting.hold and waiting.seen and not activity.also_asked:
        # Whose call it was a held request does not say: the next look at the screen does.
        return activity
    asked = (waiting, *activity.also_asked)
    over = tuple(question for question in asked if not _still_waits(question, event))
    if ends_a_call or isinstance(event, PermissionDenied):
        over = over[:1]
    left = tuple(question for question in asked if all(question is not one for one in over))
    if not left:
        return answered(activity, now)
    # One question after the other is one wait.
    return replace(activity, waiting=replace(left[0], since=waiting.since), also_asked=left[1:])


def _is_sure(doubted: Doubted, event: Hook) -> bool:
    """Whether this hook tells that a question which was closed in doubt is over; of several none tells which."""
    if isinstance(event, ToolStarted) or (doubted.also_asked and isinstance(event, CALL_ENDS)):
        return False
    return not _still_waits(doubted.waiting, event)


def _still_waits(waiting: Waiting, event: Hook) -> bool:
    """Whether a person is still asked after this hook: a question closes by its own answer, not by a neighbour's."""
    match event:
        case ToolEnded() | ToolFailed() | PermissionDenied():
            mine = waiting.tool is None or (waiting.sub == event.sub and event.tool in (None, waiting.tool))
            return not mine
        case ToolStarted():
            return event.sub or waiting.sub
        case PromptSubmitted() | TurnEnded() | TurnFailed() | SessionStarted():
            return event.sub
        case _:
            return not (is_idle_prompt(event) and waiting.kind in DIALOGS)
