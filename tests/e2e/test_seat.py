"""A seat passes from generation to generation on the living daemon: terminals, papers, tokens, and what survives."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import all_ends
from tests.typed import typed

pytestmark = pytest.mark.slow

PATIENCE = 90.0
AGENT = """#!/bin/sh
env >"$ROOM/$PHOENIX_GENERATION.new" && mv "$ROOM/$PHOENIX_GENERATION.new" "$ROOM/$PHOENIX_GENERATION.env"
exec sleep 100000
"""


class Seats(Stage):
    """A daemon that can be told the steps of a succession, with the orchestrator `boss`."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        script = root / "agent.sh"
        script.write_text(AGENT)
        script.chmod(0o755)
        (root / "work").mkdir()
        self.declare(
            "boss",
            '[agent.boss]\nharness = "command"\nkind = "orchestrator"\nautostart = false\n'
            f"argv = {json.dumps([str(script)])}\ncwd = {json.dumps(str(root / 'work'))}\n"
            f"[agent.boss.env]\nROOM = {json.dumps(str(root))}\n",
        )

    def up(self, *, wait: bool = True) -> None:
        private = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        places = ["--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with os.fdopen(private, "ab") as log:
            self.process = self.popen(
                [sys.executable, "-m", "tests.e2e.handing", *places],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=self.environ,
            )  # fmt: skip
        self.until("the daemon answers", self.answers, PATIENCE)

    def again(self) -> None:
        """kill -9 the daemon, and start another."""
        self.kill()
        self.up()

    def step(self, words: str) -> None:
        text = json.dumps({"text": f"#seat {words}", "wait": False}).encode()
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(str(self.runtime / "api.sock"))
            head = f"POST /v1/agents/boss/send HTTP/1.1\r\nHost: phoenixd\r\nContent-Length: {len(text)}\r\n"
            line.sendall(f"{head}Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + text)
            with line.makefile("rb") as answer:
                assert b" 202 " in answer.readline()

    def runs(self, name: str, generation: int) -> int:
        """Wait until the generation runs under that name, and return its pid."""
        found: dict[str, int] = {}

        def is_there() -> bool:
            done = self.ctl("status", name, "--json")
            if done.returncode not in (0, 3):
                return False
            (row,) = json.loads(done.stdout)["agents"]
            found["pid"] = row["pid"] or 0
            return (row["state"], row["generation"]) == ("running", generation)

        self.until(f"generation {generation} runs as {name}", is_there, PATIENCE)
        return found["pid"]

    def sessions(self) -> dict[str, str]:
        """Of each agent's pane: session, and the agent whose mark it bears."""
        listed = self.tmux("list-panes", "-a", "-F", "#{session_name} #{@phoenixd}")
        rows = (line.split(" ") for line in listed.splitlines())
        return {row[0]: row[1].partition(":")[0] for row in rows if row[0].startswith("phx-")}

    def tmux(self, *words: str) -> str:
        server = ["tmux", "-N", "-S", str(self.runtime / "tmux.sock")]
        return subprocess.run([*server, *words], capture_output=True, text=True, check=True, timeout=60).stdout

    def variables(self, generation: int) -> dict[str, str]:
        path = self.root / f"{generation}.env"
        self.until(f"generation {generation} has told its environment", path.exists, PATIENCE)
        return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)

    def as_generation(self, number: int, *words: str) -> subprocess.CompletedProcess[str]:
        """phoenixctl with the token of a generation."""
        env = {**self.environ, "PHOENIX_TOKEN": self.variables(number)["PHOENIX_TOKEN"]}
        argv = [sys.executable, "-m", "phoenixd.ctl", "--socket", str(self.runtime / "api.sock"), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False, env=env)

    def paper(self, name: str) -> Path:
        return self.state / "agents" / name


@pytest.fixture
def seats(short_tmp: Path) -> Iterator[Seats]:
    stage = Seats(short_tmp)
    yield stage
    stage.down()
    all_ends(short_tmp)


def test_a_seat_passes_on_and_every_restart_of_the_daemon_keeps_it(seats: Seats) -> None:
    """Two generations, the fence, the end of the first; the daemon is killed in each phase."""
    seats.up()
    seats.ask("start", "boss")
    first = seats.runs("boss", 1)
    assert seats.sessions() == {"phx-boss": "boss"}

    seats.step("declare")
    seats.step("start")
    second = seats.runs("boss-g2", 2)
    assert seats.runs("boss", 1) == first
    both = {"phx-boss": "boss", "phx-boss-g2": "boss-g2"}
    seats.until("it has a terminal", lambda: seats.sessions() == both, PATIENCE)
    assert set(seats.rows()) == {"boss"}, "one row for the seat"
    told = seats.variables(2)
    assert (told["PHOENIX_AGENT"], told["PHOENIX_GENERATION"]) == ("boss", "2")
    assert told["PHOENIX_STATE_DIR"] == str(seats.paper("boss-g2"))
    assert told["PHOENIX_BRIEF"] == str(seats.paper("boss") / "brief.md")
    seats.again()
    assert (seats.runs("boss", 1), seats.runs("boss-g2", 2)) == (first, second)
    assert seats.ctl("stop", "boss-g2").returncode == 6
    assert seats.as_generation(1, "brief", "show", "boss").returncode == 0

    client, terminal = pty.openpty()
    attach = ["tmux", "-N", "-S", str(seats.runtime / "tmux.sock"), "attach-session", "-t", "=phx-boss"]
    env = {**seats.environ, "TERM": "screen"}
    attached = subprocess.Popen(
        attach, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, env=env
    )
    try:
        clients = ("list-clients", "-F", "#{client_control_mode} #{client_session}")
        seats.until("somebody is attached", lambda: "0 phx-boss" in seats.tmux(*clients).splitlines(), PATIENCE)
        seats.step("succeed")
        seats.until("its session has the name", lambda: seats.sessions().get("phx-boss") == "boss-g2", PATIENCE)
        # Taken over: of the sessions it is this one that has the name now.
        seats.until("the client came along", lambda: "0 phx-boss" in seats.tmux(*clients).splitlines(), PATIENCE)
        assert seats.sessions() == {"phx-boss": "boss-g2", "phx-boss-g1": "boss"}
    finally:
        attached.terminate()
        attached.wait()
        os.close(client)
        os.close(terminal)
    seats.again()
    assert (seats.runs("boss", 2), seats.runs("boss-g1", 1)) == (second, first)
    fenced = seats.as_generation(1, "brief", "show", "boss")
    assert fenced.returncode == 6
    assert "generation 2 holds the seat" in fenced.stderr
    assert seats.as_generation(2, "brief", "show", "boss").returncode == 0

    seats.step("retire 1")
    seats.until("the first is gone", lambda: not os.path.exists(f"/proc/{first}"), PATIENCE)
    seats.until("with its terminal", lambda: seats.sessions() == {"phx-boss": "boss-g2"}, PATIENCE)
    seats.again()
    assert seats.runs("boss", 2) == second
    assert seats.ctl("status", "boss-g1", "--json").returncode == 4
    seats.until("it writes the papers", (seats.paper("boss") / "state.json").exists, PATIENCE)
    assert state_of(seats)["agent"] == "boss"
    assert not (seats.paper("boss-g2") / "state.json").exists(), "papers are the seat's"
    seats.until("its session is on record", (seats.paper("boss-g2") / "session.json").exists, PATIENCE)
    assert "boss" in seats.ask("explain", "boss")
    assert '"agent": "boss-g2"' in seats.ask("events", "boss", "--json", "--all")

    # Its next run is in the same session of the terminal, and in a new one where that was closed.
    os.kill(second, 9)
    seats.until("it runs again", lambda: seats.row("boss")["incarnation"] == 2, PATIENCE)
    assert seats.runs("boss", 2) != second
    seats.tmux("kill-session", "-t", "=phx-boss")
    seats.until("it runs again", lambda: seats.row("boss")["incarnation"] == 3, PATIENCE)
    seats.runs("boss", 2)
    seats.until("in a session of that name", lambda: seats.sessions() == {"phx-boss": "boss-g2"}, PATIENCE)

    seats.ask("stop", "boss")
    seats.again()
    assert seats.row("boss")["state"] == "stopped"


ASKED = (
    ("brief", "show", "boss"), ("tokens", "check", "--session-id", "boss"), ("handoff", "start", "boss"),
    ("handoff", "status", "boss"), ("phase", "list", "--project", "boss", "--workspace", "WORK"),
    ("phase", "check", "--project", "boss", "--workspace", "WORK"), ("task", "run", "Do it."), ("task", "status"),
    ("memory", "list"), ("resolve", "loop-1", "done"),
)  # fmt: skip
"""All that an orchestrator may ask of the daemon (design section 6)."""


def test_e52_of_two_generations_one_is_active_and_whatever_the_fenced_one_asks_is_answered_with_6(
    seats: Seats,
) -> None:
    """Both processes live all the while."""
    seats.up()
    seats.ask("start", "boss")
    seats.runs("boss", 1)
    seats.step("declare")
    seats.step("start")
    seats.runs("boss-g2", 2)
    work = str(seats.root / "work")

    def answers(generation: int) -> dict[str, tuple[int, str]]:
        asked = {words[:2]: [work if one == "WORK" else one for one in words] for words in ASKED}
        done = {" ".join(name): seats.as_generation(generation, *words) for name, words in asked.items()}
        return {name: (one.returncode, one.stderr) for name, one in done.items()}

    def holder() -> str:
        rows = [row for row in json.loads(seats.ask("status", "--json"))["agents"] if row["name"] == "boss"]
        (row,) = rows
        return str(row["generation"])

    assert holder() == "1"
    before = answers(1)
    assert 6 not in {code for name, (code, _) in before.items() if name not in ("handoff start", "resolve loop-1")}
    seats.step("succeed")
    seats.until("the second generation holds the seat", lambda: holder() == "2", PATIENCE)
    assert len(seats.sessions()) == 2, "the first one lives"

    after = answers(1)
    assert {name: code for name, (code, _) in after.items()} == dict.fromkeys(after, 6)
    assert all("generation 2 holds the seat" in said for _, said in after.values()), after
    assert seats.as_generation(2, "brief", "show", "boss").returncode == 0
    seats.again()
    assert {code for code, _ in answers(1).values()} == {6}, "the next daemon knows who is fenced"


def test_promise_3_a_seat_is_stopped_with_both_its_generations(seats: Seats) -> None:
    seats.up()
    seats.ask("start", "boss")
    first = seats.runs("boss", 1)
    seats.step("declare")
    seats.step("start")
    second = seats.runs("boss-g2", 2)
    seats.ask("stop", "boss")

    assert not any(os.path.exists(f"/proc/{pid}") for pid in (first, second))
    seats.again()
    assert seats.row("boss")["state"] == "stopped"
    assert json.loads(seats.ctl("status", "boss-g2", "--json").stdout)["agents"][0]["state"] == "stopped"
    seats.ask("remove", "boss")
    seats.until("nothing is left", lambda: seats.rows() == {}, PATIENCE)


@pytest.mark.parametrize("phase", ["two generations", "fenced", "succeeded"])
def test_a_lost_journal_finds_who_holds_the_seat(seats: Seats, phase: str) -> None:
    """Promise 9: what lives is adopted, nothing is started twice, and no generation that was retired comes back."""
    seats.up()
    seats.ask("start", "boss")
    first = seats.runs("boss", 1)
    seats.step("declare")
    seats.step("start")
    second = seats.runs("boss-g2", 2)
    if phase != "two generations":
        seats.step("succeed")
        seats.runs("boss", 2)
    if phase == "succeeded":
        seats.step("retire 1")
        seats.until("the first is gone", lambda: not os.path.exists(f"/proc/{first}"), PATIENCE)
        seats.until("and removed", lambda: seats.ctl("status", "boss-g1").returncode == 4, PATIENCE)
    seats.kill()
    for file in seats.state.glob("journal.sqlite3*"):
        file.unlink()
    seats.up()

    if phase == "two generations":
        assert (seats.runs("boss", 1), seats.runs("boss-g2", 2)) == (first, second)
        assert set(seats.rows()) == {"boss", "boss-g2"}, "nothing is ended unasked, and nothing is overlooked"
        for words in (("handoff", "start", "boss"), ("handoff", "rollback", "boss"), ("remove", "boss-g2")):
            refused = seats.ctl(*words)
            assert refused.returncode == 6, refused
            assert f"do: {typed(seats, 'recover')}" in refused.stderr, refused
        plan = {one["agent"]: one for one in json.loads(seats.ask("recover", "--json"))["agents"]}
        assert (plan["boss-g2"]["proposal"], plan["boss-g2"]["waits"]) == ("end it", True)
        assert "to do: end it" in seats.ask("recover")
    else:
        assert seats.runs("boss", 2) == second
    seats.ask("recover", "--yes")
    holder, other = (1, 2) if phase == "two generations" else (2, 1)
    gone = {1: first, 2: second}[other]
    seats.until("one generation is left", lambda: not os.path.exists(f"/proc/{gone}"), PATIENCE)
    seats.until("which has a row", lambda: set(seats.rows()) == {"boss"}, PATIENCE)
    assert seats.runs("boss", holder) == {1: first, 2: second}[holder]
    seats.until("its name is free", lambda: seats.ctl("status", f"boss-g{other}").returncode == 4, PATIENCE)
    assert seats.paper(f"boss-g{other}" if other > 1 else "boss").is_dir(), "what it wrote is kept"
    seats.ask("restart", "boss", "--fresh")
    seats.until("the seat takes orders", lambda: seats.row("boss")["incarnation"] == 2, PATIENCE)
    restarted = seats.runs("boss", holder)
    seats.ask("stop", "boss")
    seats.until("it is down", lambda: not os.path.exists(f"/proc/{restarted}"), PATIENCE)
    for pid in (first, second):
        seats.until("every generation is down", lambda pid=pid: not os.path.exists(f"/proc/{pid}"), PATIENCE)


def state_of(seats: Seats) -> dict[str, object]:
    found: dict[str, object] = json.loads((seats.paper("boss") / "state.json").read_text())
    return found


def test_names_and_projects_are_refused_at_every_entry(stage: Stage, short_tmp: Path) -> None:
    """`add` and `apply` say why and what to do, a daemon does not start with them; what runs already runs on."""
    work, long = short_tmp / "work", "a" * 30
    work.mkdir()
    keys = f'argv = ["sleep", "100000"]\ncwd = {json.dumps(str(work))}\n'
    stage.declare("boss", f'[agent.boss]\nkind = "orchestrator"\nproject = "rival"\n{keys}')
    stage.declare(long, f"[agent.{long}]\n{keys}")
    stage.up()
    stage.until_running("boss", 1)
    stage.until_running(long, 1)
    add = ("--cwd", str(work), "--kind", "orchestrator")
    for name, code, word in (("shop-g2", 2, "reserved"), ("b" * 27, 2, "26"), ("rival", 6, "boss")):
        refused = stage.ctl("add", name, *add, "--", "true")
        assert (refused.returncode, word in refused.stderr, "do: " in refused.stderr) == (code, True, True), refused
        assert not (stage.state / "agents.d" / f"{name}.toml").exists()

    stage.declare(long, f'[agent.{long}]\nkind = "orchestrator"\n{keys}')
    stage.ask("apply")
    stage.ask("apply")
    row = stage.row(long)
    assert [alert["kind"] for alert in row["alerts"]] == ["name too long for a handoff"]
    assert (row["state"], row["incarnation"], row["generation"]) == ("running", 1, None)
    stage.declare("new", f'[agent.{"b" * 27}]\nkind = "orchestrator"\n{keys}')
    refused = stage.ctl("apply")
    assert refused.returncode == 2
    assert "new.toml" in refused.stderr

    stage.kill()
    for text, word in (
        (f'[agent.{"b" * 27}]\nkind = "orchestrator"\n{keys}', "agent." + "b" * 27),
        (f"[agent.shop-g2]\n{keys}", "agent.shop-g2"),
        (f'[agent.other]\nkind = "orchestrator"\nproject = "rival"\n{keys}', "agent.other.project"),
    ):
        stage.declare("new", text)
        stage.up(wait=False)
        assert stage.process is not None
        assert stage.process.wait(PATIENCE) == 78
        assert word in stage.log_tail()
        assert "new.toml" in stage.log_tail()
    (stage.state / "agents.d" / "new.toml").unlink()
    stage.up()
    assert stage.row(long)["incarnation"] == 1
    assert len(stage.row(long)["alerts"]) == 1
