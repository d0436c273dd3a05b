"""Design section 6: who may do what, on a living socket with real peers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api.lineage import agent_of_cgroup
from phoenixd.api.operations import OPERATIONS, served
from phoenixd.api.operations.operation import Operation
from phoenixd.api.peers import Peer, identify
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Caller, Doorkeeper, Role, Seated, check
from phoenixd.api.server import bind
from phoenixd.directories import make_private
from phoenixd.errors import AlreadyRunning, ConfigurationError
from tests.api.conftest import Live, serving
from tests.api.daemon import FakeDaemon
from tests.waiting import eventually_sync

GROUP = 54321
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can become other users")
MEMBER = Peer(10, 1000, frozenset({1000, GROUP}), None)
STRANGER = Peer(11, 1001, frozenset({1001}), None)
OWNER = Peer(12, 500, frozenset({500}), None)
ROOT = Peer(13, 0, frozenset({0}), None)
IN_A_TREE = Peer(14, 0, frozenset({0, GROUP}), "docs")
GONE = Peer(15, 0, frozenset({0}), None, "it ended")
DOOR = Doorkeeper({"good": "docs"}.get, GROUP, uid=500)
ASK = """
import json, socket, sys
request = json.loads(sys.argv[2])
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(request.encode())
received = b""
while chunk := s.recv(65536):
    received += chunk
