"""A daemon with one real agent CLI under it: declared by the operator, seen and spoken to from outside only."""

from __future__ import annotations

import glob
import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

from phoenixd.core.spec import AgentSpec
from phoenixd.demo.stage import Stage, StageFailed
from phoenixd.harness import HARNESSES
from tests.real.claude_room import find_record
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Scenario
from tests.stub.server import ApiStub
from tests.waiting import eventually_sync

NAME = "builder"
GOAL = 'Work through docs/plan.md.\n  - Keep `x=1`; never push --force.\n  - Größe: 3 × 日本, 50% "done" & more\\n.'
PATIENCE = 120.0
"""Seconds: four agent CLIs at once on two cores have been seen to need half of it."""


class Cli(Protocol):
    """What differs between the CLIs where a test looks from outside."""

    harness: str
    """Its name in the configuration; `phoenixd.harness.HARNESSES` knows the rest of it."""
    binary: Path

    def stub(self, scenario: Scenario) -> ApiStub:
        """A stand-in for its vendor's API."""
        ...

    def prepare(self, home: Path, stub: ApiStub) -> None:
        """Write the settings that a user of the CLI would have."""
        ...

    def variables(self, home: Path, stub: ApiStub) -> dict[str, str]:
        """The whole environment: no account, no way out of loopback."""
        ...

    def flags(self) -> tuple[str, ...]:
        """What the operator adds to the command."""
        ...


