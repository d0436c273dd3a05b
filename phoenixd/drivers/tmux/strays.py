"""What a daemon that was killed leaves at its tmux server: a client that never ends, and for its sake the server.

tmux 3.3a waits for what it wrote to a control client, also when nobody can read it any more: such a client stays
attached for ever, and a server that is told to end waits for it, takes connections, and closes each of them at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

log = structlog.get_logger("phoenixd.tmux")

SPEAKS_AFTER = 0.5
"""Seconds in which a server that ends has closed a connection; one that lives says nothing before it is asked."""


def end_clients(listed: Iterable[str], argv: Sequence[str]) -> list[int]:
    """Kill the control clients that an earlier daemon left; returns their pids.

    listed: of list-clients, `#{client_control_mode} #{client_pid}`. argv: as a daemon starts its client, on this
    very socket; any other client in control mode is left alone, and so are children of ours.
    """
    ended = []
    for line in listed:
        mode, _, pid = line.partition(" ")
        if mode == "1" and pid.isdigit() and _kill_stray(int(pid), argv):
            log.warning("stray_tmux_client_ended", pid=int(pid))
            ended.append(int(pid))
    return ended


def is_server(pid: int) -> bool:
    """Whether a process is a server of tmux, by its own word."""
    return _comm(pid).startswith(b"tmux: server")


async def see_off(path: Path, patience: float) -> bool:
    """Wait until a server that ends is gone, and kill it where it cannot go; False where none is ending there.

    Its sessions are closed by then, and all of its panes hung up.
    """
    pid = await _ending_server(path)
    if pid is None:
        return False
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if await _gone(pidfd, patience) or await _ending_server(path) != pid:
            return True
        if not is_server(pid):
            return False
        log.warning("tmux_server_cannot_end", pid=pid)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return await _gone(pidfd, patience)
    finally:
        os.close(pidfd)


def have_socket_made(pid: int) -> bool:
    """Have a server make its socket anew, if it is one: the signal would end any other program."""
    try:
        pidfd = os.pidfd_open(pid)
    except (OSError, OverflowError):  # It may be any number at all.
        return False
    try:
        if not is_server(pid):
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGUSR1)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(pidfd)
    return True


async def _ending_server(path: Path) -> int | None:
    """The pid of a server that takes a connection and closes it unasked; None where none does."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as probe:
        try:
            async with asyncio.timeout(SPEAKS_AFTER):
                await loop.sock_connect(probe, os.fspath(path))
                pid: int
                pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                return pid if await loop.sock_recv(probe, 1) == b"" else None
        except (OSError, TimeoutError):
            return None


async def _gone(pidfd: int, patience: float) -> bool:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        async with asyncio.timeout(patience):
            await ended.wait()
    except TimeoutError:
        return bool(select.select([pidfd], [], [], 0)[0])
    finally:
        loop.remove_reader(pidfd)
    return True


def _kill_stray(pid: int, argv: Sequence[str]) -> bool:
    """SIGKILL through a pidfd, once what it holds is seen to be what is meant."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        is_a_daemons = _comm(pid).startswith(b"tmux: client") and _words(pid) == [os.fsencode(word) for word in argv]
        if not is_a_daemons or _parent(pid) == os.getpid():
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(pidfd)
    return True


def _comm(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/comm").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return os.getpid()


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return []