print(received.decode())
"""


@pytest.mark.parametrize(
    ("peer", "token", "role", "agent"),
    [
        (ROOT, None, Role.ADMIN, None),
        (OWNER, None, Role.ADMIN, None),
        (MEMBER, None, Role.OPERATE, None),
        (STRANGER, None, Role.NOBODY, None),
        (IN_A_TREE, None, Role.AGENT, "docs"),
        (GONE, None, Role.NOBODY, None),
        (ROOT, "Bearer good", Role.AGENT, "docs"),
        (STRANGER, "Bearer good", Role.AGENT, "docs"),
        (GONE, "bearer good", Role.AGENT, "docs"),
        (ROOT, "Bearer bad", Role.NOBODY, None),
        (ROOT, "Bearer ", Role.NOBODY, None),
        (ROOT, "Basic good", Role.NOBODY, None),
        (ROOT, "", Role.NOBODY, None),
    ],
)
def test_a_role_follows_from_the_peer_and_a_token_only_takes_away(
    peer: Peer, token: str | None, role: Role, agent: str | None
) -> None:
    caller = DOOR.caller(peer, token)

    assert (caller.role, caller.agent) == (role, agent)


ALLOWED = {
    Role.NOBODY: set(),
    Role.AGENT: {
        "show_agent",
        "heartbeat_show",
        "breaker_show",
        "resolve_loop",
        "list_loops",
        "tokens_check",
        "handoff_start",
        "handoff_status",
        "handoff_ack",
        "memory_list",
        "phase_list",
        "phase_check",
        "brief_show",
        "brief_check",
        "version",
        "health",
        "openapi",
    },
    Role.OPERATE: {one.name for one in served()} - {"add_agent", "remove_agent", "apply", "down", "confirm_recovery"},
    Role.ADMIN: {one.name for one in served()},
}


@pytest.mark.parametrize("role", list(ALLOWED), ids=lambda role: role.name)
@pytest.mark.parametrize("operation", served(), ids=lambda operation: operation.name)
def test_the_rights_matrix(role: Role, operation: Operation) -> None:
    caller = Caller(role, 1, 2, "it is a test", "docs" if role is Role.AGENT else None)
    name = "docs" if operation.at("path") else None
    refusal: Problem | None = None
    try:
        check(caller, operation, name)
    except Problem as problem:
        refusal = problem

    assert (refusal is None) == (operation.name in ALLOWED[role])
    if refusal is not None:
        assert (refusal.code, refusal.exit_code, refusal.http_status) == ("denied", 5, 403)
        assert refusal.detail
        assert refusal.remedy


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.path and one.at("path")], ids=lambda one: one.name
)
def test_an_agent_may_nothing_about_another(operation: Operation) -> None:
    with pytest.raises(Problem, match="agent docs may not"):
        check(Caller(Role.AGENT, 0, 2, "it is a test", "docs"), operation, "shop")


def test_the_cgroup_of_an_agent_is_found_in_hybrid_and_unified_listings() -> None:
    hybrid = "11:cpu:/x\n1:name=systemd:/user\n0::/system.slice/phoenixd.service/agents/docs/7\n"
    assert agent_of_cgroup(hybrid, "/system.slice/phoenixd.service/agents") == "docs"
    assert agent_of_cgroup(hybrid, "/system.slice/phoenixd.service/agents/") == "docs"
    assert agent_of_cgroup(hybrid, "/system.slice/phoenixd.service/agent") is None
    assert agent_of_cgroup(hybrid, None) is None
    assert agent_of_cgroup("", "/agents") is None


async def ask_as(uid: int, groups: list[int], socket_path: Path, method: str, path: str) -> tuple[int, Any]:
    """Ask as another user; returns the HTTP status and the JSON of the answer.

    By curl, because the interpreter of a test may lie where other users cannot read.
    """
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("not run: curl is not installed")
    ran = await asyncio.create_subprocess_exec(
        curl, "--silent", "--request", method, "--write-out", "\n%{http_code}", "--unix-socket", os.fspath(socket_path),
        f"http://phoenixd{path}", stdout=subprocess.PIPE, user=uid, group=uid, extra_groups=groups, cwd="/",
    )  # fmt: skip
    out, _ = await ran.communicate()
    body, _, status = out.decode().rpartition("\n")
    return int(status), json.loads(body)


STATUS = "GET /v1/agents HTTP/1.0\r\n\r\n"
STOP = "POST /v1/agents/docs/stop HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[str]]:
    """A shell that stands for a shim: what runs under it belongs to an agent. It runs each line that it reads."""
    process = subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


async def ask_below(shell: subprocess.Popen[str], live: Live, request: str) -> int:
    """Have a grandchild of the shell ask; returns the HTTP status."""
    assert shell.stdin is not None
    assert shell.stdout is not None
    file = live.socket.parent / "request"
    file.write_text(request)
    script = live.socket.parent / "ask.py"
    script.write_text(ASK.replace("json.loads(sys.argv[2])", "open(sys.argv[2], newline='').read()"))
    shell.stdin.write(f"( {sys.executable} {script} {live.socket} {file} ; echo end )\n")
    shell.stdin.flush()
    lines: list[str] = []
    while not lines or lines[-1] != "end\n":
        lines.append(await asyncio.to_thread(shell.stdout.readline))
    return int(lines[0].split()[1])


async def test_a_process_below_a_shim_has_its_agents_rights_and_no_more(
    live: Live, daemon: FakeDaemon, sleeper: subprocess.Popen[str]
) -> None:
    daemon.declare("docs")
    daemon.declare("shop")
    daemon.shims = {sleeper.pid: "docs"}

    assert await ask_below(sleeper, live, STOP) == 403
    assert await ask_below(sleeper, live, STATUS) == 403
    assert await ask_below(sleeper, live, "GET /v1/agents/shop HTTP/1.0\r\n\r\n") == 403
    assert await ask_below(sleeper, live, "GET /v1/agents/docs HTTP/1.0\r\n\r\n") == 200
    assert await ask_below(sleeper, live, "GET /v1/agents/docs/heartbeat HTTP/1.0\r\n\r\n") == 200
    assert daemon.orders == []
    daemon.shims = {}
    assert await ask_below(sleeper, live, STATUS) == 200, "the same process outside any agent administers"


async def test_a_process_in_an_agents_cgroup_has_its_agents_rights(live: Live, daemon: FakeDaemon) -> None:
    """The cgroup of this very test, declared to be an agent's."""
    listing = Path("/proc/self/cgroup").read_text()
    path = next((line.split(":", 2)[2] for line in listing.splitlines() if line.split(":", 2)[2] != "/"), None)
    if path is None:
        pytest.skip("not run: this process is in the root cgroup")
    daemon.agents_cgroup = os.path.dirname(path)
    daemon.declare("docs")

    assert (await live.ask("GET", "/v1/agents")).status == 403


