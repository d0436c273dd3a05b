"""The shell of top: textual draws the lines and brings the keys, the feed brings frames. It decides nothing.

The text of an agent reaches the terminal as plain segments alone: neither textual's markup nor rich's reads it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Key, Paste, Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from phoenixd.top import feed, orders, told
from phoenixd.top.effects import Attach, Effect, Fetch, Quit
from phoenixd.top.face import Face, Order, World
from phoenixd.top.first import Begun
from phoenixd.top.frames import Frame
from phoenixd.top.model import Model, hear
from phoenixd.top.press import press
from phoenixd.top.spans import Line, Style
from phoenixd.top.typing_line import pasted
from phoenixd.top.view import View, paint, scrolled, seen
from phoenixd.top.words import Clock, wall_of

STYLES: dict[Style, RichStyle] = {
    "": RichStyle(),
    "need": RichStyle(color="red", bold=True),
    "heal": RichStyle(color="yellow"),
    "work": RichStyle(color="green"),
    "rest": RichStyle(dim=True),
    "unknown": RichStyle(color="magenta", bold=True),
    "strong": RichStyle(bold=True),
    "dim": RichStyle(dim=True),
    "chosen": RichStyle(reverse=True),
}
"""The terminal's own colours, so that they suit its background."""
EACH = 1.0
"""Seconds after which ages are drawn anew."""
GATHER = 0.04
"""Seconds for which changes gather before they are drawn; a key is drawn at once."""
SINCE_EVERY = 10.0
"""Seconds between two looks at what happened since the person looked, and whether they said `looked` elsewhere."""
NAMED_KEYS = {"question_mark": "?", "slash": "/", "backslash": "\\"}


class Screenful(Widget, can_focus=True, inherit_bindings=False):
    """The lines of the newest view."""

    DEFAULT_CSS = "Screenful { width: 100%; height: 100%; background: ansi_default; color: ansi_default; }"

    def __init__(self, top: Top) -> None:
        super().__init__()
        self._top = top
        self.lines: tuple[Line, ...] = ()

    def render_line(self, y: int) -> Strip:
        if y >= len(self.lines):
            return Strip.blank(self.size.width)
        segments = [Segment(span.text, STYLES[span.style]) for span in self.lines[y] if span.text]
        return Strip(segments).adjust_cell_length(self.size.width)

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        self._top.pressed(key_of(event))

    def on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self._top.pasted(event.text)


