"""What is heard of resonance: parts of the table. Each notes what happened; `follow` does what comes of it."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.actions import Alert, PlantCodes, ReadSeed, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision, Refusal, Seen
from phoenixd.core.events.orders import AgentWithdrawn, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.resonance import (
    AnchorSeen,
    CheckRequested,
    CodesPlanted,
    CodesSeen,
    FooterSeen,
    PlantingFailed,
    RestorationRequested,
    SeedRead,
)
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.hooks import (
    Compacted,
    Hook,
    PromptSubmitted,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnKept,
)
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, restoring, verdict
from phoenixd.core.resonance.exchange import going_on, was_given
from phoenixd.core.resonance.state import WITH_THE_SESSION, Challenge, Resonance, Step, Why

MOST_CALLS = 8
MOST_WORD = 80


def begin(decision: Decision, now: Moment) -> Decision:
    """A run is ordered: a new session begins with new codes, and a resumed one is asked for those that it has (X19)."""
    agent = decision.agent
    if agent is None or agent.run is None or not due.is_on(agent):
        return decision
    if not any(isinstance(action, Spawn) for action in decision.actions):
        return decision
    known = agent.resonance or Resonance()
    known = replace(known, challenge=None, asked=None, deferred=0, note="")
    if agent.run.mode is Mode.RESUME and known.planting is not None:
        asked = replace(known, due=known.due or "boot")
        return replace(decision, agent=replace(agent, resonance=asked))
    # What a resumed session is told at its start holds no anchor: one that has none is told it at a turn's end.
    is_resumed = agent.run.mode is Mode.RESUME
    why: Why = "missing" if is_resumed else "restoration" if known.is_restoring else "start"
    new = replace(
        known, planting=None, told=False, proven=False, ordered=why, state="not_applicable", turns=0, misses=0,
        compacted=False, due="restoration" if known.is_restoring else "", degraded=0, footer=("", ""),
        lost=known.lost if is_resumed else "",
    )  # fmt: skip
    # Before the spawn: a crash in between costs nothing, and no session is there without its anchor (R45, R46).
    order = PlantCodes(agent.name, agent.incarnation, why)
    return replace(decision, agent=replace(agent, resonance=new), actions=(order, *decision.actions))


def hear(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Note what a hook of the main thread says of checks, of the context, and of codes in what was said."""
    known, decision = agent.resonance, seen.decision
    if known is None or event.sub or not seen.is_news or not isinstance(agent.state, Starting | Running):
        return decision
    match event:
        case TurnKept():
            return _kept(agent, _burnt(known, event.text), event, seen, now)
        case TurnEnded():
            return _ended(agent, known, event, seen, now)
        case TurnFailed():
            failed = replace(known, challenge=_unkept(agent, known), turns=known.turns + 1, due=known.due or "error")
            return _with(decision, agent, failed)
        case PromptSubmitted():
            return _with(decision, agent, _prompted(agent, known, event))
        case Compacted():
            return _with(decision, agent, replace(known, compacted=True, due=known.due or "compaction"))
        case SessionStarted(beginning="startup" | "other", unheard=True) if _is_untold(agent, known):
            told = _with(decision, agent, replace(known, told=False, misses=0))
            return replace(told, reason=_said(told.reason, "it began unheard: it is told its codes at a turn's end"))
        case SessionStarted(beginning="clear") if known.planting is not None:
            emptied = replace(known, compacted=False, degraded=0, due="")
            return _joined(decision, due.plant(replace(agent, resonance=emptied), emptied, "clear", now))
        case _:
            return decision


def hear_call(agent: Agent, event: ToolStarted, seen: Seen, now: Moment) -> Decision:
    """A tool that is called in a check is noted: what comes after it may have been read somewhere."""
    challenge, known = going_on(agent), agent.resonance
    if challenge is None or known is None or event.sub or not seen.is_news or len(challenge.calls) >= MOST_CALLS:
        return seen.decision
    tool = " ".join((event.tool or "a tool").split())[:MOST_WORD]
    called = replace(challenge, calls=(*challenge.calls, tool))
    noted = _with(seen.decision, agent, replace(known, challenge=called))
    return replace(noted, reason=_said(noted.reason, f"it called {tool} in a check, where it was to use no tool"))


