"""Events as they happen to an agent, by the words by which tables name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.behind.world import World
from phoenixd.core.events import Event, aftermath, evidence, fleet, handoffs, orders, resonance, runs, tasks, work
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import JobRules, Outcome
from phoenixd.core.treatment.authority import Caps
from phoenixd.core.treatment.examined import Opinion
from phoenixd.core.work import Deed
from phoenixd.documents.hooks import hook_of
from phoenixd.planting import Marker, Planting
from tests.core.handing import FACTS, HASH, WORD
from tests.core.story import EPOCH

Happens = Callable[[Agent], Event]
"""An event that happens to an agent."""
PLANTING = Planting(Marker("the weight of the morning", "7f3a9c"), ("aaaaa1", "aaaaa2", "aaaaa3"))
SOON = EPOCH + 60
OPINION = Opinion("logic_error", "The build needs a library.", 0.9, "modify_prompt", "Install it first.")


def of_run(kind: type[Any], *given: Any, **named: Any) -> Happens:
    """An event of the agent's run."""
    return lambda agent: kind(agent.name, agent.incarnation, *given, **named)


def of_agent(kind: type[Any], *given: Any, **named: Any) -> Happens:
    return lambda agent: kind(agent.name, *given, **named)


def of_seat(kind: type[Any], *given: Any, **named: Any) -> Happens:
    """What came of the work on files of its seat's handoff, which fleets call h1."""
    return lambda agent: kind(agent.spec.seat or agent.name, "h1", *given, **named)


def of_text(kind: Callable[..., Event], *given: Any, **named: Any) -> Happens:
    """What became of the text that is on its way to it, whatever sent it."""

    def of(agent: Agent) -> Event:
        parking, run = agent.limits.parking, agent.run
        ours = (
            parking.message_id if parking is not None else "",
            agent.cut.message_id if agent.cut is not None else "",
            run.opening if run is not None else "",
            *(item.answering for item in agent.items if item.left),
        )
        return kind(agent.name, agent.incarnation, next(filter(None, ours), "m1"), *given, **named)

    return of


def of_hold(kind: Callable[..., Event], *given: Any, **named: Any) -> Happens:
    """What became of the request that its shim holds."""

    def of(agent: Agent) -> Event:
        asks = agent.activity.waiting if agent.activity is not None else None
        return kind(agent.name, agent.incarnation, asks.hold if asks is not None else 3, *given, **named)

    return of


def measured(at_end: bool, found: str | None, note: str = "", **named: Any) -> Happens:
    """How the work looks of the iteration or the turn that is judged."""

    def of(agent: Agent) -> Event:
        number = agent.iteration.number if agent.iteration is not None else agent.incarnation
        turn = agent.turns[-1].number if agent.turns else 0
        return work.WorkMeasured(agent.name, number, at_end, found, note, turn=turn, **named)

    return of


def used(times: int) -> Happens:
    """The answer that stands ready with its shim was given."""

    def of(agent: Agent) -> Event:
        name = agent.armed[-1].answer.id if agent.armed else "c1"
        return runs.ArmedUsed(agent.name, agent.incarnation, name, times, SOON)

    return of


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


def seen(agent: Agent) -> Event:
    """An operator acknowledges the newest that stands of it."""
    standing = [*(item.id for item in agent.items), *(alert.id for alert in agent.alerts)]
    return fleet.AlertAcknowledged(standing[-1] if standing else 1, "ada")


def answers(**words: Any) -> Happens:
    """An operator answers what the agent asks now."""
    return lambda agent: orders.AnswerRequested(agent.name, agent.item.id if agent.item is not None else 1, **words)


