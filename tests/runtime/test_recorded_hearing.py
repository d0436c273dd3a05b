"""What a shim says, word by word, and what the daemon makes of it, as it was when it was last written down.

Where a difference is meant, `python -m tests.core.recorded` writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.moment import Moment
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun
from phoenixd.runtime.hearing import Hearing
from tests.core.recorded.rendering import clipped, value
from tests.core.story import EPOCH, Story, claude

TOLD = Path(__file__).with_name("told")
SHIM, CHILD = ProcessIdentity("boot", 50, 500), ProcessIdentity("boot", 100, 1000)


class Counters:
    """What the kernel says of memory: each run that was killed was at its own limit."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear

    def note(self) -> None:
        self._ear.note("memory is noted")

    def killer_of(self, agent: str, incarnation: int) -> Literal["agent"]:
        self._ear.note("killer", agent, incarnation)
        return "agent"


class Ear:
    """Hearing over a process table, a shim and a clock that a script moves; each word and what came of it is a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.at = 100.0
        self.story = Story(claude())
        self.story.start()
        self.below: dict[int, bool | None] = {100: True, 300: False, 400: None}
        self.dead: set[int] = set()
        self.records: dict[str, dict[str, Any]] = {}
        self.fault = ""
        self._deaths: dict[int, list[Callable[[], None]]] = {}
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._saved: list[Callable[[], None]] = []
        self.hearing = Hearing(
            self, self, self, self, self.find, self.tell, self.later,  # type: ignore[arg-type]
            heard=lambda *told: self.note("heard", *told), greeted=lambda *told: self.note("greeted", *told),
            answered=lambda *told: self.note("answered", *told), unswept=lambda *told: self.note("unswept", *told),
            memory=Counters(self),
        )  # fmt: skip

    # What hearing asks of the world.

    def now(self) -> Moment:
        return Moment(self.at, EPOCH + self.at)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.note("later", seconds)
        self._later.append((self.at + seconds, call))

    def find(self, name: str) -> Agent | None:
        return self.story.agent if name == "a" else None

    def tell(self, event: Event, saved: Callable[[], None] | None) -> None:
        self.note("tells", event, *(["once saved"] if saved else []))
        if saved is not None:
            self._saved.append(saved)

    def boot_id(self) -> str:
        return "boot"

    def watch(self, identity: ProcessIdentity, died: Callable[[], None]) -> bool:
        self.note("watch", identity.pid)
        if self.fault:
            raise PhoenixdError(self.fault)
        self._deaths.setdefault(identity.pid, []).append(died)
        return identity.pid not in self.dead

    def is_below(self, identity: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        if self.fault:
            raise OSError(self.fault)
        return self.below[identity.pid]

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        return self.records.get("exit")

    def run_record(self, agent: str) -> dict[str, Any] | None:
        return self.records.get("run")

    def __getattr__(self, order: str) -> Callable[..., None]:
        """An order to the shim."""
        return lambda *given: self.note(order, *given)

    # What a script does.

    def note(self, what: str, *given: object) -> None:
        self.lines.append(f"    {what} {', '.join(value(one) for one in given)}".rstrip())

    def says(self, event: str, agent: str = "a", **body: Any) -> None:
        self.lines.append(clipped(f"{self.at:g} says {event} {value(body)}"))
        self.hearing.hear(ShimMessage(agent, event, body))

    def hook(self, seq: int, kind: str, incarnation: int = 1, again: bool | None = None, **payload: Any) -> None:
        told = {} if again is None else {"again": again}
        run = self.story.run.run_id
        self.says(
            "hook", seq=seq, kind=kind, incarnation=incarnation, payload=payload, run_id=run, at=at(self.at), **told
        )

    def greets(self, unwatched: bool = True, **changes: Any) -> None:
        run = self.story.run
        alive = ShimRun(run.incarnation, run.run_id, CHILD.pid, CHILD.start_time)
        hello = replace(ShimHello("a", SHIM, 2, "1.0", 40001, alive, None), **changes)
        self.lines.append(clipped(f"{self.at:g} greets {value(hello)}"))
        self.hearing.reconcile(self.story.agent, hello, unwatched=unwatched)

    def saved(self) -> None:
        self.lines.append("it is saved")
        due, self._saved = self._saved, []
        for call in due:
            call()

    def passes(self, seconds: float) -> None:
        self.at += seconds
        self.lines.append(f"{self.at:g}")
        due = [call for when, call in self._later if when <= self.at]
        self._later = [(when, call) for when, call in self._later if when > self.at]
        for call in due:
            call()

    def dies(self, pid: int) -> None:
        self.lines.append(f"{self.at:g} {pid} dies")
        self.dead.add(pid)
        for died in self._deaths.pop(pid, []):
            died()


def at(seconds: float) -> str:
    return f"2027-01-15T08:{int(seconds) // 60:02}:{int(seconds) % 60:02}+00:00"


def a_run(ear: Ear) -> None:
    """From its start to its end."""
    run_id = ear.story.run.run_id
    ear.says("started", incarnation=1, run_id=run_id, pid=100, start_time=1000)
    ear.greets(run=None, unwatched=False)
    ear.says("started", incarnation=1, run_id=run_id, pid=300, start_time=1000)
    ear.says("started", incarnation=1, run_id=run_id, pid=400, start_time=1000)
    ear.says("started", incarnation=1, run_id=run_id, pid=100, start_time=1000)
    ear.story.started()
    ear.hook(1, "session-start", session_id="s", source="startup", model="claude-opus-4-1")
    ear.hook(2, "prompt-submit", prompt="Build the shop.")
    ear.saved()
    ear.hook(2, "prompt-submit", prompt="Build the shop.")
    ear.hook(1, "session-start", session_id="s", source="startup")
    ear.hook(3, "tool-start", tool_name="Bash", tool_use_id="t1")
    ear.says("hook", seq=4, kind="tool-start", incarnation=1, payload={"tool_name": "Bash"}, ticks=77, more=3)
    ear.says("hook", seq=5, kind="tool-start", incarnation=1, payload={"tool_name": "Bash"}, ticks=-1, more=-1)
    ear.says("hook", seq=6, kind="tool-start", incarnation=1, payload={"tool_name": "Bash"}, ticks=True, more=True)
    ear.hook(0, "tool-end", tool_name="Bash", tool_use_id="t1")
    ear.says("hooks", batch=[{"seq": 0, "kind": "tool-end", "incarnation": 1, "payload": {}}, {}, None])
    ear.says("lingering", incarnation=1, pids=list(range(200, 230)))
    ear.says("refused", incarnation=1, hooks=2, strangers=0, why="too long")
    ear.says("armed_used", incarnation=1, id="one", uses=1)
    ear.saved()
    ear.dies(100)
    ear.passes(0.25)
    ear.says(
        "exited", incarnation=1, run_id=run_id, code=None, signal=9, armed=[{"id": "one", "uses": 2}], unswept=["r"]
    )
    ear.says(
        "exited", incarnation=1, run_id=run_id, code=3, signal=None, cause="hung", killed=[{"pid": 1, "command": "x"}]
    )
    ear.says("exited", incarnation=1, run_id=run_id, code=0, cause="of tomorrow", full_disks=["home", "moon"])
    ear.story.exited(3)
    ear.dies(50)


def starts_that_fail(ear: Ear) -> None:
    for told in (
        {"code": 126}, {"code": 127}, {"code": 1}, {"errno": "ENOMEM"}, {"errno": "ENOSPC"}, {"errno": "EDQUOT"},
        {"errno": "ENOENT"}, {"code": 126, "errno": "EAGAIN"}, {"code": None}, {"errno": "busy"},
    ):  # fmt: skip
        ear.says("start_failed", incarnation=1, message="m" * 600, **told)


def what_is_malformed(ear: Ear) -> None:
    ear.says("started", incarnation=1)
    ear.says("hook", seq=1, kind="stop", incarnation=1, payload=[])
    ear.says("exited", incarnation="x", run_id="r")
    ear.says("armed_used", incarnation=1, id=5, uses=1)
    ear.says("armed_used", incarnation=1, id="one", uses=0)
    ear.says("nonsense", of=1)
    ear.says("error", message="no")
    ear.greets(run=None)
    ear.fault = "too many open files"
    ear.says("started", incarnation=1, run_id=ear.story.run.run_id, pid=100, start_time=1000)
    ear.fault = ""
    ear.passes(0.9)
    ear.passes(0.2)


def questions(ear: Ear) -> None:
    """Requests that a shim holds: told, let go of, answered, and told again by one that was linked to anew."""
    ear.greets()
    ear.hook(7, "permission", tool_name="Bash", held=True)
    ear.says("answered", seq=7, taken=True)
    ear.says("answered", seq=7, taken="yes")
    ear.says("released", seq=7, incarnation=1)
    ear.passes(0.4)
    ear.passes(0.2)
    ear.hook(7, "permission", incarnation=1, tool_name="Bash", held=True)
    ear.hook(8, "permission", again=True, tool_name="Bash", held=True)
    ear.hook(9, "permission", again=True, tool_name="Bash", held=True)
    ear.greets(held=(7, 9), last_seq=9, answered=((7, True), (6, False)), armed=(("one", 1),))
    ear.greets(held=(9,), unwatched=False)
    ear.says("released", seq=10, incarnation=1)
    ear.hook(10, "permission", tool_name="Bash", held=True)
    ear.greets(held=(), last_seq=12)
    ear.hook(12, "permission", tool_name="Bash", held=True)
    ear.hook(13, "permission", tool_name="Bash", held=True)


def greetings(ear: Ear) -> None:
    run = ear.story.run
    ear.greets(run=None)
    ear.greets(run=ShimRun(1, run.run_id, 300, 1000))
    ear.greets(run=ShimRun(7, "another", 100, 1000))
    ear.greets(run=None, exit={"run_id": "another", "incarnation": 1, "code": 0})
    ended = {"run_id": run.run_id, "incarnation": 1, "code": 0, "signal": None, "ended_at": at(30), "armed": None}
    ear.greets(run=None, exit=ended, unswept=["r"])
    ear.greets(run=None, exit={**ended, "code": None, "signal": 9, "ended_at": "never"})
    ear.says("hello", agent="a")
    ear.says("link_lost", reason="it went")
    ear.says("link_lost", agent="b", reason="it went")
    ear.greets()
    ear.greets()
    ear.hearing.let_go("a")
    ear.dies(50)
    ear.fault = "no descriptors"
    ear.hearing.watch_shim(ShimHello("a", ProcessIdentity("boot", 60, 600), 1, "1.0", 0, None, None))
    ear.fault = ""
    ear.passes(1.0)
    ear.dies(60)
    ear.hearing.report_missing(ear.story.agent)


def records(ear: Ear) -> None:
    run = ear.story.run.run_id
    for record in (
        None, {"run_id": "another"}, {"run_id": run}, {"run_id": run, "code": 1, "at": at(9)},
        {"run_id": run, "code": "x"},
    ):  # fmt: skip
        ear.records = {} if record is None else {"exit": record, "run": record}
        ear.note("recorded", ear.hearing.recorded_end("a", 4, run), ear.hearing.was_begun("a", run))


def a_flood(ear: Ear) -> None:
    """Hooks that come faster than they are journaled: the newest of each kind is told, and for how many it stands."""
    for number in range(1, 126):
        ear.hook(number, "stop" if number % 2 else "prompt-submit", prompt=f"text {number}")
    ear.hook(126, "tool-start", tool_name="Bash")
    del ear.lines[20:-40]
    ear.passes(0.5)
    ear.hook(127, "stop", last_assistant_message="text 127")
    ear.passes(0.5)
    ear.passes(3.0)
    ear.hook(128, "stop", last_assistant_message="text 128")
    ear.hook(129, "stop", last_assistant_message="text 129")
    ear.says("exited", incarnation=1, run_id=ear.story.run.run_id, code=0)
    ear.passes(200.0)
    ear.hook(130, "stop", last_assistant_message="text 130")
    ear.saved()
    del ear.lines[-120:-20]


SCRIPTS = (a_run, starts_that_fail, what_is_malformed, questions, greetings, records, a_flood)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__.replace("_", "-"))
def test_what_a_shim_says_becomes_what_it_became(script: Callable[[Ear], None]) -> None:
    ear = Ear()
    script(ear)
    path = TOLD / f"{script.__name__.replace('_', '-')}.txt"
    if "PHOENIX_RECORD" in os.environ:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join((*ear.lines, "")), encoding="utf-8")
    assert ear.lines == path.read_text(encoding="utf-8").splitlines()
