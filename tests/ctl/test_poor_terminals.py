"""Terminals that are tiny and say nothing of themselves, and pipes whose reader leaves: plain words, a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from pathlib import Path

import pytest

from phoenixd.documents.log_lines import LogLine
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import environment
from tests.ctl.terminals import on_a_terminal, phoenixctl

PATIENCE = 100
LOOKS = (
    *("status", "status --all", "status docs", "status --all --json", "inbox", "inbox 1", "since 8h", "events"),
    *("explain docs", "log", "screen docs", "plan", "config show", "help", "help stop", "stop nobody"),
)
FOLLOWS = ("status --watch", "events -f -n 5", "log -f", "screen docs -f")


@pytest.fixture
def poor(live: Live, daemon: FakeDaemon, home: Path) -> dict[str, str]:
    """An environment without TERM, and a fleet whose pages are higher and wider than a small terminal."""
    live.api.beat = 0.1
    for number in range(30):
        daemon.declare(f"agent-{number:02d}")
    daemon.declare("docs")
    daemon.wait("docs", tool="Bash", text="npm publish --tag next --access public")
    daemon.panes["docs"] = "what the terminal of an agent shows, and more\n" * 20
    daemon.spoken = [LogLine("docs", "said", "Words that are wider than this.", daemon.now().wall)] * 20
    (live.socket.parent / "state-dir").write_text(os.fspath(home / ".local" / "state" / "phoenixd"))
    found = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    found.pop("TERM", None)
    return found


def seen(words: str, env: dict[str, str]) -> str:
    """What a terminal of 20x5 gets until the command has ended, with the command's exit code as the last line."""
    shell: list[str | Path] = ["sh", "-c", '"$@"; echo "left with $?"', "sh", *phoenixctl(*words.split())]
    said = b""
    with on_a_terminal(shell, env, (5, 20)) as (_, master), contextlib.suppress(OSError):
        # The last one on the other side closes it, which is an error to read.
        while select.select([master], [], [], PATIENCE)[0]:
            said += os.read(master, 65536)
    return said.decode()


@pytest.mark.parametrize("words", LOOKS)
async def test_a_terminal_of_20_columns_and_5_lines_without_a_name_gets_plain_words(
    poor: dict[str, str], words: str
) -> None:
    told = await asyncio.to_thread(seen, words, poor)

    *lines, left = told.splitlines()
    assert left == ("left with 4" if words == "stop nobody" else "left with 0"), told
    assert lines
    assert "\x1b" not in told
    assert "Traceback" not in told


async def test_top_says_there_that_it_can_draw_no_screen(poor: dict[str, str]) -> None:
    told = await asyncio.to_thread(seen, "top", poor)

    assert told.splitlines() == [
        "TERM does not say which terminal this is, so no screen can be drawn",
        "do: phoenixctl status --watch",
        "left with 2",
    ]


async def run(words: str, env: dict[str, str], out: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", *words.split(), stdout=out, stderr=asyncio.subprocess.PIPE, env=env
    )


async def end_of(process: asyncio.subprocess.Process) -> tuple[int | None, bytes]:
    try:
        async with asyncio.timeout(PATIENCE):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, said


@pytest.mark.parametrize("words", [*LOOKS[:-1], "completion bash", "status --all --color always"])
async def test_a_reader_that_has_gone_before_the_first_word_is_no_failure(poor: dict[str, str], words: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    process = await run(words, poor, theirs)
    os.close(theirs)

    assert await end_of(process) == (0, b"")


async def test_a_reader_that_leaves_in_the_middle_of_a_long_answer_is_no_failure(
    poor: dict[str, str], daemon: FakeDaemon
) -> None:
    daemon.spoken = [LogLine("docs", "said", "x" * 1000, daemon.now().wall)] * 1000
    ours, theirs = os.pipe()
    process = await run("log -n 1000", poor, theirs)
    os.close(theirs)
    assert await asyncio.to_thread(os.read, ours, 10)
    os.close(ours)

    assert await end_of(process) == (0, b"")


@pytest.mark.parametrize("words", FOLLOWS)
async def test_what_follows_ends_with_its_reader_though_nothing_happens(poor: dict[str, str], words: str) -> None:
    ours, theirs = os.pipe()
    process = await run(words, poor, theirs)
    os.close(theirs)
    assert await asyncio.to_thread(os.read, ours, 10)
    os.close(ours)

    assert await end_of(process) == (0, b"")


UNWRITTEN = ("status", "since --json", "events", "help", "completion bash", "config schema", "version")
SPACE = b"standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("words", UNWRITTEN)
async def test_an_output_that_cannot_be_written_is_told_on_one_line(poor: dict[str, str], words: str) -> None:
    with open("/dev/full", "wb") as full:
        process = await run(words, poor, full.fileno())

    assert await end_of(process) == (1, SPACE)


@pytest.mark.parametrize("words", ["stop agent-01", "stop agent-01 --json", "mute agent-01"])
async def test_an_order_of_which_nothing_can_be_written_says_that_it_was_carried_out(
    poor: dict[str, str], words: str
) -> None:
    with open("/dev/full", "wb") as full:
        process = await run(words, poor, full.fileno())

    code, said = await end_of(process)
    assert (code, said.startswith(SPACE + b"phoenixd took the order all the same: ")) == (1, True), said
    assert b"agent-01" in said.splitlines()[1]


@pytest.mark.parametrize("words", UNWRITTEN)
async def test_an_output_that_was_closed_is_told_on_one_line(poor: dict[str, str], words: str) -> None:
    shell = await asyncio.create_subprocess_exec(
        "sh", "-c", '"$@" >&-', "sh", *phoenixctl(*words.split()), stderr=asyncio.subprocess.PIPE, env=poor
    )

    assert await end_of(shell) == (1, b"standard output cannot be written: Bad file descriptor\n")


@pytest.mark.parametrize(("words", "code"), [("stop nobody", 4), ("nosuch", 2), ("explain", 2), ("log -n many", 2)])
@pytest.mark.parametrize("way", ["2>/dev/full", "2>&-"])
async def test_a_refusal_that_cannot_be_written_is_told_by_its_exit_code(
    poor: dict[str, str], words: str, code: int, way: str
) -> None:
    shell = await asyncio.create_subprocess_exec(
        "sh", "-c", f'"$@" {way}', "sh", *phoenixctl(*words.split()), stdout=asyncio.subprocess.PIPE, env=poor
    )
    told, _ = await asyncio.wait_for(shell.communicate(), PATIENCE)

    assert (shell.returncode, told) == (code, b"")


@pytest.mark.parametrize(
    "words", ["send nobody -", "send a b -", "task run -", "recover", "attach nobody", "top", "answer 1"]
)
async def test_an_input_that_was_closed_is_at_its_end(poor: dict[str, str], words: str) -> None:
    shell = await asyncio.create_subprocess_exec(
        "sh", "-c", '"$@" <&-', "sh", *phoenixctl(*words.split()), stderr=asyncio.subprocess.PIPE, env=poor
    )
    _, told = await asyncio.wait_for(shell.communicate(), PATIENCE)

    assert b"Traceback" not in told
    assert shell.returncode in (0, 2, 4, 6)
