"""The plain terminal: what is long goes to the reader's pager, colour is as --color says, and a pipe gets all of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from pathlib import Path

import pytest

from phoenixd.api.pages.layout import UNCUT
from phoenixd.ctl import pager, wire
from phoenixd.errors import ConfigurationError
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, environment
from tests.ctl.terminals import on_a_terminal, phoenixctl

PAGED = "this is a pager"
LONG = "the state of a deployment that nobody has looked at for quite a while " * 4


@pytest.fixture
def paging(live: Live, daemon: FakeDaemon, home: Path) -> dict[str, str]:
    """An environment with a pager, and a fleet that is longer than any terminal here."""
    for number in range(70):
        daemon.declare(f"agent-{number:02d}")
    program = home / "my pager"
    program.write_text(f"#!/bin/sh\nhead -n 1\necho {PAGED}\n")
    program.chmod(0o755)
    return environment(home, PHOENIX_SOCKET=os.fspath(live.socket), PAGER=f"'{program}' -x", TERM="xterm")


async def seen(command: list[str | Path], env: dict[str, str]) -> str:
    """What a terminal gets to see until the command ends; the daemon of the test answers meanwhile."""

    def watch() -> str:
        said = b""
        with on_a_terminal(command, env) as (_, master), contextlib.suppress(OSError):
            # The last one on the other side closes it, which is an error to read.
            while select.select([master], [], [], 100)[0]:
                said += os.read(master, 65536)
        return said.decode()

    return await asyncio.to_thread(watch)


@pytest.mark.parametrize("words", ["status --all", "events", "help", "config show"])
async def test_what_is_longer_than_the_terminal_goes_to_the_pager(paging: dict[str, str], words: str) -> None:
    told = await seen(phoenixctl(*words.split()), paging)

    assert PAGED in told
    assert told.count("\n") <= 3, "the first line stays to be seen"


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("status", {}),
        ("status --all --json", {}),
        ("status --all --no-pager", {}),
        ("status --all", {"PAGER": ""}),
        ("status --all", {"PAGER": "cat"}),
        ("status --all", {"PAGER": "no-such-pager"}),
        ("status --all", {"TERM": "dumb"}),
        ("status --all", {"PHOENIX_AGENT": "docs"}),
    ],
)
async def test_all_else_is_printed_straight_away(paging: dict[str, str], words: str, more: dict[str, str]) -> None:
    told = await seen(phoenixctl(*words.split()), {**paging, **more})

    assert PAGED not in told
    assert "agent-" in told or words == "status"


async def test_color_says_when_signs_are_coloured(ctl: Ctl, paging: dict[str, str]) -> None:
    assert "\x1b[" in await seen(phoenixctl("status"), paging)
    assert "\x1b[" not in await seen(phoenixctl("status", "--color=never"), paging)
    assert "\x1b[" not in await seen(phoenixctl("status"), {**paging, "NO_COLOR": "1"})
    assert "\x1b[" in await seen(phoenixctl("--color", "always", "status"), {**paging, "NO_COLOR": "1"})
    assert "\x1b[" not in (await ctl("status")).out
    assert "\x1b[" in (await ctl("status", "--color", "always")).out
    assert "\x1b[" in (await ctl("status", "agent-01", "--color", "always", "--no-pager")).out
    refused = await ctl("status", "--color", "red")
    assert (refused.code, refused.out) == (2, "")


async def test_a_pipe_gets_all_of_a_line_and_columns_says_how_wide_it_is(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.wait("docs", tool="Bash", text=LONG)
    daemon.declare("shop")
    daemon.change("shop", reason=LONG)

    for words in (["status"], ["status", "--all"], ["inbox"]):
        assert LONG.strip() in (await ctl(*words)).out.replace("\n", " "), words
        assert "  " * 50 not in (await ctl(*words)).out, "nothing is filled up to the end of an endless line"
        narrow = (await ctl(*words, COLUMNS="40")).out
        assert all(len(line) <= 40 or "phoenixctl" in line for line in narrow.splitlines()), narrow


def test_both_sides_mean_the_same_by_uncut() -> None:
    assert wire.UNCUT == UNCUT


def test_a_pager_is_a_command_with_its_arguments(home: Path) -> None:
    assert pager.chosen({"PAGER": "head -n 3"}) == ["head", "-n", "3"]
    assert pager.chosen({"PAGER": "'"}) is None
    assert pager.chosen({}) in (["less"], ["more"], None)


@pytest.mark.parametrize("words", ["plan", "apply", "since never"])
async def test_a_refusal_is_not_wrapped_in_a_pipe_and_what_has_several_lines_keeps_them(
    ctl: Ctl, daemon: FakeDaemon, words: str
) -> None:
    wrong = [f"/etc/phoenixd/phoenixd.toml:{line}: agent.{'a' * 60}.harness: must be 'claude'" for line in (1, 2)]
    refused = ConfigurationError("\n".join(wrong), "phoenixctl config check")

    async def refuse() -> None:
        raise refused

    daemon.plan = daemon.apply = refuse  # type: ignore[method-assign,assignment]

    ran, narrow = await ctl(*words.split()), await ctl(*words.split(), COLUMNS="60")

    first, *rest = ran.err.splitlines()
    assert [line[:4] for line in rest] == (["  /e", "do: "] if words in ("plan", "apply") else ["do: "])
    assert first == wrong[0] or words.startswith("since")
    assert all(len(line) <= 60 for line in narrow.err.splitlines()[:-1] if "/etc" not in line)