def hear_adoption(agent: Agent, event: RunAdopted, seen: Seen, now: Moment) -> Decision:
    """After a daemon start: a seed and codes that were ordered and did not come are ordered again."""
    known = agent.resonance
    if known is None or not event.unwatched or not isinstance(agent.state, Starting | Running):
        return seen.decision
    going = known.restoration
    if going is not None and going.step is Step.SEED and not going.read:
        reading = ReadSeed(agent.name, agent.incarnation)
        return replace(
            seen.decision,
            actions=(*seen.decision.actions, reading),
            reason=_said(seen.decision.reason, "the session seed is read: whether it was is not known"),
        )
    if not known.ordered:
        return seen.decision
    # Its session may have begun with other codes, or with none: these are told at a turn's end.
    again: Why = "missing" if known.ordered in WITH_THE_SESSION else known.ordered
    order = PlantCodes(agent.name, agent.incarnation, again)
    return replace(
        _with(seen.decision, agent, replace(known, ordered=again)),
        actions=(*seen.decision.actions, order),
        reason=_said(seen.decision.reason, "its codes are planted: whether they were is not known"),
    )


def _is_untold(agent: Agent, known: Resonance) -> bool:
    """Whether a session that began while no daemon lived may know no code: nobody may have written its first words.

    Its codes are then told at a turn's end. To ask for what nobody told would find a loss where there is none.
    """
    is_fresh = agent.run is not None and agent.run.mode is not Mode.RESUME
    return is_fresh and known.planting is not None and known.told and known.state != "intact"


def hear_planted(agent: Agent, event: CodesPlanted, seen: Seen, now: Moment) -> Decision:
    """Codes stand in anchor and seed; a check of codes that our own parser refuses would be none (F-RE-13)."""
    known = agent.resonance
    if known is None or not known.ordered:
        return Decision(agent)
    if fault := event.planting.fault():
        why = f"what was planted cannot be checked: {fault}"
        broken = replace(known, ordered=None, planting=None, state="unverifiable", note=why)
        alert = Alert(agent.name, restoring.CHECKS, why)
        return Decision(replace(agent, resonance=broken), (alert,), why)
    told = known.ordered in WITH_THE_SESSION
    persona = event.persona or agent.spec.role
    planted = replace(
        known, planting=event.planting, told=told, ordered=None, state="unverifiable", persona=persona,
        project=event.project, note="",
    )  # fmt: skip
    said = f"codes are planted ({due.REASONS[known.ordered]})" + (f"; {event.rebuilt}" if event.rebuilt else "")
    fact = MarkerNoted(agent.incarnation, "planted", why=known.ordered)
    return Decision(replace(agent, resonance=planted), reason=said, facts=(fact,), weight="detail")


def hear_failed_planting(agent: Agent, event: PlantingFailed, seen: Seen, now: Moment) -> Decision:
    """No codes: nothing can be verified, which is told, and they are ordered again when a check is due."""
    known = agent.resonance
    if known is None or not known.ordered:
        return Decision(agent)
    why = f"no codes could be planted: {event.why}"
    without = replace(known, ordered=None, planting=None, state="unverifiable", note=why, turns=0, due="")
    return Decision(replace(agent, resonance=without), (Alert(agent.name, restoring.CHECKS, why),), why)


def hear_anchor(agent: Agent, event: AnchorSeen, seen: Seen, now: Moment) -> Decision:
    """Its session was given its codes: from here on, not to know them is a miss."""
    known = agent.resonance
    if known is None or known.planting is None or known.proven or known.planting.marker.code != event.marker:
        return Decision(agent)
    proven = replace(known, told=True, proven=True)
    return Decision(replace(agent, resonance=proven), reason="its session has its codes", weight="detail")


def hear_seen(agent: Agent, event: CodesSeen, seen: Seen, now: Moment) -> Decision:
    """Codes stood where a tool can read them: they prove nothing any more."""
    known = agent.resonance
    if known is None or known.planting is None:
        return Decision(agent)
    codes = frozenset(event.codes)
    if (doubt := verdict.withdrawn(agent, known, codes, event.at)) is not None:
        return doubt
    burnt, challenge = known.planting.seen(" ".join(event.codes)), going_on(agent)
    fresh = len(burnt.burnt) - len(known.planting.burnt)
    if challenge is not None and known.planting.code(max(challenge.number, 0)) in codes:
        known = replace(known, challenge=replace(challenge, shown=True))
    if not fresh:
        return Decision(replace(agent, resonance=known)) if known is not agent.resonance else Decision(agent)
    said = f"{fresh} of its codes prove nothing any more: they were seen in {event.where[:MOST_WORD]}"
    fact = MarkerNoted(agent.incarnation, "seen", why=event.where[:MOST_WORD])
    return Decision(
        replace(agent, resonance=replace(known, planting=burnt)), reason=said, facts=(fact,), weight="detail"
    )


