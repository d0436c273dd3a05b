"""Whether a run was productive, judged by progress and never by age; and how many in a row were not (design section 3).

A run is productive by a turn that ended well, or by work that changed. After a death that turn must hold a completed
tool call or have been asked for by a person: a resume that says "continuing" and dies proves nothing. A command
without hooks can show its age only. An end counts where the run had an open turn, or died before its first evidence,
and where it says something about the agent at all.
"""

from __future__ import annotations

from phoenixd.core import restart
from phoenixd.core.actions import Alert, MeasureWork
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit, Run
from phoenixd.core.agent.state import BackingOff, Quarantined, Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Readings, Seen, one_reason
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.facts import RunProductive
from phoenixd.core.hooks import Hook, ToolEnded, ToolFailed, ToolStarted, TurnEnded, TurnFailed
from phoenixd.core.merit import STEADY, Merit, Proof, Record
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.rules import HOUR, RestartPolicy
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.transitions import keep, quarantine
from phoenixd.core.work import kind_of

FORGOTTEN_AFTER = 24 * HOUR
"""Seconds without an unproductive end after which the count begins anew."""

STEADY_DEATHS = "steady deaths"
"""The alert that a command without hooks dies again and again at the same age."""

PROOFS: dict[Proof, str] = {
    "turn": "its turn ended well",
    "work": "it changed the work",
    "life": "it lived long enough",
    "exit": "it ended well",
}


def at_begin(agent: Agent) -> Merit:
    """What a new run has to show: nothing yet, and after a death more is asked of it."""
    return Merit(after_death=agent.record.died)


def turn_begins(merit: Merit, asked: bool, was_open: bool) -> Merit:
    """A prompt was submitted. asked: by a person or `send`. was_open: into a turn that is under way already."""
    return replace(
        merit,
        turned=True,
        asked=asked or (was_open and merit.asked),
        called=was_open and merit.called,
        ended=False,
    )


def hear(merit: Merit, event: Hook, spec: AgentSpec, now: Moment) -> Merit:
    """Fold one hook; a subagent's prove nothing, and what a prompt means `turn_begins` says."""
    if event.sub:
        return merit
    match event:
        case ToolStarted() | ToolFailed() if not merit.turned:
            return replace(merit, turned=True)
        case ToolEnded() if not merit.called:
            return replace(merit, turned=True, called=True)
        case TurnEnded() if _would_prove(merit):
            return replace(merit, ended=True) if spec.stops_either_way else _proven(merit, "turn", now)
        case TurnFailed() if merit.ended:
            return replace(merit, ended=False)
        case _:
            return merit


WELL = frozenset({"idle", "working"})
"""What a screen says after a turn that ended well: neither of a limit nor of a login."""


def hear_screen(agent: Agent, event: ScreenSeen, seen: Seen, now: Moment) -> Decision:
    """A look at the screen has shown that a turn's end was a good one, where its hook says too little."""
    state, decision = agent.state, seen.decision
    if event.verdict not in WELL or not isinstance(state, Running) or not state.run.merit.ended:
        return decision
    run = replace(state.run, merit=_proven(state.run.merit, "turn", now))
    confirmed = made_good(replace(agent, state=replace(state, run=run)))
    reason = one_reason(decision.reason, f"productive: {PROOFS['turn']}")
    return replace(decision, agent=confirmed, reason=reason, facts=(RunProductive(agent.incarnation),))


def made_good(agent: Agent, work: str | None = None) -> Agent:
    """The agent after a productive run: nothing stands against it. work: the fingerprint, where that proved it."""
    fine = Record(work=work, lives=agent.record.lives)
    return agent if agent.record == fine else replace(agent, record=fine)


def due(agent: Agent, state: Running) -> Instant | None:
    """When a run without hooks that follows a death will have lived long enough to be productive."""
    run = state.run
    if not run.merit.after_death or agent.hooks_seen or run.merit.proof or (agent.spec.has_hooks and not run.evidence):
        return None
    return (run.exec_at if run.exec_at is not None else run.began) + agent.spec.restart.productive


