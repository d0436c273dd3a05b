"""phoenixd as people install it: the wheel in a virtualenv of its own, and README's first three commands."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import balky_cli
from tests.e2e.census import all_ends
from tests.e2e.test_tutorial import CLAUDE, commands_of

ROOT = Path(__file__).parents[2]
INSTALL = "uv tool install ."
PAGES = ("man1/phoenixctl.1", "man8/phoenixd.8", "man5/phoenixd.toml.5")
MOVES = r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|.\x08"
"""What a pager sends beside words."""
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of a virtualenv that has the wheel; what phoenixd needs is found where this test has it."""
    directory = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory, cwd=ROOT)
    prefix = directory / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", prefix)
    (wheel,) = directory.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", prefix / "bin/python", "--disable-pip-version-check", "install"]
    _run(*pip, "--quiet", "--no-deps", "--no-index", wheel)
    (packages,) = prefix.glob("lib/python3.*/site-packages")
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return prefix


def _run(*command: object, **more: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
    return str(done.stdout)


def test_both_programs_run(installed: Path) -> None:
    assert "verbs:" in _run(installed / "bin/phoenixctl", "--help")
    assert "--state-dir" in _run(installed / "bin/phoenixd", "--help")
    where = _run(installed / "bin/python", "-c", "import phoenixd; print(phoenixd.__file__)", cwd="/")
    assert where.startswith(str(installed)), "it is the wheel's, and not this tree's"


@pytest.mark.parametrize("page", PAGES)
def test_a_man_page_is_one_to_man_and_to_its_index(installed: Path, page: str) -> None:
    path = installed / "share/man" / page
    if shutil.which("lexgrog") is None or shutil.which("man") is None:
        pytest.skip("not run: man is not installed (apt-get install man-db)")

    assert path.stem in _run("lexgrog", path)
    environ = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PAGER": "cat"}
    shown = subprocess.run(
        ["man", "--warnings", "-l", str(path)], capture_output=True, text=True, check=True, env=environ
    )
    assert shown.stderr == ""
    text = re.sub(r".\x08", "", shown.stdout)
    assert {"NAME", "DESCRIPTION", "SEE ALSO"} <= set(text.splitlines())
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("page", PAGES)
def test_a_man_page_is_read_at_a_terminal_as_wide_as_that_is_and_left(installed: Path, page: str) -> None:
    """A person opens it in a terminal, goes to its end, and leaves."""
    if shutil.which("man") is None or shutil.which("less") is None:
        pytest.skip("not run: man or less is not installed (apt-get install man-db less)")
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (20, 60))
    environ = {"PATH": os.environ["PATH"], "HOME": "/", "TERM": "xterm", "LC_ALL": "C.UTF-8", "PAGER": "less"}
    reader = subprocess.Popen(
        ["setsid", "--ctty", "man", "-l", str(installed / "share/man" / page)],
        stdin=slave, stdout=slave, stderr=slave, env=environ,
    )  # fmt: skip
    os.close(slave)

    def read_until(pattern: str) -> str:
        said = ""
        while not re.search(pattern, said):
            assert select.select([master], [], [], 60)[0], f"no {pattern!r} in {said!r}"
            said += re.sub(MOVES, "", os.read(master, 65536).decode(errors="replace"))
        return said

    try:
        first = read_until(r"(?s)NAME.*q to quit")
        assert max(len(one.rstrip("\r")) for one in first.split("\n")) <= 60
        os.write(master, b"G")
        read_until(r"(?s)SEE ALSO.*q to quit")
        os.write(master, b"q")
        assert reader.wait(60) == 0
    finally:
        reader.kill()
        reader.wait()
        os.close(master)


def test_the_shells_find_their_completions(installed: Path) -> None:
    for place, begins in (
        ("share/bash-completion/completions/phoenixctl", "# phoenixctl for bash"),
        ("share/zsh/site-functions/_phoenixctl", "#compdef phoenixctl"),
        ("share/fish/vendor_completions.d/phoenixctl.fish", "# phoenixctl for fish"),
    ):
        script = (installed / place).read_text()
        assert script.startswith(begins)
        shell = "zsh" if "zsh" in place else "fish" if "fish" in place else "bash"
        assert script == _run(installed / "bin/phoenixctl", "completion", shell)


@pytest.fixture
def newcomer(short_tmp: Path, installed: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody with a HOME, a project, and `claude` on the PATH."""
    home = short_tmp
    (home / "src/shop").mkdir(parents=True)
    (home / "bin").mkdir()
    claude = home / "bin/claude"
    claude.write_text(CLAUDE.format(python=sys.executable, program=balky_cli.__file__, log=home / "claude.log"))
    claude.chmod(0o755)
    environ = {
        "HOME": str(home), "PATH": f"{installed}/bin:{home}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "sk-test-dummy",
    }  # fmt: skip
    yield environ
    subprocess.run(["phoenixctl", "down", "--agents"], env=environ, capture_output=True, check=False, timeout=100)
    socket = home / ".local/state/phoenixd/run/tmux.sock"
    subprocess.run(["tmux", "-N", "-S", str(socket), "kill-server"], capture_output=True, check=False)
    all_ends(home)


def test_readme_to_a_supervised_agent_in_three_commands(newcomer: dict[str, str]) -> None:
    """Root and an ordinary user alike: the suite runs this as both."""
    install, *commands = commands_of("README.md").splitlines()

    assert install == INSTALL, "the wheel that it would build is installed already"
    run, look = commands
    # Without a terminal `run` does not sit down at the agent's, from where a person comes back later.
    script = f"{run}\nphoenixctl wait shop --for idle\n{look}"
    said = _run("sh", "-euc", script, env=newcomer, cwd=newcomer["HOME"])

    assert "1 of 1 alive" in said
    row = _run("phoenixctl", "status", "shop", env=newcomer)
    assert "claude" in row
    assert "pid" in row


def test_the_screen_of_the_readme_is_one_that_phoenixctl_prints() -> None:
    (screen,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)

    assert screen in (ROOT / "tests/api/pages/a_bad_night.txt").read_text()