def hear_footer(agent: Agent, event: FooterSeen, seen: Seen, now: Moment) -> Decision:
    """A footer is recovery data and no proof; that its role or state changed is told (R21, R35)."""
    known = agent.resonance
    footer = (event.role[:MOST_WORD], event.state[:MOST_WORD])
    if known is None or known.footer == footer:
        return Decision(agent)
    changed = replace(known, footer=footer)
    alerts: tuple[Alert, ...] = ()
    said = f"its footer says {footer[1]}"
    if known.persona and footer[0] != known.persona:
        said = f"its footer names the role {footer[0]!r}, and it is {known.persona!r}"
        alerts = (Alert(agent.name, restoring.CHECKS, said),)
    elif footer[1] != "Stable":
        changed = replace(changed, due=known.due or "footer")
        alerts = (Alert(agent.name, restoring.CHECKS, f"{said}: a check follows"),) if footer[1] == "Degraded" else ()
    fact = MarkerNoted(agent.incarnation, "footer", verdict=footer[1], why=footer[0])
    return Decision(replace(agent, resonance=changed), alerts, said, facts=(fact,))


def hear_seed(agent: Agent, event: SeedRead, seen: Seen, now: Moment) -> Decision:
    """The seed is there: the new session can begin with it."""
    known = agent.resonance
    going = known.restoration if known is not None else None
    if known is None or going is None or going.step is not Step.SEED or going.read:
        return Decision(agent)
    read = replace(going, read=True, rebuilt=event.rebuilt, seed=event.words, deadline=None)
    said = f"the session seed is made anew: {event.rebuilt}" if event.rebuilt else "the session seed is whole"
    return Decision(replace(agent, resonance=replace(known, restoration=read)), reason=said)


def request_check(agent: Agent, event: CheckRequested, seen: Seen, now: Moment) -> Decision:
    """An operator, or who has important work for it, wants to know (R33)."""
    known = agent.resonance
    if refusal := _why_not(agent, known):
        return Decision(agent, refusal=refusal)
    assert known is not None
    asked = replace(known, due="key" if event.why else "asked", deferred=0)
    why = f" ({event.why[:MOST_WORD]})" if event.why else ""
    said = f"a check is asked for by {event.by}{why}: it comes at the next turn's end"
    return Decision(replace(agent, resonance=asked), reason=said, weight="story")


def request_restoration(agent: Agent, event: RestorationRequested, seen: Seen, now: Moment) -> Decision:
    """An operator wants a new session from the seed."""
    known = agent.resonance
    if known is not None and known.is_restoring:
        return Decision(agent, refusal=Refusal("conflict", f"{agent.name} is being restored already"))
    if known is None or not due.is_on(agent) or not isinstance(agent.state, Running):
        return Decision(agent, refusal=_off(agent))
    decision = restoring.lost(agent, known, f"ordered by {event.by}", now, by=event.by)
    return replace(decision, weight="story")


def hear_order(
    agent: Agent, event: StartRequested | StopRequested | RestartRequested | AgentWithdrawn, seen: Seen, now: Moment
) -> Decision:
    """An operator's stop, restart or removal ends a restoration at any step; a start after a loss begins anew."""
    known, decision = agent.resonance, seen.decision
    if known is None or decision.refusal is not None:
        return decision
    is_start = isinstance(event, StartRequested | RestartRequested)
    if known.is_restoring and not isinstance(event, StartRequested):
        over = replace(known, restoration=None, lost="", challenge=None)
        dropped = _with(decision, agent, over)
        return replace(dropped, reason=_said(dropped.reason, "its restoration is dropped"))
    is_left_alone = decision.agent is not None and isinstance(decision.agent.state, Starting | Running)
    if is_start and known.lost and not is_left_alone:
        rearmed = _with(decision, agent, restoring.rearmed(known))
        return replace(rearmed, reason=_said(rearmed.reason, "with a new session and new codes"))
    return decision


def _kept(agent: Agent, known: Resonance, event: TurnKept, seen: Seen, now: Moment) -> Decision:
    challenge = known.challenge
    one = armed.of(agent, challenge.id) if challenge is not None else None
    if challenge is None or one is None or challenge.kept or challenge.incarnation != agent.incarnation:
        return _with(seen.decision, agent, known)
    if one.over and not one.uses:
        return _with(seen.decision, agent, known)
    held, noted = due.asked(agent, known, challenge, event.text, now)
    decision = _with(seen.decision, agent, held)
    return replace(decision, facts=(*decision.facts, noted), weight=decision.weight or "detail")


