"""An operator's orders while something else keeps the daemon busy: how long each takes, and where that time lies.

Who orders is a process of its own in a session of its own, as a person's shell is: the kernel weighs sessions against
each other, and beside a generator of hooks in one session the orders would pay for the generator's work. How long it
waited for a processor itself is told apart: a person waits for that, too, and the daemon can do nothing about it.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.bench.arena import Figures

ORDERS, ORDERS_EVERY = ("start", "mute"), 0.1
"""One that stands in the queue, and one that goes before it; and the seconds between two of them."""
AIM = 20.0
"""Milliseconds in which 99 of 100 orders are done."""

LATE_MARK = 1_000_000_000
"""Nanoseconds within which the daemon notes that it has answered."""

STEPS = {
    "accepted": "client: it connects; daemon: accepts it",
    "read": "daemon: its request is read",
    "queued": "daemon: understood and queued",
    "turn": "daemon: its turn begins",
    "stepped": "daemon: stepped",
    "handed": "daemon: handed in to be saved",
    "thread": "daemon: the journal's thread has it",
    "committed": "daemon: committed and synced",
    "saved": "daemon: the turn knows it",
    "kept": "daemon: also kept outside the journal",
    "written": "daemon: answered",
    "heard": "client: has read the answer",
}


@dataclass(slots=True)
class Asked:
    """Orders of one kind. spans: when each began and was answered, in nanoseconds. starved: milliseconds for which the
    client was ready to run during each, and had no processor."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    starved: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def figures(self) -> Figures:
        return Figures([(end - began) / 1e6 for began, end in self.spans], self.missed)


def asking(stage: Stage, seconds: float) -> subprocess.Popen[str]:
    """Begin to order, for so long."""
    argv = [sys.executable, "-m", "tests.bench.orders", str(stage.runtime / "api.sock"), str(seconds)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=root, start_new_session=True)


def heard(process: subprocess.Popen[str]) -> dict[str, Asked]:
    """What became of them, once the last is answered."""
    told, _ = process.communicate()
    return {order: Asked(**asked) for order, asked in json.loads(told).items()}


def print_orders(quiet: dict[str, Asked], meanwhile: dict[str, Asked], told: list[tuple[int, str]]) -> None:
    """Whole orders before and meanwhile, and the steps of those meanwhile by the marks of the daemon."""
    for order in ORDERS:
        before, then = quiet[order].figures.text(), meanwhile[order].figures.text()
        print(f"{order}: median / p99 {before} ms before, {then} ms meanwhile (aim: p99 {AIM:g} ms)")
    found = {order: [steps(told, *span) for span in meanwhile[order].spans] for order in ORDERS}
    print(f"{'of these, ms from the step before, median / p99':52}" + "".join(f"{order:>20}" for order in ORDERS))
    for step, words in STEPS.items():
        print(f"{words:52}" + "".join(f"{took(found[order], step).text():>20}" for order in ORDERS))
    starved = "".join(f"{Figures(meanwhile[order].starved).text():>20}" for order in ORDERS)
    print(f"{'  of all this, the client had no processor for':52}{starved}")


def took(orders: Iterable[dict[str, float]], step: str) -> Figures:
    """Milliseconds of one step, from the one before it."""
    earlier = list(STEPS)[: list(STEPS).index(step)]
    return Figures([one[step] - max((one[name] for name in earlier), default=0.0) for one in orders if step in one])


def steps(told: list[tuple[int, str]], began: int, ended: int) -> dict[str, float]:
    """Milliseconds from an order's begin to each of its steps, each the first one after the step before it."""
    marks, after, found = [one for one in told if began <= one[0] <= ended + LATE_MARK], began, dict[str, float]()
    for step in STEPS:
        at = ended if step == "heard" else next((at for at, one in marks if one == step and at >= after), None)
        if at is None:
            return {}  # Another client was answered meanwhile.
        # A client may have read its answer before the daemon could note that it was written.
        after = min(at, ended)
        found[step] = (after - began) / 1e6
    return found


def read_marks(marks: Path) -> list[tuple[int, str]]:
    """The marks that the daemon left, in order."""
    lines = (line.split(" ", 1) for line in marks.read_text().splitlines())
    return sorted((int(at), step) for at, step in lines)


def _ask(path: str, seconds: float) -> dict[str, Asked]:
    """An order each tenth of a second: to start an agent that runs, then to mute one."""
    found, give_up, number = {order: Asked() for order in ORDERS}, time.monotonic() + seconds, 0
    while time.monotonic() < give_up:
        order = ORDERS[number % len(ORDERS)]
        connection = _UnixConnection(path)
        told, kind = json.dumps({"for": "1h"} if order == "mute" else {}), {"Content-Type": "application/json"}
        waited, began = _waited(), time.monotonic_ns()
        connection.request("POST", f"/v1/agents/a{number % 4:03}/{order}", told, kind)
        answer = connection.getresponse()
        answer.read()
        ended = time.monotonic_ns()
        if answer.status < 300:
            found[order].spans.append((began, ended))
            found[order].starved.append((_waited() - waited) * 1000)
        else:
            found[order].missed += 1
        connection.close()
        number += 1
        time.sleep(ORDERS_EVERY)
    return found


def _waited() -> float:
    """Seconds for which this thread was ready to run and had no processor."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("phoenixd", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


if __name__ == "__main__":
    print(json.dumps({order: asdict(asked) for order, asked in _ask(sys.argv[1], float(sys.argv[2])).items()}))
