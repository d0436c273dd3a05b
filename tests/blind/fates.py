"""What became of each agent of a history, by what is true of its processes, held against the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phoenixd.core.behind.plan import BEHIND
from phoenixd.core.fleet import Fleet
from phoenixd.core.inbox import inbox
from phoenixd.core.unproven import UNFENCED
from tests.blind.stage import Stage
from tests.blind.tables import Outcome, Table, quantity
from tests.simulate.host import Process

KEYS = frozenset({"until", "killed", "alert", "unfenced", "never", "doubled", "not_before"})
FATES = frozenset({"same", "new", "none", "left", "waits"})


class Fates:
    """Remembers who lived when it mattered: at the last start of the daemon, or else at the last step."""

    def __init__(self, host: Stage, names: Sequence[str], fleet: Callable[[], Fleet]) -> None:
        self.host = host
        self.names = list(names)
        self.fleet = fleet
        self.since = self.killed_since = 0.0
        self.then: dict[str, list[Process]] = {}
        self.lost_at: dict[str, float] = {}

    def remember(self, *, is_start: bool) -> None:
        self.since = self.host.now
        self.killed_since = self.since if is_start else 0.0
        self.then = {name: self.host.alive(name) for name in self.names}

    def shim_lost(self, agent: str) -> None:
        self.lost_at[agent] = self.host.now

    def daemon_starts(self) -> None:
        self.lost_at.update(dict.fromkeys(self.names, self.host.now))

    def agents_of(self, what: str, since: float = 0.0) -> set[str]:
        """The agents that had that done to them, or that people were told of, at that time or later."""
        return {deed.agent for deed in self.host.deeds if deed.what == what and deed.at >= since}

    def seen(self, agent: str) -> list[Process]:
        return [one for one in self.host.alive(agent) if self.host.is_seen(one)]

    def asks(self, agent: str) -> bool:
        """Whether the inbox has something of it."""
        return any(item.agent == agent for item in inbox(self.fleet()))


def judge(case: Table, fates: Fates) -> Outcome:
    """The faults of one history. false: something was ended, doubled or started that must not be. missed: the rest."""
    expect: dict[str, Any] = dict(case["expect"])
    wrong: list[str] = list(fates.host.doubled)
    missed: list[str] = []
    for name in expect.keys() - KEYS:
        assert name in fates.names, f"the corpus has a verdict that nobody judges: {name}"
        assert expect[name] in FATES, f"the corpus has a fate that nobody judges: {expect[name]}"
        _judge_fate(name, expect[name], fates, wrong, missed)
    killed, never = fates.agents_of("kill", fates.killed_since), fates.agents_of("start", fates.since)
    if "killed" in expect and (more := sorted(killed - set(expect["killed"]))):
        wrong.append(f"killed: {', '.join(more)}")
    if "killed" in expect and (fewer := sorted(set(expect["killed"]) - killed)):
        missed.append(f"not killed: {', '.join(fewer)}")
    wrong += [f"{name}: was started, and never should be" for name in sorted(never & set(expect.get("never", ())))]
    for name, span in expect.get("not_before", {}).items():
        _judge_delay(name, quantity(span), fates, wrong)
    told = bool(fates.agents_of(BEHIND))
    if expect.get("alert", told) != told:
        missed.append(f"the operator was {'' if told else 'not '}told that the journal is behind")
    unfenced = fates.agents_of(UNFENCED)
    if sorted(expect.get("unfenced", unfenced)) != sorted(unfenced):
        missed.append(f"told that nothing proved the end of {sorted(unfenced)}, not of {sorted(expect['unfenced'])}")
    return Outcome(case["id"], tuple(wrong), tuple(missed))


def _judge_delay(name: str, span: float, fates: Fates, wrong: list[str]) -> None:
    since = fates.lost_at.get(name, 0.0)
    for deed in fates.host.deeds:
        if deed.what == "start" and deed.agent == name and since <= deed.at < since + span:
            wrong.append(f"{name}: was started after {deed.at - since:.1f} s, not before {span:g}")


def _judge_fate(name: str, fate: str, fates: Fates, wrong: list[str], missed: list[str]) -> None:
    alive, seen, then = fates.host.alive(name), fates.seen(name), fates.then.get(name, [])
    known = fates.fleet().agents.get(name)
    state = f"{known.state_name}: {known.reason}" if known is not None else "not known"
    said = f"{name}: {len(alive)} processes live, {len([one for one in alive if one in then])} of them lived then"
    said = f"{said}, not {fate} ({state})"
    match fate:
        case "same" | "left" if not then:
            raise AssertionError(f"{name}: nothing of it lived then that could go on")
        case "same" | "left" if [one for one in alive if one in then] != then or len(alive) > len(then):
            wrong.append(said)
        case "new" if any(one in then for one in seen) or len(seen) > 1:
            wrong.append(said)
        case "new" if not seen:
            missed.append(said)
        case "none" if alive:
            wrong.append(said)
        case "waits":
            if name in fates.agents_of("start", fates.since) | fates.agents_of("kill", fates.since):
                wrong.append(said)
            if not fates.asks(name):
                missed.append(f"{name}: nobody is asked about it ({state})")
        case _:
            pass