def _ended(agent: Agent, known: Resonance, event: TurnEnded, seen: Seen, now: Moment) -> Decision:
    known = _dated(_burnt(known, event.text), now)
    challenge = known.challenge
    if challenge is not None and challenge.kept and event.check is not None:
        told = verdict.answered(replace(agent, resonance=known), known, challenge, event.check, now)
        return _joined(seen.decision, told)
    known = replace(known, challenge=_unkept(agent, known), turns=known.turns + 1)
    decision = _with(seen.decision, agent, known)
    why = due.why_due(agent, replace(known, turns=known.turns - 1))
    if not why or not due.is_on(agent) or known.lost:
        return decision
    if known.planting is None and not known.ordered:
        return _joined(decision, due.plant(replace(agent, resonance=known), known, "missing", now))
    if not (able := armed.can(agent)):
        if known.note == able.why_not:
            return decision
        noted = replace(known, note=able.why_not, state="unverifiable")
        decision = _with(decision, agent, noted)
        return replace(decision, reason=_said(decision.reason, f"it cannot be checked: {able.why_not}"))
    if challenge is None or not armed.standing(agent, now.at):
        return decision
    left = replace(known, deferred=known.deferred + 1)
    said = f"the check ({why}) waits for another turn's end: {left.deferred} of {due.MOST_DEFERRED}"
    decision = _with(decision, agent, left)
    return replace(decision, reason=_said(decision.reason, said))


def _prompted(agent: Agent, known: Resonance, event: PromptSubmitted) -> Resonance:
    challenge = going_on(agent)
    if challenge is None:
        return _burnt(known, event.text)
    if armed.are_ours(agent, event.text):
        return known
    return replace(_burnt(known, event.text), challenge=replace(challenge, disturbed=True))


def _unkept(agent: Agent, known: Resonance) -> Challenge | None:
    """An exchange that came to no answer is over; what stands ready stays, where another answer held the turn up."""
    challenge = known.challenge
    if challenge is None or was_given(agent, challenge):
        return None
    return replace(challenge, kept=False) if challenge.kept else challenge


def _burnt(known: Resonance, text: str) -> Resonance:
    """What was said can be copied from there."""
    if known.planting is None or (seen := known.planting.seen(text)) is known.planting:
        return known
    return replace(known, planting=seen)


def _dated(known: Resonance, now: Moment) -> Resonance:
    """A clock that was set back: nothing was verified in the future."""
    if known.last_verified_wall is None or known.last_verified_wall <= now.wall:
        return known
    return replace(known, last_verified_wall=now.wall)


def _why_not(agent: Agent, known: Resonance | None) -> Refusal | None:
    if known is None or not due.is_on(agent) or not isinstance(agent.state, Running):
        return _off(agent)
    if not (able := armed.can(agent)):
        return Refusal("conflict", f"{agent.name} cannot be checked: {able.why_not}")
    if known.is_restoring or known.lost:
        return Refusal("conflict", f"the marker of {agent.name} is lost", f"phoenixctl explain {agent.name}")
    return None


def _off(agent: Agent) -> Refusal:
    if not due.is_on(agent):
        remedy = f"set enabled = true in [agent.{agent.spec.role}.resonance]"
        return Refusal("conflict", f"{agent.name} has no marker: resonance is off for it", remedy)
    if not isinstance(agent.state, Running):
        return Refusal("conflict", f"{agent.name} is {agent.state_name}", f"phoenixctl start {agent.name}")
    message = f"the session of {agent.name} began before resonance was on: it has no marker"
    return Refusal("conflict", message, f"phoenixctl restart {agent.name} --fresh")


def _with(decision: Decision, agent: Agent, known: Resonance) -> Decision:
    """The decision with what is known now; `agent` is as the parts before left it."""
    if known is agent.resonance:
        return decision
    return replace(decision, agent=replace(agent, resonance=known))


def _joined(first: Decision, then: Decision) -> Decision:
    """Two decisions about one agent as one: the agent is that of the later."""
    return replace(
        first,
        agent=then.agent,
        actions=(*first.actions, *then.actions),
        reason=_said(first.reason, then.reason),
        readings=(*first.readings, *then.readings),
        facts=(*first.facts, *then.facts),
        weight=then.weight if first.weight is None and not first.facts and not first.actions else None,
    )


def _said(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))
