"""What iterations, sequences, runs, commits and alerts come to at their edges, as it was last written down.

As in tests/core/test_decisions_at_their_edges.py. `python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import alerts, durability, productive, progress
from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.standing import Ack, InboxItem, StandingAlert
from phoenixd.core.agent.state import Desired, Outage
from phoenixd.core.breaker import HalfOpen, Open, Signals, Tally
from phoenixd.core.decision import Decision
from phoenixd.core.durability import Durability, Episode
from phoenixd.core.events.work import FileLooked, MeasurementLost, WorkMeasured
from phoenixd.core.iteration import Closing, Opening, Passing, Underway
from phoenixd.core.merit import Merit, Record
from phoenixd.core.moment import Moment
from phoenixd.core.rules import BreakerRules, LoopRules, Member, RestartPolicy, RestartRules
from phoenixd.core.sequence import rules as sequence
from phoenixd.core.spec import Kind
from phoenixd.core.work import Survey
from phoenixd.documents.hooks import hook_of
from tests.core.recorded.rendering import value
from tests.core.recorded.tables import compare
from tests.core.story import EPOCH
from tests.core.test_decisions_at_their_edges import Rule, Said, came, changed, rows
from tests.core.test_edges import Edges, of
from tests.core.test_rules_at_their_edges import RUN, STATES, WORKS

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


# What a run has to show.

RECORD = Record(unproductive=(9_000.0, 9_500.0), died=True, weighing=3, work="git:old", lives=(100.0, 101.0))
MERITS = (
    Merit(after_death=True), Merit(turned=True), Merit(turned=True, ended=True), Merit(proof="turn"),
    Merit(after_death=True, asked=True), Merit(after_death=True, called=True),
)  # fmt: skip
OF_A_TURN: dict[str, Any] = {
    "stop": hook_of("a", 1, "stop", text="Done."), "start": hook_of("a", 1, "tool-start", tool="Bash"),
    "end": hook_of("a", 1, "tool-end", tool="Bash"), "failed": hook_of("a", 1, "stop-failure", error="request"),
    "a subagent's": hook_of("a", 1, "tool-end", tool="Bash", sub=True),
}  # fmt: skip


def shows(given: dict[str, Any]) -> Said:
    """What an end makes of the record, and what a hook and a measurement make of the run."""
    spec = replace(WORKS.spec, **given.get("spec", {}))
    agent = replace(WORKS, spec=spec, record=given["record"], hooks_seen=given["hooks_seen"], state=STATES[given["is"]])
    run = replace(RUN, merit=given["merit"], evidence=given["evidence"])
    end = of(LastExit, {"incarnation": 3, "code": 1, "signal": None, "cause": "exit", "lived": 60.0, "at_wall": EPOCH,
                        **given})  # fmt: skip
    after = productive.at_end(agent, run, end, given["deliberate"], given["turn_open"], NOW)
    flags = (productive.is_exhausted(after), productive.has_just_counted(after, NOW), productive.is_weighed(after))
    return (value(flags), *changed(replace(agent, last_exit=None), after))


def proves(given: dict[str, Any]) -> Said:
    merit, spec = given["merit"], replace(WORKS.spec, **given.get("spec", {}))
    after = productive.hear(merit, OF_A_TURN[given["event"]], spec, NOW)
    asked = productive.turn_begins(merit, given["asked"], given["was_open"])
    return ("; ".join(("heard:", *changed(merit, after))), "; ".join(("begun:", *changed(merit, asked))))


def weighs(given: dict[str, Any]) -> Said:
    agent = replace(WORKS, record=given["record"], state=STATES[given["is"]], last_exit=given["last_exit"])
    agent = replace(agent, spec=replace(agent.spec, **given.get("spec", {})))
    event = WorkMeasured("a", given["number"], given["at_end"], given["after"], "")
    return came(agent, productive.weigh(agent, event, NOW))


# Sequences.

SEQUENCE = (Member("b", when_exists="TODO"), Member("c", when_agent="d"), Member("e"))
LEAD = replace(LOOP, state=STATES["backs off"], spec=replace(LOOP.spec, loop=LoopRules(sequence=SEQUENCE)))
PASSING = Passing(3, "git:old", Signals(), "", turn=0, survey=Survey())
ENDED = LastExit(4, 0, None, "exit", 60.0, EPOCH)


def passes(given: dict[str, Any]) -> Said:
    """The next step of a sequence, what an answer about a file makes of it, and what follows where none comes."""
    passing = of(Passing, {**{field: getattr(PASSING, field) for field in Passing.__dataclass_fields__}, **given})
    lead = replace(LEAD, iteration=passing)
    others = {
        name: replace(
            WORKS, spec=replace(WORKS.spec, name=name, turn_of=given["turn_of"]), state=STATES[given["is"]],
            last_exit=given["last_exit"], left_out=given["left_out"],
        )
        for name in given["there"]
    }  # fmt: skip
    moved = sequence._advance(lead, passing, {"a": lead, **others}, NOW)
    looked = sequence.decide(lead, passing, FileLooked("a", 3, given["of_turn"], given["exists"]), NOW)
    return (
        "; ".join(("next:", *came(lead, moved))),
        "; ".join(("file:", *came(lead, looked))),
        "; ".join(("lost:", *came(lead, sequence.decide(lead, passing, MeasurementLost("a"), NOW)))),
        "; ".join(("late:", *came(lead, sequence.overdue(lead, passing, NOW)))),
    )


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
    "runs-that-have-to-show": (shows, {
        "is": "works", "record": RECORD, "merit": Merit(), "evidence": True, "hooks_seen": True, "deliberate": False,
        "turn_open": True,
    }, {
        "record": (Record(), replace(RECORD, unproductive=(NOW.at - 86_400.0,)),
                   replace(RECORD, unproductive=(NOW.at - 86_399.0,) * 8)),
        "merit": MERITS, "evidence": (False,), "hooks_seen": (False,), "deliberate": (True,), "turn_open": (False,),
        "code": (0, 125), "cause": ("overtime", "reboot"), "lived": (299.0, 300.0), "ran": (False,),
        "spec": ({"turn_of": "b"}, {"kind": Kind.LOOP}, {"harness": "command"},
                 {"restart": RestartRules(policy=RestartPolicy.ALWAYS)}),
    }),
    "hooks-that-prove": (proves, {"merit": Merit(), "event": "stop", "asked": False, "was_open": False}, {
        "merit": MERITS, "event": tuple(OF_A_TURN), "asked": (True,), "was_open": (True,),
        "spec": ({"harness": "codex"}, {"harness": "gemini"}),
    }),
    "work-that-proves": (weighs, {
        "is": "backs off", "record": RECORD, "number": 3, "at_end": True, "after": "git:new", "last_exit": None,
    }, {
        "is": ("works",), "number": (4,), "at_end": (False,), "after": (None, "git:old", "tree:new"),
        "record": (replace(RECORD, weighing=0), replace(RECORD, work=None),
                   replace(RECORD, unproductive=(9_000.0,) * 8)),
        "last_exit": (replace(ENDED, incarnation=3), ENDED),
    }),
    "turns-of-a-sequence": (passes, {
        "turn": 0, "awaits": "nothing", "there": ("b", "c", "d", "e"), "is": "is down", "turn_of": "a",
        "left_out": False, "last_exit": None, "of_turn": 0, "exists": True,
    }, {
        "turn": (1, 2, 3), "awaits": ("file", "condition", "member"), "since": (3, 4), "asked": (2,),
        "there": ((),), "is": ("works", "is given up"), "turn_of": (None,), "left_out": (True,),
        "last_exit": (ENDED, replace(ENDED, code=1)), "of_turn": (1,), "exists": (False, None),
        "done": ("it said so",),
    }),
    "turns-that-are-awaited": (passes, {
        "turn": 1, "awaits": "condition", "there": ("b", "c", "d", "e"), "is": "is down", "turn_of": "a",
        "left_out": False, "last_exit": ENDED, "of_turn": 1, "exists": True, "since": 3,
    }, {
        "turn": (0, 2), "awaits": ("member",), "there": (("b", "c", "e"), ("d",)), "is": ("works", "is given up"),
        "turn_of": (None, "z"), "left_out": (True,), "since": (-1, 4), "asked": (2,),
        "last_exit": (None, replace(ENDED, code=1), replace(ENDED, code=130), replace(ENDED, code=None, signal=9)),
        "heard": (Signals(excuse="a limit"),), "signals": (Signals(error="500"),),
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
    compare(name, rows(*TABLES[name]))
