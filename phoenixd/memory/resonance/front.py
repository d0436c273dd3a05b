"""What a session is told of its marker: what stands at the front, so that its loss shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.resonance.session_seed import SessionSeed, seed_text
from phoenixd.documents.times import timestamp
from phoenixd.planting import anchor_text

CREW_TOLD = 24 * 3600.0
"""Seconds for which agents of one project are told that one of them forgot."""
FOOTER = (
    "End each significant answer with one line, in which CODE is the marker's code and STATE is Stable, Degraded or "
    "Recovering:\n:: SYSTEM :: [Resonance: CODE] [Role: {role}] [State: STATE]"
)


def front(agent: Agent, seed: SessionSeed | None) -> str:
    """The anchor of a run's session, and after a restoration the seed in its place; empty where there is none.

    A session that is resumed holds its anchor already: once more at its end, it would outlive the loss of its front.
    A session has begun when it has done something: the hook that tells of its start still waits for these words.
    """
    run, known = agent.run, agent.resonance
    if run is None or known is None or known.planting is None:
        return ""
    if run.mode is Mode.RESUME and not run.evidence:
        return ""
    role, footer = known.persona or agent.spec.role, agent.spec.resonance.footer
    restored = known.restoration
    is_in_place = restored is not None and known.is_restoring and restored.base < run.incarnation
    if is_in_place and not run.evidence and seed is not None:
        told = seed_text(seed, known.planting)
        return f"{told}\n{FOOTER.format(role=role)}" if footer else told
    return anchor_text(known.planting, role, known.project, footer)


def with_front(brief: str, told: str, agent: Agent) -> str:
    """What a session start prints: the front first, and in a session that goes on (a compaction) the brief first."""
    if not told:
        return brief
    begun = agent.run is not None and agent.run.evidence
    return f"{brief.rstrip()}\n\n{told}\n" if begun else f"{told}\n\n{brief}"


def project_named(spec: AgentSpec) -> str:
    """The project that an agent belongs to; empty where it belongs to none."""
    return project_of(spec) if spec.kind is Kind.ORCHESTRATOR else spec.project or ""


def crew_sentences(agent: Agent, others: Iterable[Agent], now: float) -> tuple[str, ...]:
    """What an agent is told of others of its project that lost their marker: what they said may rest on nothing."""
    project = project_named(agent.spec)
    found = []
    for other in others:
        known = other.resonance
        lost = known.restoration if known is not None else None
        if known is None or lost is None or other.spec.role == agent.spec.role:
            continue
        if not project or project_named(other.spec) != project:
            continue
        # A clock that was set back since puts the loss into the future.
        if abs(now - lost.began_wall) < CREW_TOLD:
            since = known.last_verified_wall
            from_when = f"since {timestamp(since)}, when it last knew it" if since is not None else "until then"
            found.append(
                f"{other.spec.role}, of the same project, had lost the beginning of its context by "
                f"{timestamp(lost.began_wall)}: what it said {from_when}, may rest on what it no longer knew."
            )
    return tuple(found)
