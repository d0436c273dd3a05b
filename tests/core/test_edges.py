"""What plain rules say at their edges, as it was when it was last written down: one fact changed, and two at once.

Of two changes at once stand those alone that come out otherwise than each by itself; behind each change stands a digest
of what it comes to with each other one. `python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from hashlib import sha256
from itertools import combinations
from typing import Any

import pytest

from phoenixd.core import restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Lease, PromptKind, Waiting, WorkWatch
from phoenixd.core.agent.run import LastExit, Mode, Run, Session
from phoenixd.core.behind.world import SeenRun, Trace, Wish
from phoenixd.core.briefing import Calendar, slot_before
from phoenixd.core.fleet import Fleet
from phoenixd.core.limits import waits
from phoenixd.core.limits.groups import groups_of
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.meter.reading import Meter, claimed, read
from phoenixd.core.moment import Moment
from phoenixd.core.parts import View
from phoenixd.core.rules import ContextRules, LimitRules, RestartPolicy
from phoenixd.core.seat import lost
from phoenixd.core.spec import Kind
from phoenixd.core.tasks import verdict as tasks
from phoenixd.core.tasks.state import Cut, Outcome, Task
from phoenixd.core.treatment import outcome as outcomes
from phoenixd.core.treatment.case import Treated
from phoenixd.core.turn import due
from tests.agents import an_agent
from tests.core.handing import HandoffStory, orchestrator
from tests.core.recorded.rendering import value
from tests.core.recorded.tables import compare
from tests.core.story import EPOCH, claude, spec

NOW = Moment(10_000.0, EPOCH, 0.5)
Rule = Callable[[dict[str, Any]], Any]
Edges = dict[str, tuple[Any, ...]]


def rows(rule: Rule, base: dict[str, Any], edges: Edges) -> Iterator[str]:
    """Let a rule judge a base, each change of it, and the pairs of changes that mean something else together."""

    def judged(**changed: Any) -> str:
        return value(rule({**base, **changed}))

    yield f"as it is: {judged()}"
    changes = [(name, one) for name, found in edges.items() for one in found]
    alone = [judged(**{name: one}) for name, one in changes]
    beside = [""] * len(changes)
    others = []
    for (first, (name, one)), (second, (other, two)) in combinations(enumerate(changes), 2):
        if name == other:
            continue
        found = judged(**{name: one, other: two})
        beside[first] += found
        beside[second] += found
        if found not in (alone[first], alone[second]):
            others.append(f"{name}={value(one)} {other}={value(two)}: {found}")
    for (name, one), found, more in zip(changes, alone, beside, strict=True):
        yield f"{name}={value(one)}: {found} #{sha256(more.encode()).hexdigest()[:6]}"
    yield from others


def of(kind: type[Any], given: dict[str, Any], **fixed: Any) -> Any:
    """A dataclass of those of the facts that are its fields."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: one for name, one in given.items() if name in names}, **fixed)


END = {"incarnation": 2, "code": 1, "signal": None, "cause": "exit", "lived": 60.0, "at_wall": EPOCH}
ENDS: Edges = {
    "code": (0, 75, 126, 127, 130, 124, None), "signal": (2, 9), "cause": ("hung", "overtime", "reboot", "not started"),
    "lived": (1.0, 2.0, 4.9, 5.0, 10.0, 300.0), "ran": (False,), "left": (True,), "limited": (True,),
    "oom": ("agent", "host"), "proof": ("exit",),
}  # fmt: skip
RUN = Run(2, "run-2", Mode.RESUME, "s", PromptKind.CONTINUE, 9_000.0, EPOCH - 60)


def agent_of(given: dict[str, Any]) -> Agent:
    one = claude(kind=given.get("kind", Kind.RESIDENT), task=given.get("task", ""), turn_of=given.get("turn_of"))
    one = replace(one, restart=replace(one.restart, policy=given.get("policy", RestartPolicy.ON_FAILURE)))
    known = ("crashes", "hooks_seen", "short_runs", "session")
    return an_agent(spec=one, **{name: given[name] for name in known if name in given})


def death(given: dict[str, Any]) -> Any:
    return restart.judge_death(agent_of(given), of(LastExit, given), NOW)


def session(given: dict[str, Any]) -> Any:
    run = replace(
        RUN, **{name: given[name] for name in ("mode", "prompt", "session_seen", "evidence") if name in given}
    )
    return restart.judge_session(
        agent_of(given), run, of(LastExit, given), given["turn_open"], given["deliberate"], given["failed"]
    )


def short(given: dict[str, Any]) -> Any:
    return restart.short_runs(agent_of(given), of(LastExit, given))


def start(given: dict[str, Any]) -> Any:
    return restart.next_start(agent_of(given), NOW, given["fresh"])


