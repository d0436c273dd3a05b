"""The first screen, before textual is there: the daemon answers while modules load, and the list is drawn by hand.

Textual takes longer to load than all else that a start does. Its first frame then covers this one, and the connection
goes on as the feed's. Keys that are pressed meanwhile wait in the terminal.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from phoenixd.ctl import wire
from phoenixd.top.frames import Reader
from phoenixd.top.model import Model, hear

PATH = "/v1/stream"
PATIENCE = 0.5
"""Seconds for which the first answer is waited for before textual is loaded; whatever is late comes by the feed."""
CHUNK = 1 << 18
HEAD = 1 << 16
"""Bytes that the head of an answer has at most."""
ALTERNATE, MAIN = "\x1b[?1049h\x1b[?25l\x1b[H", "\x1b[?25h\x1b[?1049l"
ATTRIBUTES = {"strong": "1", "dim": "2", "chosen": "7", "rest": "2", "need": "1", "unknown": "1"}
COLOURED = {**ATTRIBUTES, "need": "1;31", "heal": "33", "work": "32", "unknown": "1;35"}
"""As the styles of `app.py`, by the terminal's own numbers."""


@dataclass(slots=True)
class Begun:
    """A stream that was asked for. connection: None once it is known to be none; head: what came of the answer's head
    while that was not whole; model: what was told so far."""

    connection: _socket.socket | None
    reader: Reader = field(default_factory=Reader)
    model: Model = field(default_factory=Model)
    asked_at: float = field(default_factory=time.monotonic)
    head: bytes = b""
    is_stream: bool = False

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def ask(connection: _socket.socket) -> Begun:
    """Ask for the stream, and wait for nothing."""
    begun = Begun(connection)
    try:
        connection.sendall(wire.request(connection, "GET", PATH, accept="text/event-stream"))
    except OSError:
        begun.close()
    return begun


def listen(begun: Begun) -> None:
    """Hear all that is there, or what of it comes in time. A link that fails or refuses is left to the feed."""
    until = begun.asked_at + PATIENCE
    try:
        while begun.connection is not None and begun.model.last_id is None:
            left = until - time.monotonic()
            if left <= 0:
                return
            begun.connection.settimeout(left)
            _take(begun, begun.connection.recv(CHUNK))
    except TimeoutError:
        return
    except (OSError, ValueError):
        begun.close()


def _take(begun: Begun, received: bytes) -> None:
    """Raises ConnectionResetError where there is no stream, or none any more."""
    if not received:
        raise ConnectionResetError
    if not begun.is_stream:
        begun.head += received
        head, separator, received = begun.head.partition(b"\r\n\r\n")
        if not separator and len(begun.head) <= HEAD:
            return
        if b"text/event-stream" not in head.lower():
            raise ConnectionResetError
        begun.is_stream, begun.head = True, b""
    if frames := begun.reader.feed(received):
        begun.model = hear(begun.model, frames, time.monotonic())


def draw(begun: Begun, chosen: str, socket: str, *, coloured: bool) -> None:
    """Draw what is known on standard error, where textual draws too."""
    from phoenixd.top.face import Face, World
    from phoenixd.top.view import paint
    from phoenixd.top.words import Clock

    size = os.get_terminal_size(2)
    host = os.uname().nodename.partition(".")[0]
    clock = Clock(time.monotonic(), time.time())
    world = World(
        begun.model, Face(filter=chosen, socket=socket), clock, size.columns, size.lines, host, begun.asked_at
    )
    styles = COLOURED if coloured else ATTRIBUTES
    lines = (
        "".join(f"\x1b[{styles[span.style]}m{span.text}\x1b[m" if styles.get(span.style) else span.text for span in one)
        for one in paint(world).lines
    )
    wire.write(2, (ALTERNATE + "\r\n".join(lines)).encode())


def undraw() -> None:
    """Give the screen back as it was; only where textual did not take it over."""
    wire.write(2, MAIN.encode())


@contextlib.contextmanager
def quiet_keys() -> Iterator[None]:
    """No key is echoed or waits for its line's end; afterwards the terminal is as before."""
    before = termios.tcgetattr(0)
    quiet = [*before]
    quiet[3] = int(quiet[3]) & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def can_draw() -> bool:
    """Whether standard error is the terminal too."""
    return sys.stderr is not None and os.isatty(2) and os.isatty(0)
