"""The first lines of `status`: what needs you, is everything alive, what happened since you looked, what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from phoenixd.api.history import Digest
from phoenixd.api.pages.layout import SET_IN, Page, clip, with_command, wrap
from phoenixd.api.values import Facts
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.alerts import DEGRADED, pressing
from phoenixd.core.glance import Seen, headcount, needs

SINCE_WHOLE = 60
"""Columns from which on what happened is told whole, on two lines where it has to be."""
NAMES_SHOWN = 3


def headline(
    rows: Sequence[Seen],
    facts: Facts,
    digest: Digest | None,
    here: Page,
    stale: Mapping[str, int],
    running_again: Collection[str],
) -> list[str]:
    """All of it. stale: how many open loops of an agent are stale; running_again: see history."""
    degraded = " DEGRADED." if _is_degraded(facts) else ""
    lines = wrap(f"{first_line(rows, facts.alerts)}{degraded}", here.width)
    if rows:
        lines += [*_since_line(digest, running_again, here), *_stale_line(stale, here), *_full_line(rows, here)]
    return [*lines, *_daemon(facts, here)]


def first_line(rows: Sequence[Seen], alerts: Sequence[StandingAlert]) -> str:
    """How many need a person, and how many of all agents are alive; what the others are. alerts: those of no agent."""
    need = needed(rows, alerts)
    if not rows:
        return f"{need}. No agents yet."
    count = headcount(rows)
    down = "".join(f", {number} {word}" for word, number in count.down.items() if number)
    told = f"{count.alive} of {len(rows)} alive{down}, {count.healing} healing, {count.unknown} unknown"
    return f"{need}. {told}."


def needed(rows: Sequence[Seen], alerts: Sequence[StandingAlert]) -> str:
    """How many agents and alerts of no agent need a person, and how many of these were seen, or are told to nobody."""
    number, needy = needs(rows, alerts), [row for row in rows if row.group == "needs_you"]
    seen = sum(row.is_acknowledged for row in needy) + sum(one.ack is not None for one in pressing(alerts))
    counts = ((seen, "acknowledged"), (sum(row.muted_until is not None for row in needy), "muted"))
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{number} {'needs' if number == 1 else 'need'} you{f' ({told})' if told else ''}"


def _since_line(digest: Digest | None, running_again: Collection[str], here: Page) -> list[str]:
    if digest is None:
        return []
    when, failed = f"Since {here.start(digest.since)}:", unstarted(digest)
    if not digest.deaths and failed:
        return [clip(f"{when} {failed}.", here.width)]
    if not digest.deaths:
        return [f"{when} no deaths." if digest.events else f"{when} nothing happened."]
    after = f" after {digest.repeated} more" if digest.repeated else ""
    parts = [f"{digest.healed} healed{after}"] if digest.healed else []
    # "healing" is what an agent is at, by its group alone: these are deaths, and most of their agents may be idle.
    again = {name: count for name, count in digest.unhealed_agents.items() if name in running_again}
    for told, counts in (("running again", again), ("not back", _without(digest.unhealed_agents, again))):
        if counts:
            parts.append(f"{sum(counts.values())} {told} ({_whose(counts)})")
    if digest.quarantined:
        parts.append(f"{digest.quarantined} quarantined ({_whose(digest.quarantined_agents)})")
    if digest.stopped_agents:
        parts.append(f"{sum(digest.stopped_agents.values())} stopped ({_whose(digest.stopped_agents)})")
    if digest.returned:
        parts.append(f"{digest.returned} came back, stopped and started since")
    if digest.released:
        parts.append(f"{digest.released} {'was' if digest.released == 1 else 'were'} down, started since")
    if digest.removed:
        parts.append(f"{digest.removed} removed since")
    least = "" if digest.complete else "at least "
    deaths = f"{least}{'1 death' if digest.deaths == 1 else f'{digest.deaths} deaths'}"
    more = f"; {failed}" if failed else ""
    said = f"{when} {deaths}: {', '.join(parts)}{more}."
    return wrap(said, here.width, SET_IN) if here.width >= SINCE_WHOLE else [clip(said, here.width)]


def _without(counts: Mapping[str, int], left_out: Collection[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in left_out}


def unstarted(digest: Digest) -> str:
    """Whose starts failed, with nothing that lives since; empty where all began."""
    return f"{_whose(digest.unstarted)} could not be started" if digest.unstarted else ""


def _whose(counts: Collection[str]) -> str:
    """Deaths are of agents: without their names three deaths look like three agents."""
    if len(counts) <= NAMES_SHOWN:
        return ", ".join(sorted(counts))
    return f"{len(counts)} agents"


def _stale_line(stale: Mapping[str, int], here: Page) -> list[str]:
    """Loops that have been open for too long are told without being asked for (P29)."""
    if not stale:
        return []
    total = sum(stale.values())
    whose = ", ".join(sorted(stale)) if len(stale) <= NAMES_SHOWN else f"{len(stale)} agents"
    said = f"{'1 open loop is' if total == 1 else f'{total} open loops are'} stale ({whose})."
    return with_command(said, "See: phoenixctl loops", here)


def _full_line(rows: Sequence[Seen], here: Page) -> list[str]:
    """Orchestrators that are to be handed over; any other kind shortens its context by itself."""
    full = [
        row.name
        for row in rows
        if row.kind == "orchestrator" and row.context is not None and row.context.verdict == "HANDOFF"
    ]
    if not full:
        return []
    whose = ", ".join(full) if len(full) <= NAMES_SHOWN else f"{len(full)} orchestrators"
    said = f"{whose}: the context is full, and a handoff is due."
    return with_command(said, f"See: phoenixctl handoff status {full[0]}", here)


def _is_degraded(facts: Facts) -> bool:
    return facts.halted is not None or any(one.kind == DEGRADED for one in facts.alerts)


def _daemon(facts: Facts, here: Page) -> list[str]:
    lines: list[str] = []
    if facts.halted is not None:
        lines += wrap(f"DEGRADED, nothing new is started: {facts.halted}", here.width)
    elif any(one.kind == DEGRADED for one in facts.alerts):
        lines += wrap(f"DEGRADED until all has been well for a while: {facts.degraded}", here.width)
    told = [one for one in facts.alerts if one.kind not in ("degraded", "terminal")]
    for one in told:
        lines += wrap(here.reaching(f"{one.kind}: {one.text}"), here.width, SET_IN)
    if facts.tmux is None:
        lines += wrap("The terminal server does not answer.", here.width)
    return [*lines, here.ending("See: phoenixctl doctor")] if lines else []