SESSION = Session("s", EPOCH - 7200, EPOCH - 3600)
HISTORIES = ((), (9_000.0,), (8_200.0, 8_201.0), (9_000.0, 9_100.0, 9_200.0, 9_300.0))
CALL = Lease("t1", 9_950.0, 9_700.0, tool="Bash", command="make", ticks=970_000, most=12_000.0)
WAITING = Waiting("permission", "Bash make", EPOCH - 90, tool="Bash", since=9_910.0)
TURN = {"turn_open": True, "evidence_at": 9_900.0, "evidence_wall": EPOCH - 100, "hooks_seen": True, "began": 9_000.0,
        "up_since": 9_001.0, "prompt_seen": True}  # fmt: skip
TURNS: Edges = {
    "turn_open": (False,), "leases": ((CALL,), (replace(CALL, ticks=None), replace(CALL, until=11_000.0))),
    "asks": ("permission", "limit"), "waiting": (WAITING, replace(WAITING, seen=True, touched=9_930.0)),
    "stale_claim": (9_000.0,), "claim_due": (9_990.0,), "looked_at": (9_901.0, 9_980.0), "hooks_seen": (False,),
    "work": (WorkWatch(970_000, 9_800.0), WorkWatch(970_000, 9_800.0, asked=9_920.0)), "waited": (50.0,),
    "is_parked": (True,), "prompt_seen": (False,), "deaf_since": (9_950.0,), "kind": (Kind.LOOP,),
}  # fmt: skip


def of_turn(rule: Callable[[Activity, View], Any]) -> Rule:
    def judged(given: dict[str, Any]) -> Any:
        one = claude(kind=given.get("kind", Kind.RESIDENT))
        return rule(
            of(Activity, given), of(View, {**given, "turn_open": False}, spec=one, incarnation=2, state="running")
        )

    return judged


TREATED = Treated(1, "a", 2, "park", "limits", EPOCH - 900, EPOCH - 800, 3, EPOCH - 500, 3, 3000.0, 9_500.0)
TREATEDS: Edges = {
    "productive": (None,), "turns": (4, 5), "worked": (3099.0, 3100.0, 3599.0), "since": (None, 9_900.0, 9_901.0),
    "outcome": ("failed",), "ended": (100.0, 600.0),
}  # fmt: skip


def of_treated(rule: Callable[[Treated], Any]) -> Rule:
    return lambda given: rule(replace(TREATED, **given))


def wait(given: dict[str, Any]) -> Any:
    return waits.wait(
        LimitRules(), given["kind"], given["reset"], given["setbacks"], replace(NOW, chance=given["chance"])
    )


def task(given: dict[str, Any]) -> Any:
    end = of(LastExit, {**given, "incarnation": 3}) if given["began"] else None
    found = of(Task, given, id="t1", agent="a-t1")
    return tasks.judge(found, end, of(Outcome, given), stopped=given["stopped"], wall=NOW.wall)


def gauge(given: dict[str, Any]) -> Any:
    return read(of(Meter, given), ContextRules(limit=given["limit"]), given["threshold"])


def slot(given: dict[str, Any]) -> Any:
    return slot_before(Calendar(given["hour"], given["stagger"], given["offset"]), given["name"], given["now"])


LIVING = SeenRun(1, "run-1", "s", "fresh", 20, 1, EPOCH, 10, "boot")
SEATS = {"empty": Fleet(), "works": HandoffStory().works().fleet, "passes on": HandoffStory().drained().fleet}


def generations(given: dict[str, Any]) -> Any:
    traces = [replace(Trace(name), wish=wish, living=living) for name, wish, living in given["traces"]]
    fleet = replace(SEATS[given["seat"]], retired=given["retired"])
    return tuple((one.name, one.generation) for one in lost.generations((orchestrator(), spec("b")), fleet, traces))


