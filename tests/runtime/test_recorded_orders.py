"""What is done of each order to the world outside, call by call, as it was when it was last written down.

Where a difference is meant, `python -m tests.core.recorded` writes it anew.
"""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import anyio
import anyio.lowlevel

from phoenixd.core import actions as do
from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.events import Event
from phoenixd.core.events.runs import Delivered, HoldAnswered, HoldReleased
from phoenixd.core.moment import Moment
from phoenixd.core.rules import CleanupRules
from phoenixd.core.tasks.state import Outcome, Task, Tasks
from phoenixd.errors import LaunchFailed, ResumeRefused, SessionInUse, ShimFailed, TerminalFailed
from phoenixd.ports import Outside
from phoenixd.ports.processes import Fenced, Leftover, Leftovers, PortHolder, ProcessIdentity, WorkDone
from phoenixd.ports.shims import ShimCommand, ShimHello, ShimRun
from phoenixd.ports.work import WorkReading
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.performer import Performer
from tests.core.recorded.keeping import AGAIN
from tests.core.recorded.rendering import value
from tests.core.story import EPOCH, Story, claude

TOLD = Path(__file__).with_name("told") / "orders.txt"
SHIM = ProcessIdentity("boot", 50, 500)
HELLO = ShimHello("a", SHIM, 2, "1.0", 40001, None, None)
FULL = LaunchFailed("the order could not be written")
FULL.__cause__ = OSError(errno.ENOSPC, "full")


class Port:
    """One port: notes each call, and answers it as the script says; what is an error is raised."""

    def __init__(self, world: World, name: str, protocol: type[Any]) -> None:
        self._world, self._name, self._protocol = world, name, protocol

    def __getattr__(self, function: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            shown = (one for one in given if not isinstance(one, Agent) and not callable(one))
            arguments = [one if isinstance(one, str) else value(one) for one in shown]
            self._world.lines.append(f"    {self._name}.{function} {', '.join(arguments)}".rstrip())
            found = self._world.answers.get(f"{self._name}.{function}")
            found = found.pop(0) if isinstance(found, list) and found else found
            if isinstance(found, Exception):
                raise found
            return found

        async def waits(*given: Any, **named: Any) -> Any:
            return call(*given, **named)

        return waits if inspect.iscoroutinefunction(getattr(self._protocol, function)) else call


class Words:
    """What types texts and gives answers."""

    async def deliver(self, agent: Agent, action: do.Deliver) -> Event:
        return Delivered(agent.name, action.incarnation, action.message_id, action.text)

    async def answer(self, agent: Agent, action: do.AnswerHold) -> Event:
        return HoldAnswered(agent.name, action.incarnation, action.hold, action.allow)

    async def attend(self, action: do.AttendHold) -> Event | None:
        return HoldReleased(action.agent, action.incarnation, action.hold) if action.hold != 9 else None


class World:
    """All ports, a clock that moves when somebody sleeps, and agent a, which is being started."""

    def __init__(self, **answers: Any) -> None:
        self.lines: list[str] = []
        self.at = 100.0
        self.story = Story(claude(cleanup=CleanupRules(ports=(8080,), foreign_port="refuse")))
        self.story.start()
        self.answers: dict[str, Any] = {
            "shims.connect": HELLO, "processes.boot_id": "boot", "starter.write_order": "/order", "processes.fence":
            Fenced(("7 make",)), "cleaner.clean": Leftovers(), "starter.shim_command": ShimCommand(("shim", "a")),
            "processes.watch": True, "processes.work_since": WorkDone(1.5, 2048, 3, 1),
            "work.measure": WorkReading("git:1", "n", True, 5),
            "work.exists": True, "terminal.last_typed": 5.0, "papers.opening_words": "Read your package.",
            **{name.replace("__", "."): one for name, one in answers.items()},
        }  # fmt: skip
        hints = get_type_hints(Outside)
        own = ("clock", "reader", "markers")
        ports = {name: Port(self, name, kind) for name, kind in hints.items() if name not in own}
        outside = Outside(clock=self, **ports)  # type: ignore[arg-type]
        hearing = Hearing(
            outside.shims, outside.processes, outside.records, self, self.find, lambda event, saved: self.tell(event),
            later=lambda seconds, call: None, unswept=lambda agent, told: None,
        )  # fmt: skip
        words: Any = Words()
        tasks = Tasks(open=(Task("t1", "a", runs=2),))
        self.performer = Performer(outside, self.find, self.tell, hearing, words, words, lambda: tasks)

    def now(self) -> Moment:
        return Moment(self.at, EPOCH + self.at)

    async def sleep_until(self, at: float) -> None:
        self.at = max(at, self.at)

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        self.lines.append(f"    tells {value(event)}")

    async def does(self, *actions: Action) -> list[str]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.performer.run)
            for action in actions:
                self.lines.append(value(action))
                self.performer.submit(action)
                # Nothing in this world waits for anything but its turn.
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        return self.lines


