"""The tmux server of our own: its configuration, its version, its start. Slow things, off the hot path."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import re
import secrets
import shutil
import socket
import struct
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TypeVar

import structlog

from phoenixd.drivers.tmux.call import Ended, call
from phoenixd.drivers.tmux.text import quote
from phoenixd.errors import TerminalFailed

T = TypeVar("T")
OLDEST = (3, 2)
"""Before it there is no -N, `run-shell -C` or `attach-session -f`; docs/reference/places.md has what 3.2 lacks."""
CREDENTIALS = struct.Struct("iII")
SOCKET_PATH_LIMIT = 107
INERT = ("sleep", "2147483647")
"""What runs in a pane that has nothing to do: it never ends, reads nothing and wakes nobody."""

ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "XDG_RUNTIME_DIR",
               "DBUS_SESSION_BUS_ADDRESS")  # fmt: skip
"""What the server keeps of the daemon's environment. Panes inherit it, and no secret of the daemon's is in it."""

SERVER_OPTIONS = {
    "exit-empty": "off",
    "exit-unattached": "off",
    "escape-time": "10",
    "default-terminal": "tmux-256color",
    # OSC 52 from a pane is ignored; what an operator copies in copy mode reaches the operator's own clipboard.
    "set-clipboard": "external",
    "message-limit": "100",
}
ROOMY = ("120", "40")
"""Columns and lines of a pane that no terminal shows."""
SESSION_OPTIONS = {
    "base-index": "0",
    "default-size": "x".join(ROOMY),
    # A window that somebody opens by hand holds nothing that could run what is pasted into it.
    "default-command": "exec " + " ".join(INERT),
    "default-shell": "/bin/sh",
    "destroy-unattached": "off",
    "history-limit": "5000",
    "lock-after-time": "0",
    "mouse": "off",
    "prefix": "C-b",
    "prefix2": "None",
    # No interval, and no text that an agent can choose: tmux runs #(...) that stands in a status line.
    "set-titles": "off",
    "status": "on",
    "status-interval": "0",
    "status-left": " #{session_name} ",
    "status-left-length": "48",
    # TERM is what tells that a client is within another tmux, which takes the first prefix for itself.
    "status-right": " detach: C-b d#{?#{||:#{m:tmux*,#{client_termname}},#{m:screen*,#{client_termname}}},"
    " (in a tmux: C-b C-b d),} ",
    "update-environment": "",
}
WINDOW_OPTIONS = {
    "allow-passthrough": "off",
    "allow-rename": "off",
    "automatic-rename": "off",
    "pane-base-index": "0",
    "remain-on-exit": "off",
    "window-size": "latest",
    "window-status-current-format": "",
    "window-status-format": "",
}
KEYS = {
    "d": ("detach-client",),
    "[": ("copy-mode",),
    "PPage": ("copy-mode", "-u"),
    "]": ("paste-buffer", "-p"),
    "?": ("list-keys",),
    "r": ("refresh-client",),
    "C-b": ("send-prefix",),
}
"""The keys that are left after the prefix. The others make windows that nobody supervises, kill panes, or open a
command prompt, each by one slip of a finger; who wants them has the tmux command line."""
ROOM = "x".join(ROOMY)
WINDOW = "'#{session_id}:'"
ROOM_OF = f"resize-window -t {WINDOW} -x {ROOMY[0]} -y {ROOMY[1]} ; set-option -wu -t {WINDOW} window-size ; "
"""Gives a window its size back, and leaves it to the next terminal that shows it: resizing by hand fixes a size."""
ROOM_AGAIN = f"#{{?session_attached,,#{{?#{{==:#{{window_width}}x#{{window_height}},{ROOM}}},,{ROOM_OF}}}}}"
"""The same as a format, for those that nobody shows and that have another size."""
LEFT = "'=#{client_last_session}:'"
"""The session that a terminal showed before, once it was switched to another one."""
ROOM_THERE = f"resize-window -t {LEFT} -x {ROOMY[0]} -y {ROOMY[1]} ; set-option -wu -t {LEFT} window-size"
HOOKS = {
    # Which session it has left is not told of a client that detaches in order; so of all those that were ever shown.
    "client-detached": f'run-shell -C "#{{S:#{{?session_last_attached,{ROOM_AGAIN},}}}}"',
    # run-shell puts in the name, and if-shell then asks of that session; one that only attaches left none.
    "client-session-changed": (
        f"run-shell -C \"if-shell -F -t {LEFT} '##{{==:##{{session_attached}},0}}' {{ {ROOM_THERE} }}\""
    ),
}
"""tmux does these by itself, with or without a daemon. A terminal that leaves, also by its death, leaves no mark: the
window would keep its size, and a CLI on eight columns can neither be read nor work."""

log = structlog.get_logger("phoenixd.tmux")


def settings() -> list[tuple[str, ...]]:
    """All that we set, as commands. -q, because an older tmux lacks some options and has nothing to forbid there."""
    return [
        *(("set-option", "-sq", name, value) for name, value in SERVER_OPTIONS.items()),
        *(("set-option", "-gq", name, value) for name, value in SESSION_OPTIONS.items()),
        *(("set-option", "-wgq", name, value) for name, value in WINDOW_OPTIONS.items()),
        ("unbind-key", "-aq", "-T", "prefix"),
        ("unbind-key", "-aq", "-T", "root"),
        *(("bind-key", "-T", "prefix", key, *command) for key, command in KEYS.items()),
        *(("set-hook", "-g", hook, command) for hook, command in HOOKS.items()),
    ]


def configuration() -> str:
    """The content of RUNTIME_DIR/tmux.conf."""
    lines = (" ".join(map(quote, command)) for command in settings())
    return "# Written by phoenixd at each start of its tmux server.\n" + "".join(f"{line}\n" for line in lines)


class TmuxServer:
    """The server on RUNTIME_DIR/tmux.sock, by what can be done without being connected to it."""

    def __init__(self, runtime_dir: Path, tmux: str, timeout: float) -> None:
        self.socket = runtime_dir / "tmux.sock"
        self.configuration = runtime_dir / "tmux.conf"
        self._tmux = tmux
        self._timeout = timeout
        self._is_checked = False
        self.version: str | None = None

    def argv(self, *arguments: str) -> list[str]:
        """A call that can never start a server, whatever the command is."""
        return [self._tmux, "-N", "-u", "-S", str(self.socket), *arguments]

    def environment(self) -> dict[str, str]:
        return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}

    def process(self) -> int | None:
        """Who listens on the socket, by the kernel's word: also a server that says nothing. None for nobody."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
                probe.connect(os.fspath(self.socket))
                pid, _, _ = CREDENTIALS.unpack(
                    probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
                )
        except OSError:
            return None
        return int(pid) or None

    def listens(self) -> bool:
        """Whether somebody accepts connections on the socket; a server that hangs still does."""
        if len(os.fsencode(self.socket)) > SOCKET_PATH_LIMIT:
            raise TerminalFailed(
                f"{self.socket} is longer than the {SOCKET_PATH_LIMIT} bytes that a socket's path may have",
                remedy="choose a shorter --runtime-dir",
            )
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as probe:
            try:
                probe.connect(os.fsencode(self.socket))
            except BlockingIOError:  # Its backlog is full.
                return True
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED):
                    return False
                raise TerminalFailed(f"{self.socket} cannot be reached: {error.strerror}") from error
        return True

    async def require_version(self) -> None:
        """Refuse a tmux that is missing or too old (F-TMUX-7); asked once."""
        if self._is_checked:
            return
        found = await self._told_version() if self.listens() else ""
        found = found or await self._in_thread(self._version)
        numbers = _numbers(found)
        if numbers < OLDEST:
            raise TerminalFailed(
                f"tmux {found} is too old: phoenixd needs {OLDEST[0]}.{OLDEST[1]} or later",
                remedy="install a newer tmux, so that `tmux -V` says it, then: phoenixctl up",
            )
        self._is_checked = True
        self.version = found

    async def start(self) -> None:
        """Start the server so that it outlives this process; raises TerminalFailed.

        tmux makes a session of its own, which a terminal's end does not reach. A cgroup it inherits, and systemd ends
        a unit by its cgroup: so the server gets a scope of its own where there is a systemd to ask.
        """
        await self.require_version()
        self._write_configuration()
        command = [self._tmux, "-u", "-S", str(self.socket), "-f", str(self.configuration), "start-server"]
        for scope in (_scope(), ()):
            if scope == () or shutil.which(scope[0]):
                ended = await self.call([*scope, *command])
                if ended.status == 0 and self.listens():
                    return
                complaint = ended.complaint.strip()[:500]
                log.warning("tmux server did not start", scope=bool(scope), status=ended.status, complaint=complaint)
        raise TerminalFailed(f"the tmux server does not start: {complaint or 'it went away again'}")

    async def call(self, argv: Sequence[str], stdin: bytes = b"") -> Ended:
        """Run one process to its end with the server's environment; raises TerminalFailed."""
        return await call(argv, self.environment(), self._timeout, stdin)

    def _write_configuration(self) -> None:
        # Not written in place: a server may be reading it. Nobody else writes into our private directory.
        temporary = self.configuration.with_suffix(".new")
        try:
            # A FIFO in its place would keep the event loop for ever.
            temporary.unlink(missing_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(configuration())
            temporary.replace(self.configuration)
        except OSError as error:
            raise TerminalFailed(f"{self.configuration} cannot be written: {error.strerror}") from error

    async def _told_version(self) -> str:
        """What `tmux -V` says; empty where that names no release. A daemon that finds its server running asks so, for
        libtmux serves where the server is set up."""
        ended = await self.call([self._program(), "-V"])
        word = ended.output.decode("ascii", "replace").rpartition(" ")[2].strip()
        return word if ended.status == 0 and _numbers(word) else ""

    def _program(self) -> str:
        found = shutil.which(self._tmux)
        if found is None:
            raise TerminalFailed(f"there is no {self._tmux}", f"install tmux {OLDEST[0]}.{OLDEST[1]} or later")
        return found

    def _version(self) -> str:
        known = frozenset(sys.modules)
        if "libtmux" not in known and (spec := find_spec("libtmux")) is not None:
            # The package itself loads all that it has: 3 MiB, and no version in it.
            sys.modules["libtmux"] = module_from_spec(spec)
        import libtmux.common
        import libtmux.exc

        found, remedy = self._program(), f"install tmux {OLDEST[0]}.{OLDEST[1]} or later"
        try:
            return str(libtmux.common.get_version(tmux_bin=found))
        except libtmux.exc.LibTmuxException as error:
            raise TerminalFailed(f"{found} does not tell its version: {error}", remedy) from error
        finally:
            _let_go("libtmux", known)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """Run what blocks in a thread that is abandoned when it takes too long.

        A daemon thread of our own: a worker of a pool that hangs in a tmux which never answers would keep the daemon
        from exiting.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def tell(result: T | None, error: Exception | None) -> None:
            if outcome.done():
                return
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            try:
                result, error = function(), None
            except (OSError, TerminalFailed) as caught:
                result, error = None, caught
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, result, error)

        threading.Thread(target=work, name="libtmux", daemon=True).start()
        try:
            async with asyncio.timeout(self._timeout):
                return await outcome
        except TimeoutError:
            raise TerminalFailed(f"tmux did not answer within {self._timeout:g} s") from None
        except OSError as error:
            raise TerminalFailed(f"tmux failed: {error}") from error


def _let_go(package: str, known: Collection[str]) -> None:
    """Forget the modules of a package that serves once, but for those that were there before."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package and name not in known]:
        del sys.modules[name]
    gc.collect()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _scope(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The command that puts what follows into a systemd scope of its own, or nothing where no systemd runs."""
    if not os.path.isdir("/run/systemd/system"):
        return ()
    whose = () if os.geteuid() == 0 else ("--user",)
    unit = f"--unit=phoenixd-tmux-{secrets.token_hex(4)}"
    return ("systemd-run", *whose, "--scope", "--collect", "--quiet", "--property=Delegate=yes", unit, "--")
