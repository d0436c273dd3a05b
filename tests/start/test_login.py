"""The login shell, whose start-up files may hold anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.start.login import OUTPUT_LIMIT, LoginShellFailed, login_environment
from tests.hung_disk import hung_mount, told_while_ticking


def a_shell(tmp_path: Path, words: str) -> str:
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\n{words}\n")
    shell.chmod(0o755)
    return str(shell)


def test_promise_7_a_start_up_file_that_prints_for_ever_fills_no_memory(tmp_path: Path) -> None:
    shell = a_shell(tmp_path, "exec cat /dev/zero")
    program = (
        "import sys; from phoenixd.start import login\n"
        "try: login.login_environment({'SHELL': sys.argv[1]}, 3.0)\n"
        "except login.LoginShellFailed as failed: print(failed)\n"
        # Not ru_maxrss, which also counts what the process was before it became this program.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM:')))"
    )

    told = subprocess.run(
        [sys.executable, "-c", program, shell], capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()

    assert "did not answer within 3 s" in told[0]
    assert int(told[1]) < 200 << 10


def test_what_a_start_up_file_prints_before_hides_no_variable(tmp_path: Path) -> None:
    noise = f"head -c {3 * OUTPUT_LIMIT} /dev/zero"
    shell = a_shell(tmp_path, f'{noise}\nexport FOUND=yes\nshift\nexec /bin/sh -c "$1"')

    assert login_environment({"SHELL": shell, "PATH": "/usr/bin:/bin"})["FOUND"] == "yes"


def test_a_shell_that_ends_without_a_word_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoginShellFailed, match=r"told no environment \(exit 3\)"):
        login_environment({"SHELL": a_shell(tmp_path, "exit 3")})


def test_a_shell_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoginShellFailed, match=r"none cannot be run \(exit 127\)"):
        login_environment({"SHELL": str(tmp_path / "none")})


ASKING = """
import sys
import anyio
from phoenixd.start import login
async def asking():
    try:
        await anyio.to_thread.run_sync(login.login_environment, {"SHELL": sys.argv[1]}, 2.0)
    except login.LoginShellFailed as failed:
        print(failed)
"""


def test_a_login_shell_on_a_mount_that_never_answers_holds_up_no_thread_and_is_given_up(tmp_path: Path) -> None:
    with hung_mount(tmp_path / "away") as mount:
        assert "did not answer within 2 s" in told_while_ticking(ASKING, str(mount / "bash"))


def test_a_user_that_the_host_does_not_know_has_a_shell_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the daemon may run as a number that stands in no passwd: SHELL is unset there as well."""

    def nobody(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert login_environment({"FOUND": "yes", "PATH": "/usr/bin:/bin"})["FOUND"] == "yes"
