"""What the faces cost: from an event to a client of the feed, many followers of many agents, and a look at the fleet.

The first is measured on a real daemon; the others on its API over a fleet in memory, in a process of its own, for a
thousand real agents would cost more than what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.bench.arena import Figures, cpu_seconds
from tests.bench.scale import Scale
from tests.ctl.cost import ROOT, installed
from tests.e2e.puppet import Puppet
from tests.e2e.test_canaries import TELL

RATE, PUPPETS = 100, 20
"""Events a second of all agents together, at random moments of their own, as agents that know nothing of each other:
prompts, which are marked, and ends of turns. Tool calls are evidence, which a shim sends ten times a second at most.
The agents are too many to fill a bucket (`runtime/throttle.py`): what one tells beyond it waits for a second, which is
no delay of the feed's."""
NEAR = 20.0
"""Milliseconds from an event to its client, for 95 of 100."""
AGENTS, FOLLOWERS = 1000, 50
SHARE = 0.05
CHANGES = (0.0, 10.0)
"""Rows that change in a second while they are followed."""
FEW, MANY = 1.2, 3.0
"""How many times a bare python a look may cost at 100 and at 1,000 agents."""
MARK = re.compile(rb"mark (\d+)")
PATIENCE = 120.0
POST = """
import random, threading, time
def post(seconds, rate):
    due = time.monotonic()
    until = due + seconds
    number = 0
    while (due := due + random.expovariate(rate)) < until:
        time.sleep(max(0.0, due - time.monotonic()))
        mark = f"mark {time.monotonic_ns()}"
        if number % 2:
            tell("stop", session_id="s1", last_assistant_message=mark)
        else:
            tell("prompt-submit", session_id="s1", prompt=mark)
        number += 1
    return number
"""


def report(scale: Scale) -> bool:
    """Print the three tables."""
    seconds = 3.0 if scale.quick else 20.0
    delays, sent = _near(seconds)
    print(f"\nevent to client at {sent / seconds:.0f} events a second of {PUPPETS} agents, {len(delays.samples)} seen: "
          f"{delays.text()} ms, p95 {_p95(delays):.1f} (aim: p95 {NEAR:g})")  # fmt: skip
    agents, followers = (20, 4) if scale.quick else (AGENTS, FOLLOWERS)
    for rate in CHANGES:
        used, frames = _followed(agents, followers, rate, seconds)
        told = f"{followers} followers of {agents} agents, {rate:g} changes a second"
        print(f"{told}: {100 * used / seconds:.1f} % of a core, {frames} bytes each (aim: {100 * SHARE:g} %)")
    rounds = 5 if scale.quick else 40
    with _started(10 if scale.quick else 100) as (size, socket):
        _print_looks(size, FEW, _looks(socket, rounds))
    with _fleet(agents, 0.0) as (_, socket):
        _print_looks(agents, MANY, _looks(socket, rounds))
    return bool(delays.samples)


def _p95(figures: Figures) -> float:
    samples = sorted(figures.samples)
    return samples[min(len(samples) - 1, int(0.95 * len(samples)))] if samples else float("nan")


def _near(seconds: float) -> tuple[Figures, int]:
    """Milliseconds from a hook of an agent to the first frame that tells of it; how many hooks there were."""
    with tempfile.TemporaryDirectory(prefix="phx-") as directory:
        stage = Stage(Path(directory))
        stage.environ = {**stage.environ, "PYTHONPATH": str(ROOT)}
        puppets = [Puppet(stage.root / f"c{number}") for number in range(PUPPETS)]
        try:
            for number, puppet in enumerate(puppets):
                argv = ", ".join(f'"{word}"' for word in puppet.argv)
                stage.declare(f"c{number}", f'[agent.c{number}]\nargv = [{argv}]\ncwd = "/"\n')
            stage.up()
            for number, puppet in enumerate(puppets):
                stage.until_running(f"c{number}", 1, patience=PATIENCE)
                puppet.do(f"{TELL}\n{POST}\ntell('session-start', session_id='s1', source='startup')")
            sent: list[int] = []
            order = f"out = post({seconds}, {RATE / PUPPETS})"
            posting = [threading.Thread(target=lambda one=one: sent.append(int(one.do(order)))) for one in puppets]
            seen = asyncio.run(_marks(stage.runtime / "api.sock", posting, seconds))
            return Figures(seen), sum(sent)
        finally:
            stage.down()


async def _marks(socket: Path, posting: list[threading.Thread], seconds: float) -> list[float]:
    reader, writer = await asyncio.open_unix_connection(socket, limit=1 << 26)
    writer.write(b"GET /v1/stream HTTP/1.0\r\nHost: p\r\nAccept: text/event-stream\r\n\r\n")
    seen: dict[bytes, float] = {}
    await reader.readuntil(b"\r\n\r\n")
    for thread in posting:
        thread.start()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds + 2):
            while chunk := await reader.read(1 << 20):
                now = time.monotonic_ns()
                for mark in MARK.findall(chunk):
                    seen.setdefault(mark, (now - int(mark)) / 1e6)
    writer.close()
    for thread in posting:
        await asyncio.to_thread(thread.join)
    return list(seen.values())


