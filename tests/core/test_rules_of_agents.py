"""What each plain rule says of an agent in each of many situations, as it was when it was last written down.

The rules are found by their signatures: they ask an agent, or an agent and the time. Of a rule stand the situations in
which it says another thing than in most. `python -m tests.core.recorded` writes the table anew.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import attrgetter
from typing import Any, cast

import phoenixd.core
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Lease, LostJobs, Waiting, WorkWatch
from phoenixd.core.agent.run import Cut, Deaf, Disproved
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Running, Stopped
from phoenixd.core.breaker import HalfOpen, Open, Tally
from phoenixd.core.decision import Decision
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.merit import Record
from phoenixd.core.moment import Moment
from phoenixd.core.resonance.state import Resonance, Restoration, Step
from phoenixd.core.spec import Kind
from tests.core.handing import orchestrator
from tests.core.recorded.keeping import AGAIN, EDGES
from tests.core.recorded.rendering import changes, value
from tests.core.resonating import ResonanceStory, resonant
from tests.core.story import EPOCH, Story, claude, spec

TABLE = EDGES / "rules-of-agents.txt"
LONGEST = 100
"""Characters of an answer that stand in the table."""
NOT_ASKED = {"Alert", "Marks", "Fleet"}
"""What a rule gives back that is made of much else."""


def story(agent: Story, *happens: Callable[[Story], object]) -> Agent:
    for one in happens:
        one(agent)
    return agent.agent


def told(kind: str, **details: Any) -> Callable[[Story], object]:
    return lambda story: story.hook(kind, **details)


def active(agent: Agent, **changes: Any) -> Agent:
    assert isinstance(agent.state, Running)
    return replace(agent, state=replace(agent.state, activity=replace(agent.state.activity, **changes)))


def running(agent: Agent, **changes: Any) -> Agent:
    assert isinstance(agent.state, Running)
    return replace(agent, state=replace(agent.state, run=replace(agent.state.run, **changes)))


def situations() -> Iterator[tuple[str, Agent, Moment]]:
    at = Story(claude()).works()
    now = replace(at.now, at=at.now.at + 60.0, wall=at.now.wall + 60.0)
    works = at.agent
    rests = story(Story(claude()).works(), told("stop"))
    plain = Story(spec()).works().agent
    asks = Waiting("permission", "Bash make", EPOCH - 90, tool="Bash", since=now.at - 50.0)
    call = Lease("t1", now.at - 50, now.at - 40, tool="Bash", command="make")
    limit = Parking(ParkingKind.LIMIT, now.wall + 600.0, now.at - 300.0, "it met its limit")

    def held(parking: Parking, **changes: Any) -> Agent:
        return replace(works, limits=replace(works.limits, parking=parking), **changes)

    for name, agent in {
        "it works": works, "it rests": rests, "a command works": plain,
        "a loop works": Story(claude(kind=Kind.LOOP)).works().agent,
        "an orchestrator works": Story(orchestrator()).works().agent,
        "a worker works": replace(works, spec=replace(works.spec, kind=Kind.EPHEMERAL, task="t1")),
        "one of a sequence works": replace(works, spec=replace(works.spec, kind=Kind.LOOP, turn_of="b")),
        "its marker is intact": ResonanceStory().works().agent,
        "codex works": Story(claude(harness="codex")).works().agent,
        "it starts": story(Story(claude()), Story.start),
        "it started": story(Story(claude()), Story.start, Story.started),
        "it is stopped": replace(works, state=Stopped(), desired=Desired.STOPPED),
        "it failed": replace(works, state=Stopped(failed=True)),
        "nobody started it": Story(claude(autostart=False)).agent,
        "it is being stopped": story(Story(claude()).works(), Story.stop),
        "it is being restarted": story(Story(claude()).works(), Story.restart),
        "it backs off": story(Story(claude()).works(), lambda one: one.exited(1)),
        "it is given up": replace(works, state=Quarantined("crashes", counted=True)),
        "it is parked": held(limit, state=Parked()),
        "an outage holds it": held(replace(limit, kind=ParkingKind.OUTAGE)),
        "it owes a turn": held(replace(limit, owes=True)),
        "it was told to go on": held(replace(limit, owes=True, asked=now.at - 9)),
        "it waits for a limit": held(limit),
        "its limit is over": held(replace(limit, until_wall=now.wall)),
        "it asks a person": active(works, waiting=asks),
        "its dialog is dismissed": active(works, waiting=replace(asks, dismissed=True)),
        "its question is veiled": active(works, waiting=replace(asks, veiled=True, hold=3)),
        "it is in a call": active(works, leases=(call,)),
        "its call is a subagent's": active(works, leases=(replace(call, is_subagent=True),)),
        "its call is looked at": active(works, leases=(call,), work=WorkWatch(970_000, now.at - 30)),
        "it was silent for long": active(works, evidence_at=now.at - 900.0, evidence_wall=now.wall - 900.0),
        "it was silent for a while": active(works, evidence_at=now.at - 899.9),
        "its heartbeat is old": active(works, stale_claim=now.at - 900.0),
        "its screen was looked at": active(works, looked_at=now.at - 1.0),
        "its process is gone": replace(works, state=replace(works.state, exit_due=now.at + 1.0)),  # type: ignore[arg-type]
        "no prompt was seen": running(works, prompt_seen=False, evidence=False),
        "its shim is deaf": running(works, deaf=Deaf(now.at - 31, 0.0, "silent")),
        "it began just now": running(works, exec_at=now.at - 1.0, began=now.at - 1.0),
        "it tells nothing of turns": running(plain, exec_at=now.at - 31.0, began=now.at - 31.0),
        "no hooks came": replace(works, hooks_seen=False),
        "it lost jobs": replace(works, lost=LostJobs(1, ("x",), EPOCH)),
        "its report was disproved": replace(works, disproved=(Disproved("task t1", ("x",), EPOCH),)),
        "its answer was cut": replace(works, cut=Cut(1, "output_limit", EPOCH, now.wall)),
        "its breaker is open": replace(works, breaker=Open(Tally(), "no progress", now.at - 60.0, EPOCH)),
        "it is warned": replace(works, breaker=HalfOpen(Tally(), "warning", "no progress")),
        "it is on trial": replace(works, breaker=HalfOpen(Tally(), "trial", "no progress")),
        "it died before": replace(works, record=Record((now.at - 5.0,), died=True)),
        "it is to be removed": replace(works, removing=True),
        "it is wanted down": replace(works, desired=Desired.STOPPED),
        "its session is spoiled": replace(works, session=replace(works.session, spoiled="refused")),  # type: ignore[type-var]
        "its session is old": replace(works, session=replace(works.session, active_wall=EPOCH - 90_000.0)),  # type: ignore[type-var]
        "it has no session": replace(works, session=None),
    }.items():  # fmt: skip
        yield name, agent, now
    marked = Story(resonant()).works().agent
    for step in Step:
        going = Restoration(step, "two checks were missed", EPOCH, now.at - 100.0, 1)
        yield f"restored: {step}", replace(marked, resonance=Resonance(state="lost", restoration=going)), now
    yield "its marker is lost", replace(marked, resonance=Resonance(state="lost", lost="no seed")), now
    due = BackingOff(now.at, *(getattr(works.run, name) for name in ("mode", "prompt")))
    yield "its start is due", replace(works, state=due), now


SITUATIONS = tuple(situations())
"""Made before any test begins: what is decided on the way to them is no story of this one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function that asks an agent, or an agent and the time; some are asked also where there is none."""

    asks: Callable[..., Any]
    many: int = 1
    may_be_none: bool = False

    def __call__(self, agent: Agent, now: Moment) -> Any:
        return self.asks(*(agent, now)[: self.many])


def rules() -> dict[str, Rule]:
    """Every function and property of the core that asks an agent, or an agent and the time."""
    found = {f"Agent.{name}": Rule(attrgetter(name)) for name, one in vars(Agent).items() if isinstance(one, property)}
    for info in pkgutil.walk_packages(phoenixd.core.__path__, "phoenixd.core."):
        for name, one in vars(importlib.import_module(info.name)).items():
            if not inspect.isfunction(one) or one.__module__ != info.name:
                continue
            signature = inspect.signature(one)
            asks = [parameter.annotation for parameter in signature.parameters.values()]
            if not asks or asks[0] not in ("Agent", "Agent | None") or signature.return_annotation in NOT_ASKED:
                continue
            if asks[1:] in ([], ["Moment"]):
                short = f"{info.name.removeprefix('phoenixd.core.')}.{name}"
                found[short] = Rule(one, len(asks), asks[0] != "Agent")
    return found


def answer(rule: Rule, agent: Agent, now: Moment) -> str:
    """What a rule says; a rule that is asked of others alone says so by what it raises."""
    try:
        found = rule(agent, now)
        found = tuple(found) if inspect.isgenerator(found) else found
    except (AssertionError, AttributeError, KeyError, LookupError, TypeError) as refused:
        return type(refused).__name__
    if isinstance(found, Decision):
        becomes = tuple(changes("", agent, found.agent)) if found.agent is not None else ()
        return value((found.reason, *found.actions, *(fact for fact in found.facts), *becomes))
    if isinstance(found, Agent):
        return value(tuple(changes("", agent, found)))
    return value(found)


def answers() -> dict[str, list[str]]:
    """Of each rule what it says in most situations, and in which it says something else."""
    told: dict[str, list[str]] = {}
    for name, rule in sorted(rules().items()):
        each = [(clipped(answer(rule, agent, now)), situation) for situation, agent, now in every()]
        each += [(answer(rule, cast(Agent, None), SITUATIONS[0][2]), "there is none")] * rule.may_be_none
        most, _ = Counter(one for one, _ in each).most_common(1)[0]
        others = {one for one, _ in each} - {most}
        told[name] = [f"{name}: {most}"]
        told[name] += [
            f"    {one}: {', '.join(where for other, where in each if other == one)}" for one in sorted(others)
        ]
    return told


def every() -> Iterator[tuple[str, Agent, Moment]]:
    """The situations of one agent alone, and those that other agents, seats and tasks bring it into."""
    from tests.core.fleets.every import FLEETS  # They are made of the situations here.

    yield from SITUATIONS
    names = {situation for situation, _, _ in SITUATIONS}
    yield from ((one.situation, one.agent, one.now) for one in FLEETS if one.situation not in names)


def clipped(said: str) -> str:
    """What is long by its beginning, with a digest of all of it."""
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}... #{sha256(said.encode()).hexdigest()[:6]}"


def test_a_plain_rule_says_of_each_situation_what_it_said() -> None:
    """A rule that is new, or that went, changes nothing for the others."""
    found = answers()
    if AGAIN in os.environ:
        TABLE.write_text("\n".join((*(line for rows in found.values() for line in rows), "")), encoding="utf-8")
    rows = TABLE.read_text(encoding="utf-8").splitlines()
    begins = [number for number, row in enumerate(rows) if not row.startswith(" ")]
    kept = [rows[begin:end] for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True)]
    names = [one[0].partition(":")[0] for one in kept]
    said = [row for name in names for row in found.get(name, [])]
    before = [row for name, one in zip(names, kept, strict=True) if name in found for row in one]
    assert said == before, "if that is meant: python -m tests.core.recorded"