def come_of_age(agent: Agent, state: Running, now: Moment) -> Decision:
    """A run without hooks has lived long enough."""
    aged = replace(state, run=replace(state.run, merit=_proven(state.run.merit, "life", now)))
    good = made_good(replace(agent, state=aged))
    return replace(keep(good, f"productive: {PROOFS['life']}"), facts=(RunProductive(agent.incarnation),))


def proven_by_work(agent: Agent) -> tuple[Agent, tuple[RunProductive, ...]]:
    """The agent whose newest run has changed the work, and the fact where nothing else had proved it."""
    good, end = made_good(agent), agent.last_exit
    if end is None or end.proof:
        return good, ()
    return replace(good, last_exit=replace(end, proof="work")), (RunProductive(end.incarnation),)


def asked_again(agent: Agent) -> Agent:
    """The agent after a person or `send` asked something of it: the count begins anew."""
    if agent.recycled is not None and not agent.recycled.asked:
        agent = replace(agent, recycled=replace(agent.recycled, asked=True))
    if not agent.record.unproductive:
        return agent
    return replace(agent, record=replace(agent.record, unproductive=()))


def at_end(agent: Agent, run: Run, end: LastExit, deliberate: bool, turn_open: bool, now: Moment) -> Agent:
    """Close a run's account: `agent.last_exit` says whether it was productive, `agent.record` what that means.

    deliberate: somebody ended it. turn_open: whether one was open when it ended.
    """
    proof: Proof = run.merit.proof or _proven_at_end(agent, run, end)
    agent = replace(agent, last_exit=replace(end, proof=proof))
    if proof:
        agent = made_good(agent)
    if deliberate or restart.says_nothing(end):
        return agent
    died = not restart.ended_well(agent.spec, end)
    record = replace(agent.record, died=died, lives=_lives(agent, end, died))
    if not proof and _counts(agent, run, end, turn_open, died):
        recent = record.unproductive if _is_recent(record, now) else ()
        record = replace(record, unproductive=(*recent, now.at)[-_most(agent.spec) :])
    return replace(agent, record=record)


def is_exhausted(agent: Agent) -> bool:
    """Whether as many runs in a row as may be had nothing to show."""
    limit = agent.spec.restart.max_unproductive
    return 0 < limit <= len(agent.record.unproductive)


def has_just_counted(agent: Agent, now: Moment) -> bool:
    """Whether the end of a run that had nothing to show was counted at this moment."""
    return agent.record.unproductive[-1:] == (now.at,)


def is_weighed(agent: Agent) -> bool:
    """Whether its work is measured at an unproductive end; a loop's is at the end of each iteration anyway."""
    return agent.hooks_seen and agent.spec.kind is not Kind.LOOP and agent.spec.turn_of is None


def exhausted(agent: Agent) -> tuple[str, Readings]:
    """Why the agent is given up, and the readings."""
    ends, limit = agent.record.unproductive, agent.spec.restart.max_unproductive
    reason = (
        f"{len(ends)} runs in a row ended within {in_words(ends[-1] - ends[0])} and had nothing to show: "
        f"the limit is {limit} (restart.max_unproductive)"
    )
    return reason, counts(agent)


def counts(agent: Agent) -> Readings:
    """How many runs in a row had nothing to show, of how many that may, and in what time; nothing where none counts."""
    ends, limit = agent.record.unproductive, agent.spec.restart.max_unproductive
    if not ends or limit <= 0:
        return ()
    span: Readings = (("within", round(ends[-1] - ends[0], 3)),) if len(ends) > 1 else ()
    return (("unproductive", len(ends)), ("restart.max_unproductive", limit), *span)


def give_up(agent: Agent, now: Moment) -> Decision:
    """Quarantine an agent whose runs in a row had nothing to show."""
    reason, readings = exhausted(agent)
    end = agent.last_exit
    if end is not None and restart.is_recycling(end):
        reason = f"{end.text} asks to be recycled; {reason}"
    return replace(quarantine(agent, Quarantined(reason, counted=True), now), readings=readings)


