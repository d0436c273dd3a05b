"""What a fleet hears of contexts: readings, the model that a session began with, prompts; and what it tells of them."""

from __future__ import annotations

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Readings, Seen
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.hooks import Hook, PromptSubmitted, SessionStarted
from phoenixd.core.meter import trend
from phoenixd.core.meter.reading import Gauge, Meter, UsageSample, claimed, is_window, read
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.spec import Kind

UNKNOWN = "context unknown"
"""The alert that nobody can tell how full an orchestrator's context is."""

PATIENCE = 600.0
"""Seconds for which that may stay unknown while the agent works, before a person is told."""

SAMPLE_SHARE, SAMPLE_EVERY = 0.01, 300.0
"""A sample is kept for each such share of the window, and after this many seconds at the latest."""


def hear(agent: Agent, event: UsageSeen, seen: Seen, now: Moment) -> Decision:
    """Take a reading. It is worth a row where the window or the verdict changed, and a sample now and then."""
    before = of(agent)
    if agent.run is None or (event.session_id and event.session_id != before.session_id):
        return Decision(agent)
    after = _taken(agent, before, event, now)
    gauge, sample = read(after, agent.spec.context), _sample(agent, after, event, now)
    if sample is not None:
        after = replace(after, sampled=after.tokens, sampled_at=now.at)
    notes = _notes(agent, before, after, gauge)
    if gauge.verdict != after.told and gauge.verdict is not None:
        notes = (*notes, f"context {gauge.verdict}: {gauge.reason}")
        after = replace(after, told=gauge.verdict)
    heard = agent if after == agent.meter else replace(agent, meter=after)
    readings = _readings(gauge, after) if notes else ()
    return Decision(heard, reason="; ".join(notes), readings=readings, sample=sample)


def hear_session(agent: Agent, event: SessionStarted, seen: Seen, now: Moment) -> Decision:
    """Note how large the window is of the model that a session began with, where its name says it."""
    before = of(agent)
    if event.model is None or is_old(event, seen) or event.session_id not in (None, before.session_id):
        return seen.decision
    after = replace(before, by_model=event.window if is_window(event.window) else None)
    return seen.decision if after == agent.meter else replace(seen.decision, agent=replace(agent, meter=after))


def hear_prompt(agent: Agent, event: PromptSubmitted, seen: Seen, now: Moment) -> Decision:
    """A turn begins, whose first answer tells the tokens: from here on it is unknown for want of a reading."""
    before = of(agent)
    if is_old(event, seen) or before.tokens is not None:
        return seen.decision
    return replace(seen.decision, agent=replace(agent, meter=replace(before, since=now.at)))


def due(agent: Agent) -> Instant | None:
    """When a person is told that the context is unknown; None where nothing hangs on it, or that was told.

    Only an orchestrator is handed over by its meter, and only one that works can say more.
    """
    state = agent.state
    if agent.spec.kind is not Kind.ORCHESTRATOR or not isinstance(state, Running):
        return None
    activity = state.activity
    if not activity.turn_open or activity.waiting is not None or agent.limits.parking is not None or state.run.deaf:
        return None
    meter = of(agent)
    if read(meter, agent.spec.context).verdict is not None or _is_told(agent):
        return None
    return max(meter.since, state.run.began) + PATIENCE


def tell(agent: Agent, now: Moment) -> Decision:
    """Call a person: nobody can tell when this agent has to be handed over."""
    gauge = read(of(agent), agent.spec.context)
    text = (
        f"for {in_words(PATIENCE)} nobody has known how full its context is ({gauge.reason}), so nothing tells when it "
        f"has to be handed over; where its CLI does not say it, name the window: "
        f"[agent.{agent.spec.role}.context] limit = TOKENS"
    )
    return Decision(agent, (Alert(agent.name, UNKNOWN, text),), f"context unknown: {gauge.reason}")


