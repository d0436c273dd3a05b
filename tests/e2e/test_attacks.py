"""What an agent writes, posts or listens on neither ends the daemon nor another agent, nor hides its own life.

A puppet agent carries out each attack from inside its own process tree, on a real daemon.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.puppet import Puppet

pytestmark = pytest.mark.slow


IMPOSTOR = """
import json, os, socket, threading
def start_time(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[19])
def serve(path, run):
    os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    while True:
        link, _ = listener.accept()
        link.recv(65536)
        link.send(json.dumps({
            "event": "hello", "protocol": 1, "version": "0.1.0", "agent": "bad", "pid": os.getpid(),
            "start_time": start_time(os.getpid()), "hook_port": 1, "run": run, "exit": None,
            "boot_id": open("/proc/sys/kernel/random/boot_id").read().strip()}).encode())
"""

FLOOD = """
import json, os, socket
hooks = socket.socket(socket.AF_UNIX)
hooks.connect(os.environ["PHOENIX_HOOK_DIR"] + "/hook.sock")
body = json.dumps({"message": "m" * 500, "notification_type": "permission_prompt"}).encode()
head = [
    "POST /hook/notification HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}",
    "Authorization: Bearer " + os.environ["PHOENIX_TOKEN"],
]
request = "".join(line + "\\r\\n" for line in [*head, ""]).encode() + body
fifo = os.open(os.environ["PHOENIX_HOOK_DIR"] + "/hook.fifo", os.O_RDWR)
for _ in range(400):
    os.write(fifo, b"stop 1.2.json\\n")  # Of a file that is not there: the shim complains of each.
    hooks.sendall(request * 50)
    answered = 0
    while answered < 50:
        answered += hooks.recv(65536).count(b"HTTP/1.1 ")