def steady_alert(agent: Agent) -> Alert:
    """Tell that each run of a command ends at the same age."""
    lives = agent.record.lives
    text = (
        f"it dies again and again after about {in_words(sum(lives) / len(lives))}, {len(lives)} times in a row by now: "
        f"each run is begun anew, and nothing tells what it achieves"
    )
    return Alert(agent.name, STEADY_DEATHS, text)


def order_weighing(agent: Agent, decision: Decision) -> Decision:
    """Have the work measured after an unproductive end, beside the restart and not before it."""
    if decision.agent is None:
        return decision
    number = agent.incarnation
    weighing = replace(decision.agent, record=replace(decision.agent.record, weighing=number))
    return replace(decision, agent=weighing, actions=(*decision.actions, MeasureWork(agent.name, number, True)))


def weigh(agent: Agent, event: WorkMeasured, now: Moment) -> Decision:
    """Compare the work at an unproductive end with that at the one before; the first has nothing to be compared to."""
    record = agent.record
    if not record.weighing or record.weighing != event.number or not event.at_end:
        return Decision(agent)
    before, after = record.work, event.fingerprint
    waits = is_exhausted(agent) and isinstance(agent.state, BackingOff)
    if before is not None and after is not None and kind_of(before) == kind_of(after) and before != after:
        good = made_good(agent, after)
        if good.last_exit is not None and good.last_exit.incarnation == event.number:
            good = replace(good, last_exit=replace(good.last_exit, proof="work"))
        if waits and isinstance(good.state, BackingOff):
            good = replace(good, state=replace(good.state, until=now.at))
        fact = RunProductive(event.number)
        return replace(keep(good, f"run {event.number} was productive: {PROOFS['work']}"), facts=(fact,))
    kept = replace(agent, record=replace(record, weighing=0, work=after or before))
    if waits:
        return give_up(kept, now)
    return Decision(kept)


def _would_prove(merit: Merit) -> bool:
    return not merit.proof and (not merit.after_death or merit.called or merit.asked)


def _proven(merit: Merit, proof: Proof, now: Moment) -> Merit:
    return replace(merit, proof=proof, at=now.at, ended=False)


def _proven_at_end(agent: Agent, run: Run, end: LastExit) -> Proof:
    if run.merit.ended:
        return "turn"
    if restart.is_blameless(end):
        return ""
    if agent.hooks_seen or not end.ran or (agent.spec.has_hooks and not run.evidence):
        return ""
    if restart.ended_well(agent.spec, end):
        return "exit"
    return "life" if end.lived >= agent.spec.restart.productive else ""


def _counts(agent: Agent, run: Run, end: LastExit, turn_open: bool, died: bool) -> bool:
    """Whether an end without anything to show is one more in the row."""
    spec = agent.spec
    if spec.turn_of is not None or end.cause == restart.CAUSES[restart.OVERTIME]:
        # The breaker of the loop judges these.
        return False
    if not died and not (spec.restart.policy is RestartPolicy.ALWAYS and spec.kind is not Kind.LOOP):
        return False
    return run.merit.turned or turn_open or not run.evidence


def _lives(agent: Agent, end: LastExit, died: bool) -> tuple[float, ...]:
    """The ages at which a command without hooks died lately, as long as it died of age alone."""
    aged = died and end.lived >= agent.spec.restart.productive
    if agent.hooks_seen or agent.spec.has_hooks or not aged or end.cause == restart.CAUSES[restart.OVERTIME]:
        return ()
    return (*agent.record.lives, end.lived)[-STEADY:]


def _is_recent(record: Record, now: Moment) -> bool:
    newest: Instant | None = record.unproductive[-1] if record.unproductive else None
    return newest is not None and now.at - newest < FORGOTTEN_AFTER


def _most(spec: AgentSpec) -> int:
    return max(1, spec.restart.max_unproductive)