def asked_for(**details: Any) -> Happens:
    return lambda agent: tasks.TaskRequested(agent.spec, "Do it.", asked_by=agent.name, **details)


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
    "what it asks is allowed": answers(allow=True),
    "what it asks is denied": answers(reason="not now"),
    "what it asks is answered in words": answers(words=("yes",)),
    "what it asks is answered with a secret": answers(words=("hunter2",), as_text=True, secret=True),
    "what stands is acknowledged": seen,
    "what was found is confirmed": lambda agent: fleet.RecoveryConfirmed(),
    "two may start at once": lambda agent: fleet.LimitsDeclared(FleetLimits(max_starting=1), JobRules(1), Caps()),
    "a task is asked for": asked_for(),
    "a task is asked for after another": asked_for(after=("t1",), key="k1", project="shop", plan="2"),
    "its task is canceled": lambda agent: tasks.TaskCancelRequested("t1"),
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
    "its tree is gone, untold": of_run(runs.TreeGone, unproven=True, untold=True),
    "its tree is gone, unproven": of_run(runs.TreeGone, unproven=True),
    "its tree is gone, as far as it can be read": of_run(runs.TreeGone, ("node 7",), unproven=True, unread=(700,)),
    "its tree lingers": of_run(runs.TreeLingers, (300, 301)),
    "it is adopted": of_run(runs.RunAdopted, 100, 1000, link=armed.LINK),
    "it is adopted, nobody watched": of_run(
        runs.RunAdopted, 100, 1000, unwatched=True, held=(), link=armed.LINK, armed=()
    ),
    "its link is lost": of_run(runs.LinkLost, "reset"),
    "hooks are refused": of_run(runs.HooksRefused, 2, 0, "no token"),
    "strangers are refused": of_run(runs.HooksRefused, 0, 3, "no token"),
    "it took a text": of_text(runs.Delivered, "the agent took the prompt"),
    "a text waits for it": of_text(runs.Delivered, "queued", "Go on."),
    "it took no text": of_text(runs.NotDelivered, "a dialog is open"),
    "somebody types": of_text(runs.NotDelivered, "somebody types", person=True),
    "an answer is taken": of_hold(runs.HoldAnswered, True),
    "an answer comes too late": of_hold(runs.HoldAnswered, False, "the terminal was first"),
    "an answer is held": of_hold(runs.HoldAnswered, False, "no word", still_held=True),
    "a question is let go of": of_hold(runs.HoldReleased),
    "an armed answer was used": used(1),
    "it is cleaned up after": of_run(aftermath.CleanedUp, "exit", ("node 7",), ("node 8",)),
    "somebody sits there": of_run(aftermath.AttendanceSeen, True),
    "nobody sits there": of_run(aftermath.AttendanceSeen, False),
    "its report holds": of_run(aftermath.ReportJudged, "task t1", verified=2),
    "its report is contradicted": of_run(aftermath.ReportJudged, "task t1", ("no such commit",), beyond=1),
    "its task's work is collected": lambda agent: tasks.TaskCollected("t1", 1, Outcome("done", seal="sealed")),
    "its task's answer is cut": lambda agent: tasks.TaskCollected("t1", 1, Outcome("cut", seal="cut")),
}
SIGNS: dict[str, Happens] = {
    "signs of life": of_run(evidence.EvidenceSeen, "transcript"),
    "old signs of life": of_run(evidence.EvidenceSeen, "transcript", 1_000.0),
    "a heartbeat": of_run(evidence.EvidenceSeen, "heartbeat"),
    "its context is shortened": of_run(evidence.UsageSeen, None, None, "transcript", SOON),
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
    "its work changed": measured(True, "git:2", deeds=(Deed("commit", "k1"),), tokens=900),
    "its work is looked at": measured(False, "git:1"),
    "its work is as it was": measured(True, "git:same"),
    "its work is as it was, and done": measured(True, "git:same", done=True),
    "its work cannot be told": measured(True, None, "git is slow"),
    "a file is there": of_agent(work.FileLooked, 1, 0, True),
    "a measurement is lost": of_agent(work.MeasurementLost),
    "its successor read its package": of_agent(handoffs.HandoffAcked, HASH, WORD, FACTS),
    "its successor misread its package": of_agent(handoffs.HandoffAcked, HASH, "crane", FACTS),
    "its papers are up to date": of_seat(handoffs.PapersUpdated, "one plan was left alone", 300),
    "its package is written": of_seat(handoffs.PackageWritten, HASH, WORD, FACTS, "Read your package."),
    "time passes": lambda agent: fleet.Tick(),
    "the host was booted": lambda agent: fleet.Rebooted("b2"),
    "the terminal is blind": lambda agent: fleet.TerminalSeen(False),
    "nothing can be saved": lambda agent: fleet.SavingHalted("the disk is full"),
    "its papers cannot be read": of_agent(fleet.TroubleSeen, "unread", "its papers cannot be read"),
    "its papers can be read": of_agent(fleet.TroubleGone, "unread"),
    "its papers are not up to date": of_seat(handoffs.PapersFailed, "git is slow"),
    "its papers are gone": of_seat(handoffs.PapersFailed, "they are gone", final=True, tokens=900),
    "its package cannot be written": of_seat(handoffs.PackageFailed, "the disk is full"),
    "no package is written": of_seat(handoffs.PackageFailed, "its place is no directory", final=True),
    "an addendum is written": of_seat(handoffs.AddendumWritten, "/srv/addendum.md", 2, 1),
    "no addendum is written": of_seat(handoffs.AddendumWritten, why="the disk is full"),
    "a failure is kept": of_run(evidence.IncidentRecorded, "crash", "incidents/1-crash.json", 40, EPOCH, case="c1"),
    "a failure is read": of_run(CaseExamined, "c1", 1, OPINION, tokens=700),
    "a failure cannot be read": of_run(CaseExamined, "c1", 1, problem="no model"),
    "its state is edited": of_agent(fleet.StateEdited),
    "decisions can be saved again": lambda agent: fleet.SavingResumed(),
    "a daemon began": lambda agent: fleet.EpochBegun(7, 3),
    "the terminal is back": lambda agent: fleet.TerminalSeen(True),
    "the journal is old": lambda agent: fleet.JournalBehind("it was put back", World("b", 3, 7), (agent.spec,)),
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
