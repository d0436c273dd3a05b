"""`./dev proof blocked`: how soon a real Claude Code's dialog is in the feed, and how soon its answer takes it out.

A dialog counts from its first look at the screen, in which it stands; the feed may know it before. An answer counts
from the moment at which it is given. It asserts no time: the figures are printed beside their aims.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from phoenixd.harness.pins import PINS
from phoenixd.top.frames import Frame, Reader
from tests.e2e.inbox import Inbox
from tests.real.claude_room import bash
from tests.real.claude_stage import ClaudeStage
from tests.real.installed import locate
from tests.waiting import eventually_sync

SEEN, CLEARED = 250.0, 1000.0
"""Aims, in milliseconds."""
PATIENCE = 60.0
READS = 1.0
"""Seconds for which a person reads before a key is pressed; in the first half the CLI takes none."""
WAYS = (
    "allow from afar",
    "deny from afar",
    "Yes at its terminal, and the command takes 5 s",
    "Esc at its terminal",
    "allow from afar, and the command takes 5 s",
)
LONG = (WAYS[2], WAYS[4])


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
            now = time.monotonic()
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
    parser.add_argument("--rounds", type=int, default=10, help="dialogs for each way to answer")
    given = parser.parse_args(arguments)
    found = locate("claude", PINS["claude"][1])
    if found.binary is None:
        print(f"not run: {found.reason}")
        return 1
    with tempfile.TemporaryDirectory(prefix="phx-") as directory, ClaudeStage(found.binary, Path(directory)) as stage:
        stage.settings = {}
        for number in range(len(WAYS) * given.rounds):
            command = f"sleep {5 if WAYS[number % len(WAYS)] in LONG else 0}; touch file-{number}"
            stage.scenario.add(replace(bash(command), match=f"deed {number}\\b"))
        stage.up(flags=("--permission-mode", "default"))
        stage.until_idle()
        measured(stage, given.rounds)
    return 0


def measured(stage: ClaudeStage, rounds: int) -> None:
    """Print how long it took."""
    listener, inbox = Listener(stage.stage.runtime / "api.sock"), Inbox(stage.stage.runtime)
    ways: dict[str, Callable[[int], object]] = {
        WAYS[0]: lambda item: inbox.answer(item, "allow"),
        WAYS[1]: lambda item: inbox.answer(item, "deny", "not now"),
        WAYS[2]: lambda item: stage.type("Enter"),
        WAYS[3]: lambda item: stage.type("Escape"),
        WAYS[4]: lambda item: inbox.answer(item, "allow"),
    }
    seen: list[float] = []
    cleared: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(len(WAYS) * rounds):
        way, began = WAYS[number % len(WAYS)], time.monotonic()
        stage.send(f"Do deed {number} now.")
        stage.wait_screen("permission")
        shown = time.monotonic()
        came, item = listener.first("item", began)
        seen.append(1000 * (came - shown))
        time.sleep(READS)
        answered = time.monotonic()
        told = ways[way](item.data["id"])
        print(f"deed {number}, {way}: shown, told {came - shown:+.3f} s later; answered: {told}", flush=True)
        cleared[way].append(1000 * (listener.first("item-closed", answered, item.data["id"])[0] - answered))
        stage.until_idle()
    print(f"{'milliseconds':76}{'median':>8}{'most':>8}{'aim':>7}")
    _row("from the dialog on the screen to the feed (- is before)", seen, SEEN)
    for way, took in cleared.items():
        _row(f"from the answer to the feed: {way}", took, CLEARED)


def _row(name: str, took: list[float], aim: float) -> None:
    print(f"{name:76}{statistics.median(took):>8.0f}{max(took):>8.0f}{aim:>7.0f}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