def of(agent: Agent) -> Meter:
    """The meter of the agent's present session; a fresh one where that was never read in this run."""
    session_id = agent.session.session_id if agent.session is not None else ""
    known = agent.meter
    if known.incarnation == agent.incarnation and known.session_id == session_id:
        return known
    began = agent.run.began if agent.run is not None else 0.0
    if known.incarnation != agent.incarnation:
        return Meter(agent.incarnation, session_id, since=began)
    # Another session of the same process begins empty, with the model that it had.
    return Meter(
        agent.incarnation, session_id, status_line=known.status_line, by_model=known.by_model, rollout=known.rollout,
        model=known.model, doubt=known.doubt, since=began,
    )  # fmt: skip


def is_old(event: Hook, seen: Seen) -> bool:
    """Whether it is a subagent's, or said again by the shim."""
    run = seen.before.run
    return run is None or event.sub or 0 < event.seq <= run.hook_seq


def _is_told(agent: Agent) -> bool:
    return any(one.kind == UNKNOWN and one.incarnation == agent.incarnation for one in agent.alerts)


def _taken(agent: Agent, meter: Meter, event: UsageSeen, now: Moment) -> Meter:
    if event.source == "status line":
        return claimed(meter, event.limit, event.model, event.problem)
    rollout = event.limit if is_window(event.limit) else meter.rollout
    if event.tokens is None:
        # After a compaction, until the request that follows it.
        since = now.at if meter.tokens is not None else meter.since
        return replace(meter, tokens=None, at_wall=None, rollout=rollout, turns=(), since=since, asks="")
    turns, asks = meter.turns, meter.asks
    if meter.tokens is not None and trend.is_fall(meter.tokens, event.tokens):
        turns, asks = (), ""
    if isinstance(agent.state, Running) and not agent.state.activity.turn_open:
        turns = trend.following(turns, event.tokens)
    return replace(meter, tokens=event.tokens, at_wall=event.at, rollout=rollout, turns=turns, asks=asks)


def _sample(agent: Agent, meter: Meter, event: UsageSeen, now: Moment) -> UsageSample | None:
    """A sample for each hundredth of the window, or after five minutes; nothing new is none."""
    tokens = meter.tokens
    if tokens is None or tokens == meter.sampled:
        return None
    gauge = read(meter, agent.spec.context)
    if meter.sampled is not None and now.at < meter.sampled_at + SAMPLE_EVERY:
        step = gauge.limit * SAMPLE_SHARE if gauge.limit is not None else None
        if step is None or abs(tokens - meter.sampled) < step:
            return None
    return UsageSample(
        agent.name, agent.incarnation, meter.session_id, tokens, gauge.limit, gauge.source or "", now.wall
    )


def _notes(agent: Agent, before: Meter, after: Meter, gauge: Gauge) -> tuple[str, ...]:
    notes: list[str] = []
    known = read(before, agent.spec.context)
    if after.doubt and after.doubt != before.doubt:
        notes.append(f"its window is in doubt: {after.doubt}")
    elif gauge.limit is not None and (gauge.limit, gauge.source) != (known.limit, known.source):
        notes.append(f"its window is {gauge.limit:,} tokens, by its {gauge.source}")
    if before.tokens is not None and after.tokens is None:
        notes.append(f"its context held {before.tokens:,} tokens and was shortened")
    elif before.tokens is not None and after.tokens is not None and trend.is_fall(before.tokens, after.tokens):
        notes.append(f"its context fell from {before.tokens:,} to {after.tokens:,} tokens")
    return tuple(notes)


def _readings(gauge: Gauge, meter: Meter) -> Readings:
    return (
        ("tokens", gauge.tokens),
        ("limit", gauge.limit),
        ("limit by", gauge.source),
        ("share", None if gauge.share is None else round(gauge.share, 6)),
        ("context.threshold", gauge.threshold),
        ("turns", len(meter.turns)),
    )