TABLES: dict[str, tuple[Rule, dict[str, Any], Edges]] = {
    "deaths": (death, {**END, "crashes": ()}, {
        **ENDS, "crashes": HISTORIES[1:], "kind": (Kind.LOOP, Kind.EPHEMERAL), "task": ("t1",), "turn_of": ("a",),
        "policy": (RestartPolicy.ALWAYS, RestartPolicy.NEVER),
    }),
    "sessions": (session, {**END, "session": SESSION, "hooks_seen": True, "turn_open": False, "deliberate": False,
                           "failed": False, "session_seen": True, "evidence": True}, {
        **ENDS, "session": (None, replace(SESSION, hangs=1), replace(SESSION, spoiled="it was")), "turn_open": (True,),
        "hooks_seen": (False,), "deliberate": (True,), "failed": (True,), "session_seen": (False,),
        "evidence": (False,), "mode": (Mode.FRESH,), "prompt": (PromptKind.GOAL, PromptKind.NONE),
        "short_runs": (1,), "kind": (Kind.LOOP,),
    }),
    "short-runs": (short, {**END, "short_runs": 1}, {**ENDS, "kind": (Kind.LOOP,)}),
    "starts": (start, {"session": SESSION, "fresh": False}, {
        "session": (None, replace(SESSION, spoiled="it was"), replace(SESSION, turn_open=True),
                    replace(SESSION, active_wall=EPOCH - 86_400.0), replace(SESSION, active_wall=EPOCH - 86_401.0)),
        "fresh": (True,), "kind": (Kind.LOOP,), "task": ("t1",),
    }),
    "ends-of-silence": (of_turn(due.overdue), TURN, TURNS),
    "looks": (of_turn(due.look_due), TURN, TURNS),
    "looks-at-starts": (of_turn(lambda activity, seen: due.start_look_due(activity, seen, 9_950.0)), TURN, TURNS),
    "looks-at-calls": (of_turn(due.call_due), TURN, TURNS),
    "claims": (of_turn(lambda activity, seen: due.untouched_by(activity, seen, 900.0, NOW)), TURN, TURNS),
    "turns-that-end": (of_treated(lambda one: outcomes.turn_ends(one, 9_900.0, NOW)), {}, TREATEDS),
    "turns-that-are-over": (of_treated(lambda one: outcomes.turn_is_over(one, 9_900.0, NOW)), {}, TREATEDS),
    "turns-that-are-shown": (of_treated(lambda one: outcomes.turn_is_shown(one, True, NOW)), {}, TREATEDS),
    "turns-that-go-on": (of_treated(lambda one: outcomes.time_passes(one, 9_400.0, 9_999.0, NOW)), {}, TREATEDS),
    "lives-that-go-on": (of_treated(lambda one: outcomes.life_passes(one, 9_400.0, 9_999.0, NOW)), {}, TREATEDS),
    "lives-that-are-due": (of_treated(lambda one: outcomes.life_due(one, 9_400.0)), {}, TREATEDS),
    "intervals": (lambda given: outcomes.interval(**given), {"held": 3, "tried": 4}, {"held": (0, 4), "tried": (0, 5)}),
    "waits": (wait, {"kind": ParkingKind.LIMIT, "reset": None, "setbacks": 0, "chance": 0.5}, {
        "kind": (ParkingKind.OVERLOAD,), "setbacks": (1, 2, 30, 31), "chance": (0.0,),
        "reset": (EPOCH, EPOCH - 300, EPOCH - 301, EPOCH + 60, EPOCH + 32 * 86_400.0, EPOCH + 32 * 86_400.0 + 1),
    }),
    "tasks": (task, {**END, "began": True, "stopped": False, "runs": 1}, {
        **ENDS, "began": (False,), "stopped": (True,), "runs": (2, 3), "spared": (1, 5), "tries": (1, 9),
        "stop": ("done", "failed", "interrupted", "open", "missing"), "seal": ("sealed", "unsealed", "cut"),
        "words": ("why",), "problem": ("no report",), "sealing": (2, 3),
        "cut": (Cut("timeout", "45 min"), Cut("canceled", "by operator")),
    }),
    "gauges": (gauge, {"tokens": 100_000, "limit": 200_000, "threshold": None}, {
        "tokens": (None, 0, 143_999, 144_000, 179_999, 180_000, 190_000), "limit": (None,), "threshold": (0.5,),
        "status_line": (150_000,), "by_model": (1_000_000,), "rollout": (110_000,), "doubt": ("it shrank",),
        "turns": ((90_000, 130_000), (60_000, 80_000, 100_000)),
    }),
    "claimed-windows": (lambda given: claimed(of(Meter, given), given["window"], given["of"], given["problem"]),
                        {"window": 200_000, "of": "opus", "problem": ""}, {
        "window": (None, 999, 1_000, 100_000_000, 100_000_001), "of": ("haiku",), "problem": ("no JSON",),
        "status_line": (200_000, 200_001), "model": ("opus",), "doubt": ("it shrank",),
    }),
    "hours-of-briefs": (slot, {"hour": 10_800.0, "stagger": 0.0, "offset": 0.0, "name": "a", "now": EPOCH}, {
        "now": (EPOCH + 10_799, EPOCH + 10_800, EPOCH + 90_000), "stagger": (3600.0,), "offset": (7200.0, -7200.0),
        "name": ("b", "shop-api"), "hour": (0.0,),
    }),
    "generations": (generations, {"traces": (), "seat": "empty", "retired": {}}, {
        "seat": ("works", "passes on"), "retired": ({"o": 1}, {"o": 0, "o-g2": 1}),
        "traces": (
            (("o", Wish("running", 3), None),), (("o", Wish("removed", 3), None),), (("o", None, LIVING),),
            (("o", None, None), ("b", Wish("running", 3), None)), (("o-g2", Wish("stopped", 3), None),),
            (("o", Wish("removed", 3), None), ("o-g2", Wish("running", 4), LIVING)),
        ),
    }),
    "groups": (lambda given: groups_of(claude(**given)), {}, {"account": ("work",), "harness": ("command",)}),
    "accounts": (lambda given: waits.account_of(spec(**given)), {}, {"name": ("b",), "account": ("work",)}),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_rule_says_at_its_edges_what_it_said(name: str) -> None:
    compare(name, rows(*TABLES[name]))
