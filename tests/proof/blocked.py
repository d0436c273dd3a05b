"""`./dev proof blocked`: how soon a real CLI's dialog is in the feed, and how soon its answer takes it out.

A dialog counts from the last look at the screen in which it does not stand yet; the feed may know it before. One that
Codex draws on no screen while its request is held counts from the request to the model whose answer makes it. An answer
counts from the moment at which it is given. It asserts no time: the figures are printed beside their aims.
"""

from __future__ import annotations

import argparse
import math
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phoenixd.harness.pins import PINS
from phoenixd.top.frames import Frame, Reader
from tests.e2e.inbox import Inbox
from tests.real.agent_stage import AgentStage
from tests.real.clis import CONTRACTED
from tests.real.installed import locate
from tests.waiting import eventually_sync

SEEN, CLEARED = 250.0, 1000.0
"""Aims, in milliseconds."""
PATIENCE = 60.0
LOOKS_APART = 0.02
READS = 1.0
"""Seconds for which a person reads before a key is pressed; Claude Code takes none of the first 0.2."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a dialog is answered: by a verdict from afar, or by a key at its terminal. takes: seconds of the command."""

    verdict: str = ""
    key: str = ""
    takes: int = 0

    @property
    def text(self) -> str:
        how = f"{self.verdict} from afar" if self.verdict else f"{WORDS[self.key]} at its terminal"
        return f"{how}, and the command takes {self.takes} s" if self.takes else how


WORDS = {"Enter": "Yes", "Escape": "Esc"}
AFAR = (Way("allow"), Way("deny"), Way("allow", takes=5))
THERE = (Way(key="Enter"), Way(key="Enter", takes=5), Way(key="Escape"))


@dataclass(frozen=True, slots=True)
class Room:
    """One CLI, and the ways in which its dialogs can be answered there. keys, flags: of its agent's table and argv."""

    cli: str
    ways: tuple[Way, ...]
    flags: tuple[str, ...] = ()
    keys: str = ""
    draws: bool = True
    """Whether its dialog stands on the screen while its request is held."""
    is_offered_another: bool = False
    """Whether it draws an offer after its first turn, which `keys` have phoenixd say no to."""

    @property
    def text(self) -> str:
        return f"{self.cli}, held" if not self.draws else self.cli


ROOMS = (
    Room(
        "claude",
        (*AFAR, *THERE),
        flags=("--permission-mode", "default"),
        keys='answers = [{ dialog = "dialog", asks = "offer of its auto mode", answer = "deny" }]',
        is_offered_another=True,
    ),
    Room("codex", THERE),
    Room("codex", AFAR, keys="hold_permissions = true", draws=False),
    Room("gemini", THERE),
)


