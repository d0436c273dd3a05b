"""A simulated shim: what house rules say of the real one, over simulated processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun
from tests.simulate.host import Host, Process
from tests.simulate.ledger import SLOW_START
from tests.simulate.program import Program

Listener = Callable[[ShimMessage], None]
SPOOL_LIMIT = 1000


@dataclass(slots=True, eq=False)
class Run:
    """One incarnation under a shim. how: what its end will be told as, once its tree is empty."""

    incarnation: int
    run_id: str
    child: Process
    program: Program
    began: float
    how: dict[str, Any] | None = None
    armed: dict[str, Answer] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Answer:
    """An armed answer. until: the host's time. over: it was taken back. said: a hello told that it is spent."""

    kind: str
    times: int
    until: float
    uses: int = 0
    noted: int = 0
    over: bool = False
    said: bool = False


class Shim:
    """Lives in a pane, runs one agent at a time, outlives daemons, and spools what nobody listens to."""

    def __init__(self, host: Host, agent: str) -> None:
        self.host = host
        self.agent = agent
        self.process = host.spawn(agent)
        self.run: Run | None = None
        self.is_listening = False
        self._listener: Listener | None = None
        self._spoken_at = 0.0
        self._is_starting = False
        self._is_leaving = False
        self._spool = host.spools.setdefault(agent, [])

    # What a daemon does.

    def accept(self, listener: Listener, closed: Callable[[], None]) -> ShimHello:
        """Take a new connection in the place of an older one; spooled hooks follow the hello."""
        self._listener, self._closed = listener, closed
        run = self.run
        living = run is not None and run.how is None
        hello = ShimHello(
            self.agent, self.process.identity, 2, "0.1.0", 40000,
            ShimRun(run.incarnation, run.run_id, run.child.identity.pid, run.child.identity.start_time)
            if run is not None and living else None,
            self.host.exit_records.get(self.agent),
            armed=tuple((one["id"], one["uses"]) for one in self._uses()),
        )  # fmt: skip
        for answer in run.armed.values() if run is not None else ():
            answer.said = answer.uses >= answer.times
        for body in tuple(self._spool):
            self._say("hook", body)
        return hello

    def cut(self) -> None:
        """The connection is lost; the shim itself goes on."""
        if self._listener is not None:
            self._listener = None
            self.host.later(0.0005, self._closed)

    def start(self, incarnation: int, run_id: str, program: Program) -> None:
        about = {"incarnation": incarnation, "run_id": run_id}
        if self.run is not None or self._is_starting:
            self._say("start_failed", about | {"code": 0, "errno": "busy", "message": "a run is alive"})
            return
        self._is_starting = True

        def execute() -> None:
            self._is_starting = False
            if not self.process.is_alive or self._is_leaving:
                return
            refusal = program.refusal()
            if refusal is not None:
                self._say("start_failed", about | refusal)
                return
            self.host.promises.executed(self.agent, run_id)
            child = self.host.spawn(self.agent, run_id)
            child.watchers.append(lambda: self._child_died(run_id))
            self.run = Run(incarnation, run_id, child, program, self.host.now)
            identity = child.identity
            self._say("started", about | {"pid": identity.pid, "start_time": identity.start_time})
            if delay < SLOW_START:
                self.host.ledger.began(self.agent, incarnation, program.mode, self.host.now)
            program.begin(self, self.run)

        delay = program.exec_delay()
        self.host.later(delay, execute)

    def terminate(self, incarnation: int) -> None:
        if (run := self._current(incarnation)) is not None:
            run.program.asked_to_end()

    def kill(self, incarnation: int) -> None:
        if (run := self._current(incarnation)) is not None:
            self.end(run, None, 9, "exit")

    def acknowledge(self, seq: int) -> None:
        for body in self._spool:
            if body["seq"] <= seq:
                self.host.promises.hook_acknowledged(self.agent, body["payload"]["tool_use_id"])
        self._spool[:] = [body for body in self._spool if body["seq"] > seq]

    def arm(self, incarnation: int, told: Mapping[str, object]) -> None:
        run = self._current(incarnation)
        if run is None or run.how is not None:
            self.host.seen["armed too late"] += 1
            return
        id, kind, times, seconds = (told[name] for name in ("id", "kind", "times", "seconds"))
        assert isinstance(id, str)
        assert isinstance(kind, str)
        assert isinstance(times, int)
        assert isinstance(seconds, float)
        known = run.armed.setdefault(id, Answer(kind, times, 0.0))
        self.host.promises.armed(self.agent, id, known.said)
        self.host.seen["armed again" if known.until else "armed"] += 1
        if not known.over:
            known.until = self.host.now + seconds

    def disarm(self, incarnation: int, id: str) -> None:
        run = self._current(incarnation)
        if run is not None and id in run.armed:
            run.armed[id].over = True
            self.host.seen["disarmed"] += 1

    def note_use(self, id: str, uses: int) -> None:
        if self.run is not None and id in self.run.armed:
            self.run.armed[id].noted = max(uses, self.run.armed[id].noted)

    def quit(self) -> None:
        self.hang_up("shim_terminated")

    # What happens to it.

    def hook(self, run: Run, kind: str, payload: dict[str, Any], is_lifecycle: bool) -> None:
        """The agent calls its hook."""
        if not self.process.is_alive or run.how is not None:
            return
        self.host.hooks_sent += 1
        if "prompt" in payload:
            payload["prompt_sha256"] = sha256(payload["prompt"].encode()).hexdigest()
        number = self.host.hooks_sent
        body = {
            "seq": number if is_lifecycle else 0, "incarnation": run.incarnation, "run_id": run.run_id, "kind": kind,
            "payload": {"tool_use_id": f"h{number}"} | payload,
        }  # fmt: skip
        if is_lifecycle:
            self._spool.append(body)
            del self._spool[:-SPOOL_LIMIT]
        self._say("hook", body)

    def answers(self, run: Run, kind: str) -> bool:
        """The agent calls its hook: whether an armed answer says no to it, daemon or not."""
        if not self.process.is_alive or run.how is not None:
            return False
        standing = (
            (id, one)
            for id, one in run.armed.items()
            if one.kind == kind and not one.over and one.uses < one.times and self.host.now < one.until
        )
        found = next(standing, None)
        if found is None:
            return False
        id, one = found
        one.uses += 1
        self.host.seen["answered" if self._listener is not None else "answered while no daemon lived"] += 1
        self._tell_use(run, id, one)
        return True

    def _tell_use(self, run: Run, id: str, one: Answer) -> None:
        """Told until it is noted, as long as the run lives."""
        if one.noted >= one.uses or self.run is not run or not self.process.is_alive:
            return
        self._say("armed_used", {"incarnation": run.incarnation, "run_id": run.run_id, "id": id, "uses": one.uses})
        self.host.later(5.0, lambda: self._tell_use(run, id, one))

    def _uses(self) -> list[dict[str, Any]]:
        answers = self.run.armed.items() if self.run is not None else ()
        return [{"id": id, "uses": one.uses} for id, one in answers if not one.over]

    def end(self, run: Run, code: int | None, signal: int | None, cause: str) -> None:
        """The agent's end is decided: the whole tree goes, and when it is empty the record is written."""
        if run.how is not None:
            return
        run.how = {"code": code, "signal": signal, "cause": cause}
        # Of a run that nobody heard to begin, this host's run records say nothing.
        is_known = self.host.journal.facts.get(self.agent, (0, "", ""))[:2] == (run.incarnation, "running")
        self.host.finished[self.agent] += code == 0 and is_known
        self.host.ledger.ended(self.agent, run.incarnation, code, self.host.now, lost=cause == "terminal_lost")
        for process in self.host.tree(run.run_id):
            self.host.kill(process)
        self._settle(run)

    def hang_up(self, cause: str = "terminal_lost") -> None:
        """Its terminal is gone, or it is told to leave: it ends its run, says so, and goes."""
        if self._is_leaving:
            return
        self._is_leaving = True
        if self.run is not None:
            self.end(self.run, None, 9, cause)
        self.host.later(0.01, self._leave)

    def die(self) -> None:
        """SIGKILL: its child dies with it, what descended from that may live on, and nothing is recorded."""
        self.host.seen["shim killed"] += 1
        self.vanish()
        if self.run is not None:
            if self.host.happens(0.2):
                self.run.child.busy_until = self.host.now + self.host.dice.uniform(5, 60)
            self.host.kill(self.run.child)
        self.host.kill(self.process)

    def vanish(self) -> None:
        self.is_listening = False
        if self.host.shims.get(self.agent) is self:
            del self.host.shims[self.agent]
        self.cut()

    def _leave(self) -> None:
        if self.run is not None:
            self.host.later(0.5, self._leave)
            return
        self.vanish()
        self.host.kill(self.process)

    def _child_died(self, run_id: str) -> None:
        if self.process.is_alive and self.run is not None and self.run.run_id == run_id:
            self.end(self.run, None, 9, "exit")

    def _settle(self, run: Run, looks: int = 0) -> None:
        """Record the end once the tree is empty; until then complain after two seconds, and every ten."""
        if not self.process.is_alive or self.run is not run:
            return
        left = self.host.tree(run.run_id)
        if left:
            if looks % 20 == 4:
                pids = [process.identity.pid for process in left]
                self._say("lingering", {"incarnation": run.incarnation, "pids": pids})
            self.host.later(0.5, lambda: self._settle(run, looks + 1))
            return
        armed = self._uses()
        self.run = None
        ended_at = datetime.fromtimestamp(self.host.wall, UTC).isoformat(timespec="milliseconds")
        record = {
            "agent": self.agent, "incarnation": run.incarnation, "run_id": run.run_id, "ended_at": ended_at,
            "killed": [], "armed": armed,
        }  # fmt: skip
        assert run.how is not None
        self.host.exit_records[self.agent] = record | run.how
        self.host.seen[f"run ended: {run.how['cause']}"] += 1
        if run.how["code"] == 0 and run.program.stays_down and self.host.now - run.began > 60:
            self.host.promises.ended_on_purpose(self.agent, run.incarnation)
        self._say("exited", record | run.how)

    def _current(self, incarnation: int) -> Run | None:
        return self.run if self.run is not None and self.run.incarnation == incarnation else None

    def _say(self, event: str, body: dict[str, Any]) -> None:
        """Send over the link if there is one; packets of a link keep their order."""
        listener = self._listener
        if listener is None:
            return
        self._spoken_at = max(self._spoken_at + 1e-6, self.host.now + self.host.dice.uniform(0.0002, 0.001))

        def arrive() -> None:
            if self._listener is listener:
                listener(ShimMessage(self.agent, event, body))

        self.host.loop.call_at(self._spoken_at, arrive)
