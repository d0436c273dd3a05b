"""Fleets to which events happen: what became of an agent and of those around it, by the words of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from json import dumps
from typing import Any, NamedTuple, get_args

from phoenixd.core.agent import Agent
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.events.evidence import KeysRead
from phoenixd.core.events.fleet import AlertAcknowledged, JournalBehind, LimitsDeclared, SavingHalted
from phoenixd.core.events.handoffs import AddendumWritten, PackageWritten, PapersUpdated
from phoenixd.core.events.orders import (
    AnswerRequested,
    MuteRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
)
from phoenixd.core.events.runs import ShimLost, TreeGone, TreeLingers
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Step
from phoenixd.core.moment import Moment
from phoenixd.core.spec import (
    BreakerRules,
    BriefRules,
    CleanupRules,
    ContextRules,
    FleetLimits,
    HandoffRules,
    Kind,
    LimitRules,
    LoopRules,
    Member,
    PreparedAnswer,
    ResonanceRules,
    RestartPolicy,
    RestartRules,
    WriterKind,
)
from phoenixd.core.tasks.state import Outcome, TaskState
from phoenixd.core.treatment.authority import AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.examined import ReaderRules
from tests.core.filled import filled
from tests.core.handing import FACTS, HASH, OPENING, WORD, HandoffStory
from tests.core.happening import began, fails, hook
from tests.core.resonating import ResonanceStory, resonant
from tests.core.story import EPOCH, Story, claude, spec
from tests.core.test_left_questions import ASKED
from tests.core.test_rules_of_agents import SITUATIONS
from tests.core.test_sequence import SequenceStory
from tests.core.workers import Works


class At(NamedTuple):
    """A fleet as it is at a moment. agent: to whom something happens."""

    situation: str
    fleet: Fleet
    agent: Agent
    now: Moment


def at(situation: str, story: Story, name: str = "", after: float = 0.0) -> At:
    """The fleet of a story, so many seconds later; a handoff of it is called h1."""
    fleet, now = story.fleet, replace(story.now, at=story.at + after, wall=story.wall + after)
    seats = {
        key: replace(seat, handoff=replace(seat.handoff, id="h1")) if seat.handoff is not None else seat
        for key, seat in fleet.seats.items()
    }
    return At(situation, replace(fleet, seats=seats), fleet.agents[name] if name else story.agent, now)


def alone() -> Iterator[At]:
    """Each situation of an agent, in a fleet of that agent alone; an orchestrator holds its seat."""
    for situation, agent, now in SITUATIONS:
        yield At(situation, replace(Story(agent.spec).fleet, agents={agent.name: agent}, next_item=70), agent, now)


KNOWN = ("it works", "it rests", "a loop works", "an orchestrator works", "it starts", "it is being stopped",
         "it backs off", "it is given up", "it is stopped")  # fmt: skip


def known() -> Iterator[At]:
    """An agent of which there is something in each field, so that it shows which are forgotten, or begin anew."""
    for one in alone():
        if one.situation not in KNOWN:
            continue
        state: Any = one.agent.state
        if one.agent.run is not None:
            state = replace(state, run=filled(state.run), activity=filled(state.activity))
        full = replace(filled(one.agent), state=state)
        calm = replace(full, outage=None, limits=replace(full.limits, parking=None), cut=None, resonance=None)
        for what, agent in (("much is known", calm), ("all is known", full)):
            yield At(f"{one.situation}; {what}", replace(one.fleet, agents={agent.name: agent}), agent, one.now)


def failing() -> Iterator[At]:
    """What failed lately: a case, a history, an account or a service that others share."""
    for times in (1, 3):
        story = Story(claude(), claude("b"))
        for _ in range(times):
            story.works()
            story.pass_over(40)
            story.exited(1)
        yield at(f"it crashed, {times}", story)
        story.works()
        yield at(f"it works after a crash, {times}", story)
    for failure, status in (("limit", 429), ("overload", 529), ("login", 401), ("request", 400), ("full", 400)):
        story = Story(claude(), claude("b"), claude("c"))
        story.works()
        story.tell(fails(failure, status)(story.agent))
        yield at(f"its turn failed: {failure}", story)
    shared = Story(claude(), claude("b"), claude("c"))
    for name in ("a", "b", "c"):
        shared.tell(StartRequested(name))
        shared.tell(began(shared.fleet.agents[name]))
        for kind in ("session-start", "prompt-submit"):
            shared.tell(hook(kind, text="go", source="startup")(shared.fleet.agents[name]))
        shared.tell(fails("overload", 529)(shared.fleet.agents[name]))
    yield at("three are in an outage", shared)
    read = Story(claude())
    read.tell(LimitsDeclared(FleetLimits(), clinic=Caps(reader=ReaderRules("test:reader"))))
    read.works()
    read.pass_over(400)
    read.exited(1)
    yield at("a model reads its failure", read)
    read.respawned().works()
    yield at("a model reads its last failure", read)
    offered = Story(claude(clinic=ClinicRules(AuthorityRules(advise="propose", resume="propose", fresh="propose"))))
    for _ in range(2):
        if offered.agent.last_exit is not None:
            offered.respawned()
        offered.works()
        offered.pass_over(400)
        offered.exited(1)
    yield at("a treatment is proposed", offered)
    loop = Story(spec(kind=Kind.LOOP))
    loop.start()
    loop.started()
    yield at("an iteration goes on", loop)
    loop.work = "late"
    loop.pass_over(60)
    loop.exited(0)
    yield at("an iteration is measured", loop)


def handing() -> Iterator[At]:
    """A seat that passes on, step by step: its holder, and its successor."""
    story = HandoffStory()
    story.works()
    story.begins()
    yield at("handed over: its turn is waited for", story, "o")
    story.hook("stop")
    yield at("handed over: it is told to finish", story, "o")
    story.files = "never"
    story.told_to_finish()
    yield at("handed over: its papers are brought up to date", story, "o", 10)
    story.tell(PapersUpdated("o", story.handoff.id))
    yield at("handed over: its package is being written", story, "o", 10)
    story.tell(PackageWritten("o", story.handoff.id, HASH, WORD, FACTS, OPENING, "s1", "s2"))
    yield at("handed over: its successor is started", story, "o")
    yield at("it is a successor that is started", story, "o-g2")
    story.started_of("o-g2")
    yield at("handed over: its successor reads", story, "o")
    yield at("it is a successor that reads", story, "o-g2")
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.tell(SendRequested("o", "m1", "And the door."))
    story.ack()
    yield at("handed over: its successor has read", story, "o-g2" if "o" not in story.fleet.agents else "o")
    yield at("it is a successor that has read", story, "o-g2")
    story.tell(AddendumWritten("o", story.handoff.id, "/srv/addendum.md", 1, 1))
    yield at("it is a successor with an addendum", story, "o-g2")
    story.exits("o", 0)
    yield at("it is a successor whose predecessor ended", story, "o-g2")
    awaiting = HandoffStory().awaiting()
    for step in Step:
        one = story if step in (Step.FENCE, Step.SHUTDOWN, Step.DONE) else awaiting
        handoff = replace(filled(one.handoff), id="h1", step=step, deadline=one.at + 1, held="")
        handoff = replace(handoff, acked=not handoff.is_before_fence)
        fleet = replace(one.fleet, seats={"o": replace(one.seat, handoff=handoff)})
        yield At(f"handed over: all is known of it at {step}", fleet, one.agent, one.now)
    full = HandoffStory()
    full.works()
    full.uses(185_000)
    yield at("its context is full", full)
    again = HandoffStory().awaiting()
    again.exits("o-g2", 1)
    yield at("handed over: its successor died", again, "o")
    again.tell(RollbackRequested("o"))
    yield at("handed over: it is called off", again, "o")
    back = HandoffStory()
    back.works()
    back.hook("stop")
    back.begins()
    back.comes_to_nothing()
    yield at("its handoff came to nothing", back, "o")
    yield at("its handoff came to nothing long ago", back, "o", 7_200)
    down = HandoffStory()
    down.works()
    down.stop()
    down.exited(None, 15)
    yield at("its seat is down", down, "o")


def asking() -> Iterator[At]:
    """Questions: held by the shim, answered from afar, left by a run that is over."""
    plan = dumps({"plan": "Paint."})
    for tool, text in (("Bash", "make"), ("AskUserQuestion", dumps(ASKED)), ("ExitPlanMode", plan)):
        story = Story(claude()).works()
        story.hook("permission-request", tool=tool, text=text, held=True, seq=3)
        yield at(f"{tool} is held", story)
        story.hook("permission-request", tool="Bash", text="make install", held=True, seq=4)
        yield at(f"{tool} is held, and another", story)
        given = {"words": ("1",)} if tool == "AskUserQuestion" else {"allow": True}
        story.tell(AnswerRequested("a", story.agent.items[-1].id, **given))
        yield at(f"{tool} is being answered", story)
    story = Story(claude()).works()
    story.screen = None
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=3)
    story.tell(KeysRead("a", 1))
    yield at("keys were read at its question", story)
    story.wait(0.7)
    yield at("its question is in doubt", story)
    story = Story(claude()).works()
    story.hook("permission-request", tool="AskUserQuestion", text=dumps(ASKED), held=True, seq=3)
    story.pass_over(400)
    story.exited(signal=9)
    yield at("it left a question", story)
    story.tell(AnswerRequested("a", story.agent.items[0].id, words=("1",)))
    yield at("the question that it left is answered", story)
    story.respawned().runs()
    yield at("the question that it left is answered, and it begins", story)


def ordered() -> Iterator[At]:
    """What operators did and can take back, or hold back."""
    story = Story(claude()).works()
    story.stop(act="u1", by="ada")
    yield at("its stop can be taken back while it ends", story)
    story.exited(None, 15)
    yield at("its stop can be taken back", story, after=86_400)
    story = Story(claude()).works()
    story.restart(fresh=True, act="u1")
    story.exited(None, 15)
    story.respawned().works()
    yield at("its fresh start can be taken back", story, after=60)
    story = Story(claude()).works()
    story.tell(MuteRequested("a", 600.0, "ada", "u1"))
    yield at("it is muted", story, after=60)
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=3)
    yield at("it asks and is muted", story, after=60)
    story.tell(AlertAcknowledged(story.agent.items[0].id, "ada"))
    yield at("it asks, and somebody has seen it", story, after=60)
    halted = Story(claude(), claude("b"))
    halted.tell(SavingHalted("the disk is full"))
    halted.start()
    yield at("it is to start, and nothing can be saved", halted, after=60)
    crowded = Story(claude(), claude("b"), limits=FleetLimits(max_starting=1))
    for name in ("b", "a"):
        crowded.tell(StartRequested(name))
    yield at("it is to start after another", crowded, after=5)
    loop = Story(spec(kind=Kind.LOOP))
    loop.start()
    loop.started()
    loop.stop(after_iteration=True)
    yield at("a loop is to stop after its iteration", loop, after=60)


def ending() -> Iterator[At]:
    """Runs that are being ended, or of which nobody knows whether they ended."""
    story = Story(claude()).works()
    story.tell(ShimLost("a", 1))
    yield at("its shim died", story)
    story.tell(TreeGone("a", 1, unproven=True, unread=(700,)))
    yield at("its end is not proven", story, after=20)
    story.wait(90)
    story.tell(TreeGone("a", 1, unproven=True, unread=(700,)))
    yield at("its end is not proven for long", story, after=20)
    for kind in (Kind.RESIDENT, Kind.LOOP):
        hung = Story(claude(kind=kind)).works()
        hung.wait(1_800)
        yield at(f"a {kind} that hung is being ended", hung)
        hung.exited(None, 15)
        yield at(f"a {kind} hung", hung)
    left = Story(claude()).works()
    left.stop()
    left.wait(60)
    yield at("it does not end", left)
    left.tell(TreeLingers("a", 1, (300,)))
    yield at("some of it does not end", left, after=60)
    late = Story(claude())
    late.start()
    late.started()
    late.wait(120)
    yield at("it started, and tells nothing", late)
    person = Story(claude(kind=Kind.LOOP)).works()
    person.hook("session-end", source="logout")
    person.exited(0)
    yield at("a loop ended at its terminal", person, after=1)


OPTIONS: dict[str, dict[str, Any]] = {
    "its turns are judged": {"breaker": BreakerRules(per_turn=True, warn=1, stop=2)},
    "its own turns are judged": {"breaker": BreakerRules(per_turn=True, warn=2, stop=3)},
    "a loop with bounds": {
        "kind": Kind.LOOP,
        "loop": LoopRules(pause=5.0, session="resume", max_iterations=2, max_per_hour=3, done_text="Done."),
        "breaker": BreakerRules(warn=1, stop=2, cooldown=600.0, same_error=1, permission_denials=1),
    },
    "a loop that ends by its code": {"kind": Kind.LOOP, "loop": LoopRules(done_code=1, done_file="done.md")},
    "a loop whose breaker is off": {"kind": Kind.LOOP, "breaker": BreakerRules(enabled=False)},
    "it is always restarted": {"restart": RestartRules(RestartPolicy.ALWAYS, max_crashes=1)},
    "it is never restarted": {"restart": RestartRules(RestartPolicy.NEVER)},
    "its harness is gemini": {"harness": "gemini"},
    "its harness is opencode": {"harness": "opencode"},
    "its prompt is typed": {"harness": "command", "prompt_via": "paste"},
    "a command that tells of a limit": {"harness": "command", "limits": LimitRules(exit_codes=(1,))},
    "a command with a heartbeat": {"harness": "command", "heartbeat_file": "beat"},
    "its model writes its brief": {"brief": BriefRules(writer=WriterKind.AUTO, spacing=0.0)},
    "it cleans up": {"cleanup": CleanupRules(("node",), (8080,), "refuse")},
    "its answers are written down": {"answers": (PreparedAnswer("Bash make", False, "not now"),)},
    "its marker is asked for": {"resonance": ResonanceRules(enabled="on", mode="classic", interval_turns=1)},
    "it is an orchestrator of a small window": {
        "kind": Kind.ORCHESTRATOR, "context": ContextRules(0.5, 0.5, 0.6, limit=100_000),
        "handoff": HandoffRules(writer="model", drain=30.0, tries=1, spacing=0.0),
    },
}  # fmt: skip


JUDGED: dict[str, str | None] = {"its turns are judged": None, "its own turns are judged": "machine"}
"""Whose turns are judged, with the source of a further prompt: a person's, and one of nobody."""


