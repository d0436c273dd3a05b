"""How simulated agents behave: they work in turns, wait, finish, crash, hang, leave children behind, ignore signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.spec import Kind
from tests.simulate.host import Host

if TYPE_CHECKING:
    from tests.simulate.shim import Run, Shim

MINUTE, HOUR = 60.0, 3600.0


class Program:
    """One run of an agent's command line, from exec to exit."""

    def __init__(self, host: Host, agent: Agent, spawn: Spawn) -> None:
        self._host = host
        self._agent = agent
        self._spawn = spawn
        self._shim: Shim
        self._run: Run
        self._ignores_term = host.happens(0.2)
        self._hangs = False
        self._limited_until = 0.0
        self._broken_off = 0
        self.screen = "working"
        self._turn_failed = False

    @property
    def stays_down(self) -> bool:
        """Whether it means to end where it exits with 0 by itself (P53, F-PROC-27)."""
        return self._agent.spec.kind is Kind.RESIDENT and not self._turn_failed

    @property
    def mode(self) -> Mode:
        """How it was ordered to begin."""
        return self._spawn.mode

    def exec_delay(self) -> float:
        return self._host.dice.uniform(5.0, 40.0) if self._host.happens(0.01) else self._host.dice.uniform(0.002, 0.05)

    def refusal(self) -> dict[str, Any] | None:
        """Why exec fails, if it does: the host's fault, which passes."""
        if self._host.happens(0.01):
            self._host.seen["exec failed"] += 1
            return {"code": 0, "errno": "EAGAIN", "message": "fork: Resource temporarily unavailable"}
        return None

    def begin(self, shim: Shim, run: Run) -> None:
        """The process lives."""
        self._shim, self._run = shim, run
        host, dice = self._host, self._host.dice
        if dice.random() < 0.3:
            # A server that the agent starts and forgets: it leaves its session and its parent.
            self._after(dice.uniform(1, 600), lambda: self._leave_child_behind())
        if host.happens(0.03):
            host.seen["died at the start"] += 1
            self._after(dice.uniform(0.05, 20), lambda: shim.end(run, 1, None, "exit"))
        if self._spawn.mode is Mode.RESUME and host.happens(0.03):
            host.seen["resume refused"] += 1
            self._after(1.0, lambda: shim.end(run, 1, None, "exit"))
            return
        self._schedule_misfortunes()
        if self._agent.spec.has_hooks:
            self._after(dice.uniform(0.3, 3.0), self._session_start)
        else:
            self._beat()
        if self._agent.spec.task:
            self._after(dice.uniform(10, 10 * MINUTE), self._finish)
        if self._agent.spec.kind is Kind.LOOP:
            self._after(dice.uniform(10 * MINUTE, 50 * MINUTE), lambda: self._exit(0))

    def asked_to_end(self) -> None:
        """SIGTERM."""
        if self._ignores_term:
            self._host.seen["SIGTERM ignored"] += 1
            return
        self._after(self._host.dice.uniform(0.01, 1.5), lambda: self._shim.end(self._run, None, 15, "exit"))

    def prompt(self, text: str) -> None:
        """The daemon typed a prompt and pressed Enter."""
        self._host.promises.prompted(self._agent.name, self._limited_until)
        if self._agent.spec.has_hooks:
            self._after(0.2, lambda: self._turn(text))

    def escape(self) -> None:
        """Escape was pressed: an open turn is broken off, and no hook tells of it. What hangs does not hear it."""
        if self.screen != "working" or (self._hangs and not self._host.is_calm) or self._host.happens(0.1):
            return
        self._host.seen["Escape ended a turn"] += 1
        self._broken_off += 1
        self._rest()

    def _schedule_misfortunes(self) -> None:
        dice, host = self._host.dice, self._host
        at, what = min(
            (dice.expovariate(1 / (4 * HOUR)), "crashed"),
            (dice.expovariate(1 / (12 * HOUR)), "hung"),
            (dice.expovariate(1 / (8 * HOUR)), "exited 0"),
            (dice.expovariate(1 / (24 * HOUR)), "stuck in the kernel"),
        )

        def strike() -> None:
            if host.is_calm:
                return
            host.seen[f"agent {what}"] += 1
            match what:
                case "crashed":
                    self._shim.end(self._run, dice.choice([1, 2, 70]), None, "exit")
                case "hung":
                    self._hangs = True
                case "exited 0":
                    self._exit(0)
                case _ if not host.is_plain:
                    self._run.child.busy_until = host.now + dice.uniform(5, 90)
                    self._shim.end(self._run, 1, None, "exit")

        self._after(at, strike)

    def _leave_child_behind(self) -> None:
        child = self._host.spawn(self._agent.name, self._run.run_id)
        if self._host.happens(0.05) and not self._host.is_plain:
            child.busy_until = self._host.now + self._host.dice.uniform(10, 2 * HOUR)

    def _session_start(self) -> None:
        source = "resume" if self._spawn.mode is Mode.RESUME else "startup"
        self._hook("session-start", session_id=self._spawn.session_id, source=source)
        told = self._spawn.prompt is PromptKind.CONTINUE or (
            self._spawn.prompt is PromptKind.GOAL and self._agent.spec.prompt is not None
        )
        if told:
            words = self._agent.spec.opening or self._agent.spec.prompt or "continue"
            self._after(0.5, lambda: self._turn(words))
        else:
            self._rest()

    def _turn(self, prompt: str) -> None:
        self.screen = "working"
        self._turn_failed = False
        self._kept = 0
        self._hook("prompt-submit", prompt=prompt)
        self._turn_ends = self._host.now + self._host.dice.uniform(3 * MINUTE, 40 * MINUTE)
        self._work()

    def _work(self) -> None:
        dice = self._host.dice
        if self._hangs and not self._host.is_calm:
            return
        # Somebody at its terminal had it go on, and its model answers: its limit is over before the time it named.
        self._limited_until = 0.0
        if self._host.happens(0.004) and not self._host.is_plain:
            self._meet_limit()
        elif self._host.now > self._turn_ends:
            if self._shim.answers(self._run, "stop"):
                self._kept += 1
                self._host.promises.turn_kept(self._agent.name, self._kept)
                self._hook("stop-blocked")
                self._work_on(dice.uniform(5, 60))
                return
            self._hook("stop", last_assistant_message=self._last_words())
            self._rest()
        elif self._host.happens(0.003):
            self._hook("permission-request", tool_name="Bash", tool_input={"command": "make deploy"})
            self._work_on(dice.uniform(10, 20 * MINUTE))
        else:
            self._evidence("tool-start", tool_name="Bash")
            self._after(dice.uniform(1, 30), lambda: self._evidence("tool-end", tool_name="Bash"))
            self._work_on(dice.uniform(30, 180))

    def _last_words(self) -> str:
        return "done"

    def _meet_limit(self) -> None:
        """A rate limit or an overload ends the turn; nothing goes on by itself."""
        dice, host = self._host.dice, self._host
        self.screen = "idle"
        self._turn_failed = True
        if dice.random() < 0.5:
            host.seen["overload"] += 1
            self._hook("stop-failure", error="server_error")
            return
        host.seen["rate limit"] += 1
        ahead = dice.uniform(5 * MINUTE, 3 * HOUR)
        named = {} if dice.random() < 0.3 else {"resets_at": host.wall + ahead}
        self._limited_until = host.now + ahead if named else 0.0
        self._hook("stop-failure", error="rate_limit", **named)

    def _rest(self) -> None:
        self.screen = "idle"
        self._after(self._host.dice.uniform(1 * MINUTE, 60 * MINUTE), lambda: self._turn("the next task"))

    def _beat(self) -> None:
        """An agent of the open contract without hooks writes a heartbeat file."""
        if not self._hangs or self._host.is_calm:
            self._host.heartbeat(self._agent.name)
        self._after(self._host.dice.uniform(60, 240), self._beat)

    def _work_on(self, seconds: float) -> None:
        """Go on with the turn then, unless it was broken off."""
        turn = self._broken_off
        self._after(seconds, lambda: self._work() if turn == self._broken_off else None)

    def _finish(self) -> None:
        """A worker has done its task."""
        self._exit(0)

    def _exit(self, code: int) -> None:
        self._shim.end(self._run, code, None, "exit")

    def _hook(self, kind: str, **payload: Any) -> None:
        self._shim.hook(self._run, kind, {"session_id": self._spawn.session_id} | payload, is_lifecycle=True)

    def _evidence(self, kind: str, **payload: Any) -> None:
        self._shim.hook(self._run, kind, payload, is_lifecycle=False)

    def _after(self, seconds: float, do: Callable[[], None]) -> None:
        """Do it then, if the process is still there."""

        def check() -> None:
            if self._run.child.is_alive and self._run.how is None:
                do()

        self._host.later(seconds, check)
