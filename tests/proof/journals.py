"""200 lost, old and damaged journals under ten agents, two of them stopped: nobody killed, nobody started, all told.

What is true is read from /proc and from the journal's rows as they were before; of the daemon's verdicts only that it
told is asked.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import Stage
from tests.core.lost_journals import play_many
from tests.e2e.census import carrying, incarnations
from tests.waiting import eventually_sync

ROUNDS, VIRTUAL_ROUNDS = 200, 10_000
NAMES = tuple(f"a{number}" for number in range(10))
STOPPED = 2
WAYS = ("older", "cut", "deleted", "halved", "flipped")
PATIENCE = 120.0
BEHIND, DAMAGED = "journal behind", "journal"


class Journals:
    """One stage over all rounds: what a round leaves is the next one's past."""

    def __init__(self, root: Path, seed: int) -> None:
        self.stage = Stage(root)
        self.dice = random.Random(seed)
        self.backups = root / "backups"
        self.backups.mkdir()
        self.down: tuple[str, ...] = ()
        self.met: Counter[str] = Counter()
        self.told: Counter[str] = Counter()

    def begin(self) -> None:
        for name in NAMES:
            keys = 'argv = ["sleep", "1000000"]\ncwd = "/"\n'
            # What is tried here is no crash loop.
            rules = 'max_crashes = 100\nmax_unproductive = 1000\nperiod = "1s"\n'
            self.stage.declare(name, f"[agent.{name}]\n{keys}[agent.{name}.restart]\n{rules}")
        self.stage.up()
        self.until("all run", lambda: len(self.living()) == len(NAMES))

    def until(self, what: str, condition: Any) -> None:
        eventually_sync(condition, timeout=PATIENCE, what=what)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One question to the daemon, without a program in between."""
        connection = http.client.HTTPConnection("phoenixd", timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(PATIENCE)
        connection.sock.connect(str(self.stage.runtime / "api.sock"))
        try:
            connection.request(method, path, json.dumps(body).encode() if body is not None else None)
            answer = connection.getresponse()
            content = json.loads(answer.read())
            assert answer.status < 400, content
            return content
        finally:
            connection.close()

    def living(self) -> dict[str, int]:
        """The agents' processes by /proc: one each, or it is told."""
        found: dict[str, int] = {}
        for pid in carrying(str(self.stage.root).encode()):
            try:
                pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            name = next((one[14:].decode() for one in pairs if one.startswith(b"PHOENIX_AGENT=")), None)
            if name is None or not command.startswith(b"sleep\0"):
                continue
            assert name not in found, f"{name} runs twice: {found[name]} and {pid}"
            found[name] = pid
        return found

    def round(self, number: int) -> None:
        """Live on, keep a copy, live on beyond it, lose something, and see what the next daemon makes of it."""
        for name in self.down:
            self.ask("POST", f"/v1/agents/{name}/start", {})
        self.until("all run", lambda: len(self.living()) == len(NAMES) and self.all_run())
        self.keep_copy(number)
        self.down = tuple(self.dice.sample(NAMES, STOPPED))
        for name in self.down:
            self.ask("POST", f"/v1/agents/{name}/stop", {})
        victim = self.dice.choice([name for name in NAMES if name not in self.down])
        before = self.living()[victim]
        os.kill(before, signal.SIGKILL)
        self.until(f"{victim} is healed", lambda: self.living().get(victim, before) != before)
        self.until("all that is wanted runs", self.all_run)
        pids, highest = self.living(), self.highest()
        orders = self.orders()
        self.stage.kill()
        way = self.dice.choice(WAYS)
        how = self.lose(way)
        self.met[way] += 1
        self.stage.up()
        self.judge(f"round {number}, {how}", pids, orders, way)
        self.ask("POST", "/v1/recover")
        self.see(f"round {number}, {how}, confirmed", pids)
        rows = {row["name"]: row["incarnation"] for row in self.ask("GET", "/v1/agents")["agents"]}
        lower = {name: rows[name] for name in NAMES if rows[name] < highest[name]}
        assert not lower, f"round {number}, {how}: incarnations went back: {lower}, and were {highest}"

    def judge(self, what: str, pids: dict[str, int], orders: set[str], way: str) -> None:
        self.see(what, pids)
        status = self.ask("GET", "/v1/agents")
        kinds = [alert["kind"] for alert in status["daemon"]["alerts"]]
        forgotten = orders - self.orders()
        if forgotten or way in ("older", "deleted"):
            # Rows alone can be lost of a damaged file, and all that stands be the newest: that is told as the damage.
            is_told = kinds.count(BEHIND) == 1 or (way == "flipped" and DAMAGED in kinds)
            assert is_told, f"{what}: forgot {sorted(forgotten)[:3]}, and told {kinds}"
            self.told[way] += 1
        states = {row["name"]: row["state"] for row in status["agents"]}
        assert all(states.get(name) == "running" for name in pids), f"{what}: {states}"
        assert all(states.get(name) == "stopped" for name in self.down), f"{what}: {states}"

    def see(self, what: str, pids: dict[str, int]) -> None:
        """By /proc: those that lived live, none of them twice, and no others."""
        assert self.living() == pids, f"{what}: {self.living()} live, and {pids} did; down: {self.down}"
        for name in self.down:
            assert not incarnations(self.stage.root, name), f"{what}: {name} was stopped, and runs"

    def all_run(self) -> bool:
        rows = self.ask("GET", "/v1/agents")["agents"]
        return all(row["state"] == "running" for row in rows if row["name"] not in self.down) or not rows

    def highest(self) -> dict[str, int]:
        return {row["name"]: row["incarnation"] for row in self.ask("GET", "/v1/agents")["agents"]}

    def orders(self) -> set[str]:
        """The orders that the journal has a row of."""
        events = self.ask("GET", "/v1/events?lines=400&all=1")["events"]
        wanted = ("stop_requested", "start_requested")
        return {f"{one['event']} {one['agent']} {one['at']}" for one in events if one["event"] in wanted}

    @property
    def journal(self) -> Path:
        return self.stage.state / "journal.sqlite3"

    def keep_copy(self, number: int) -> None:
        place = self.backups / str(number)
        place.mkdir()
        # Copied under a living daemon it may be torn, which is as true a backup as any.
        for name in ("journal.sqlite3", "journal.sqlite3-wal"):
            if (self.stage.state / name).exists():
                shutil.copy2(self.stage.state / name, place / name)
        for old in sorted(self.backups.iterdir(), key=lambda one: int(one.name))[:-8]:
            shutil.rmtree(old)

    def lose(self, way: str) -> str:
        wal = self.journal.with_name(self.journal.name + "-wal")
        self.journal.with_name(self.journal.name + "-shm").unlink(missing_ok=True)
        match way:
            case "older":
                place = self.dice.choice(sorted(self.backups.iterdir()))
                self.journal.unlink()
                wal.unlink(missing_ok=True)
                for file in place.iterdir():
                    shutil.copy2(file, self.stage.state / file.name)
                return f"the copy of round {place.name}"
            case "cut":
                size = wal.stat().st_size
                at = self.dice.randrange(size + 1)
                os.truncate(wal, at)
                return f"-wal cut at {at} of {size}"
            case "deleted":
                only_log = self.dice.random() < 0.3
                wal.unlink(missing_ok=True)
                if not only_log:
                    self.journal.unlink()
                return "deleted" if not only_log else "-wal deleted"
            case "halved":
                file = self.dice.choice([self.journal, wal])
                os.truncate(file, file.stat().st_size // 2)
                return f"{file.name} halved"
            case _:
                file = self.dice.choice([self.journal, wal])
                with file.open("r+b") as stream:
                    for _ in range(self.dice.choice([1, 8, 64])):
                        at = self.dice.randrange(max(1, file.stat().st_size))
                        stream.seek(at)
                        byte = (stream.read(1) or b"\0")[0] ^ (1 << self.dice.randrange(8))
                        stream.seek(at)
                        stream.write(bytes([byte]))
                return f"bits of {file.name} flipped"


def real(rounds: int, seed: int) -> str:
    """Play on a real daemon; the verdict in a sentence. Raises AssertionError."""
    with tempfile.TemporaryDirectory(prefix="phx-") as root:
        journals = Journals(Path(root), seed)
        try:
            journals.begin()
            for number in range(rounds):
                journals.round(number)
        except BaseException:
            print(journals.stage.log_tail(200), flush=True)
            print(json.dumps(journals.ask("GET", "/v1/recover"), indent=1), flush=True)
            raise
        finally:
            journals.stage.down()
    met = ", ".join(f"{count} {way} ({journals.told[way]} told)" for way, count in sorted(journals.met.items()))
    return f"{rounds} rounds, seed {seed}: 0 killed, 0 of the stopped running, all told: {met}"


def main(arguments: list[str]) -> int:
    """Both worlds; 1 where a promise did not hold."""
    parser = argparse.ArgumentParser(prog="./dev proof journals", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--virtual", type=int, default=VIRTUAL_ROUNDS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args(arguments)
    began = time.monotonic()
    met = play_many(given.virtual)
    print(f"{given.virtual} virtual rounds: 0 killed, 0 of the stopped running, all told: {dict(met)}", flush=True)
    print(real(given.rounds, given.seed), f"{time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