out = "flooded"
"""

KINDS = ("symlink", "fifo", "sparse", "deep")
JUNK = """
import os, shutil
def put(kind, path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    if kind == "symlink":
        os.symlink("/dev/zero", path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "sparse":
        with open(path, "wb") as file:
            file.truncate(1 << 30)
    else:
        with open(path, "w") as file:
            file.write("[" * 100000)
"""


TAKE_PLACE = """
import fcntl, os
place = os.environ["PHOENIX_HOOK_DIR"]
os.rename(place, {aside!r})
os.mkdir(place, 0o700)
held = os.open(place, os.O_RDONLY)
fcntl.flock(held, fcntl.LOCK_EX)
open(place + "/link.sock", "w").close()
"""
"""A shim takes its place back as soon as its daemon is gone, unless somebody holds it as only a shim does."""


FIFO_FOR_DIRECTORY = """
while True:
    shutil.rmtree({path!r}, ignore_errors=True)
    try:
        os.mkfifo({path!r})
        break
    except FileExistsError:
        pass  # The daemon writes there just now.
"""


class Arena:
    """A stage with two puppets: `bad`, which attacks, and `good`, which must not feel it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.bad, self.good = Puppet(stage.root / "bad"), Puppet(stage.root / "good")
        for name, puppet in (("bad", self.bad), ("good", self.good)):
            text = f'[agent.{name}]\nargv = {json.dumps(puppet.argv)}\ncwd = "/"\n'
            stage.declare(name, f'{text}restart = {{ early_exit = "0s", productive = "0s" }}\n')
        stage.up()
        for name in ("bad", "good"):
            stage.until_running(name, 1)
        self.bad.do("pass")

    def link(self, name: str) -> str:
        return str(self.stage.runtime / "agents" / name / "link.sock")

    @property
    def take_place(self) -> str:
        return TAKE_PLACE.format(aside=str(self.stage.root / "aside"))

    def file(self, name: str) -> Path:
        return self.stage.state / "agents" / "bad" / name

    def run(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.file("run.json").read_text())
        return record

    def hooks_of_bad(self) -> list[dict[str, Any]]:
        """What the journal says of the hooks of `bad`."""
        with closing(sqlite3.connect(f"file:{self.stage.state}/journal.sqlite3?mode=ro", uri=True)) as journal:
            found = journal.execute("SELECT detail FROM entries WHERE agent = 'bad' AND event = 'hook_seen'")
            return [json.loads(detail) for (detail,) in found]

    def restart_daemon(self) -> None:
        self.stage.kill()
        self.stage.up()

    def assert_good_is_untouched(self) -> None:
        row = self.stage.row("good")
        assert (row["state"], row["incarnation"]) == ("running", 1)


@pytest.fixture
def arena(stage: Stage) -> Arena:
    return Arena(stage)


def test_an_agent_gives_no_orders_to_another_agents_shim(arena: Arena) -> None:
    for order in ("kill", "quit"):
        said = arena.bad.do(
            "import json, socket\nlink = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\nlink.settimeout(60)\n"
            f"link.connect({arena.link('good')!r})\n"
            f"link.send(json.dumps({{'op': 'hello', 'protocol': 1}}).encode())\n"
            f"link.send(json.dumps({{'op': {order!r}, 'incarnation': 1}}).encode())\n"
            "out = link.recv(65536)"
        )
        assert "hello" not in said.replace("refused", "")
    assert "stays so" in arena.stage.ask("stop", "bad")
    arena.assert_good_is_untouched()


def test_an_agent_has_its_own_rights_and_no_more_whatever_it_detaches_from(arena: Arena) -> None:
    url = f"--unix-socket {arena.stage.runtime / 'api.sock'} -X POST http://phoenixd/v1/agents/good/stop"
    for detached in ("", "env -i setsid "):
        said = arena.bad.do(
            f"import subprocess\nout = subprocess.run({detached + '/usr/bin/curl -s ' + url!r}, shell=True, "
            "capture_output=True, text=True).stdout"
        )
        assert '"status": 403' in said
    arena.assert_good_is_untouched()


@pytest.mark.parametrize("forged", [{"code": 0}, {"killed": 5}], ids=["clean", "malformed"])
def test_a_forged_exit_record_beside_a_missing_socket_does_not_hide_a_living_run(
    arena: Arena, forged: dict[str, Any]
) -> None:
    """One that was well-formed once left the process running and the agent stopped; the other ended every daemon.

    Its shim makes the socket again, so that the run is adopted.
    """
    run = arena.run()
    record = {"agent": "bad", "incarnation": 1, "run_id": run["run_id"], "code": 1, "signal": None, "cause": "exit"}
    arena.bad.do(
        f"import os\nopen({str(arena.file('exit.json'))!r}, 'w').write({json.dumps(record | forged)!r})\n"
        f"os.unlink({arena.link('bad')!r})"
    )
    arena.restart_daemon()
    assert (arena.stage.row("bad")["state"], arena.stage.row("bad")["incarnation"]) == ("running", 1)
    assert run["run_id"] in incarnations(arena.stage.root, "bad")
    arena.stage.ask("stop", "bad")
    assert arena.stage.row("bad")["state"] == "stopped"
    assert incarnations(arena.stage.root, "bad") == {}
    arena.assert_good_is_untouched()


def test_promise_5_an_impostor_at_the_link_has_no_stranger_killed(arena: Arena) -> None:
    stranger = subprocess.Popen(["sleep", "100000"], start_new_session=True)
    try:
        run = {"incarnation": 1, "run_id": arena.run()["run_id"], "pid": stranger.pid}
        arena.bad.do(
            f"{arena.take_place}\n{IMPOSTOR}\nrun = {run!r} | {{'start_time': start_time({stranger.pid})}}\n"
            f"threading.Thread(target=serve, args=({arena.link('bad')!r}, run), daemon=True).start()"
        )
        arena.restart_daemon()
        assert "impostor_at_link" in arena.stage.log.read_text()
        arena.stage.until("the impostor is gone", lambda: run["run_id"] not in incarnations(arena.stage.root, "bad"))
        arena.stage.ask("stop", "bad")
        assert stranger.poll() is None
        assert incarnations(arena.stage.root, "bad") == {}
    finally:
        stranger.kill()
        stranger.wait()


def test_promise_5_an_agent_that_serves_its_shims_socket_is_told_no_order(arena: Arena) -> None:
    """Not even a hello: a process that is taken for a shim is asked to start, to end and to answer."""
    told = arena.stage.root / "told"
    listening = IMPOSTOR.replace("link.recv(65536)", f"open({str(told)!r}, 'ab').write(b'[' + link.recv(65536) + b']')")
    assert listening != IMPOSTOR
    arena.bad.do(
        f"{arena.take_place}\n{listening}\n"
        f"threading.Thread(target=serve, args=({arena.link('bad')!r}, None), daemon=True).start()"
    )
    arena.restart_daemon()
    arena.stage.until("it was met", told.exists, 60)
    arena.stage.ask("stop", "bad")
    assert told.read_bytes().replace(b"[]", b"") == b""
    assert incarnations(arena.stage.root, "bad") == {}
    arena.assert_good_is_untouched()


def test_promise_7_twenty_thousand_notifications_end_neither_daemon_nor_neighbour(arena: Arena) -> None:
    assert arena.stage.process is not None
    assert arena.bad.do(FLOOD) == "'flooded'"
    assert arena.stage.process.poll() is None, arena.stage.log_tail()
    arena.assert_good_is_untouched()
    rows = arena.hooks_of_bad()
    assert len(rows) < 500, "the surplus is a count, and no row for each"
    assert arena.stage.log_tail(10_000).count("shim_says") < 100
    # What it did last is never lost, and whatever becomes of the bodies, every one of them is counted.
    arena.stage.until("the last is kept", lambda: max(row.get("seq", 0) for row in arena.hooks_of_bad()) >= 20_000)
    assert sum(1 + row.get("more", 0) for row in arena.hooks_of_bad()) == 20_000
    arena.stage.ask("stop", "bad")
    assert incarnations(arena.stage.root, "bad") == {}


@pytest.mark.parametrize("rounds", [2, pytest.param(len(KINDS), marks=pytest.mark.proof)])
def test_junk_in_the_place_of_every_file_costs_no_start(arena: Arena, rounds: int) -> None:
    """Each place has other junk in each round."""
    names = [
        "heartbeat.json", "run.json", "exit.json", "spool.jsonl", "state.json", "brief.md", ".clean-exit",
        "session.json", "ops.jsonl", "resolved.jsonl", "session-start.1.json", "settings.json",
    ]  # fmt: skip
    runtime = arena.stage.runtime / "agents" / "bad"
    paths = [*(str(arena.file(name)) for name in names), *(str(runtime / name) for name in ("order.json", "hook.fifo"))]
    for incarnation in range(1, rounds + 1):
        pid = arena.stage.until_running("bad", incarnation)["pid"]
        put = [(KINDS[(incarnation + place) % len(KINDS)], path) for place, path in enumerate(paths)]
        arena.bad.do(f"{JUNK}\nfor kind, path in {put!r}:\n    put(kind, path)")
        arena.restart_daemon()
        os.kill(pid, signal.SIGKILL)
    arena.stage.until_running("bad", rounds + 1)
    arena.assert_good_is_untouched()


@pytest.mark.slow
def test_an_agent_that_announces_hooks_without_end_does_not_make_its_shim_deaf(arena: Arena) -> None:
    """Once its stop took the fence, and its next start waited until all that was announced had been looked for."""
    fifo = str(arena.stage.runtime / "agents/bad/hook.fifo")
    for incarnation in (1, 2):
        arena.stage.until_running("bad", incarnation)
        arena.bad.do(
            f"import os, threading\nfifo = os.open({fifo!r}, os.O_RDWR)\n"
            f"lines = b'stop {incarnation}.2.json\\n' * 4000\n"
            "def flood():\n    while True:\n        os.write(fifo, lines)\n"
            "threading.Thread(target=flood, daemon=True).start()"
        )
        arena.stage.ask("stop", "bad")
        arena.stage.ask("start", "bad")
    arena.stage.until_running("bad", 3)
    assert "fencing" not in arena.stage.ask("events", "bad", "--since", "1h", "--all")
    arena.assert_good_is_untouched()


@pytest.mark.slow
def test_what_an_agent_takes_away_is_put_back_and_nothing_acknowledged_is_lost(arena: Arena) -> None:
    state, runtime = str(arena.stage.state), str(arena.stage.runtime)
    said = arena.bad.do(
        f"import glob, os, shutil\n[os.unlink(path) for path in glob.glob({state!r} + '/journal*')]\n"
        f"{FIFO_FOR_DIRECTORY.format(path=state + '/agents/bad')}\n"
        f"[os.unlink({runtime!r} + name) for name in ('/api.sock', '/tmux.sock')]"
    )
    assert said == "None"
    arena.stage.until("it can be asked again", lambda: arena.stage.ctl("status").returncode == 0)
    arena.stage.ask("stop", "good")
    assert [alert["kind"] for alert in arena.stage.row("bad")["alerts"]] in ([], ["state"], ["documents"])
    arena.stage.ask("restart", "bad")
    arena.stage.until_running("bad", 2)
    assert "phoenixd" in arena.stage.ask("logs", "good"), "its pane can be read: the terminal's socket is back"
    arena.restart_daemon()
    assert arena.stage.row("good")["state"] == "stopped"
    assert arena.stage.row("bad")["incarnation"] == 2


@pytest.mark.slow
def test_a_state_with_thousands_of_loops_ends_no_daemon(arena: Arena) -> None:
    loops = "[dict(id=f'l-{n:06}', text='t', added='2026-11-20') for n in range(3000)]"
    document = f"dict(agent='bad', status='idle', current_task='x', last_active=None, open_loops={loops})"
    arena.bad.do(f"import json\nopen({str(arena.file('state.json'))!r}, 'w').write(json.dumps({document}))")
    arena.stage.ask("brief", "generate", "bad")
    assert arena.stage.ctl("resolve", "l-999999", "done", "--agent", "bad").returncode == 4
    assert arena.stage.row("bad")["open_loops"] == 3000
    arena.assert_good_is_untouched()


def test_one_name_added_by_eight_at_once_is_one_agent(stage: Stage) -> None:
    stage.up()
    with ThreadPoolExecutor(8) as callers:
        done = list(callers.map(lambda _: stage.ctl("add", "same", "--cwd", "/", "--", "sleep", "100000"), range(8)))
    assert sorted(call.returncode for call in done) == [0, *[6] * 7]
    assert list(stage.rows()) == ["same"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="not run: curl is not installed")
def test_promise_7_the_terminal_server_is_no_way_round_the_rights(stage: Stage) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    stage.until_running("a", 1)
    asked = stage.root / "asked"
    request = f"-X POST --unix-socket {stage.runtime}/api.sock http://x/v1/agents/a/stop"
    order = f"curl -s {request} > {asked}; echo >> {asked}"
    subprocess.run(["tmux", "-S", str(stage.runtime / "tmux.sock"), "run-shell", order], check=True)
    assert "denied" in asked.read_text()
    assert stage.row("a")["state"] == "running"


@pytest.mark.parametrize("detached", ["", "env -i setsid"])
def test_what_bears_a_runs_mark_never_has_an_operators_rights_also_without_its_shim(
    arena: Arena, detached: str
) -> None:
    """A process that has outlived its shim: nothing but its environment says whose it is."""
    url = f"--unix-socket {arena.stage.runtime / 'api.sock'} -X POST http://phoenixd/v1/agents/good/stop"
    environment = {
        "PATH": os.environ["PATH"],
        "PHOENIX_AGENT": "bad",
        "PHOENIX_RUN_ID": "of-an-earlier-run",
        "PHOENIX_STATE_DIR": str(arena.stage.state / "agents" / "bad"),
    }
    said = subprocess.run(
        ["sh", "-c", f"{detached} $(command -v curl) -s {url}; true"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert '"status": 403' in said
    assert "agent bad may not stop" in said
    arena.assert_good_is_untouched()
