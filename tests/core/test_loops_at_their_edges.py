"""What iterations, commits and alerts come to at their edges, as it was last written down.

As in tests/core/test_decisions_at_their_edges.py. `python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import alerts, durability, progress
from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.standing import Ack, InboxItem, StandingAlert
from phoenixd.core.agent.state import Desired, Outage
from phoenixd.core.breaker import HalfOpen, Open, Signals, Tally
from phoenixd.core.decision import Decision
from phoenixd.core.durability import Durability, Episode
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.iteration import Closing, Opening, Underway
from phoenixd.core.moment import Moment
from phoenixd.core.spec import BreakerRules, Kind, LoopRules
from phoenixd.core.work import Survey
from tests.core.recorded.keeping import AGAIN, EDGES
from tests.core.recorded.rendering import value
from tests.core.story import EPOCH
from tests.core.test_decisions_at_their_edges import Rule, Said, came, changed, rows
from tests.core.test_edges import Edges, of
from tests.core.test_rules_at_their_edges import STATES, WORKS

NOW = Moment(10_000.0, EPOCH, 0.5)
LOOP = replace(WORKS, spec=replace(WORKS.spec, kind=Kind.LOOP, harness="command"))
TALLY = Tally(9, last_progress=5, seen=("git:old",), no_progress=2)

# Iterations.

CLOSING = Closing(3, "git:old", Signals(), "", 9_990.0, survey=Survey())
UNDERWAY = Underway(3, "git:old", survey=Survey())


def loop_of(given: dict[str, Any]) -> Agent:
    spec = replace(LOOP.spec, **given.get("spec", {}))
    fields = {name: given[name] for name in ("outage", "breaker", "rounds", "iteration", "desired") if name in given}
    return replace(LOOP, **{"state": STATES[given["is"]], "spec": spec, **fields})


def measured(given: dict[str, Any]) -> Said:
    agent = loop_of(given)
    if given["lost"]:
        return came(agent, progress.decide(agent, MeasurementLost("a"), NOW))
    survey = Survey() if given["surveyed"] else None
    event = WorkMeasured(
        "a", given["number"], given["at_end"], given["after"], "git is slow", done=given["done"], survey=survey
    )
    return came(agent, progress.decide(agent, event, NOW))


def ended(given: dict[str, Any]) -> Said:
    agent = loop_of(given)
    end = of(LastExit, {"incarnation": 3, "code": 1, "signal": None, "cause": "exit", "lived": 60.0, "at_wall": EPOCH,
                        **given})  # fmt: skip
    before = replace(agent, state=STATES[given["was"]])
    return came(agent, progress.close(before, Decision(agent, reason="it ended"), end, NOW))


def overdue(given: dict[str, Any]) -> Said:
    agent = loop_of(given)
    return came(agent, progress.overdue(agent, NOW))


# Commits.


def disk(given: dict[str, Any]) -> Said:
    known: Durability = of(Durability, given)
    told = {
        "landed": known.landed(NOW.at), "failed": known.failed("it is full", NOW.at), "missed": known.missed(NOW.at),
        "passed": known.passed(NOW.at), "room": known.room(None, NOW.at), "no room": known.room("little", NOW.at),
        "begun": known.begun(NOW.at),
    }  # fmt: skip
    after = told[given["what"]]
    return (
        value((known.due(NOW.at), known.halts(NOW.at), known.trouble, known.wants_probe(NOW.at), known.latency)),
        *map(value, durability.told(known, after)),
        *changed(known, after),
    )


# Alerts.

ITEM = InboxItem(4, "a", 1, "permission", "Bash make", "hash", EPOCH - 90, "answer", hold=1)
STANDS = StandingAlert(4, "permission", "Bash make", EPOCH - 90, 1)
BRIEF = StandingAlert(5, "brief", "it is old", EPOCH - 90, 1, watched=True)
HUNG = StandingAlert(6, "hung", "it hung", EPOCH - 90, 0)


def settled(given: dict[str, Any]) -> Said:
    agent = replace(WORKS, state=STATES[given["is"]], alerts=given["stands"], items=given["items"])
    before = (*given["stands"], *given["cleared"])
    after, actions, number = alerts.settle(
        before, agent, given["actions"], 7, given["why"], NOW, given["called"], muted=given["muted"]
    )
    return (f"next: {number}", *map(value, actions), *changed(agent, after))


TABLES: dict[str, tuple[Rule, dict[str, Any], Edges]] = {
    "iterations-that-are-measured": (measured, {
        "is": "backs off", "iteration": CLOSING, "number": 3, "at_end": True, "after": "git:new", "done": False,
        "lost": False, "surveyed": True, "breaker": HalfOpen(TALLY, "trial", "t"), "rounds": 1,
        "desired": Desired.RUNNING,
    }, {
        "is": ("is parked", "is down", "is ended"),
        "iteration": (None, Opening(3, 9_990.0), UNDERWAY, replace(CLOSING, before=None),
                      replace(CLOSING, before="tree:old"), replace(CLOSING, survey=None),
                      replace(CLOSING, done="it said so"), replace(CLOSING, signals=Signals(excuse="a limit"))),
        "number": (4,), "at_end": (False,), "after": (None, "git:old", "tree:new"), "done": (True,), "lost": (True,),
        "surveyed": (False,), "outage": (Outage("harness claude", EPOCH),),
        "breaker": (HalfOpen(TALLY, "warning", "w"), Open(TALLY, "by hand", 9_000.0, EPOCH - 1000)),
        "spec": ({"breaker": BreakerRules(enabled=False)}, {"loop": LoopRules(max_iterations=1)}),
    }),
    "iterations-that-end": (ended, {"is": "backs off", "was": "works", "iteration": UNDERWAY}, {
        "is": ("is given up", "is parked"), "was": ("is ended", "starts"),
        "iteration": (None, CLOSING, replace(UNDERWAY, done="it said so")),
        "code": (0, 3), "cause": ("reboot", "hung"), "ran": (False,), "limited": (True,),
        "spec": ({"kind": Kind.RESIDENT}, {"turn_of": "b"}, {"loop": LoopRules(done_code=3)}),
    }),
    "measurements-that-are-late": (overdue, {"is": "backs off", "iteration": CLOSING}, {
        "iteration": (replace(CLOSING, asked=2), replace(CLOSING, asked=3), Opening(3, 9_990.0),
                      Opening(3, 9_990.0, asked=2), Opening(3, 9_990.0, asked=3)),
        "is": ("is down",), "desired": (Desired.STOPPED,),
    }),
    "commits": (disk, {"what": "landed", "since": 9_999.5, "ended": 9_990.0, "recent": (0.1, 0.2)}, {
        "what": ("failed", "missed", "passed", "room", "no room", "begun"),
        "since": (None, 9_999.0, 9_998.9, 9_998.0, 9_940.0), "is_missed": (True,), "ended": (9_995.0, 9_996.0),
        "fault": ("it is full",), "shortage": ("little",), "recent": ((),),
        "slow": (Episode().bad("slow", 9_900.0), Episode().bad("slow", 9_900.0).well()),
        "failing": (Episode().bad("full", 9_990.0), Episode().bad("full", 9_900.0).well()),
    }),
    "alerts-that-are-settled": (settled, {
        "is": "works", "stands": (STANDS,), "items": (ITEM,), "cleared": (), "actions": (), "why": "", "called": "",
        "muted": False,
    }, {
        "is": ("is down", "waits"),
        "stands": ((), (replace(STANDS, held=True),), (BRIEF,), (HUNG,),
                   (replace(STANDS, ack=Ack("ada", EPOCH)),)),
        "items": ((),), "cleared": ((BRIEF,),),
        "actions": ((Alert("a", "permission", "Bash make"),), (Alert("a", "permission", "another"),),
                    (Alert("a", "brief", "it is older", watched=True),), (Alert("a", "documents", "no room"),),
                    (Alert("a", "hung", "x" * 3000), Reassure("a", "brief", "it is old", 5, EPOCH - 90, "written"))),
        "why": ("it was answered",), "called": ("shop",), "muted": (True,),
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_rule_comes_at_its_edges_to_what_it_came_to(name: str) -> None:
    found = list(rows(*TABLES[name]))
    path = EDGES / f"{name}.txt"
    if AGAIN in os.environ:
        path.write_text("\n".join((*found, "")), encoding="utf-8")
    assert found == path.read_text(encoding="utf-8").splitlines(), "if that is meant: python -m tests.core.recorded"
