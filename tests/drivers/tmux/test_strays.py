"""What a killed daemon leaves at its tmux server: a client that never ends, and a server that waits for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from phoenixd.drivers.tmux.panes import OWN_SESSION
from phoenixd.drivers.tmux.server import TmuxServer
from phoenixd.drivers.tmux.strays import have_socket_made
from tests.drivers.tmux.terminals import a_terminal, agents, recorder, tmux
from tests.waiting import eventually, eventually_sync

LISTED = ("list-clients", "-F", "#{client_control_mode} #{client_pid}")


@contextmanager
def a_stuck_client(room: Path) -> Iterator[int]:
    """A control client as a daemon has it, of a daemon that was killed while tmux was writing to it."""
    ours, theirs = socket.socketpair()
    argv = TmuxServer(room, "tmux", 10).argv(
        "-C", "attach-session", "-t", f"={OWN_SESSION}", "-f", "no-output,ignore-size"
    )
    # Its daemon is gone: it has another parent.
    orphan = [sys.executable, "-c", "import os, sys\nif os.fork(): os._exit(0)\nos.execvp(sys.argv[1], sys.argv[1:])"]
    subprocess.run(
        [*orphan, *argv], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, start_new_session=True, check=True
    )
    theirs.close()
    client = 0
    try:
        ours.sendall(b"list-keys\n" * 200)
        client = eventually_sync(lambda: _attached(room), 60, what="it is attached")
        # As soon as tmux has more to say than the socket holds.
        eventually_sync(lambda: _is_full(ours), 60, what="its output is stuck")
        ours.close()
        yield client
    finally:
        ours.close()
        if client:
            with suppress(ProcessLookupError):
                os.kill(client, signal.SIGKILL)


def _attached(room: Path) -> int:
    """The pid of the one control client; 0 where there is none yet."""
    pids = [int(line[2:]) for line in tmux(room, *LISTED).splitlines() if line.startswith("1 ")]
    return pids[0] if pids else 0


def _is_full(connection: socket.socket) -> bool:
    before = len(connection.recv(1 << 22, socket.MSG_PEEK))
    return before > 50_000


async def test_f_tmux_the_client_that_a_killed_daemon_left_is_ended_by_the_next_one(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as before:
        await before.open_pane("a", recorder(short_tmp / "a"))
        before.close()
        with a_stuck_client(short_tmp) as stuck:
            assert f"1 {stuck}" in tmux(short_tmp, *LISTED), "tmux let it go by itself: nothing is shown here"
            assert await agents(before) == {"a"}
            await eventually(lambda: f"1 {stuck}" not in tmux(short_tmp, *LISTED), 60, what="it is detached")
            assert await agents(before) == {"a"}, "panes and server do not feel it"


async def test_f_tmux_a_server_that_cannot_end_for_such_a_client_is_replaced(short_tmp: Path) -> None:
    """Without this no daemon could start on that directory again: down --agents, or kill-server by hand, came first."""
    async with a_terminal(short_tmp) as terminal:
        pid = await terminal.server_pid()
        assert pid is not None
        terminal.close()
        with a_stuck_client(short_tmp):
            tmux(short_tmp, "kill-server")
            assert os.path.exists(f"/proc/{pid}"), "it could end: nothing is shown here"
            assert terminal.server.listens()
            assert await terminal.revive()
            assert await terminal.server_pid() != pid
            assert not _is_alive(pid)


async def test_promise_7_a_server_that_refuses_to_list_its_clients_is_connected_to_all_the_same(
    short_tmp: Path,
) -> None:
    """An agent can give tmux's commands another meaning. Else each try would fail, and leave a client attached."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "a"))
        tmux(short_tmp, "set-option", "-s", "command-alias[99]", "list-clients=no-such-command")
        terminal.close()
        assert await agents(terminal) == {"a"}


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_is_no_server_gets_no_signal_whatever_a_server_says_its_number_is() -> None:
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        try:
            assert not have_socket_made(stranger.pid)
            assert not have_socket_made(0)
            assert not have_socket_made(10**30)
            assert stranger.poll() is None
        finally:
            stranger.kill()
