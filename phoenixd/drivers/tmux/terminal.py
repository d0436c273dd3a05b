"""tmux as the terminal of all agents: one session `phx-<agent>` with one pane for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from phoenixd.core.seat.names import seat_name
from phoenixd.drivers.tmux.commands import TIMEOUT
from phoenixd.drivers.tmux.control import Refused
from phoenixd.drivers.tmux.keyboard import SMALL, Keyboard
from phoenixd.drivers.tmux.panes import MARK, Pane, Panes, mark
from phoenixd.drivers.tmux.server import ROOMY, TmuxServer
from phoenixd.drivers.tmux.strays import is_server
from phoenixd.drivers.tmux.text import readable, session_of
from phoenixd.errors import NoTerminal, TerminalFailed

SIZE_KEPT = 60.0
"""Seconds for which the next pane of an agent is to have a size that was named."""
BY_WHO_ASKS = ("3.2", "3.2a")
"""In 3.2a a new pane has the size of the connection that asks for it, whatever it is told; libtmux drops the letter."""
BEGAN = "#{pane_pid} #{window_width} #{window_height}"
"""What is asked of a pane that has just begun."""
STATUS_LINES = 1
"""Lines of a terminal that tmux itself takes."""
SCREEN_LIMIT = 1024 * 1024
HISTORY_LIMIT = 10_000
"""Lines above the visible ones that are looked at; an agent decides how many there are, and how long."""
SHOWN_SECONDS = 10
WORDS = re.compile(r"[A-Za-z0-9 ,.:()-]{1,200}")
"""What is shown on a status line: nothing in it means anything to tmux."""
REVIVALS = 2
PATIENCE = 4.0
"""Seconds after which a server that says nothing is said to hang; a busy one answers in milliseconds."""

log = structlog.get_logger("phoenixd.tmux")


class TmuxTerminal(Keyboard):
    """The server on RUNTIME_DIR/tmux.sock; implements ports.Terminal.

    Only `revive` ever starts a server, and never with `under_systemd`: there the server is a unit of its own.

    shim_pid: the process of an agent's shim, by which its pane is known from those that somebody opened by hand.
    """

    def __init__(
        self,
        runtime_dir: Path,
        *,
        under_systemd: bool = False,
        tmux: str = "tmux",
        timeout: float = TIMEOUT,
        shim_pid: Callable[[str], int | None] = lambda agent: None,
    ) -> None:
        super().__init__(TmuxServer(runtime_dir, tmux, timeout), timeout)
        self._under_systemd = under_systemd
        self._panes = Panes(self._ask, shim_pid)
        self._is_ended = False
        self._named: tuple[int, int, int] | None = None
        """The socket at which somebody listened when it was looked at last: device, inode and time of its change."""
        self._sizes: dict[str, tuple[int, int, float]] = {}
        self._reviving: asyncio.Task[bool] | None = None

    async def observe(self) -> bool:
        """Whether the server answers: False when there is none, TerminalFailed when it hangs or cannot be asked."""
        return self.server.listens() and bool(await self._ask("display-message", "-p", "yes"))

    async def revive(self) -> bool:
        """Start the server where that is ours to do, and connect; whether it answers now. Callers meanwhile share it.

        One that lives and whose socket somebody took away is no reason to start another: it makes its socket anew.
        """
        if self._reviving is None or self._reviving.done():
            self._reviving = asyncio.get_running_loop().create_task(self._revive(), name="revive tmux")
            # Nobody is told of its failure when all who waited for it have gone.
            self._reviving.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._reviving)

    async def _revive(self) -> bool:
        await self.server.require_version()
        for _ in range(REVIVALS):
            if not self.server.listens() and not await self._lifetime.makes_socket(self.server.listens):
                if self._under_systemd or self._is_ended:
                    return False
                await self.server.start()
            try:
                return await self.observe()
            except TerminalFailed as failure:
                if self.server.listens():
                    raise
                log.info("tmux server went away", reason=failure.message)  # The one we found was about to end.
        return False

    def close(self) -> None:
        """Drop the connection; the server and all sessions stay."""
        if self._reviving is not None:
            self._reviving.cancel()
        super().close()

    def meet(self, pid: int | None) -> None:
        """Know the server of agents that live, also where its socket was taken away while no daemon watched."""
        if pid is not None and is_server(pid):
            self._lifetime.follow(pid)

    def speak_to(self, ended: Callable[[], None]) -> None:
        """Call `ended` each time the process of the server that we were connected to ends, but by our own order."""
        self._lifetime.speak_to(lambda: None if self._is_ended else ended())

    async def open_pane(self, agent: str, argv: Sequence[str]) -> int | None:
        """Make the agent's session with one pane that runs `argv`; a pane that it has is closed first.

        Returns the pid of what runs in it. A session of that name which somebody opened by hand is not ours to close:
        it gets another name.
        """
        session = session_of(agent)
        if len(argv) < 2:
            raise ValueError("a pane's argv has at least two words: tmux gives a single one to a shell")
        await self.close_pane(agent)
        await self._move_aside(session)
        columns, lines = self._size_of(agent)
        if self.version in BY_WHO_ASKS:
            await self._ask("refresh-client", "-C", f"{columns}x{lines}")
        size = ("-x", columns, "-y", lines)
        told = await self._run("new-session", "-d", "-P", "-F", BEGAN, *size, "-s", session, "--", *argv)
        pid, _, began = (told[0] if told else "").partition(" ")
        # Refused where the pane has ended already.
        with contextlib.suppress(Refused):
            await self._run("set-option", "-pF", "-t", f"={session}:0.0", MARK, mark(agent))
            if began != f"{columns} {lines}":
                # A terminal that shows another agent decides otherwise, and the pane would keep the size of that one.
                await self._ask("resize-window", "-t", f"={session}:", "-x", columns, "-y", lines)
                await self._ask("set-option", "-wu", "-t", f"={session}:", "window-size")
        return int(pid) if pid.isdigit() else None

    def size_next(self, agent: str, columns: int, lines: int) -> None:
        """Have the agent's next pane, if it comes soon, begin at the size of a terminal that waits to show it."""
        session_of(agent)
        self._sizes[agent] = (columns, lines, asyncio.get_running_loop().time() + SIZE_KEPT)

    def _size_of(self, agent: str) -> tuple[str, str]:
        columns, lines, until = self._sizes.pop(agent, (0, 0, 0.0))
        if until < asyncio.get_running_loop().time() or columns < SMALL[0] or lines < SMALL[1]:
            return ROOMY
        return str(columns), str(lines - STATUS_LINES)

    async def close_pane(self, agent: str) -> None:
        """Close the agent's pane, which gets SIGHUP, and with it its session; no pane is no failure."""
        session_of(agent)
        while (pane := await self._panes.of(agent)) is not None:
            try:
                await self._ask("kill-pane", "-t", pane.id)
            except Refused as refusal:
                if "can't find pane" not in refusal.message:
                    raise

    async def take_session(self, agent: str, seat: str, generation: int) -> None:
        """Have the agent's session bear the seat's name, take over who is attached to the one before, and tell them.

        Nothing happens where it bears it already, and where somebody moved the pane elsewhere by hand. Panes are known
        by their shims and marks, so a name is for people: whatever comes in between loses none.
        """
        session, own = session_of(seat), session_of(agent)
        pane = await self._pane_of(agent)
        if pane.session != own or own == session:
            return
        there = await self._panes.in_session(session)
        claim = there.claim if there is not None else None
        clients: list[str] = []
        if there is not None and claim is not None and seat_name(claim) == seat:
            clients = await self._ask("list-clients", "-t", there.session_id, "-F", "#{client_name}")
            aside = session_of(claim if claim != seat else f"{seat}-g1")
            await self._move_aside(aside)
            await self._run("rename-session", "-t", there.session_id, aside)
        else:
            await self._move_aside(session)
        await self._run("rename-session", "-t", pane.session_id, session)
        for client in clients:
            try:
                await self._run("switch-client", "-c", client, "-t", pane.session_id)
            except Refused as refusal:
                log.debug("nobody to take over", client=client, reason=refusal.message)
        if clients:
            await self.tell_attached(agent, f"phoenixd: this is generation {generation} now: the seat has passed on")

    async def clients(self) -> dict[str, tuple[int, int]]:
        """For each agent whose terminal is looked at: how many clients, and how many of them may write."""
        return await self._panes.clients()

    async def foreign(self) -> tuple[tuple[str, int], ...]:
        """The panes that somebody opened by hand in our server, by id and pid."""
        return tuple((pane.id, pane.pid) for pane in await self._panes.foreign())

    async def capture(self, agent: str, history: int = 0) -> str:
        """The visible text of the pane, without anything that a terminal would obey, and some of what scrolled off it.

        With history it is for people: a line that the terminal broke is one line, for in the middle of it may be a
        secret. By a process of its own: on the control connection an agent's screen would stand between tmux's own
        words.
        """
        back = ("-J", "-S", f"-{min(history, HISTORY_LIMIT)}") if history > 0 else ()
        output = await self._call("capture-pane", "-p", *back, "-t", (await self._pane_of(agent)).id)
        text = await asyncio.to_thread(readable, _end_of(output))
        # tmux keeps the blanks at the ends of lines that it joins.
        return "\n".join(line.rstrip(" ") for line in text.split("\n")) if back else text

    async def capture_raw(self, agent: str, history: int = 0) -> str:
        """The same with the sequences that set colours, and whatever else the pane holds: for documents.screen.

        Always joined, for secrets are looked for in its lines.
        """
        back = ("-S", f"-{min(history, HISTORY_LIMIT)}") if history > 0 else ()
        output = await self._call("capture-pane", "-p", "-e", "-J", *back, "-t", (await self._pane_of(agent)).id)
        return _end_of(output).decode("utf-8", "replace")

    async def tell_attached(self, agent: str, words: str) -> None:
        """Show words on the status line of everybody who is attached; nobody is no failure."""
        if not WORDS.fullmatch(words):
            raise ValueError(f"not shown, tmux could read more than words in it: {words!r:.60}")
        session = (await self._pane_of(agent)).session_id
        clients = await self._ask("list-clients", "-t", session, "-F", "#{client_name}")
        for client in clients:
            try:
                await self._run("display-message", "-c", client, "-d", f"{SHOWN_SECONDS * 1000}", words)
            except Refused as refusal:
                log.debug("nobody to tell", client=client, reason=refusal.message)

    async def server_pid(self) -> int | None:
        """The server's process, whose unit may have a cgroup for us; None without a server."""
        if not self.server.listens():
            return None
        answer = await self._ask("display-message", "-p", "#{pid}")
        return int(answer[0]) if answer and answer[0].isdigit() else None

    async def hangs(self, patience: float = PATIENCE) -> tuple[int | None, bool] | None:
        """The server's process, and whether it is stopped, where it is there and does not answer; None where it does.

        A look from outside: it takes nothing from the callers that wait for the server meanwhile.
        """
        if not self.server.listens():
            return None
        try:
            async with asyncio.timeout(patience):
                if await self.observe():
                    return None
        except Refused:
            return None
        except (TimeoutError, TerminalFailed):
            if not self.server.listens():
                return None  # It went away: that is another finding, with another remedy.
        pid = self.server.process()
        return pid, pid is not None and _is_stopped(pid)

    async def keep_named(self) -> None:
        """Have the server make its socket anew, where somebody took it away and the server lives."""
        try:
            if not self._lifetime.is_alive or self._is_named():
                return
            if not await self._lifetime.makes_socket(self.server.listens) and self._lifetime.is_alive:
                log.warning("terminal_socket_not_made", reason="the server does not make it")
        except (OSError, TerminalFailed) as failure:
            log.warning("terminal_socket_not_made", reason=str(failure))

    def _is_named(self) -> bool:
        """Whether somebody listens at the socket's path. One that came back there may be dead: each is tried once."""
        try:
            found = os.stat(self.server.socket, follow_symlinks=False)
        except OSError:
            return False
        seen = (found.st_dev, found.st_ino, found.st_ctime_ns)
        if seen != self._named and self.server.listens():
            self._named = seen
        return seen == self._named

    async def end(self) -> None:
        """End the server with all its panes, for good; one that is systemd's is left to systemd."""
        # Its end is noticed, and looks like one that has to be made good.
        self._is_ended = True
        if self._reviving is not None and not self._reviving.done():
            # One that is being started would stand there afterwards, with nobody to end it.
            await asyncio.wait({self._reviving}, timeout=self._timeout)
        if self._under_systemd or not self.server.listens():
            return
        await self._call("kill-server")

    async def _pane_of(self, agent: str) -> Pane:
        session_of(agent)
        pane = await self._panes.of(agent)
        if pane is None:
            raise NoTerminal(f"{agent} has no terminal now")
        return pane

    async def _move_aside(self, session: str) -> None:
        try:
            name = f"foreign-{secrets.token_hex(4)}"
            await self._run("rename-session", "-t", f"={session}", name)
        except Refused as refusal:
            if "can't find session" not in refusal.message:
                raise
            return
        log.warning("foreign session renamed", session=session, name=name)


def _is_stopped(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:1]
    except OSError:
        return False
    return state in (["T"], ["t"])


def _end_of(output: bytes) -> bytes:
    """The last whole lines, within the limit."""
    if len(output) <= SCREEN_LIMIT:
        return output
    kept = output[-SCREEN_LIMIT:]
    return kept[kept.find(b"\n") + 1 :]
