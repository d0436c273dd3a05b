"""Typing into panes, and what has to be known before it: whether somebody else types, how much of it can be seen."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import struct
import termios
from abc import abstractmethod

import structlog

from phoenixd.drivers.tmux.commands import Commands
from phoenixd.drivers.tmux.panes import Pane
from phoenixd.drivers.tmux.server import ROOMY
from phoenixd.drivers.tmux.text import pasteable, quote
from phoenixd.errors import TerminalFailed

PASTE_LIMIT = 8 * 1024 * 1024
NESTED_MODES = 5
SMALL = (20, 6)
"""Columns and lines below which a screen shows too little of a CLI to be read."""

log = structlog.get_logger("phoenixd.tmux")


class Keyboard(Commands):
    """The half of the terminal that types. Each method names the agent whose pane is meant."""

    @abstractmethod
    async def _pane_of(self, agent: str) -> Pane: ...

    async def paste(self, agent: str, text: str) -> str:
        """Leave copy mode, paste the sanitised text as one bracketed paste, and return it; Enter is not pressed.

        Newlines stay newlines (-r): tmux would make each a CR, which is the Enter key to a program that has not
        turned bracketed paste on.
        """
        content = pasteable(text)
        if len(content) > PASTE_LIMIT:
            raise TerminalFailed(
                f"a text of {len(content)} bytes is not pasted", remedy="put it into a file, and name it"
            )
        pane = (await self._pane_of(agent)).id
        await self._leave_modes(pane)
        if not content:
            return ""
        # By standard input: tmux expands #(...) in the path of a file that it loads.
        buffer = f"phx-{secrets.token_hex(8)}"
        # Once more and in one go with the paste: in copy mode tmux pastes without brackets, and each line is a key.
        leave = (";", "if-shell", "-F", "-t", pane, "#{pane_in_mode}", _cancel(pane)) * NESTED_MODES
        try:
            await self._call(
                "load-buffer", "-b", buffer, "-", *leave,
                ";", "paste-buffer", "-d", "-p", "-r", "-b", buffer, "-t", pane,
                stdin=content,
            )  # fmt: skip
        except BaseException:
            await self._forget_buffer(buffer)
            raise
        return content.decode()

    async def press_enter(self, agent: str) -> None:
        """Leave copy mode, which would take the key for itself, and press Enter."""
        await self._press(agent, "Enter")

    async def press_escape(self, agent: str) -> None:
        """Leave copy mode, and press Escape."""
        await self._press(agent, "Escape")

    async def clear_line(self, agent: str) -> None:
        """Take away what stands in a line editor before the cursor, and submit nothing: Ctrl-U ends at the begin of the
        line, Backspace joins it to the one before."""
        await self._press(agent, "C-u", "BSpace")

    async def last_typed(self, agent: str) -> float | None:
        """When an attached operator last pressed a key here (Unix time, whole seconds); None when nobody is attached
        who can type."""
        session = (await self._pane_of(agent)).session_id
        clients = await self._ask("list-clients", "-t", session, "-F", "#{client_readonly} #{client_activity}")
        times = [
            float(activity) for readonly, _, activity in (line.partition(" ") for line in clients) if readonly == "0"
        ]
        return max(times, default=None)

    async def size(self, agent: str) -> tuple[int, int] | None:
        """Columns and lines of the pane; None where the agent has none."""
        try:
            told = await self._ask(
                "display-message", "-p", "-t", (await self._pane_of(agent)).id, "#{pane_width} #{pane_height}"
            )
        except TerminalFailed:
            return None
        numbers = told[0].split() if told else []
        return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 and all(map(str.isdigit, numbers)) else None

    async def make_room(self, agent: str) -> str | None:
        """Make a pane that is too small to be read large again; why that cannot be, or None where it is large enough.

        A window keeps the size of the last terminal that it was shown in. While one looks at it, that one decides.
        """
        size = await self.size(agent)
        if size is None or (size[0] >= SMALL[0] and size[1] >= SMALL[1]):
            return None
        pane = await self._pane_of(agent)
        if await self._ask("list-clients", "-t", pane.session_id, "-F", "#{client_name}"):
            return f"it is shown in a terminal of {size[0]}x{size[1]} cells, in which nothing can be read"
        await self._ask("resize-window", "-t", pane.id, "-x", ROOMY[0], "-y", ROOMY[1])
        # The command has made the size fixed; the next terminal that it is shown in is to decide again.
        await self._ask("set-option", "-wu", "-t", pane.id, "window-size")
        return None

    async def tty(self, agent: str) -> str:
        """The path of the terminal that the agent's program reads."""
        told = await self._ask("display-message", "-p", "-t", (await self._pane_of(agent)).id, "#{pane_tty}")
        if not told or not told[0]:
            raise TerminalFailed(f"the pane of {agent} has no terminal")
        return told[0]

    async def unread(self, agent: str) -> int | None:
        """Bytes that were typed and that the pane's program has not read yet; None where that cannot be told."""
        return await asyncio.to_thread(_unread, await self.tty(agent))

    async def discard_unread(self, agent: str) -> None:
        """Take back what was typed and not read."""
        await asyncio.to_thread(_discard, await self.tty(agent))

    async def _press(self, agent: str, *keys: str) -> None:
        pane = (await self._pane_of(agent)).id
        await self._leave_modes(pane)
        await self._run("send-keys", "-t", pane, *keys)

    async def _leave_modes(self, pane: str) -> None:
        """End copy mode and what else lies over the pane; raises TerminalFailed when something stays."""
        for _ in range(NESTED_MODES):
            if (await self._ask("list-panes", "-t", pane, "-F", "#{pane_in_mode}"))[:1] == ["0"]:
                return
            await self._ask("if-shell", "-F", "-t", pane, "#{pane_in_mode}", _cancel(pane))
        raise TerminalFailed("the pane stays in a mode of tmux's own, so nothing can be typed into it")

    async def _forget_buffer(self, buffer: str) -> None:
        try:
            await self._run("delete-buffer", "-b", buffer)
        except TerminalFailed as failure:
            log.debug("buffer not deleted", reason=failure.message)


def _cancel(pane: str) -> str:
    return " ".join(map(quote, ("send-keys", "-t", pane, "-X", "cancel")))


def _unread(path: str) -> int | None:
    try:
        tty = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        waiting: int = struct.unpack("i", fcntl.ioctl(tty, termios.FIONREAD, b"\0" * 4))[0]
        return waiting
    except OSError:
        return None
    finally:
        os.close(tty)


def _discard(path: str) -> None:
    try:
        tty = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise TerminalFailed(f"the pane's terminal cannot be opened: {error.strerror}") from error
    try:
        termios.tcflush(tty, termios.TCIFLUSH)
    except termios.error as error:
        raise TerminalFailed(f"the pane's terminal cannot be flushed: {error}") from error
    finally:
        os.close(tty)