class Listener:
    """The feed with the time at which each frame came."""

    def __init__(self, place: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(place))
        self._socket.sendall(b"GET /v1/stream HTTP/1.0\r\nHost: p\r\nAccept: text/event-stream\r\n\r\n")
        self.heard: list[tuple[float, Frame]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        reader, head = Reader(), b""
        while received := self._socket.recv(1 << 16):
            now = time.time()
            if b"\r\n\r\n" not in head:
                head += received
                received = head.partition(b"\r\n\r\n")[2]
            self.heard += [(now, frame) for frame in reader.feed(received)]

    def first(self, event: str, after: float, number: int | None = None) -> tuple[float, Frame]:
        """The first such frame after a moment, of an item where its number is given."""

        def found() -> tuple[float, Frame] | None:
            wanted = (one for one in list(self.heard) if one[0] > after and one[1].event == event)
            return next((one for one in wanted if number is None or one[1].data["id"] == number), None)

        told = eventually_sync(found, PATIENCE, f"{event} in the feed")
        assert told is not None
        return told


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev proof blocked", description=__doc__)
    parser.add_argument("--cli", choices=list(CONTRACTED), help="of one CLI alone")
    parser.add_argument("--rounds", type=int, default=10, help="dialogs for each way to answer")
    parser.add_argument(
        "--reads", type=float, default=READS, help="seconds from the dialog to its answer (%(default)s)"
    )
    given = parser.parse_args(arguments)
    rows, is_whole = [], True
    for room in ROOMS:
        if given.cli not in (None, room.cli):
            continue
        found = locate(room.cli, PINS[room.cli][-1])
        if found.binary is None:
            print(f"{room.cli}: not run: {found.reason}")
            is_whole = False
            continue
        with tempfile.TemporaryDirectory(prefix="phx-") as directory:
            rows += _room(room, found.binary, Path(directory), given.rounds, given.reads)
    print(f"{'milliseconds':82}{'n':>4}{'median':>8}{'p95':>8}{'worst':>8}{'aim':>7}")
    print(*rows, sep="\n")
    return 0 if is_whole else 1


def _room(room: Room, binary: Path, directory: Path, rounds: int, reads: float) -> list[str]:
    """Have each way answered so often, and return the rows of the table."""
    cli = CONTRACTED[room.cli](binary)
    cli.ask_first()
    with AgentStage(cli, directory) as stage:
        for number in range(len(room.ways) * rounds):
            command = f"sleep {room.ways[number % len(room.ways)].takes}; touch file-{number}"
            stage.scenario.add(replace(cli.shell(command), match=f"deed {number}\\b"))
        stage.up(flags=room.flags, keys=room.keys)
        if room.is_offered_another:
            eventually_sync(
                lambda: any("says no to it" in event["reason"] for event in stage.events()), PATIENCE, "it is dismissed"
            )
        stage.until_idle()
        listener = Listener(stage.stage.runtime / "api.sock")
        seen: list[float] = []
        cleared: dict[Way, list[float]] = {way: [] for way in room.ways}
        for number in range(len(room.ways) * rounds):
            way = room.ways[number % len(room.ways)]
            came, took = _dialog(stage, listener, room, way, number, reads)
            seen.append(came)
            cleared[way].append(took)
    of = "from the dialog on the screen to the feed (- is before)"
    if not room.draws:
        of = "from the request whose answer makes it to the feed"
    return [
        _row(f"{room.text}: {of}", seen, SEEN if room.draws else None),
        *(_row(f"{room.text}: from the answer to the feed: {way.text}", cleared[way], CLEARED) for way in room.ways),
    ]


def _dialog(
    stage: AgentStage, listener: Listener, room: Room, way: Way, number: int, reads: float
) -> tuple[float, float]:
    """One dialog and its answer: milliseconds until each was told."""
    began = time.time()
    operator = threading.Thread(target=stage.send, args=[f"Do deed {number} now."], daemon=True)
    operator.start()
    shown = _drawn(stage) if room.draws else stage.asked(f"deed {number}\\b").at
    came, item = listener.first("item", began)
    operator.join()
    time.sleep(max(0.0, shown + reads - time.time()))
    answered = time.time()
    if way.verdict:
        told = f"taken: {Inbox(stage.stage.runtime).answer(item.data['id'], way.verdict, 'not now')}"
    else:
        told = f"pressed {way.key}"
        stage.type(way.key)
    closed, _ = listener.first("item-closed", answered, item.data["id"])
    print(
        f"{room.text}, deed {number}: told {came - shown:+.3f} s after it was there; {way.text} ({told}): "
        f"cleared {closed - answered:+.3f} s later",
        flush=True,
    )
    stage.until_idle()
    return 1000 * (came - shown), 1000 * (closed - answered)


def _drawn(stage: AgentStage) -> float:
    """When the last look began that found no dialog yet."""
    before = at = without = time.time()
    while stage.harness.screen_says(stage.screen()) != "permission":
        if at - before > PATIENCE:
            raise TimeoutError(f"no dialog is drawn:\n{stage.screen()}\n{stage.stage.log_tail()}")
        time.sleep(LOOKS_APART)
        without, at = at, time.time()
    return without


def _row(name: str, took: Sequence[float], aim: float | None) -> str:
    p95 = sorted(took)[max(0, math.ceil(0.95 * len(took)) - 1)]
    figures = f"{len(took):>4}{statistics.median(took):>8.0f}{p95:>8.0f}{max(took):>8.0f}"
    return f"{name:82}{figures}{f'{aim:.0f}' if aim is not None else '-':>7}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