async def test_a_peer_that_has_ended_is_nobody(live: Live) -> None:
    """A process may connect, pass the socket on and exit: what it was can no longer be known."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    child = subprocess.Popen(
        [sys.executable, "-c", "import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); t = socket.socket("
         "socket.AF_UNIX); t.connect(sys.argv[2]); socket.send_fds(s, [b'x'], [t.fileno()])",
         str(theirs.fileno()), os.fspath(live.socket)],
        pass_fds=[theirs.fileno()],
    )  # fmt: skip
    # The server runs on this very loop, so that it accepts only after the child has gone.
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    child.wait()
    connection = socket.socket(fileno=fds[0])
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    writer.write(STATUS.encode())

    answer = await reader.read()

    assert b" 403 " in answer.split(b"\r\n")[0]
    assert b"its lineage is not known" in answer
    for sock in (ours, theirs):
        sock.close()
    writer.close()


@needs_root
async def test_the_group_operates_and_strangers_get_nothing(daemon: FakeDaemon, runtime: Path) -> None:
    """F-SY-14."""
    async with serving(daemon, runtime, group=GROUP) as live:
        daemon.declare("docs")
        mode = live.socket.stat()
        assert (stat.S_IMODE(mode.st_mode), mode.st_gid) == (0o660, GROUP)
        for method, path, expected in (
            ("GET", "/v1/agents", 200), ("POST", "/v1/agents/docs/stop", 200), ("DELETE", "/v1/agents/docs", 403),
            ("POST", "/v1/down", 403),
        ):  # fmt: skip
            status, body = await ask_as(65534, [GROUP], live.socket, method, path)
            assert status == expected, body
        assert body["code"] == "denied"
        live.socket.chmod(0o666)  # Even if somebody opens the door, the doorkeeper looks.
        status, _ = await ask_as(65534, [], live.socket, "GET", "/v1/agents")
        assert status == 403


async def test_the_socket_is_the_owners_alone(live: Live) -> None:
    assert stat.S_IMODE(live.socket.stat().st_mode) == 0o600


def test_a_directory_that_another_thread_makes_while_the_socket_is_bound_can_be_entered(runtime: Path) -> None:
    """A umask is of the whole process: no agent of an ordinary user could be reached until somebody did chmod."""
    over = threading.Event()

    def make() -> set[int]:
        modes: set[int] = set()
        while not over.is_set():
            place = runtime / "made"
            make_private(place)
            modes.add(stat.S_IMODE(place.stat().st_mode))
            place.rmdir()
        return modes

    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(make)
        for _ in range(1500):
            bind(runtime / "again.sock").close()
        over.set()
    assert made.result() == {0o700}
    assert stat.S_IMODE((runtime / "again.sock").stat().st_mode) == 0o600


async def test_a_stale_socket_is_replaced_and_a_living_one_is_not(live: Live, runtime: Path) -> None:
    """F-SY-4"""
    with pytest.raises(AlreadyRunning):
        bind(live.socket)
    stale = runtime / "stale.sock"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(os.fspath(stale))
    bind(stale).close()
    other = runtime / "file"
    other.write_text("mine")
    with pytest.raises(ConfigurationError):
        bind(other)
    assert other.read_text() == "mine"


@pytest.mark.timeout(60)
def test_who_listens_in_its_place_and_lets_nobody_in_is_not_waited_for(runtime: Path) -> None:
    """An agent's socket with a full queue: the event loop waited in it for ever."""
    place = runtime / "full.sock"
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(os.fspath(place))
        listener.listen(0)
        for _ in range(2):
            waiting = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
            with contextlib.suppress(BlockingIOError):
                waiting.connect(os.fspath(place))
        with pytest.raises(AlreadyRunning, match="lets nobody in"):
            bind(place)


def test_the_lineage_is_read_through_a_name_that_looks_like_a_stat_line(runtime: Path) -> None:
    """comm may hold ") R 1 1": the last parenthesis counts."""
    program = runtime / "x) R 1 (y"
    program.symlink_to(sys.executable)
    path = runtime / "s"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)"
        process = subprocess.Popen([program, "-c", script, path])
        connection, _ = listener.accept()
        with connection:
            eventually_sync(lambda: Path(f"/proc/{process.pid}/comm").read_text().strip() == "x) R 1 (y")
            peer = identify(connection, {os.getpid(): "docs"}, None)
        process.wait()
    assert (peer.pid, peer.agent, peer.unknown) == (process.pid, "docs", "")


def test_a_generation_speaks_for_its_seat_until_it_is_fenced() -> None:
    """E52: by token or by process tree; the answer is 6, for it is no matter of rights."""
    seats = {"boss": Seated("boss", "generation 1 of boss is fenced"), "boss-g2": Seated("boss")}
    door = Doorkeeper({"old": "boss", "new": "boss-g2"}.get, GROUP, uid=500, seated=seats.__getitem__)
    own = next(one for one in OPERATIONS if one.name == "show_agent")
    peer = Peer(1, 500, frozenset({500}), None)

    new = door.caller(peer, "Bearer new")
    assert (new.agent, new.process, new.fenced) == ("boss", "boss-g2", "")
    for name in ("boss", "boss-g2"):
        check(new, own, name)
    with pytest.raises(Problem) as denied:
        check(new, own, "docs")
    assert denied.value.exit_code == 5
    for old in (door.caller(peer, "Bearer old"), door.caller(Peer(1, 500, frozenset({500}), "boss"), None)):
        with pytest.raises(Problem, match="fenced") as fenced:
            check(old, own, "boss")
        assert fenced.value.exit_code == 6
        assert fenced.value.remedy
