"""A night is played: the core decides, the rows are the runtime's, and the real handlers are asked in the morning."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Action, Deliver, Fence, LookAtScreen, SeeAttendance, Spawn, UpdatePapers, WritePackage
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen, UsageSeen
from phoenixd.core.events.fleet import (
    EpochBegun,
    Rebooted,
    SavingHalted,
    SavingResumed,
    TerminalEnded,
    TerminalSeen,
    Tick,
    TroubleGone,
    TroubleSeen,
)
from phoenixd.core.events.handoffs import HandoffAcked, PackageWritten, PapersUpdated
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    AnswerRequested,
    HandoffRequested,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentExited, LinkLost, RunAdopted, StartFailed, TreeGone
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_event, hook_of
from phoenixd.runtime.turn import Turn
from tests.api.conftest import serving
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon
from tests.api.nights.reading import Read, Step, same_day
from tests.core.handing import FACTS, HASH, OPENING, WORD

BEFORE = 2 * 3600.0
"""Seconds before the stretch at which the fleet began."""
TOKENS, WINDOW = 181_000, 200_000
SIGNS = 240.0
"""Seconds between two signs of life."""
SHORT = 2.0
"""Seconds that a run lives of several that die one after the other."""
LEAST = 0.001
"""Seconds after a deadline at which it is over in any case: sums of times are not exact."""


@dataclass
class Told:
    """What is told in the morning: `since` and `status`, as JSON and as pages."""

    since: dict[str, Any]
    page: str
    status: dict[str, Any]
    status_page: str
    inbox: dict[str, Any]


async def told(read: Read) -> Told:
    night = Night(stands_at=FIXTURE_EPOCH)
    night.passes(read)
    with tempfile.TemporaryDirectory(prefix="phx") as room:
        async with serving(night, Path(room)) as live:
            asked = f"/v1/since?time={read.since}&zone=UTC&width=100"
            return Told(
                (await live.ask("GET", asked)).json,
                (await live.ask("GET", asked, text=True)).text,
                (await live.ask("GET", "/v1/agents")).json,
                (await live.ask("GET", "/v1/agents?all=true&zone=UTC", text=True)).text,
                (await live.ask("GET", "/v1/inbox")).json,
            )


@dataclass
class Night(FakeDaemon):
    """still: seconds for which supervised time stood. shown: what a look at somebody's screen finds. silent: the seats
    whose successors do not acknowledge."""

    still: float = 0.0
    shown: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    homeless: dict[str, str] = field(default_factory=dict)
    """The agents whose directory is missing, and which."""
    hung: set[str] = field(default_factory=set)
    signs_at: float = 0.0
    is_down: bool = False
    halted: str = ""
    died_unheard: list[Step] = field(default_factory=list)
    down_since: float = 0.0

    def now(self) -> Moment:
        assert self.stands_at is not None
        self._nonce += 1
        return Moment(self.stands_at - FIXTURE_EPOCH - self.still, self.stands_at, 0.5, f"nonce {self._nonce}")

    @property
    def wall(self) -> float:
        assert self.stands_at is not None
        return self.stands_at

    def passes(self, read: Read) -> None:
        """The whole of it, up to the moment of the question."""
        self.stands_at = read.began - BEFORE
        self.happen(EpochBegun(0))
        for name, keys in read.agents.items():
            self.begins(name, dict(keys))
        for step in read.steps:
            self.until(step.at)
            getattr(self, f"do_{step.verb.replace(' ', '_')}")(step)
        self.until(read.now)

    def begins(self, name: str, keys: dict[str, Any]) -> None:
        generation = keys.pop("generation", 1)
        keys = {"harness": "claude", "prompt": "Build the shop.", "argv": ("claude",), **keys}
        if keys.get("kind") == "orchestrator":
            keys["project"] = name
        self.declare(name, **keys)
        self.works(name, begun=True)
        for _ in range(generation - 1):
            self.happen(HandoffRequested(name))
            self.until(self.wall + 1200)

    def until(self, wall: float) -> None:
        """Let time pass, with what falls due; without a daemon nothing does."""
        while not self.is_down:
            due = next_deadline(self.state, self.now())
            soonest = due + FIXTURE_EPOCH + self.still if due is not None else wall + 1
            # Counted from the last ones: deadlines may come closer together than signs.
            next_signs = max(self.wall, self.signs_at + SIGNS)
            if (signs := self.at_work()) and next_signs < min(soonest, wall):
                self.stands_at = self.signs_at = next_signs
                for sign in signs:
                    self.happen(sign)
                continue
            if soonest > wall:
                break
            self.stands_at = max(self.wall, soonest + LEAST)
            self.happen(Tick())
        if self.is_down:
            self.still += max(0.0, wall - self.wall)
        self.stands_at = max(self.wall, wall)

    def at_work(self) -> list[Event]:
        """Signs of life of who is in a turn: what a history does not tell as hung is none."""
        return [
            EvidenceSeen(name, agent.incarnation, "transcript")
            for name, agent in self.state.agents.items()
            if isinstance(agent.state, Running) and agent.state.activity.turn_open and agent.state.run.deaf is None
            if agent.state.activity.waiting is None and agent.parking is None and name not in self.hung
        ]

    def holder(self, name: str) -> str:
        seat = self.state.seats.get(name)
        return seat.holder if seat is not None else name

    def hooked(self, name: str, kind: str, **said: Any) -> None:
        agent = self.state.agents[self.holder(name)]
        if agent.run is not None:
            self.happen(hook_of(agent.name, agent.incarnation, kind, **{"session_id": agent.run.session_id, **said}))

    def works(self, name: str, *, begun: bool = False) -> None:
        """A turn of some seconds that ends well."""
        agent = self.state.agents[self.holder(name)]
        if agent.run is None or not agent.spec.has_hooks:
            return
        if not (begun or (agent.activity is not None and agent.activity.turn_open)):
            self.hooked(name, "prompt-submit", text="Go on.")
        self.hooked(name, "tool-start", tool="Bash", tool_use_id="t1")
        self.stands_at = self.wall + 5
        self.hooked(name, "tool-end", tool="Bash", tool_use_id="t1")
        self.hooked(name, "stop", text="Done.")

    # --- what the outside answers ---

    def _answers(self, action: Action) -> list[Event]:
        match action:
            case Spawn(agent=agent, incarnation=incarnation) if agent in self.homeless:
                return [StartFailed(agent, incarnation, 1, f"its directory {self.homeless[agent]} is missing")]
            case Spawn(agent=agent, incarnation=incarnation):
                return [*super()._answers(action), *self._first_hooks(action)]
            case LookAtScreen(agent=agent, incarnation=incarnation):
                return [ScreenSeen(agent, incarnation, self._screen(agent))]
            case Fence(agent=agent, incarnation=incarnation):
                return [TreeGone(agent, incarnation)]
            case SeeAttendance(agent=agent, incarnation=incarnation):
                return [AttendanceSeen(agent, incarnation, False)]
            case UpdatePapers(agent=agent, handoff=handoff):
                return [PapersUpdated(agent, handoff)]
            case WritePackage(agent=agent, handoff=handoff):
                return [PackageWritten(agent, handoff, HASH, WORD, FACTS, OPENING)]
            case Deliver(agent=agent, incarnation=incarnation, text=text):
                ends = [hook_of(agent, incarnation, "stop", text="Done.")] if self._leads(agent) else []
                return [hook_of(agent, incarnation, "prompt-submit", text=text), *super()._answers(action), *ends]
            case _:
                return super()._answers(action)

    def _leads(self, name: str) -> bool:
        return self.state.agents[name].spec.kind is Kind.ORCHESTRATOR

    def _first_hooks(self, action: Spawn) -> list[Event]:
        agent = self.state.agents[action.agent]
        if not agent.spec.has_hooks:
            return []
        source = "resume" if action.mode == "resume" else "startup"
        said = {"session_id": action.session_id}
        hooks: list[Event] = [hook_of(action.agent, action.incarnation, "session-start", source=source, **said)]
        if action.prompt is not PromptKind.NONE:
            hooks.append(hook_of(action.agent, action.incarnation, "prompt-submit", text="Build the shop.", **said))
        is_successor = agent.spec.generation > 1
        if is_successor and agent.spec.seat not in self.silent:
            hooks.append(HandoffAcked(action.agent, HASH, WORD, FACTS))
        if is_successor:
            for kind in ("tool-start", "tool-end"):
                hooks.append(hook_of(action.agent, action.incarnation, kind, tool="Bash", tool_use_id="t0", **said))
            hooks.append(hook_of(action.agent, action.incarnation, "stop", text="Done.", **said))
        return hooks

    def _screen(self, name: str) -> str:
        if name in self.shown:
            return self.shown[name]
        activity = self.state.agents[name].activity
        return "working" if activity is not None and activity.turn_open else "idle"

    def _note(self, event: Event, decision: Decision, now: Moment) -> None:
        """The rows as the runtime makes them."""
        turn = Turn()
        turn.note(event, [decision], now, lambda agent, text: text)
        for entry in turn.entries:
            self.journal.append(entry)

    # --- what happens ---

    def do_turn_begins(self, step: Step) -> None:
        activity = self.state.agents[self.holder(step.name)].activity
        if activity is None or not activity.turn_open:
            self.hooked(step.name, "prompt-submit", text="Go on.")
        self.do_calls(step)

    def do_calls(self, step: Step) -> None:
        self.hooked(step.name, "tool-start", tool="Bash", tool_use_id="t2")

    def do_works(self, step: Step) -> None:
        if isinstance(self.state.agents[self.holder(step.name)].state, Running | Starting):
            self.works(step.name)

    def do_hangs(self, step: Step) -> None:
        self.hung.add(step.name)
        self.do_turn_begins(step)

    def do_idle_prompt(self, step: Step) -> None:
        for name in [step.name] if step.name else list(self.state.agents):
            self.hooked(name, "notification", text="Claude is waiting for your input", notification="idle_prompt")

    def do_dies(self, step: Step) -> None:
        if self.is_down:
            self.died_unheard.append(step)
            return
        for number in range(step.more.get("times", 1)):
            if number:
                self.until(self.wall + 5)
            self.ends(step)

    def ends(self, step: Step, at_wall: float | None = None) -> None:
        agent = self.state.agents[self.holder(step.name)]
        run = agent.run
        assert run is not None, f"{step.name} does not run: {agent.reason}"
        code, signal = step.more.get("code"), step.more.get("signal")
        self.shown.pop(step.name, None)  # The next run begins with a screen of its own.
        lived = SHORT if step.more.get("times", 1) > 1 else None
        self.happen(AgentExited(agent.name, run.incarnation, run.run_id, code, signal, at_wall=at_wall, lived=lived))

    def do_loses_its_directory(self, step: Step) -> None:
        self.homeless[step.name] = step.more["path"]

    def do_terminal_ends(self, step: Step) -> None:
        """The tmux server ends: every shim is hung up on, and the server is begun again by a look."""
        self.happen(TerminalEnded())
        for name, agent in list(self.state.agents.items()):
            if agent.run is not None and isinstance(agent.state, Running | Starting):
                self.shown.pop(name, None)
                self.happen(AgentExited(name, agent.incarnation, agent.run.run_id, None, 9, "terminal_lost"))
        self.happen(TerminalSeen(True))

    def do_left(self, step: Step) -> None:
        """A person typed /exit."""
        self.hooked(step.name, "session-end", source="prompt_input_exit")
        self.ends(Step(step.at, "left", step.name, {"code": 0}))

    def do_start(self, step: Step) -> None:
        self.happen(StartRequested(step.name, by=step.more.get("by", "operator")))

    def do_stop(self, step: Step) -> None:
        self.happen(StopRequested(step.name, by=step.more.get("by", "operator")))

    def do_restart(self, step: Step) -> None:
        self.happen(RestartRequested(step.name, by=step.more.get("by", "operator")))

    def do_remove(self, step: Step) -> None:
        self.happen(AgentWithdrawn(step.name, by=step.more.get("by", "operator")))

    def do_answer(self, step: Step) -> None:
        item = self.state.agents[step.name].item
        assert item is not None, f"{step.name} asks nothing"
        self.shown.pop(step.name, None)
        self.happen(AnswerRequested(step.name, item.id, step.more["allow"], by=step.more["by"]))
        self.hooked(step.name, "tool-end", tool="Bash", tool_use_id="t2")

    def do_link_back(self, step: Step) -> None:
        agent = self.state.agents[step.name]
        assert agent.run is not None
        self.happen(RunAdopted(step.name, agent.incarnation, agent.run.pid or 1, agent.run.start_time or 1))

    def do_fails(self, step: Step) -> None:
        agent = self.state.agents[self.holder(step.name)]
        said = {"error": step.more["error"], "last_assistant_message": step.more["text"]}
        self.happen(hook_event(agent.name, agent.incarnation, "stop-failure", said, self.wall))

    def do_limit(self, step: Step) -> None:
        names = step.more.get("names") or [
            name for name, one in self.state.agents.items() if one.spec.account is not None
        ]
        for name in names:
            agent = self.state.agents[name]
            if agent.activity is not None and not agent.activity.turn_open:
                self.hooked(name, "prompt-submit", text="Go on.")
            said: dict[str, Any] = {"error": "rate_limit", "last_assistant_message": step.more.get("words", "")}
            if step.more.get("resets"):
                resets = same_day(step.more["resets"], self.wall)
                said["resets_at"] = resets if resets > self.wall else resets + 86400
            self.happen(hook_event(name, agent.incarnation, "stop-failure", said, self.wall))

    def do_parked_too(self, step: Step) -> None:
        for name in step.more["names"]:
            assert self.state.agents[name].parking is not None, f"{name} is not parked"

    def do_daemon_dies(self, step: Step) -> None:
        self.is_down, self.down_since = True, self.wall

    def do_daemon_begins(self, step: Step) -> None:
        self.is_down = False
        self.happen(EpochBegun(self.state.epoch, unwatched=self.down_since))
        dead = {one.name: one for one in self.died_unheard}
        self.died_unheard.clear()
        for name, agent in list(self.state.agents.items()):
            if agent.run is None:
                continue
            if name in dead:
                self.ends(dead[name], at_wall=dead[name].at)
            else:
                self.happen(RunAdopted(name, agent.incarnation, agent.run.pid or 1, agent.run.start_time or 1))

    def do_reboot(self, step: Step) -> None:
        self.happen(EpochBegun(self.state.epoch, unwatched=self.wall - 30))
        self.happen(Rebooted("another boot"))
        for name in [name for name, agent in self.state.agents.items() if isinstance(agent.state, Running)]:
            self.works(name)

    def do_degraded(self, step: Step) -> None:
        self.halted = "no space left on device"
        self.degraded = self.halted
        self.happen(SavingHalted(self.halted))
        self.happen(TroubleSeen(None, "degraded", self.halted))

    def do_well_again(self, step: Step) -> None:
        if not self.degraded:
            return
        self.degraded = None
        self.happen(SavingResumed())
        self.happen(TroubleGone(None, "degraded", "the journal is written again"))

    def do_link_lost(self, step: Step) -> None:
        agent = self.state.agents[step.name]
        self.happen(LinkLost(step.name, agent.incarnation, "permission denied"))

    def do_asks(self, step: Step) -> None:
        self.do_turn_begins(step)
        self.shown[step.name] = "permission"
        self.wait(step.name, step.more["tool"], step.more["text"], held=True)

    def do_handoff(self, step: Step) -> None:
        agent = self.state.agents[self.holder(step.name)]
        assert agent.session is not None
        session = agent.session.session_id
        if not step.more["acks"]:
            self.silent.add(step.name)
        self.happen(UsageSeen(agent.name, agent.incarnation, TOKENS, WINDOW, "transcript", self.wall, session))
