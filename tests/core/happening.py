"""Events as they happen to an agent, and fleets to which they happen: by the words by which tables name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event, aftermath, evidence, fleet, handoffs, orders, resonance, runs, work
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind, Member
from phoenixd.documents.hooks import hook_of
from phoenixd.planting import Marker, Planting
from tests.core.handing import HandoffStory
from tests.core.resonating import ResonanceStory, resonant
from tests.core.story import EPOCH, Story, claude, spec
from tests.core.test_rules_of_agents import SITUATIONS
from tests.core.test_sequence import SequenceStory
from tests.core.workers import Works

Happens = Callable[[Agent], Event]
"""An event that happens to an agent."""
PLANTING = Planting(Marker("the weight of the morning", "7f3a9c"), ("aaaaa1", "aaaaa2", "aaaaa3"))
SOON = EPOCH + 60


def of_run(kind: type[Any], *given: Any, **named: Any) -> Happens:
    """An event of the agent's run."""
    return lambda agent: kind(agent.name, agent.incarnation, *given, **named)


def of_agent(kind: type[Any], *given: Any, **named: Any) -> Happens:
    return lambda agent: kind(agent.name, *given, **named)


def hook(kind: str, **named: Any) -> Happens:
    """A hook of the session that the agent's run has, unless it names another."""

    def of(agent: Agent) -> Event:
        session = agent.run.session_id if agent.run is not None else "s"
        return hook_of(agent.name, agent.incarnation, kind, **{"session_id": session, **named})

    return of


def exits(code: int | None, signal: int | None = None, **named: Any) -> Happens:
    def of(agent: Agent) -> Event:
        run = agent.run.run_id if agent.run is not None else "r"
        return runs.AgentExited(agent.name, agent.incarnation, run, code, signal, at_wall=SOON, **named)

    return of


def began(agent: Agent) -> Event:
    run = agent.run.run_id if agent.run is not None else "r"
    return runs.AgentStarted(agent.name, agent.incarnation, run, 101, 1001, armed.LINK)


def fails(failure: Any, status: int | None, named: Any = "") -> Happens:
    """A turn that failed, as its class was read from what the CLI said."""

    def of(agent: Agent) -> Event:
        failed = hook("stop-failure", text="API Error", error="API Error")(agent)
        assert isinstance(failed, TurnFailed)
        return replace(failed, failure=failure, named=named, status=status)

    return of


