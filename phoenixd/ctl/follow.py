"""What goes on as it happens: events and panes by server-sent events, over restarts of the daemon."""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from phoenixd.ctl import absence, calls, face, wire
from phoenixd.ctl.choosing import chosen
from phoenixd.ctl.from_then_on import from_then_on
from phoenixd.ctl.grammar import Command

SILENCE = 30.0
"""Seconds without even a beat, after which the daemon is taken for gone; it beats each two."""
PATIENCE = 60.0
"""Seconds that a daemon which was there may be away."""
RETRY = 0.25

Frame = tuple[str | None, str, str]


def events(command: Command) -> int:
    """`events [NAME|SELECT...] [-f]`: the journal's rows, then what follows."""
    command = chosen(from_then_on(command))
    if not command.given.pop("follow", False):
        return calls.call(command)
    return follow(command, lambda data: print(data, flush=True), *([] if command.as_json else ["form=text"]))


def screen(command: Command) -> int:
    """`screen NAME [-f]`, and `logs` as it was called: what the pane shows, then the lines that come to it."""
    pane = calls.operation("read_pane")
    command = Command(command.words, pane, dict(command.given), command.socket, command.as_json)
    if not command.given.pop("follow", False):
        return calls.call(command)
    shown: list[str] = []

    def show(data: str) -> None:
        nonlocal shown
        lines = json.loads(data)["text"].split("\n")[:-1]
        for line in news(shown, lines):
            print(json.dumps({"line": line}) if command.as_json else line, flush=True)
        shown = lines

    return follow(command, show)


def news(before: list[str], after: list[str]) -> list[str]:
    """The lines of a pane that were not there before, taking it as having scrolled by as little as possible."""
    for scrolled in range(len(before) + 1):
        kept = before[scrolled:]
        # The last line is often still being written, so that it may have grown.
        if after[: len(kept)] == kept:
            return after[len(kept) :]
        if kept and after[: len(kept) - 1] == kept[:-1] and after[len(kept) - 1 : len(kept)]:
            return after[len(kept) - 1 :]
    return after


def follow(command: Command, show: Callable[[str], None], *extra: str) -> int:
    """Show each frame of a stream, over restarts of the daemon."""
    return follow_named(command, lambda event, data: show(data), *extra)


def follow_named(command: Command, show: Callable[[str, str], None], *extra: str, last: str | None = None) -> int:
    """The same for frames that bear the name of an event. last: the row of the journal after which it begins."""
    given = dict(command.given)
    stream = _open(command, given, last, extra)
    if stream is None:
        return absence.explain(calls.places(command))
    while not isinstance(stream, int):
        for row, event, data in stream:
            last = row or last
            show(event, data)
        if last is not None:
            # What was asked for at first has been shown; from now on the row number says where to go on.
            given = {key: value for key, value in given.items() if key not in ("since", "lines")}
        _say("phoenixd has gone; waiting for it to come back")
        deadline = time.monotonic() + PATIENCE
        while (stream := _open(command, given, last, extra)) is None:
            if time.monotonic() > deadline:
                return absence.explain(calls.places(command))
            time.sleep(RETRY)
        if not isinstance(stream, int):
            _say("phoenixd is back")
    return stream


def _say(what: str) -> None:
    """Say beside what is shown, with the time, that the daemon went or came."""
    print(f"{face.here().clock(time.time())} {what}", file=sys.stderr, flush=True)


def _open(
    command: Command, given: dict[str, Any], last: str | None, extra: tuple[str, ...]
) -> Iterator[Frame] | int | None:
    """A stream of frames, the exit code of a refusal (which is told), or None when no daemon answers."""
    target, _ = calls.spell(command.operation, given, extra)
    headers = (f"last-event-id: {last}",) if last is not None else ()
    received = b""
    try:
        places = calls.places(command)
        connection = wire.reach(places, SILENCE)
        if connection is None:
            return None
        connection.sendall(wire.request(connection, "GET", target, accept="text/event-stream", headers=headers))
        while b"\r\n\r\n" not in received and (chunk := wire.heard(connection, places, SILENCE)):
            received += chunk
        connection.settimeout(SILENCE)
        head, _, rest = received.partition(b"\r\n\r\n")
        if b"text/event-stream" in head.lower():
            return _frames(connection, rest)
        while chunk := connection.recv(65536):
            received += chunk
        connection.close()
    except OSError:
        return None
    answer = wire.parse(received)
    return calls.tell(command, answer) if answer is not None else None


def _frames(connection: Any, received: bytes) -> Iterator[Frame]:
    """Row number, event and data of each frame; ends when the daemon does, or says nothing for too long.

    Raises BrokenPipeError once nobody reads any more what is shown.
    """
    held, searched = bytearray(received), 0
    while True:
        begin = 0
        while (end := held.find(b"\n\n", max(begin, searched))) >= 0:
            frame = _told(bytes(held[begin:end]))
            begin = end + 2
            if frame is not None:
                yield frame
        del held[:begin]
        searched = max(0, len(held) - 1)
        try:
            chunk = connection.recv(65536)
        except OSError:
            chunk = b""
        if not chunk:
            connection.close()
            return
        if _reader_gone():
            raise BrokenPipeError
        held += chunk


def _told(frame: bytes) -> Frame | None:
    row, event, data = None, "message", None
    for line in frame.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(": ")
        if name == "id":
            row = value
        elif name == "event":
            event = value
        elif name == "data":
            data = value
    return (row, event, data) if data is not None else None


def _reader_gone() -> bool:
    """Whether standard output is a pipe that its reader has closed; who only writes notices it at the next line."""
    watched = select.poll()
    watched.register(1, 0)
    return any(seen & (select.POLLERR | select.POLLHUP) for _, seen in watched.poll(0))