def configured() -> Iterator[At]:
    """What an operator can ask for, in the middle of its second turn, which changed nothing, and after its end."""
    for what, options in OPTIONS.items():
        story = Story(claude(**options))
        story.work = "git:same"
        story.works()
        if story.agent.spec.has_hooks:
            story.hook("stop", text="Done with that.")
            story.hook("prompt-submit", text="Go on.", source=JUDGED.get(what))
        yield at(what, story, after=60)
        if what in JUDGED:
            story.work = "late"
            story.hook("stop", text="I looked.")
            yield at(f"{what}; its turn is measured", story, after=60)
            story.hook("prompt-submit", text="Once more.", source=JUDGED[what])
            yield at(f"{what}; it works again", story, after=60)
        story.pass_over(60)
        story.work = "late"
        story.exited(1)
        yield at(f"{what}; it ended", story, after=1)


def behind() -> Iterator[At]:
    """What was found of it where the journal was older than the world."""
    older, newer = (SeenRun(n, f"run-{n}", "s", "resume", 30, 1, EPOCH - 900, 10 * n, "b") for n in (2, 3))
    traces = {
        "it lives, and nobody knows": Trace("a", None, "runs", newer, newer, 3),
        "it is wanted, and died": Trace("a", Wish("running", 18), "idle", None, newer, 3),
        "it was stopped": Trace("a", Wish("stopped", 18), "none", None, newer, 3),
        "its shim is silent": Trace("a", Wish("running", 18), "silent", None, older, 2),
        "nothing is known": Trace("a"),
    }
    for what, trace in traces.items():
        story = Story(claude()).works()
        story.tell(JournalBehind("it was put back", World("b", 15, 20, (trace,)), (claude(),)))
        yield at(f"an old journal: {what}", story, after=60)


