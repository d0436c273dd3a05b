"""A newcomer's first hour: every command of the pages that they read first, typed in a terminal of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import balky_cli
from tests.e2e.census import all_ends
from tests.waiting import eventually_sync

ROOT = Path(__file__).parents[2]
ASKED = "let it write? [y/N] "
ATTACHED = "detach: C-b d"
LEFT = "[detached (from session "
PREFIX, DETACH, TRIES = b"\x02", b"d", 6
PATIENCE = 600.0
"""Seconds for a whole page of commands: what takes one when the machine is idle takes many when it is not."""
PID_OF_SHOP = "$(phoenixctl status shop --json | tr -d ' ' | grep -o '\"pid\":[0-9]*' | head -1 | cut -d: -f2)"
CLAUDE = """#!/bin/sh
[ "$1" != --version ] || exec echo "2.1.197 (Claude Code)"
exec {python} {program} {log} seed "$@"
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE + 120)]


def commands_of(page: str, fence: str = "sh") -> str:
    blocks = re.findall(rf"^```{fence}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return "".join(blocks)


class Newcomer:
    """Somebody with a HOME of their own, a project, `claude` on the PATH, and a terminal."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "src/shop").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(home / "src/shop")], check=True)
        self.installed = home / "venv"
        self.installed.mkdir()
        (home / "bin").mkdir()
        self.log = home / "claude.log"
        program = Path(balky_cli.__file__)
        self._executable("bin/claude", CLAUDE.format(python=sys.executable, program=program, log=self.log))
        self._executable("venv/phoenixctl", f'#!/bin/sh\nexec {sys.executable} -m phoenixd.ctl "$@"\n')
        self.environ = {
            "HOME": str(home),
            "PATH": f"{home}/bin:/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_API_KEY": "sk-test-dummy",
        }

    def _detach(self, terminal: int) -> None:
        """Press the keys of a person. Two that tmux reads at once are a paste to it, however far apart they came."""
        server = ["tmux", "-N", "-S", str(self.home / ".local/state/phoenixd/run/tmux.sock")]
        asked = [*server, "list-clients", "-F", "#{client_prefix}"]

        def is_taken() -> bool:
            return "1" in subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()

        # What came together with the terminal's answer to a question of tmux's was taken for a part of that.
        for _ in range(TRIES):
            os.write(terminal, PREFIX)
            with contextlib.suppress(TimeoutError):
                eventually_sync(is_taken, 10, "tmux has taken the prefix")
                break
        os.write(terminal, DETACH)

    def _executable(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)
        (self.home / name).chmod(0o755)

    def types(self, commands: str, timeout: float = PATIENCE) -> str:
        """Run a script in a terminal, and leave an agent's terminal whenever it shows one; no command may fail."""
        ours, theirs = os.openpty()
        shell = subprocess.Popen(
            ["bash", "-euc", commands], stdin=theirs, stdout=theirs, stderr=theirs, env=self.environ, cwd=self.home,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        said, seen, deadline = "", 0, time.monotonic() + timeout
        is_leaving, answered = False, 0
        try:
            while shell.poll() is None or select.select([ours], [], [], 0)[0]:
                assert time.monotonic() < deadline, said[-3000:]
                if not select.select([ours], [], [], 0.2)[0]:
                    continue
                try:
                    said += os.read(ours, 65536).decode(errors="replace")
                except OSError:  # The last one on the other side has closed it.
                    break
                if said.count(ASKED) > answered:
                    answered += 1
                    os.write(ours, b"\n")
                if is_leaving:
                    # Its status line may be drawn again until it is left.
                    left = said.find(LEFT, seen)
                    is_leaving, seen = left < 0, max(seen, left)
                elif said.find(ATTACHED, seen) >= 0:
                    is_leaving, seen = True, len(said)
                    self._detach(ours)
        finally:
            os.close(ours)
            shell.kill()
            status = shell.wait()
        assert status == 0, said[-3000:]
        return said


@pytest.fixture
def newcomer(short_tmp: Path) -> Iterator[Newcomer]:
    newcomer = Newcomer(short_tmp)
    yield newcomer
    down = [str(newcomer.installed / "phoenixctl"), "down", "--agents"]
    subprocess.run(down, env=newcomer.environ, capture_output=True, check=False, timeout=60)
    socket = short_tmp / ".local/state/phoenixd/run/tmux.sock"
    subprocess.run(["tmux", "-N", "-S", str(socket), "kill-server"], capture_output=True, check=False)
    all_ends(short_tmp)


def test_the_tutorial_the_readme_and_the_page_about_speaking_do_what_they_say(newcomer: Newcomer) -> None:
    """P81: the recovery flow as it is documented, `kill -9` and resume among it."""
    setting, *tutorial = commands_of("docs/tutorial/first-agent.md").splitlines(keepends=True)
    setting = setting.replace("DIRECTORY", str(newcomer.installed))
    first_hour = "".join(tutorial).replace("PID", PID_OF_SHOP)

    said = newcomer.types(setting + first_hour)

    assert "phoenixd is up" in said
    assert "delivered to shop" in said
    sessions = re.findall(r"session +([0-9a-f-]{36})", said)
    assert len(sessions) == 2
    assert len(set(sessions)) == 1, "back in the same session"
    pids = re.findall(r"incarnation \d+, pid (\d+), (\w+)", said)
    assert [mode for _, mode in pids] == ["fresh", "resumed"]
    assert "shop is stopped, and stays so" in said
    assert "removed shop" in said

    install, run, *rest = commands_of("README.md").splitlines(keepends=True)
    assert install == "uv tool install .\n", "tests/e2e/test_installed.py installs it"
    speak = commands_of("docs/how-to/speak-to-agents.md")
    assert speak.count("phoenixctl send") == 2
    commit = "git -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m 'Open the shop'\n"
    said = newcomer.types(
        f"{setting}cd ~/src/shop\n{commit}{run}phoenixctl wait shop --for idle\n{speak}{''.join(rest)}"
    )

    assert said.count("delivered to shop") == 2
    assert "1 of 1 alive" in said
    assert '"submitted": "Open the shop"' in newcomer.log.read_text()