ORDERS: dict[str, Happens] = {
    "it is declared again": lambda agent: orders.AgentDeclared(agent.spec),
    "it is declared and started": lambda agent: orders.AgentDeclared(agent.spec, start=True),
    "it is declared another way": lambda agent: orders.AgentDeclared(replace(agent.spec, prompt="Paint.", account="b")),
    "it is withdrawn": of_agent(orders.AgentWithdrawn),
    "start": of_agent(orders.StartRequested),
    "start --fresh": of_agent(orders.StartRequested, fresh=True),
    "stop": of_agent(orders.StopRequested, act="u1"),
    "stop after this iteration": of_agent(orders.StopRequested, after_iteration=True),
    "restart": of_agent(orders.RestartRequested, act="u1"),
    "restart --fresh": of_agent(orders.RestartRequested, fresh=True),
    "mute": of_agent(orders.MuteRequested, 600.0),
    "unmute": of_agent(orders.UnmuteRequested),
    "undo": of_agent(orders.UndoRequested, "u1"),
    "send": of_agent(orders.SendRequested, "m1", "Go on."),
    "answer": of_agent(orders.AnswerRequested, 1, allow=True),
    "breaker reset": of_agent(orders.BreakerReset),
    "breaker opened by its file": of_agent(orders.BreakerEdited, "OPEN", 4),
    "breaker closed by its file": of_agent(orders.BreakerEdited, "CLOSED", 0),
    "breaker's file is torn": of_agent(orders.BreakerCorrupt, "no JSON"),
    "handoff": of_agent(orders.HandoffRequested, why="enough"),
    "rollback": of_agent(orders.RollbackRequested),
    "check": of_agent(resonance.CheckRequested),
    "restore": of_agent(resonance.RestorationRequested),
}
RUNS: dict[str, Happens] = {
    "its process began": began,
    "its start failed": of_run(runs.StartFailed, 127, "no such program"),
    "its start failed for want of room": of_run(runs.StartFailed, 0, "no space left"),
    "its directory is missing": of_run(runs.StartFailed, 1, "no directory", "no directory"),
    "exit 0": exits(0),
    "exit 1": exits(1),
    "exit 75": exits(75),
    "exit 127": exits(127),
    "exit 0, of an older run": lambda agent: runs.AgentExited(agent.name, agent.incarnation - 1, "old", 0, None),
    "exit 1, the disk is full": exits(1, full_disks=("/",)),
    "SIGINT": exits(None, 2),
    "SIGKILL": exits(None, 9),
    "out of memory": exits(None, 9, oom="agent"),
    "the host is out of memory": exits(None, 9, oom="host"),
    "it vanished": of_run(runs.AgentVanished),
    "its shim died": of_run(runs.ShimLost),
    "its run is missing": of_run(runs.RunMissing),
    "its tree is gone": of_run(runs.TreeGone),
    "its tree is gone, untold": of_run(runs.TreeGone, 2, untold=True),
    "its tree is gone, unproven": of_run(runs.TreeGone, unproven="hidden"),
    "its tree lingers": of_run(runs.TreeLingers, (300, 301)),
    "it is adopted": of_run(runs.RunAdopted, 100, 1000, link=armed.LINK),
    "it is adopted, nobody watched": of_run(
        runs.RunAdopted, 100, 1000, unwatched=True, held=(), link=armed.LINK, armed=()
    ),
    "its link is lost": of_run(runs.LinkLost, "reset"),
    "hooks are refused": of_run(runs.HooksRefused, 2, 0, "no token"),
    "strangers are refused": of_run(runs.HooksRefused, 0, 3, "no token"),
    "it took a text": of_run(runs.Delivered, "m1", "the agent took the prompt"),
    "a text waits for it": of_run(runs.Delivered, "m1", "queued", "Go on."),
    "it took no text": of_run(runs.NotDelivered, "m1", "a dialog is open"),
    "somebody types": of_run(runs.NotDelivered, "m1", "somebody types", person=True),
    "an answer is taken": of_run(runs.HoldAnswered, 3, True),
    "an answer comes too late": of_run(runs.HoldAnswered, 3, False, "the terminal was first"),
    "an answer is held": of_run(runs.HoldAnswered, 3, False, "no word", still_held=True),
    "a question is let go of": of_run(runs.HoldReleased, 3),
    "an armed answer was used": of_run(runs.ArmedUsed, "c1", 1, SOON),
    "it is cleaned up after": of_run(aftermath.CleanedUp, "exit", ("node 7",), ("node 8",)),
    "somebody sits there": of_run(aftermath.AttendanceSeen, True),
    "nobody sits there": of_run(aftermath.AttendanceSeen, False),
}
SIGNS: dict[str, Happens] = {
    "signs of life": of_run(evidence.EvidenceSeen, "transcript"),
    "old signs of life": of_run(evidence.EvidenceSeen, "transcript", 1_000.0),
    "a heartbeat": of_run(evidence.EvidenceSeen, "heartbeat"),
    "usage": of_run(evidence.UsageSeen, 100_000, None, "transcript", SOON),
    "a full context": of_run(evidence.UsageSeen, 190_000, 200_000, "status line", SOON),
    "a cut answer": of_run(evidence.AnswerCut, "output_limit", SOON),
    "a cut answer that went on": of_run(evidence.AnswerCut, "output_limit", SOON, went_on=True),
    "status 429": of_run(evidence.FailureStatusSeen, 429, "limit", "limit"),
    "status 400": of_run(evidence.FailureStatusSeen, 400, "request", "request"),
    "its screen works": of_run(evidence.ScreenSeen, "working"),
    "its screen rests": of_run(evidence.ScreenSeen, "idle"),
    "its screen asks": of_run(evidence.ScreenSeen, "permission"),
    "its screen asks somebody who sits there": of_run(evidence.ScreenSeen, "permission", attended=True),
    "its screen asks for trust": of_run(evidence.ScreenSeen, "trust"),
    "its screen asks for a login": of_run(evidence.ScreenSeen, "login"),
    "its screen shows a limit": of_run(evidence.ScreenSeen, "limit"),
    "its screen shows what nobody knows": of_run(evidence.ScreenSeen, "unknown"),
    "its call worked": of_run(evidence.CallWorkSeen, 970_000, 500.0, 1 << 30, processes=2),
    "its call did nothing": of_run(evidence.CallWorkSeen, 970_000, 0.0, 0, processes=2),
    "its call cannot be read": of_run(evidence.CallWorkSeen, 970_000, 0.0, 0, unread=2),
    "keys were read": of_run(evidence.KeysRead),
    "codes are planted": of_run(resonance.CodesPlanted, PLANTING, SOON),
    "no codes are planted": of_run(resonance.PlantingFailed, "no room"),
    "its anchor is seen": of_run(resonance.AnchorSeen, PLANTING.marker.code, EPOCH),
    "its seed is read": of_run(resonance.SeedRead, words="its words"),
    "codes are seen": of_run(resonance.CodesSeen, ("aaaaa1",), "a file", EPOCH),
    "a footer": of_run(resonance.FooterSeen, PLANTING.marker.code, "The Architect", "Degraded", EPOCH),
    "its work changed": of_agent(work.WorkMeasured, 1, True, "git:2"),
    "its work is looked at": of_agent(work.WorkMeasured, 1, False, "git:1"),
    "its work cannot be told": of_agent(work.WorkMeasured, 1, True, None, "git is slow"),
    "a file is there": of_agent(work.FileLooked, 1, 0, True),
    "a measurement is lost": of_agent(work.MeasurementLost),
    "its successor read its package": of_agent(handoffs.HandoffAcked, "5f" * 32, "heron"),
    "its papers are up to date": of_agent(handoffs.PapersUpdated, "h1"),
    "its package is written": of_agent(handoffs.PackageWritten, "h1", "5f" * 32, "heron"),
    "time passes": lambda agent: fleet.Tick(),
    "the host was booted": lambda agent: fleet.Rebooted("b2"),
    "the terminal is blind": lambda agent: fleet.TerminalSeen(False),
    "nothing can be saved": lambda agent: fleet.SavingHalted("the disk is full"),
    "its papers cannot be read": of_agent(fleet.TroubleSeen, "unread", "its papers cannot be read"),
    "its papers can be read": of_agent(fleet.TroubleGone, "unread"),
}
HOOKS: dict[str, Happens] = {
    "a session began": hook("session-start", source="startup"),
    "a session is resumed": hook("session-start", source="resume"),
    "another session began": hook("session-start", source="startup", session_id="other"),
    "its context is emptied": hook("session-start", source="clear", session_id="other"),
    "a session ended": hook("session-end", source="logout"),
    "a prompt": hook("prompt-submit", text="Go on."),
    "a prompt in another session": hook("prompt-submit", text="Go on.", session_id="other"),
    "a call begins": hook("tool-start", tool="Bash", tool_use_id="t9", command="make"),
    "a call of an hour begins": hook("tool-start", tool="Bash", tool_use_id="t9", lease=3_600.0),
    "a subagent is called": hook("tool-start", tool="Task", tool_use_id="t9", is_subagent_call=True),
    "a subagent's call begins": hook("tool-start", tool="Bash", tool_use_id="t9", sub=True),
    "a call ends": hook("tool-end", tool="Bash", tool_use_id="t1"),
    "a call fails": hook("tool-failure", tool="Bash", tool_use_id="t1", error="exit 1"),
    "a subagent begins": hook("subagent-start", sub=True),
    "a subagent ends": hook("subagent-stop", sub=True),
    "it asks": hook("permission-request", tool="Bash", text="make", held=True, seq=9),
    "it asks at its terminal alone": hook("permission-request", tool="Bash", text="make"),
    "it is denied": hook("permission-denied", tool="Bash"),
    "it notifies": hook("notification", text="Claude is waiting for your input", notification="idle_prompt"),
    "a turn ends": hook("stop", text="Done."),
    "a turn ends with jobs": hook("stop", text="Done.", jobs=("npm run dev",)),
    "a turn's end is held up": hook("stop-blocked", text="Done."),
    "a call is denied beforehand": hook("tool-denied", tool="Bash"),
    "a turn fails by a limit": fails("limit", 429, "limit"),
    "a turn fails by an overload": fails("overload", 529),
    "a turn fails by its login": fails("login", 401),
    "a turn fails by its request": fails("request", 400, "request"),
    "a turn fails by a full context": fails("full", 400),
    "a turn fails for no reason that is known": fails("other", None, "other"),
    "a compaction begins": hook("pre-compact", trigger="auto"),
    "a compaction is blocked": hook("pre-compact", trigger="auto", blocked=True),
    "it is compacted": hook("compacted"),
}
ALL = {"orders": ORDERS, "runs": RUNS, "signs": SIGNS, "hooks": HOOKS}


