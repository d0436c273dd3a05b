"""The links and panes with the real shim in them, as the daemon puts them together."""

from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path

from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.ports.shims import ShimHello, ShimMessage
from tests.drivers.tmux.terminals import a_terminal, agents
from tests.waiting import eventually

SHIM = Path(__file__).resolve().parents[3] / "phoenixd" / "shim"


class Station:
    """One agent's pane with a real shim, and what it says."""

    def __init__(self, room: Path, terminal: TmuxTerminal) -> None:
        self.room, self.terminal = room, terminal
        self.heard: list[ShimMessage] = []
        self.shims = SeqpacketShims(room, self.heard.append)

    async def open(self) -> ShimHello:
        state, run = self.room / "state", self.room / "agents" / "a"
        argv = [sys.executable, "-I", "-S", str(SHIM), "--agent", "a", "--state", str(state), "--run", str(run)]
        await self.terminal.open_pane("a", [*argv, "--version", "0.1.0"])
        return await eventually(lambda: self.shims.connect("a"), what="the shim answers")

    def start(self, argv: list[str], incarnation: int = 1) -> str:
        run_id = str(uuid.uuid4())
        order = {
            "protocol": 1, "agent": "a", "incarnation": incarnation, "run_id": run_id, "argv": argv,
            "env": {"PATH": os.environ["PATH"], "PHOENIX_RUN_ID": run_id}, "cwd": str(self.room), "token": "t" * 32,
            "cgroup": None, "intent": None, "interpret_exit_zero_as_clean": True,
        }  # fmt: skip
        path = self.room / "agents" / "a" / "order.json"
        path.write_text(json.dumps(order))
        self.shims.start("a", str(path), incarnation, run_id)
        return run_id

    async def heard_of(self, event: str) -> ShimMessage:
        return await eventually(
            lambda: next((message for message in self.heard if message.event == event), None), what=f"{event} was heard"
        )


async def test_a_run_from_order_to_exit_and_the_next_in_the_same_pane(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        station = Station(short_tmp, terminal)
        hello = await station.open()
        assert Processes().is_alive(hello.shim)
        assert hello.run is None
        station.start([sys.executable, "-c", "input(); raise SystemExit(7)"])
        started = await station.heard_of("started")
        await terminal.paste("a", "go")
        await terminal.press_enter("a")
        exited = await station.heard_of("exited")
        assert (started.body["incarnation"], exited.body["code"]) == (1, 7)
        station.heard.clear()
        station.start(["sleep", "1000"], 2)
        await station.heard_of("started")
        station.shims.kill("a", 2)
        assert (await station.heard_of("exited")).body["signal"] == 9
        station.shims.close()


async def test_a_second_connection_takes_the_link_and_finds_the_run(short_tmp: Path) -> None:
    """What a daemon does that comes back: the living run is in the hello."""
    async with a_terminal(short_tmp) as terminal:
        station = Station(short_tmp, terminal)
        await station.open()
        run_id = station.start(["sleep", "1000"])
        await station.heard_of("started")
        station.shims.close()
        returned = SeqpacketShims(short_tmp, station.heard.append)
        hello = await returned.connect("a")

        assert hello is not None
        assert hello.run is not None
        assert hello.run.run_id == run_id
        returned.quit("a")
        await eventually(lambda: not Processes().is_alive(hello.shim))
        returned.close()


async def test_a_shim_that_dies_is_a_lost_link_and_a_fence_ends_its_run(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        station = Station(short_tmp, terminal)
        hello = await station.open()
        run_id = station.start(["sh", "-c", "setsid sh -c 'touch left; exec sleep 1000' & sleep 1000"])
        await station.heard_of("started")
        await eventually(lambda: (short_tmp / "left").exists())
        run = await station.shims.connect("a")
        assert run is not None
        assert run.run is not None
        os.kill(hello.shim.pid, 9)
        await station.heard_of("link_lost")
        processes = Processes(reaper_of=station.shims.shim_of)
        fenced = await processes.fence("a", 1, run_id, processes.identity_of(run.run.pid))

        assert fenced.remaining == ()
        assert await station.shims.connect("a") is None
        assert fenced.killed, "the one that left the session"
        station.shims.close()


async def test_what_a_shim_shows_of_a_failed_start_does_not_run(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        station = Station(short_tmp, terminal)
        await station.open()
        canary = short_tmp / "canary"
        hostile = f"#(touch {canary}) $(touch {canary})\x1b]2;#(touch {canary})\x07 end of it"
        station.start([hostile])

        async def is_shown() -> bool:
            return "end of it" in "".join((await terminal.capture("a")).split("\n"))

        await eventually(is_shown)
        await terminal.paste("a", f"touch {canary}\n")
        await terminal.press_enter("a")
        await eventually(lambda: terminal.capture("a"))
        station.shims.quit("a")

        async def is_gone() -> bool:
            return await agents(terminal) == frozenset()

        await eventually(is_gone)
        assert not canary.exists()
        station.shims.close()