def turns() -> Iterator[At]:
    """A sequence: its first member, and who has the turn."""
    story = SequenceStory()
    yield at("first of a sequence", story, "builder")
    story.has_run("builder")
    yield at("first of a sequence, another has its turn", story, "builder")
    yield at("it has its turn", story, "criticizer")
    yield at("its turn comes later", story, "planner")
    asks = SequenceStory(Member("planner", when_agent="criticizer"))
    asks.has_run("builder")
    yield at("it says whether another has its turn", asks, "criticizer")
    looks = SequenceStory(Member("planner", when_exists="todo.md"))
    looks.has_run("builder")
    yield at("its turn depends on a file", looks, "builder")


def working() -> Iterator[At]:
    """Tasks and their workers."""
    story = Works()
    story.works()
    story.ask(tries=2)
    yield at("its task has a worker that starts", story)
    yield at("it is a worker that starts", story, story.task("t1").agent)
    story.begins("t1")
    yield at("it is a worker", story, story.task("t1").agent)
    story.ask("Then that.", after=("t1",))
    yield at("another task waits for its worker's", story, story.task("t1").agent)
    story.ends("t1", 1)
    yield at("it is a worker that failed", story, story.task("t1").agent)
    done = Works()
    done.works()
    done.ask(asked_by="shop", project="shop", plan="2", phase="1", tries=1)
    worker = done.task("t1").agent
    done.begins("t1")
    done.tell(hook("permission-request", tool="Bash", text="make", held=True, seq=3)(done.fleet.agents[worker]))
    yield at("it is a worker that asks", done, worker, 60)
    done.ends("t1", 0)
    yield at("it is a worker that is done", done, worker)
    yield at("its task's work is being collected", done, "shop", 60)
    done.collected("t1", Outcome("done", report="/tasks/report.md", seal="sealed"))
    yield at("its task is done", done, "shop")
    cut = Works()
    cut.works()
    cut.ask(asked_by="shop")
    cut.begins("t1")
    worker = cut.task("t1").agent
    cut.cancel("t1")
    yield at("it is a worker whose task is canceled", cut, worker)
    for state in get_args(TaskState):
        task = replace(filled(done.task("t1")), state=state, told="", spec=done.agent.spec)
        fleet = replace(done.fleet, tasks=replace(done.fleet.tasks, open=(task,), ended=()))
        yield At(f"all is known of its task that is {state}", fleet, done.agent, done.now)
    unsealed = Works()
    unsealed.works()
    unsealed.ask(asked_by="shop")
    unsealed.ends("t1", 0)
    unsealed.collected("t1", Outcome("done", report="/tasks/report.md", seal="cut"))
    yield at("its task's answer was cut", unsealed, "shop")


def checking() -> Iterator[At]:
    """An agent that is checked: a check that stands ready, one that goes on, one that was missed."""
    story = ResonanceStory(resonant(interval_turns=2)).begins()
    yield at("a check is ready", story)
    story.hook("prompt-submit", text="Go on.")
    story.asked()
    yield at("it is being checked", story)
    story.memory = None
    story.hook("stop", text="I do not know.")
    yield at("it missed a check", story)


FLEETS = (
    *alone(), *known(), *failing(), *handing(), *asking(), *ordered(), *ending(), *configured(), *behind(), *turns(),
    *working(), *checking(),
)  # fmt: skip
"""Made before any test begins: what is decided on the way to them is no story of this one."""