class At(NamedTuple):
    """A fleet as it is at a moment. agent: to whom something happens."""

    situation: str
    fleet: Fleet
    agent: Agent
    now: Moment


def at(situation: str, story: Story, name: str = "") -> At:
    return At(situation, story.fleet, story.fleet.agents[name] if name else story.agent, story.now)


def alone() -> Iterator[At]:
    """Each situation of an agent, in a fleet of that agent alone; an orchestrator holds its seat."""
    for situation, agent, now in SITUATIONS:
        yield At(situation, replace(Story(agent.spec).fleet, agents={agent.name: agent}, next_item=70), agent, now)


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
        shared.tell(orders.StartRequested(name))
        shared.tell(began(shared.fleet.agents[name]))
        for kind in ("session-start", "prompt-submit"):
            shared.tell(hook(kind, text="go", source="startup")(shared.fleet.agents[name]))
        shared.tell(fails("overload", 529)(shared.fleet.agents[name]))
    yield at("three are in an outage", shared)
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
    story.hook("stop")
    story.begins()
    yield at("handed over: it is told to finish", story, "o")
    story.told_to_finish()
    yield at("handed over: its successor is started", story, "o")
    yield at("it is a successor that is started", story, "o-g2")
    story.started_of("o-g2")
    yield at("handed over: its successor reads", story, "o")
    yield at("it is a successor that reads", story, "o-g2")
    story.ack()
    yield at("handed over: its successor has read", story, "o")
    yield at("it is a successor that has read", story, "o-g2")
    full = HandoffStory()
    full.works()
    full.uses(185_000)
    yield at("its context is full", full)


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


FLEETS = (*alone(), *failing(), *handing(), *turns(), *working(), *checking())
"""Made before any test begins: what is decided on the way to them is no story of this one."""
