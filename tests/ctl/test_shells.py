"""Completions, typed in the shells themselves: a person presses TAB, and what is run is what was meant."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.api.operations import OPERATIONS
from phoenixd.core.agent.standing import InboxItem
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.completion import SHELLS
from phoenixd.ctl.shells.spoken import ASKED, spoken
from phoenixd.service_install import parse as parse_install
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl

START = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["--no-config", "-i"]}
LOAD = {
    "bash": "source {script}",
    "zsh": "autoload -Uz compinit; compinit -D -u; source {script}",
    "fish": "source {script}",
}
FAKE = """#!/bin/sh
case "$*" in
    "status --json") cat "{home}/status.json" ;;
    "inbox --json") cat "{home}/inbox.json" ;;
    *) for word; do printf '%s\\037' "$word"; done >>"{home}/typed"; echo >>"{home}/typed" ;;
esac
"""
TYPED = [
    ("inb\t", ["inbox"]),
    ("stop sho\t", ["stop", "shop-api"]),
    ("stop docs sho\t", ["stop", "docs", "shop-api"]),
    ("send docs sho\t", ["send", "docs", "sho"]),
    ("answer 1\t all\t", ["answer", "1", "all"]),
    ("answer \tall", ["answer", "1", "all"]),
    ("inbox 1\t", ["inbox", "1"]),
    ("run x --harness cl\t", ["run", "x", "--harness", "claude"]),
    ("brief sh\tdo\t", ["brief", "show", "docs"]),
    ("wait docs --for wa\t", ["wait", "docs", "--for", "waiting"]),
    ("stop docs --after\t", ["stop", "docs", "--after-iteration"]),
    ("status --col\talw\t", ["status", "--color", "always"]),
    ("completion zs\t", ["completion", "zsh"]),
    ("help brea\t", ["help", "breaker"]),
    ("brief check --\t\b\b", ["brief", "check"]),
    ("stop s:quar\t", ["stop", "s:quarantined"]),
    ("stop docs s:stoppe\tsho\t", ["stop", "docs", "s:stopped", "shop-api"]),
    ("status h:cl\t", ["status", "h:claude"]),
    ("start k:ep\t", ["start", "k:ephemeral"]),
    ("log needs:\t", ["log", "needs:you"]),
    ("restart p:we\t", ["restart", "p:web"]),
    ("mute l:pr\t--for 1h", ["mute", "l:prod", "--for", "1h"]),
    ("events s:quar\t", ["events", "s:quarantined"]),
    ("wait x:y --for wa\t", ["wait", "x:y", "--for", "waiting"]),
]
each_shell = pytest.mark.parametrize("shell", sorted(SHELLS))


def program(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"not run: {shell} is not installed")
    return found


class Typist:
    """A shell at a terminal, with a `phoenixctl` that notes what it is called with."""

    def __init__(self, shell: str, home: Path) -> None:
        self.home, self.log = home, home / "typed"
        self.log.touch()
        script = home / "completion"
        script.write_text(SHELLS[shell]())
        self.master, slave = pty.openpty()
        environ = {
            "PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "TERM": "xterm", "PS1": "$ ",
            "LANG": "C.UTF-8",
        }  # fmt: skip
        self.process = subprocess.Popen(
            ["setsid", "--ctty", program(shell), *START[shell]],
            stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=home,
        )  # fmt: skip
        os.close(slave)
        self.said = b""
        self.runs(f"{LOAD[shell].format(script=script)}; phoenixctl ready", ["ready"])

    def runs(self, line: str, expected: list[str]) -> None:
        """Type a line, and wait until phoenixctl was called once more: with these words."""
        before = len(self._calls())
        os.write(self.master, line.encode() + b"\n")
        deadline = time.monotonic() + 100
        while len(self._calls()) <= before:
            assert time.monotonic() < deadline, (
                f"{line!r} led to nothing:\n{self.said[-2000:].decode(errors='replace')}"
            )
            if select.select([self.master], [], [], 0.05)[0]:
                self.said += os.read(self.master, 65536)
        assert self._calls()[-1] == expected, self.said[-2000:].decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def _calls(self) -> list[list[str]]:
        return [line.split("\x1f")[:-1] for line in self.log.read_text().splitlines()]


@pytest.fixture
async def typist(request: pytest.FixtureRequest, ctl: Ctl, daemon: FakeDaemon, home: Path) -> Iterator[Typist]:
    daemon.declare("docs")
    daemon.declare("shop-api", project="web", labels=("prod", "eu-1"))
    daemon.wait("docs", tool="Bash", text="make publish")
    text = '{"id": 3, "kind": "question", "x": 1}'
    ended = InboxItem(2, "shop-api", 1, "quarantined", text, "0" * 12, 1.7e9, "command")
    daemon.change("shop-api", items=(ended,))
    (home / "bin").mkdir()
    (home / "status.json").write_text((await ctl("status", "--json")).out)
    (home / "inbox.json").write_text((await ctl("inbox", "--json")).out)
    assert [item["id"] for item in json.loads((home / "inbox.json").read_text())["items"]] == [2, 1]
    fake = home / "bin/phoenixctl"
    fake.write_text(FAKE.format(home=home))
    fake.chmod(0o755)
    typing = Typist(request.param, home)
    yield typing
    typing.close()


@pytest.mark.parametrize("typist", sorted(SHELLS), indirect=True)
def test_tab_completes_verbs_options_values_agents_and_items(typist: Typist) -> None:
    for line, expected in TYPED:
        typist.runs(f"phoenixctl {line}", expected)


@each_shell
def test_the_scripts_are_valid(shell: str) -> None:
    subprocess.run([program(shell), "-n"], input=SHELLS[shell](), text=True, check=True)


@each_shell
def test_a_script_knows_every_verb_and_every_option(shell: str) -> None:
    script = SHELLS[shell]()

    for verb in spoken():
        assert all(word in script for word in verb.words), verb.name
        for option in verb.options:
            assert option.flag.removeprefix("--") in script, (verb.name, option.flag)


def test_what_names_an_agent_an_item_a_task_or_a_case_is_completed() -> None:
    """Each such argument says so in the table, or the shell offers nothing there."""
    names = {"agent", "which"}
    lacking = [
        (operation.name, one.name)
        for operation in OPERATIONS
        for one in operation.parameters
        if not one.hidden and one.names is None
        and (one.name in names or "{" + one.name + "}" in (operation.path or "") or one.name.endswith("_dir"))
    ]  # fmt: skip
    assert lacking == []
    used = {one.names for operation in OPERATIONS for one in operation.parameters}
    assert set(ASKED) <= used


def test_verbs_that_read_their_own_arguments_have_them_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_install(["--help"])
    told = capsys.readouterr().out
    flags = {one.flag for verb in spoken() if verb.words == ("install-service",) for one in verb.options}

    assert set(PASSED_ON) == {"demo", "install-service"}
    assert {word for word in told.replace("[", " ").replace("]", " ").split() if word.startswith("--")} <= flags | {
        "--help", "--system", "--user",
    }  # fmt: skip
    assert all(str(flag) in told for flag in flags)