class AgentStage:
    """Use as a context manager. The agent's HOME, workspace, key and API are the test's own."""

    def __init__(self, cli: Cli, root: Path) -> None:
        self.cli, self.home, self.workspace = cli, root / "home", root / "shop"
        self.harness = HARNESSES[cli.harness]
        self.stage = Stage(root)
        self.scenario = Scenario(seals=True)
        self.stub = cli.stub(self.scenario)
        self.extra_env: dict[str, str] = {}
        self.home.mkdir()
        self.workspace.mkdir()

    def __enter__(self) -> Self:
        self.stub.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stage.down()
        self.stub.close()

    # What the operator does.

    def up(
        self, *, prompt: str | None = GOAL, keys: str = "", flags: tuple[str, ...] = (), trusted: bool = True
    ) -> None:
        """Declare the agent and start the daemon, which starts it. keys, flags: more of its table and its argv."""
        self.cli.prepare(self.home, self.stub)
        variables = {name: value for name, value in self.variables.items() if name != "TERM"}
        argv = [*self.spec.argv, *flags]
        self.stage.declare(
            NAME,
            f"[agent.{NAME}]\n"
            f'harness = "{self.cli.harness}"\n'
            f"argv = {json.dumps(argv)}\n"
            f"cwd = {json.dumps(str(self.workspace))}\n"
            'env_from = "none"\n'
            f"seed_trust = {str(trusted).lower()}\n"
            + (f"prompt = {json.dumps(prompt, ensure_ascii=False)}\n" if prompt is not None else "")
            + f"{keys}\n[agent.{NAME}.env]\n"
            + "".join(f"{name} = {json.dumps(value)}\n" for name, value in variables.items()),
        )
        self.stage.up()

    @property
    def variables(self) -> dict[str, str]:
        """The environment that the CLI would have from its user."""
        return {**self.cli.variables(self.home, self.stub), **self.extra_env, "TERM": "tmux-256color"}

    @property
    def spec(self) -> AgentSpec:
        """The agent as far as its harness goes by it."""
        argv = (str(self.cli.binary), *self.cli.flags())
        return AgentSpec(NAME, argv, str(self.workspace), harness=self.cli.harness, seed_trust=True)

    def send(self, text: str) -> subprocess.CompletedProcess[str]:
        """phoenixctl send, with the text on standard input."""
        return self.stage.ctl("send", NAME, "-", input=text)

    def type(self, *keys: str) -> None:
        """Press keys as an attached operator would, by tmux's names; other strings are typed."""
        self._tmux("send-keys", "-t", f"=phx-{NAME}:", *keys)

    # What can be seen.

    def get(self, path: str) -> Any:
        """One answer of the control API; phoenixctl would cost an interpreter's start at each look."""
        connection = _UnixConnection(str(self.stage.runtime / "api.sock"))
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def row(self) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.get("/v1/agents")["agents"]
        return rows[0]

    def inbox(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get("/v1/inbox")["items"]
        return items

    def until(
        self, what: str, condition: Callable[[dict[str, Any]], object], patience: float = PATIENCE
    ) -> dict[str, Any]:
        """The agent's row once the condition holds for it."""
        row: dict[str, Any] = {}

        def holds() -> bool:
            row.clear()
            row.update(self.row())
            return bool(condition(row))

        try:
            eventually_sync(holds, patience, what)
        except TimeoutError as failure:
            raise StageFailed(f"{failure}\n{row}\n{self.screen()}\n{self.stage.log_tail()}") from None
        return row

    def until_idle(self, incarnation: int = 1) -> dict[str, Any]:
        return self.until(
            f"incarnation {incarnation} is idle",
            lambda row: (row["incarnation"], row["state"], row["activity"]) == (incarnation, "running", "idle"),
        )

    def asked(self, text: str = "", *, after: int = 0, timeout: float = PATIENCE) -> RecordedRequest:
        """The first request of the main conversation whose newest text has this pattern."""
        try:
            return self.stub.wait_for_main(text=text, after=after, timeout=timeout)
        except TimeoutError as failure:
            raise StageFailed(f"{failure}\n{self.row()}\n{self.screen()}\n{self.stage.log_tail()}") from None

    def document(self, name: str) -> Any:
        """One of the agent's files, as JSON."""
        return json.loads((self.directory / name).read_text())

    @property
    def directory(self) -> Path:
        return self.stage.state / "agents" / NAME

    def events(self) -> list[dict[str, Any]]:
        """What the journal holds of the agent, oldest first."""
        events: list[dict[str, Any]] = self.get(f"/v1/events?agent={NAME}&lines=1000&all=1")["events"]
        return events

    def until_shown(self) -> None:
        """Wait until the transcript shows that the session was given the codes of its marker."""
        eventually_sync(
            lambda: any(one["event"] == "anchor_seen" for one in self.events()), PATIENCE, "the anchor is seen"
        )

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", f"=phx-{NAME}:", check=False)

    def wait_screen(self, says: str) -> str:
        """The screen once it is read as `says`."""
        return eventually_sync(
            lambda: shown if self.harness.screen_says(shown := self.screen()) == says else "",
            PATIENCE,
            f"the screen says {says}",
        )

    def transcript(self, session_id: str) -> Path:
        """The session's transcript; where it is to come, as long as there is none."""
        variables = {"HOME": str(self.home), **self.extra_env}
        pattern = self.harness.transcript(self.spec, session_id, variables, os.path.realpath(self.workspace)) or ""
        return Path(next(glob.iglob(pattern), pattern))

    def wait_record(self, session_id: str, condition: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until the transcript has such a record; it comes some 0.2 s after the prompt."""
        eventually_sync(
            lambda: find_record(self.transcript(session_id), condition), PATIENCE, "such a record in the transcript"
        )

    def wait_written(self, session_id: str, words: bytes) -> None:
        """Wait until the transcript of any CLI has these: what is written comes later than what is done."""
        eventually_sync(lambda: self.transcript(session_id).exists(), PATIENCE, "a transcript")
        eventually_sync(lambda: words in self.transcript(session_id).read_bytes(), PATIENCE, f"{words!r} in it")

    def kill_agent(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Kill -9 its CLI. meanwhile: done to the CLI's files when it is dead, and before the daemon looks at them.

        A CLI that lives may write its transcript again, and one that is stopped is continued by its shim: the daemon is
        stopped instead.
        """
        agent, daemon = self.row()["pid"], self.stage.process
        if meanwhile is None:
            os.kill(agent, signal.SIGKILL)
            return
        assert daemon is not None
        daemon.send_signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGKILL)
        eventually_sync(lambda: not Path(f"/proc/{agent}").exists(), PATIENCE, "the CLI is dead, with all its threads")
        meanwhile()
        daemon.send_signal(signal.SIGCONT)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-N", "-S", str(self.stage.runtime / "tmux.sock"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=60).stdout


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("phoenixd", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