SPAWN = do.Spawn("a", 1, "run-1", Mode.FRESH, "s", PromptKind.GOAL)
FENCE = do.Fence("a", 1, "run-1", 100, 1000)
EXIT = {"run_id": "run-1", "code": 3, "signal": None, "incarnation": 1}
ANSWER = ArmedAnswer("one", "stop", "Go on.", 3600.0, "check")
STRANGER = Leftovers((Leftover(9, "node", "it listens on 8080"),), (PortHolder(8080, 77, "nginx"),), (9,))
GONE = ShimFailed("the link is down")
WORLDS: dict[str, tuple[dict[str, Any], tuple[Action, ...]]] = {
    "a start": ({}, (SPAWN, replace(SPAWN, incarnation=2), replace(SPAWN, agent="b"))),
    "a start in a new pane": ({"shims__connect": [None, None, None, HELLO], "terminal__revive": True}, (SPAWN,)),
    "a start without a terminal": ({"shims__connect": None}, (SPAWN,)),
    "a start whose pane is closed": (
        {"shims__connect": None, "terminal__revive": True, "terminal__open_pane": 7, "processes__identity_of": None},
        (SPAWN,),
    ),
    "a start over a run": ({"shims__connect": replace(HELLO, run=ShimRun(4, "run-4", 9, 9))}, (SPAWN,)),
    "a start beside a stranger": ({"cleaner__clean": STRANGER}, (SPAWN, do.CleanUp("a", 1), do.CleanUp("b", 1))),
    "a start that cannot run": ({"starter__write_order": LaunchFailed("no such program", code=127)}, (SPAWN,)),
    "a start whose session is refused": ({"starter__write_order": ResumeRefused("it is gone")}, (SPAWN,)),
    "a start whose session is in use": ({"starter__write_order": SessionInUse("by another")}, (SPAWN,)),
    "a start on a full disk": ({"starter__write_order": FULL}, (SPAWN,)),
    "a start that crashes": ({"starter__write_order": KeyError("x")}, (SPAWN, SPAWN)),
    "an end": ({}, (do.Terminate("a", 1), do.Kill("a", 1), FENCE, replace(FENCE, pid=None))),
    "an end whose shim is away": ({"shims__kill": GONE}, (do.Kill("a", 1),)),
    "an end whose shim comes back": ({"shims__terminate": [GONE, None]}, (do.Terminate("a", 1),)),
    "an end without a shim": ({"shims__kill": GONE, "shims__connect": None}, (do.Kill("a", 1),)),
    "an end that lingers": ({"processes__fence": Fenced(remaining=(8,))}, (FENCE,)),
    "an end with a record": ({"records__exit_record": EXIT, "records__run_record": EXIT},
                             (FENCE, replace(FENCE, pid=None), replace(FENCE, run_id="run-2"))),
    "an end that nothing proves": ({"processes__fence": Fenced(unproven=True, unread=(5,))}, (FENCE,)),
    "a release": ({"processes__is_alive": [True, True, False]}, (do.Release("a"),)),
    "a release of what is gone": ({"shims__connect": None}, (do.Release("a"),)),
    "a release of what stays": ({"processes__is_alive": True}, (do.Release("a"),)),
    "answers": ({}, (
        do.Arm("a", 1, ANSWER), do.Arm("a", 2, ANSWER), do.Arm("b", 1, ANSWER),
        do.Arm("a", 1, replace(ANSWER, until=99.0)), do.Disarm("a", 1, "one"), do.ReleaseHold("a", 1, 7),
        do.AnswerHold("a", 1, 7, 3, True), do.AnswerHold("b", 1, 7, 3, True), do.AttendHold("a", 1, 7),
        do.AttendHold("a", 1, 9),
    )),
    "texts": ({}, (
        do.Deliver("a", 1, "m1", "go on"), do.Deliver("a", 1, "m2", "", opening=True),
        do.Deliver("b", 1, "m3", "go on"),
    )),
    "looks": ({}, (
        do.MeasureWork("a", 1, True), do.MeasureWork("b", 1, True), do.LookForFile("a", 1, 2, "/srv", "done"),
        do.SeeAttendance("a", 1), do.LookAtCall("a", 1, 5), do.ObserveTerminal(0.0), do.CollectTask("a", 1, "t1", 1),
    )),
    "looks that fail": ({
        "work__measure": GONE, "work__exists": GONE, "terminal__last_typed": GONE, "terminal__revive":
        TerminalFailed("no answer"), "handover__update": GONE, "handover__write": GONE, "handover__addendum": GONE,
        "papers__opening_words": GONE,
    }, (
        do.MeasureWork("a", 1, True, turn=4), do.LookForFile("a", 1, 2, "/srv", "done"), do.SeeAttendance("a", 1),
        do.ObserveTerminal(0.0), do.UpdatePapers("a", "h1"), do.WritePackage("a", "h1"), do.WriteAddendum("a", "h1"),
        do.Deliver("a", 1, "m2", "", opening=True),
    )),
    "seats and tasks": ({"jobs__collect": Outcome("done", report="/r")}, (
        do.TakeSession("a", "boss", 2), do.RecordSessions("a", "h1"), do.CheckPackage("a", "h1", "5f"),
        do.CollectTask("a", 1, "t1", 2),
        do.CollectTask("a", 1, "t2", 2), do.PlantCodes("a", 1, "start"), do.PlantCodes("a", 2, "start"),
        do.ReadSeed("a", 1), do.Alert("a", "hung", "it hangs"),
    )),
}  # fmt: skip


async def test_what_is_ordered_is_done_as_it_was() -> None:
    found: list[str] = []
    for name, (answers, actions) in WORLDS.items():
        found += [f"== {name}", *await World(**answers).does(*actions)]
    if AGAIN in os.environ:
        TOLD.write_text("\n".join((*found, "")), encoding="utf-8")
    assert found == TOLD.read_text(encoding="utf-8").splitlines()