class Top(App[int], inherit_bindings=False):
    """The list of all agents."""

    CSS = "Screen { background: ansi_default; color: ansi_default; }"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, places: list[bytes], chosen: str = "", socket: str | None = None, begun: Begun | None = None
    ) -> None:
        super().__init__(ansi_color=True)
        self.refusal: told.Answer | None = None
        self.model, self.face = begun.model if begun is not None else Model(), Face(filter=chosen, socket=socket or "")
        self._begun, self._asked_at = begun, begun.asked_at if begun is not None else time.monotonic()
        self._places, self._socket = places, socket
        self._screenful = Screenful(self)
        self._is_due = False
        self._since_due = 0.0
        self._began = "last"
        self._host = os.uname().nodename.partition(".")[0]

    def compose(self) -> ComposeResult:
        yield self._screenful

    def on_mount(self) -> None:
        self._screenful.focus()
        self.run_worker(self._follow())
        self.set_interval(EACH, self._tick)

    @property
    def world(self) -> World:
        """What the person looks at now."""
        size = self.size
        clock = Clock(time.monotonic(), time.time())
        return World(self.model, self.face, clock, max(1, size.width), max(1, size.height), self._host, self._asked_at)

    def draw(self) -> View:
        """Draw what is known now, and note what of it stands whole before the person."""
        self._is_due = False
        world = self.world
        if (top := scrolled(world)) != self.face.top:
            self.face = replace(self.face, top=top)
            world = replace(world, face=self.face)
        view = paint(world)
        self.face = seen(self.face, view, world.clock.at)
        before, self._screenful.lines = self._screenful.lines, view.lines
        if len(before) != len(view.lines):
            self._screenful.refresh()
        elif changed := [y for y, (old, new) in enumerate(zip(before, view.lines, strict=True)) if old != new]:
            width = self._screenful.size.width
            self._screenful.refresh(*(Region(0, y, width, 1) for y in changed))
        return view

    def on_resize(self, event: Resize) -> None:
        self.draw()

    def pressed(self, key: str) -> None:
        """A key, as the table names it."""
        self._do(*press(self.world, key))

    def pasted(self, text: str) -> None:
        """A text came at once."""
        self._do(pasted(self.face, text), ())

    def _do(self, face: Face, effects: tuple[Effect, ...]) -> None:
        self.face = face
        self.draw()
        for effect in effects:
            match effect:
                case Quit():
                    self.run_worker(self._leave())
                case Attach(name):
                    self._sit_down(name)
                case Fetch():
                    self.run_worker(self._fetch(effect))
                case Order():
                    self.run_worker(self._order(effect))

    async def _follow(self) -> None:
        followed = feed.Feed(self._places, self.model.last_id, self._begun)
        try:
            async for frames in followed.follow():
                self._hear(frames)
        except feed.Refused as refused:
            self.refusal = told.read(
                refused.answer.status, refused.answer.exit, refused.answer.type, refused.answer.body
            )
            self.exit(refused.answer.exit)

    def _hear(self, frames: list[Frame]) -> None:
        self.model = hear(self.model, frames, time.monotonic())
        if not self._is_due:
            self._is_due = True
            self.set_timer(GATHER, self.draw)

    def _tick(self) -> None:
        self.draw()
        now = time.monotonic()
        if self.model.heard_at is not None and now >= self._since_due:
            self._since_due = now + SINCE_EVERY
            self.run_worker(self._look_back())

    async def _look_back(self) -> None:
        answer = await self._ask(orders.since(self._began))
        if answer is not None and isinstance(answer.body, dict) and answer.exit == 0:
            # From now on since that time: another terminal's look is not this one's, but what was said by `looked` is.
            began, seen = answer.body.get("from"), answer.body.get("seen")
            is_later = (wall_of(seen) or 0.0) > (wall_of(began) or 0.0)
            self._began = str((seen if is_later else began) or self._began).replace("+", "%2B")
            if is_later:
                self._since_due = 0.0
            self.face = replace(self.face, since=answer.body)
            self.draw()

    async def _fetch(self, wanted: Fetch) -> None:
        answer = await self._ask(orders.fetch(wanted, self.size.width))
        self.face = told.fetched(self.face, wanted, answer, self.world.clock)
        self.draw()

    async def _order(self, order: Order) -> None:
        answer = await self._ask(orders.order(order))
        self.face = told.ordered(self.face, order, answer)
        self.draw()

    async def _leave(self) -> None:
        """The person has looked: the next look back begins here."""
        if not self.world.model.silence(time.monotonic()) > feed.SILENCE:
            await self._ask(orders.since("last", look=True), timeout=1.0)
        self.exit(0)

    async def _ask(self, call: orders.Call, timeout: float = 90.0) -> told.Answer | None:
        return await feed.ask(self._places, call.method, call.target, call.body, text=call.is_text, timeout=timeout)

    def _sit_down(self, name: str) -> None:
        """The terminal becomes the agent's until the person detaches; a refusal comes back as words."""
        import subprocess  # Ten milliseconds of a start, and needed by few.

        where = ["--socket", self._socket] if self._socket is not None else []
        argv = [sys.executable, "-P", "-m", "phoenixd.ctl", "attach", name, *where]
        with self.suspend():
            print(f"{name}: prefix d (Ctrl-b d) leads back to the list, and stops nothing", flush=True)  # noqa: T201
            left = subprocess.run(argv, stderr=subprocess.PIPE, check=False)
        words = " ".join(left.stderr.decode("utf-8", "replace").split())
        self.face = self.face.says(f"attach {name}: {words}" if left.returncode else f"back from {name}")
        self._screenful.lines = ()
        self.refresh(repaint=True, layout=True)
        self.draw()


def key_of(event: Key) -> str:
    """A key as the table names it: its character where it has one that can be seen."""
    if event.character is not None and event.character.isprintable() and event.character != " ":
        return event.character
    return NAMED_KEYS.get(event.key, event.key)