@contextlib.contextmanager
def _fleet(agents: int, rate: float) -> Iterator[tuple[int, Path]]:
    """The pid and the socket of a fleet in memory."""
    with tempfile.TemporaryDirectory(prefix="phx-") as directory:
        argv = [sys.executable, "-m", "tests.bench.fleet_server", str(agents), directory, str(rate)]
        server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            yield server.pid, Path(directory) / "api.sock"
        finally:
            server.stdin.close()
            server.wait()


def _followed(agents: int, followers: int, rate: float, seconds: float) -> tuple[float, int]:
    """CPU seconds of the server with that many followers, once each has heard all there was; bytes that one got."""
    with _fleet(agents, rate) as (pid, socket):
        return asyncio.run(_follow(pid, socket, followers, seconds))


async def _follow(pid: int, socket: Path, followers: int, seconds: float) -> tuple[float, int]:
    got = [0] * followers
    begun = asyncio.Semaphore(0)

    async def follow(number: int) -> None:
        reader, writer = await asyncio.open_unix_connection(socket, limit=1 << 26)
        writer.write(b"GET /v1/stream HTTP/1.0\r\nHost: p\r\nAccept: text/event-stream\r\n\r\n")
        first = True
        while chunk := await reader.read(1 << 20):
            if first and b"event: beat" in chunk:
                first = False
                begun.release()
            got[number] += 0 if first else len(chunk)

    tasks = []
    for number in range(followers):
        # One after the other: what each is told at first is not what is measured.
        tasks.append(asyncio.create_task(follow(number)))
        async with asyncio.timeout(PATIENCE):
            await begun.acquire()
    before, sent = cpu_seconds([pid]), sum(got)
    await asyncio.sleep(seconds)
    used, each = cpu_seconds([pid]) - before, (sum(got) - sent) // followers
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return used, each


LOOKS = ("status", "prompt")
INTERPRETER = ("-S", "-E", "-I", "-c")
LOADED = (ROOT / "phoenixd/ctl/launcher.sh").read_text().partition(" -c '")[2].partition("entry()'")[0]
"""What the launcher has the interpreter load, without the call of the entry; its first argument is the place."""
LEAVE = "import posix; posix._exit(0)"


@contextlib.contextmanager
def _started(agents: int) -> Iterator[tuple[int, Path]]:
    """`agents` agents of a real daemon, and its socket: each has a shim and papers, which a fleet in memory has not."""
    with tempfile.TemporaryDirectory(prefix="phx-") as directory:
        stage = Stage(Path(directory))
        stage.environ = {**stage.environ, "PYTHONPATH": str(ROOT)}
        names = [f"c{number}" for number in range(agents)]
        for name in names:
            stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
        try:
            stage.up()
            for name in names:
                stage.until_running(name, 1, patience=PATIENCE)
            yield agents, stage.runtime / "api.sock"
        finally:
            stage.down()


def _looks(socket: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of `status` and `prompt` in turns with an interpreter that does nothing, and with parts of them."""
    with tempfile.TemporaryDirectory(prefix="phx-") as directory:
        scripts = installed(Path(directory) / "venv")
        (packages,) = scripts.parent.glob("lib/python3.*/site-packages")
        python = [str(scripts / "python"), *INTERPRETER]
        commands = {
            "bare": [*python, "pass"],
            "usual": [str(scripts / "python"), "-c", "pass"],
            "left at once": [*python, LEAVE],
            "loaded": [*python, LOADED + LEAVE, str(packages)],
        }
        for verb in LOOKS:
            commands[verb] = [str(scripts / "launcher"), verb]
            commands[f"{verb} unshelled"] = [*python, f"{LOADED}entry()", str(packages), verb]
        env = {"PHOENIX_SOCKET": str(socket), "PATH": os.environ["PATH"]}
        took: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, argv in commands.items():
                began = time.perf_counter()
                subprocess.run(argv, stdout=subprocess.DEVNULL, env=env, check=True)
                took[name].append(1000 * (time.perf_counter() - began))
        return {name: Figures(found).median for name, found in took.items()}


def _print_looks(agents: int, aim: float, took: dict[str, float]) -> None:
    """Each look beside `python -S -E -I -c pass`, the strictest reference, and where its time goes."""
    bare = took["bare"]
    usual = took["usual"]
    print(f"{agents} agents: bare python (-S -E -I -c pass) {bare:.1f} ms, python -c pass {usual:.1f} ms")
    for verb in LOOKS:
        whole, unshelled = took[verb], took[f"{verb} unshelled"]
        parts = {
            "interpreter": took["left at once"],
            "modules": took["loaded"] - took["left at once"],
            "question and answer": unshelled - took["loaded"],
            "shell": whole - unshelled,
        }
        rest = ", ".join(f"{part} {cost:.1f}" for part, cost in parts.items())
        print(f"{verb} at {agents} agents: {whole:.1f} ms, {whole / bare:.2f} x bare python (aim: {aim:g} x), "
              f"{whole / usual:.2f} x python -c pass: {rest}")  # fmt: skip
