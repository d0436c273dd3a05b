"""What rules of briefs, parkings, acts, old journals and doubts come to at their edges, as it was last written down.

As in tests/core/test_decisions_at_their_edges.py. `python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import doubt, screen
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Doubted, PromptKind, Waiting
from phoenixd.core.agent.run import Mode, Session
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Desired,
    Outage,
    Parked,
    Quarantined,
    Running,
    Starting,
    State,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.behind import verdicts
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.briefing import BriefLedger, Calendar, Cause, choose_writer, next_run
from phoenixd.core.briefing import Seen as SeenOfBrief
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.fleet import Fleet
from phoenixd.core.limits import accounts, outage, parking
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.meter import dead_end
from phoenixd.core.meter.reading import Meter
from phoenixd.core.moment import Moment
from phoenixd.core.parts import View
from phoenixd.core.resonance import restoring
from phoenixd.core.resonance.state import Restoration, Step
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import Kind
from phoenixd.core.turn import liveness
from phoenixd.core.undo import hindrance
from phoenixd.core.undo import orders as undoing
from phoenixd.core.undo.state import Undoable
from phoenixd.core.undo.telling import told
from phoenixd.documents.hooks import hook_of
from tests.core.recorded.rendering import value
from tests.core.recorded.tables import compare
from tests.core.story import EPOCH
from tests.core.test_decisions_at_their_edges import OFF, RESONANT, Rule, Said, came, changed, resonates, rows
from tests.core.test_edges import Edges, of

NOW = Moment(10_000.0, EPOCH, 0.5)
WORKS = replace(RESONANT, resonance=None, session=Session("s", EPOCH - 7200, EPOCH - 60))
assert isinstance(WORKS.state, Running)
RUN, ACTIVITY = WORKS.state.run, WORKS.state.activity
ENDING = Stopping(RUN, ACTIVITY, StopStep.TERMINATE, 10_005.0, Afterwards.STAY, "it is ended")
STATES: dict[str, State] = {
    "works": WORKS.state, "rests": replace(WORKS.state, activity=replace(ACTIVITY, turn_open=False)),
    "is to exit": replace(WORKS.state, exit_due=10_001.0),
    "waits": replace(WORKS.state, activity=replace(ACTIVITY, waiting=Waiting("permission", "make", EPOCH))),
    "starts": Starting(RUN, ACTIVITY, 10_030.0), "is ended": ENDING,
    "is ended for a start": replace(ENDING, then=Afterwards.RESTART),
    "backs off": BackingOff(10_005.0, Mode.RESUME, PromptKind.CONTINUE),
    "backs off fresh": BackingOff(10_005.0, Mode.FRESH, PromptKind.GOAL), "is parked": Parked(),
    "is given up": Quarantined("crashes"),
    "is given up for that": Quarantined("8 runs", counted=True), "is down": Stopped(),
}  # fmt: skip


def agent_of(given: dict[str, Any]) -> Agent:
    """WORKS with other fields; `is` names its state, `kind` and `spec` what of its declaration is another."""
    spec = replace(WORKS.spec, **given.get("spec", {}))
    fields = {name: one for name, one in given.items() if name in Agent.__dataclass_fields__ and name != "spec"}
    return replace(WORKS, **{"state": STATES[given.get("is", "works")], **fields, "spec": spec})


# Briefs.

RULES = BriefRules(writer=WriterKind.AUTO)


def brief(given: dict[str, Any]) -> Said:
    seen = of(SeenOfBrief, {"kind": Kind.RESIDENT, "marks": "m", **given}, name="a")
    ledger = BriefLedger(since=100.0, last_run=given["last_run"], marks="m", ended=3, owed=given["owed"])
    rules = replace(RULES, daily=given["daily"], on_change=given["on_change"], writer=given["writer"])
    due = next_run(ledger, rules, Calendar(0.0, 0.0, 0.0), seen, EPOCH)
    return (value(due),)


def writer(given: dict[str, Any]) -> Said:
    rules = replace(RULES, **{name: given[name] for name in ("writer", "tokens_per_day", "runs_per_day")})
    ledger = BriefLedger(day=int(EPOCH // 86_400), runs=given["runs"], tokens=given["tokens"])
    chosen = choose_writer(ledger, rules, given["cause"], EPOCH, able=given["able"], held=given["held"])
    return (value(chosen),)


# Parkings.

PARKING = Parking(ParkingKind.LIMIT, EPOCH + 600, 9_000.0, "its limit", owes=True)
PARKINGS = (
    None, replace(PARKING, asked=9_990.0), replace(PARKING, asked=9_990.0, message_id="m"),
    replace(PARKING, asked=9_990.0, message_id="m", misses=parking.TROUBLE - 1), replace(PARKING, owes=False),
    replace(PARKING, kind=ParkingKind.OVERLOAD),
)  # fmt: skip
HEARD: dict[str, Any] = {
    "idle": ScreenSeen("a", 1, "idle"), "working": ScreenSeen("a", 1, "working"),
    "dialog": ScreenSeen("a", 1, "permission"), "delivered": Delivered("a", 1, "m", "prompt"),
    "not delivered": NotDelivered("a", 1, "m", "it asks"), "another text": Delivered("a", 1, "n", "prompt"),
    "limit": hook_of("a", 1, "stop-failure", error="rate_limit"),
    "overload": hook_of("a", 1, "stop-failure", error="overloaded"), "stop": hook_of("a", 1, "stop", text="Done."),
    "prompt": hook_of("a", 1, "prompt-submit", text="Go on."),
    "call of a subagent": hook_of("a", 1, "tool-start", tool="Bash", sub=True),
}  # fmt: skip


def view(given: dict[str, Any]) -> View:
    spec = replace(WORKS.spec, **given.get("spec", {}))
    return of(View, {"state": "running", "hooks_seen": True, **given, "spec": spec, "incarnation": 1})


def part(before: Any, heard: Any) -> Said:
    return (heard.reason, *map(value, (*heard.actions, *heard.signals)), *changed(before, heard.part))


def parked(given: dict[str, Any]) -> Said:
    limits = Limits(given["parking"], given["setbacks"])
    return part(limits, parking.hear(limits, HEARD[given["event"]], view(given), NOW))


def goes_on(given: dict[str, Any]) -> Said:
    limits = Limits(given["parking"], given["setbacks"])
    return part(limits, parking.go_on(limits, view(given), NOW, "its limit is over"))


def parks(given: dict[str, Any]) -> Said:
    agent = replace(agent_of(given), limits=Limits(given["parking"]))
    return came(agent, accounts._park(agent, EPOCH + 900, "b met the limit", NOW))


def waits_out(given: dict[str, Any]) -> Said:
    record = replace(WORKS.record, unproductive=given["unproductive"])
    agent = replace(agent_of(given), limits=Limits(given["parking"]), record=record)
    return came(agent, outage._wait_out(agent, Outage("harness claude", EPOCH, given["tries"]), NOW))


# Contexts that are full.

REFUSALS: dict[str, dict[str, Any]] = {
    "too long": {"error": "invalid_request", "text": "Prompt is too long"},
    "a request": {"error": "invalid_request", "text": "no reason"},
    "json": {"error": "invalid_request", "text": '{"message": "prompt is too long: 9 tokens"}'},
    "a limit": {"error": "rate_limit"},
    "long": {"error": "invalid_request", "text": "Prompt is too long " * 9},
}  # fmt: skip


def refused(given: dict[str, Any]) -> Said:
    spec = replace(WORKS.spec, **given.get("spec", {}))
    meter = Meter(WORKS.incarnation, "s", given["tokens"], by_model=200_000)
    session = replace(Session("s", EPOCH - 7200, EPOCH - 60), achieved=given["achieved"])
    state = STATES[given["is"]]
    if isinstance(state, Running):
        state = replace(state, run=replace(state.run, prompt_bytes=given["bytes"]))
    agent = replace(
        WORKS, spec=spec, meter=meter, session=session, dead_ends=given["dead_ends"], state=state,
        last_exit=given["last_exit"],
    )  # fmt: skip
    event = hook_of("a", 1, "stop-failure", **REFUSALS[given["why"]])
    return came(agent, dead_end.hear(agent, event, Seen(agent, Decision(agent, reason="it failed")), NOW))


# Acts that are taken back.

ACT = Undoable("1", "stop", "a", EPOCH - 60, "ada", was_up=True, session=Session("s", EPOCH - 7200, EPOCH - 60))
ELSEWHERE = Session("other", EPOCH - 7200, EPOCH - 60)


def act_of(given: dict[str, Any]) -> Undoable:
    names = set(Undoable.__dataclass_fields__)
    acted = {name.removeprefix("act_"): one for name, one in given.items() if name.startswith("act_")}
    assert set(acted) <= names
    return replace(ACT, **{"incarnation": WORKS.incarnation, **acted})


def back(given: dict[str, Any]) -> Said:
    agent, act = agent_of(given), act_of(given)
    fleet = Fleet(agents={"a": agent})
    return (
        hindrance.ahead(fleet, act),
        value(hindrance.of(fleet, agent, act)),
        told(agent, act, NOW),
        *came(agent, undoing._back(agent, act, "bob", NOW)),
    )


ACTS: Edges = {
    "is": tuple(name for name in STATES if name != "is down"),
    "act_verb": ("fresh", "remove"),
    "act_was_up": (False,),
    "act_session": (None, ELSEWHERE),
    "act_quarantine": (Quarantined("crashes"),),
    "act_cannot": ("its seat has passed",),
    "act_generation": (2,),
    "act_incarnation": (9,),
    "act_launch": ("another",),
    "act_harness": ("codex",),
    "desired": (Desired.RUNNING,),
    "session": (None, replace(ELSEWHERE, spoiled="lost")),
    "returns_to": (ELSEWHERE,),
    "removing": (True,),
    "spec": ({"task": "t1"},),
}

# Journals that are old.

LIVING = SeenRun(7, "run-7", "s7", "fresh", 20, 200, EPOCH - 50, 10, "boot")


def behind(given: dict[str, Any]) -> Said:
    agent = agent_of(given) if given["known"] else None
    spec = WORKS.spec if given["declared"] else None
    trace = Trace("a", given["wish"], given["shim"], given["living"], given["last"], given["met"])
    world = World("boot", 8, given["epoch"], (replace(trace, told=given["told"]),))
    judged = verdicts.judge(world, trace, agent, spec, NOW)
    if judged is None:
        return ("nothing",)
    forgotten = ("forgotten",) if judged.forgotten else ()
    return (value(judged.finding), *forgotten, *changed(agent or agent_of({}), judged.agent))


# Restorations.

GOING = Restoration(Step.VERIFY, "two checks were missed", EPOCH - 600, 9_400.0, 0, deadline=9_990.0, message="m")


def restores(given: dict[str, Any]) -> Agent:
    agent = resonates(given)
    return replace(agent, **{name: given[name] for name in ("limits", "spec") if name in given})


def late(given: dict[str, Any]) -> Said:
    agent = restores(given)
    return came(agent, restoring.overdue(agent, NOW))


def in_the_way(given: dict[str, Any]) -> Said:
    agent = restores(given)
    event = NotDelivered("a", 1, given["message"], "somebody types", person=given["person"])
    return came(agent, restoring.hear_miss(agent, event, Seen(agent, Decision(agent, reason=given["said"])), NOW))


def lost(given: dict[str, Any]) -> Said:
    agent = restores(given)
    assert agent.resonance is not None
    return came(agent, restoring.lost(agent, agent.resonance, "two checks were missed", NOW, given["by"]))


# Questions.

ASKED = Waiting("permission", "Bash make", EPOCH - 90, tool="Bash", hold=1, since=9_990.0, touched=9_999.0)
SECOND, THIRD = (replace(ASKED, text=f"Bash {n}", hold=n, since=9_990.0 + n) for n in (2, 3))
ITEM = InboxItem(4, "a", 1, "permission", "Bash make", "hash", EPOCH - 90, "answer", hold=1)
DOUBTED = Doubted(ASKED, ITEM, 9_999.0, 9_999.5)
TOLD: dict[str, Any] = {
    name: hook_of("a", 1, kind, **more)
    for name, kind, more in (
        ("tool-end", "tool-end", {"tool": "Bash"}), ("another's end", "tool-end", {"tool": "Read"}),
        ("tool-start", "tool-start", {"tool": "Bash"}), ("stop", "stop", {"text": "Done."}),
        ("denied", "permission-denied", {"tool": "Bash"}), ("prompt", "prompt-submit", {"text": "Go on."}),
        ("asked", "permission-request", {"tool": "Bash", "text": "ls"}),
        ("a subagent's end", "tool-end", {"tool": "Bash", "sub": True}),
    )
}  # fmt: skip
QUESTIONS: Edges = {
    "waiting": (None, replace(ASKED, touched=None), replace(ASKED, seen=True), replace(ASKED, sub=True),
                replace(ASKED, kind="question")),
    "also_asked": ((SECOND,), (SECOND, THIRD)), "doubted": (DOUBTED, replace(DOUBTED, also_asked=(SECOND, THIRD))),
    "looked_at": (9_998.0, 9_999.5), "turn_open": (False,), "hold": (2, 9),
}  # fmt: skip


def activity(given: dict[str, Any]) -> Activity:
    made: Activity = of(Activity, {"evidence_at": 9_990.0, "evidence_wall": EPOCH - 10, **given})
    return made


def settles(given: dict[str, Any]) -> Said:
    before = activity(given)
    typed = liveness.touched(before, WORKS.spec, NOW)
    return (
        "; ".join(("settled:", *changed(before, liveness.settled(before, given["hold"], NOW)))),
        "; ".join(("touched:", *changed(before, typed))),
    )


def hears_hook(given: dict[str, Any]) -> Said:
    before = activity(given)
    return tuple(changed(before, liveness.hear(before, TOLD[given["event"]], view({}), NOW).part))


def looks(given: dict[str, Any]) -> Said:
    state = replace(WORKS.state, activity=activity(given))
    agent = replace(WORKS, state=state, items=given["items"])
    event = ScreenSeen("a", 1, given["verdict"], given["reader"], attended=given["attended"])
    found: list[str] = []
    if given["waiting"] is not None:
        found += ("waits:", *came(agent, screen.judge_waiting(agent, state, event, NOW)))
    found += ("doubt:", *came(agent, doubt.judge(agent, state, given["doubt"], event, NOW)))
    return tuple(found)


TABLES: dict[str, tuple[Rule, dict[str, Any], Edges]] = {
    "briefs-that-are-due": (brief, {
        "last_run": EPOCH - 7200, "owed": False, "daily": False, "on_change": True, "writer": WriterKind.AUTO,
        "ended": 3, "turned": 0.0, "over": 0.0,
    }, {
        "last_run": (EPOCH - 5, EPOCH + 900), "owed": (True,), "daily": (True,), "on_change": (False,),
        "writer": (WriterKind.DETERMINISTIC,), "ended": (4,), "kind": (Kind.LOOP,), "marks": ("n",),
        "turned": (EPOCH, EPOCH - 100, EPOCH + 1), "over": (EPOCH, EPOCH - 100, EPOCH + 1), "held": ("a limit",),
    }),
    "writers-of-briefs": (writer, {
        "writer": WriterKind.AUTO, "tokens_per_day": 0, "runs_per_day": 4, "runs": 0, "tokens": 0,
        "cause": Cause.CHANGE, "able": True, "held": "",
    }, {
        "writer": (WriterKind.DETERMINISTIC, WriterKind.MODEL), "tokens_per_day": (1, 100_000), "runs": (3, 4),
        "tokens": (1, 40_000, 100_000), "cause": (Cause.TURN, Cause.DEATH, Cause.HANDOFF, Cause.LATER),
        "able": (False,), "held": ("a limit",),
    }),
    "parkings-that-hear": (parked, {"parking": PARKING, "setbacks": 1, "event": "stop"}, {
        "parking": PARKINGS, "setbacks": (0, parking.TROUBLE - 1), "event": tuple(HEARD), "state": ("stopping",),
        "is_news": (False,), "asks": ("permission",),
    }),
    "parkings-that-end": (goes_on, {"parking": PARKING, "setbacks": 1}, {
        "parking": PARKINGS[1:], "asks": ("permission",), "spec": ({"harness": "command"},),
    }),
    "parkings-of-an-account": (parks, {"parking": None}, {
        "is": tuple(STATES)[1:], "session": (None,), "hooks_seen": (False,),
        "parking": (PARKING, replace(PARKING, until_wall=EPOCH + 900), replace(PARKING, kind=ParkingKind.OUTAGE),
                    replace(PARKING, asked=9_990.0), replace(PARKING, fresh=True)),
    }),
    "agents-in-an-outage": (waits_out, {
        "is": "backs off", "parking": None, "tries": 0, "unproductive": (8_199.0, 8_200.0, 8_201.0),
        "crashes": (8_199.0, 8_200.0, 8_201.0),
    }, {
        "is": tuple(name for name in STATES if name != "backs off"), "tries": (1, 30, 31),
        "parking": (PARKING, replace(PARKING, kind=ParkingKind.OUTAGE)), "unproductive": ((),), "crashes": ((),),
    }),
    "contexts-that-are-full": (refused, {
        "is": "works", "why": "too long", "tokens": 100_000, "achieved": "turn", "dead_ends": 0, "bytes": 0,
        "last_exit": None,
    }, {
        "is": ("is ended", "waits"), "why": tuple(REFUSALS)[1:], "tokens": (None, 169_999, 170_000),
        "achieved": ("nothing", "calls"), "dead_ends": (1, 2, 3), "bytes": (12_345,),
        "spec": ({"kind": Kind.EPHEMERAL}, {"kind": Kind.ORCHESTRATOR, "seat": "shop", "project": "shop"},
                 {"seat": "shop", "generation": 2}),
    }),
    "acts-that-are-taken-back": (back, {"is": "is down", "desired": Desired.STOPPED}, ACTS),
    "agents-of-an-old-journal": (behind, {
        "known": True, "declared": True, "wish": None, "shim": "none", "living": None, "last": None, "met": 1,
        "epoch": 9, "told": 0,
    }, {
        "known": (False,), "declared": (False,), "shim": ("silent", "idle"), "met": (7,), "told": (10,),
        "wish": (Wish("running", 9, 1), Wish("stopped", 9, 1), Wish("stopped", 8, 1), Wish("stopped", 9, 7),
                 Wish("ending", 10, 7), Wish("removed", 9, 7)),
        "living": (LIVING, replace(LIVING, epoch=0), replace(LIVING, run_id=RUN.run_id)),
        "last": (LIVING, replace(LIVING, boot_id="older")),
        "is": ("is ended", "is down"), "desired": (Desired.STOPPED,),
    }),
    "runs-that-an-old-journal-has-stopped": (behind, {
        "known": True, "declared": True, "wish": Wish("stopped", 8, 1), "shim": "runs", "last": None, "met": 1,
        "living": replace(LIVING, incarnation=1, run_id=RUN.run_id), "epoch": 8, "told": 0,
        "desired": Desired.STOPPED,
    }, {
        "living": (replace(LIVING, incarnation=2), replace(LIVING, incarnation=1, epoch=8),
                   replace(LIVING, incarnation=1, epoch=0)),
        "wish": (None, Wish("stopped", 9, 0), Wish("stopped", 10, 1), Wish("running", 11, 1), Wish("ending", 9, 2)),
        "is": ("is ended", "is ended for a start", "is down"), "desired": (Desired.RUNNING,), "known": (False,),
        "told": (9,),
    }),
    "restorations-that-are-late": (late, {"restoration": GOING}, {
        "restoration": (
            *(replace(GOING, step=step) for step in (Step.SEED, Step.SESSION, Step.INJECT)),
            replace(GOING, deadline=None), replace(GOING, opened=1), replace(GOING, opened=restoring.MOST_OPENED),
            replace(GOING, step=Step.SEED, deadline=None),
        ),
        "limits": (Limits(PARKING),), "persona": ("",),
        "state_is": (STATES["rests"], STATES["backs off"], STATES["is down"]),
    }),
    "words-in-the-way-of-a-check": (in_the_way, {
        "restoration": replace(GOING, opened=1), "message": "m", "person": True, "said": "it was not typed",
    }, {
        "restoration": (None, replace(GOING, opened=2, waited=restoring.MOST_OPENED - 2),
                        replace(GOING, waited=restoring.MOST_OPENED - 1), replace(GOING, step=Step.RESUME)),
        "message": ("n",), "person": (False,), "said": ("",),
    }),
    "losses-of-a-front": (lost, {"by": ""}, {
        "by": ("ada",), "restored": ((9_000.0,), (6_400.0, 6_401.0), (9_000.0, 9_500.0)),
        "restoration": (GOING, replace(GOING, step=Step.RESUME)), "rules": (OFF, replace(OFF, restore=False)),
        "spec": (replace(RESONANT.spec, kind=Kind.ORCHESTRATOR, project="shop"),),
    }),
    "questions-that-settle": (settles, {"waiting": ASKED, "hold": 1, "turn_open": True}, QUESTIONS),
    "questions-that-hear": (hears_hook, {"waiting": ASKED, "hold": 1, "turn_open": True, "event": "stop"}, {
        **QUESTIONS, "hold": (), "event": tuple(TOLD),
    }),
    "looks-at-questions": (looks, {
        "waiting": ASKED, "hold": 1, "turn_open": True, "items": (ITEM,), "verdict": "working", "reader": "look",
        "attended": False, "doubt": DOUBTED,
    }, {
        "waiting": (None, replace(ASKED, seen=True), replace(ASKED, touched=9_999.9), replace(ASKED, touched=None),
                    replace(ASKED, keyed=9_999.0), replace(ASKED, kind="dialog", dialog="trust"),
                    replace(ASKED, dismissed=True, dialog="permission")),
        "also_asked": ((SECOND,),), "items": ((), (replace(ITEM, answering="ada"),), (replace(ITEM, left=True),)),
        "verdict": ("idle", "permission", "menu", "unknown"), "reader": ("escape",), "attended": (True,),
        "doubt": (replace(DOUBTED, touched=9_990.0), replace(DOUBTED, touched=9_997.9)), "turn_open": (False,),
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_rule_comes_at_its_edges_to_what_it_came_to(name: str) -> None:
    compare(name, rows(*TABLES[name]))
