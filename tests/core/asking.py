"""An agent's day as its CLI tells it: hook inputs as they were measured, screens as they were captured.

Nothing is paraphrased on the way: an input goes through the shim's own reader and the daemon's, a screen through the
harness's, and what a person is told is read where every face reads it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from phoenixd.core.actions import LookAtScreen, Terminate
from phoenixd.core.agent.state import Desired, Starting
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.inbox import inbox
from phoenixd.core.projection import row
from phoenixd.documents.hooks import hook_event
from phoenixd.harness import HARNESSES
from tests.core.story import Story, claude

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "tests" / "harness" / "screens"
VERSIONS = {name: f"{name}-{HARNESSES[name].tested_versions[0]}" for name in ("claude", "codex", "gemini")}

Step = Callable[["Day"], None]


@dataclass(frozen=True, slots=True)
class Needs:
    """From the step before it on, a person is needed for this."""

    kind: str


CALM = Needs("")
"""From the step before it on, nobody is."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row: steps, and in between from when on whom it needs; it begins calm."""

    name: str
    steps: tuple[Step | Needs, ...]
    harness: str = "claude"
    begins_turn: bool = True

    def play(self) -> tuple[list[str], Day]:
        """What was told falsely, and what was not told, each with the step after which it was so."""
        day = Day(self.harness)
        day.begin(self.begins_turn)
        wrong, expected, asked = [], "", 0
        for number, step in enumerate(self.steps):
            if isinstance(step, Needs):
                continue
            step(day)
            after = self.steps[number + 1] if number + 1 < len(self.steps) else None
            if isinstance(after, Needs):
                asked += after.kind not in ("", expected)
                expected = after.kind
            if day.needs() != expected:
                wrong.append(f"after step {number + 1} it needs {day.needs()!r}, and should {expected!r}")
        told = [kind for kind in day.alerts() if kind not in HEALS]
        if len(told) < asked:
            wrong.append(f"a person was told {told}, of {asked} questions")
        return wrong, day


HEALS = frozenset({"hung", "outage", "parked"})
"""Alerts that need nobody."""


class Day(Story):
    """A story in which looks at the screen find a captured one."""

    def __init__(self, harness: str) -> None:
        self.harness = harness
        self.shown = "idle"
        super().__init__(claude(harness=harness))

    def begin(self, begins_turn: bool) -> None:
        self.start()
        self.started()
        if begins_turn:
            self.shown = "working"
            self.say("SessionStart", source="startup")
            self.say("UserPromptSubmit", prompt="Build the shop.")

    def tell(self, event: Event) -> Any:
        self.screen = self.shown
        before = len(self.decisions)
        refusal = super().tell(event)
        for action in [action for decision in self.decisions[before:] for action in decision.actions]:
            # A story answers only for runs that have told of themselves.
            if isinstance(action, LookAtScreen) and isinstance(self.state, Starting):
                self.tell(ScreenSeen(action.agent, action.incarnation, self.shown))
            if isinstance(action, Terminate) and self.agent.desired is Desired.RUNNING:
                # Ended as hung: what its next run would be asked is another row.
                self.stop()
                self.exited(143)
        return refusal

    def say(self, event: str, **payload: Any) -> None:
        """One hook input, by the CLI's name of its event."""
        whole = {"session_id": self.run.session_id, "cwd": "/srv/shop", "hook_event_name": event, **payload}
        kind = _reader().kind_of(KINDS.get(event, event))
        assert kind is not None, event
        self.tell(hook_event(self.agent.name, self.agent.incarnation, kind, _reader().trim(whole), self.wall))

    def needs(self) -> str:
        """For what a person is needed, as status and inbox say it; both must agree."""
        found = row(self.agent, self.now)
        items = [item.kind for item in inbox(self.fleet)]
        assert (found.group == "needs_you") == bool(items), (found.group, items)
        assert len(set(items)) <= 1, items
        return items[0] if items else ""


KINDS = {"BeforeAgent": "prompt-submit", "AfterAgent": "stop", "BeforeTool": "tool-start", "AfterTool": "tool-end",
         "Interrupt": "stop"}  # fmt: skip
"""What the harnesses have the hook program call events that Claude Code has no name for."""


@cache
def _reader() -> Any:
    """The shim's reader, which is no part of the package when it runs."""
    spec = importlib.util.spec_from_file_location("shim_payload", ROOT / "phoenixd" / "shim" / "payload.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Steps.


def hook(event: str, **payload: Any) -> Step:
    return lambda day: day.say(event, **payload)


def sub(event: str, **payload: Any) -> Step:
    """The same from a subagent."""
    return hook(event, agent_id="a1b2", agent_type="Explore", **payload)


def tool(name: str, call: str = "t1", event: str = "PreToolUse", **payload: Any) -> Step:
    given = {"command": "make"} if name == "Bash" else {"url": "https://example.org"}
    return hook(event, tool_name=name, tool_use_id=call, tool_input=given, **payload)


def done(name: str, call: str = "t1", event: str = "PostToolUse", **payload: Any) -> Step:
    return tool(name, call, event, tool_response={"stdout": "ok"}, **payload)


def asks(name: str = "Bash", command: str = "make deploy", **payload: Any) -> Step:
    """PermissionRequest, which comes a moment before its dialog is drawn."""
    given = {"command": command} if name == "Bash" else {"url": command}
    return hook("PermissionRequest", tool_name=name, tool_input=given, permission_suggestions=[], **payload)


def notice(kind: str, message: str = "Claude needs your permission") -> Step:
    return hook("Notification", notification_type=kind, message=message)


def ends(**payload: Any) -> Step:
    return hook("Stop", stop_hook_active=False, last_assistant_message="Done.", **payload)


def fails(error: str, details: str = "") -> Step:
    return hook("StopFailure", error=error, error_details=details)


def draws(name: str, version: str | None = None) -> Step:
    """From now on its screen is this one of the harness's captures, of another tested version where one is named."""

    def step(day: Day) -> None:
        folder = VERSIONS[day.harness] if version is None else f"{day.harness}-{version}"
        text = (SCREENS / folder / f"{name}.txt").read_text(encoding="utf-8")
        day.shown = HARNESSES[day.harness].screen_says(text)

    return step


def after(seconds: float) -> Step:
    """Time passes, with the looks at the screen that are due."""
    return lambda day: day.wait(seconds)


def writes() -> Step:
    """The transcript grows."""
    return lambda day: day.tell(EvidenceSeen(day.agent.name, day.agent.incarnation, "transcript")) and None


def dies() -> Step:
    """Its process ends, is back at once, and goes on."""

    def step(day: Day) -> None:
        day.shown = "working"
        day.exited(signal=9)
        day.respawned()
        day.started()
        day.say("SessionStart", source="resume")
        day.say("UserPromptSubmit", prompt="You were interrupted.")

    return step
