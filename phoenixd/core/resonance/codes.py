"""What is heard of a session's codes, from the order that mints them to their being seen; of its footers and seed."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert, PlantCodes, ReadSeed, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.events.resonance import AnchorSeen, CodesPlanted, CodesSeen, FooterSeen, PlantingFailed, SeedRead
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, noting, restoring, verdict
from phoenixd.core.resonance.exchange import going_on
from phoenixd.core.resonance.state import WITH_THE_SESSION, Resonance, Step, Why


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
            reason=one_reason(seen.decision.reason, "the session seed is read: whether it was is not known"),
        )
    if not known.ordered:
        return seen.decision
    # Its session may have begun with other codes, or with none: these are told at a turn's end.
    again: Why = "missing" if known.ordered in WITH_THE_SESSION else known.ordered
    order = PlantCodes(agent.name, agent.incarnation, again)
    return replace(
        noting.noted(seen.decision, agent, replace(known, ordered=again)),
        actions=(*seen.decision.actions, order),
        reason=one_reason(seen.decision.reason, "its codes are planted: whether they were is not known"),
    )


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
    said = f"{fresh} of its codes prove nothing any more: they were seen in {event.where[: noting.MOST_WORD]}"
    fact = MarkerNoted(agent.incarnation, "seen", why=event.where[: noting.MOST_WORD])
    return Decision(
        replace(agent, resonance=replace(known, planting=burnt)), reason=said, facts=(fact,), weight="detail"
    )


def hear_footer(agent: Agent, event: FooterSeen, seen: Seen, now: Moment) -> Decision:
    """A footer is recovery data and no proof; that its role or state changed is told (R21, R35)."""
    known = agent.resonance
    footer = (event.role[: noting.MOST_WORD], event.state[: noting.MOST_WORD])
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
    read = replace(
        going, read=True, rebuilt=event.rebuilt, seed=event.words, deadline=None, checkpoint=event.checkpoint
    )
    said = f"the session seed is made anew: {event.rebuilt}" if event.rebuilt else "the session seed is whole"
    return Decision(replace(agent, resonance=replace(known, restoration=read)), reason=said)
