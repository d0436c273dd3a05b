"""`log` and `status --watch`: words and changes as plain lines, of many agents, over restarts of the daemon."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from phoenixd.api import exits
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested, StopRequested
from phoenixd.documents.log_lines import LogLine
from tests.api.conftest import Live, serving
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, environment

PATIENCE = 90

Reader = tuple[asyncio.StreamReader, asyncio.StreamReader]
"""What it prints, and what it says beside that."""


@asynccontextmanager
async def running(live: Live, home: Path, words: Sequence[str]) -> AsyncIterator[Reader]:
    """What phoenixctl prints as it goes on."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(home, PHOENIX_SOCKET=os.fspath(live.socket)),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            yield process.stdout, process.stderr
    finally:
        process.kill()
        await process.wait()


def without_time(line: str) -> str:
    """A line without its time, which depends on the machine's zone; behind midnight the day stands before it."""
    return re.sub(r"^(?:\d+ [A-Z][a-z]{2} )?[-\d]{2}:[-\d]{2}:[-\d]{2} ", "", line)


async def text(lines: asyncio.StreamReader) -> str:
    return without_time((await lines.readline()).decode().rstrip("\n"))


def spoken(daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api"):
        daemon.declare(name)
    daemon.spoken = [
        LogLine("docs", "prompt", "Write it \x1b[2Jdown.", daemon.now().wall - 4000),
        LogLine("shop-api", "tool", "npm test", daemon.now().wall - 3000, "Bash"),
        LogLine("docs", "said", "It is " + "very " * 40 + "long.", daemon.now().wall - 2000),
        LogLine("shop-api", "error", "2 failed", daemon.now().wall - 1000, "Bash"),
    ]


async def test_what_agents_said_is_told_a_line_each_and_whole_in_a_pipe(ctl: Ctl, daemon: FakeDaemon) -> None:
    spoken(daemon)

    told = (await ctl("log")).out.splitlines()

    assert [without_time(line) for line in told] == [
        "docs     > Write it <U+001B>[2Jdown.",
        "shop-api $ Bash: npm test",
        "docs       It is " + "very " * 40 + "long.",
        "shop-api ! Bash: 2 failed",
    ]
    assert len((await ctl("log", "shop-*")).out.splitlines()) == 2
    assert [without_time(line) for line in (await ctl("log", "-g", "fail|down", "-n", "1")).out.splitlines()] == [
        "shop-api ! Bash: 2 failed"
    ]
    assert len((await ctl("log", "--since", "2500s")).out.splitlines()) == 2
    assert (await ctl("log", "-g", "nowhere")).out.startswith("Of 4 lines none has what was looked for.")
    # What is told next can be typed as it stands, where one agent is meant.
    assert (await ctl("log", "docs", "-g", "nowhere")).out.endswith(" phoenixctl screen docs\n")
    assert (await ctl("log", "s*", "-g", "nowhere")).out.endswith(" phoenixctl screen NAME\n")


async def test_log_of_a_program_without_a_known_transcript_says_so(live: Live, daemon: FakeDaemon, ctl: Ctl) -> None:
    daemon.declare("shop")
    daemon.declare("docs", harness="claude")

    assert (await ctl("log", "shop")).out.startswith("What shop says cannot be read: it writes no transcript ")
    for arguments, said in (
        (("docs", "-g", "x"), "docs has said nothing so far"),
        (("docs", "--since", "8h"), "docs has said nothing since 8h"),
        ((), "No agent has said anything so far"),
        (("d*",), "No agent of those that were named has said anything so far"),
    ):
        # What it said in an earlier session, as before a fresh start, is not read.
        assert (await ctl("log", *arguments)).out.startswith(f"{said} in its present session.")


async def test_log_follows_over_a_restart_of_the_daemon(live: Live, daemon: FakeDaemon, home: Path) -> None:
    spoken(daemon)
    async with running(live, home, ["log", "-f", "-n", "1"]) as (lines, beside):
        assert await text(lines) == "shop-api ! Bash: 2 failed"
        daemon.spoken.append(LogLine("docs", "said", "First.", daemon.now().wall))
        assert await text(lines) == "docs       First."
        live.server.end()
        assert b"waiting for it to come back" in await beside.readline()
        daemon.spoken.append(LogLine("docs", "said", "Second.", daemon.now().wall))
        async with serving(daemon, live.socket.parent):
            assert await text(lines) == "docs       Second."


async def test_nothing_is_lost_or_doubled_over_a_restart_whatever_the_times(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    spoken(daemon)
    wall = daemon.now().wall
    async with running(live, home, ["log", "-f", "-n", "1"]) as (lines, beside):
        assert await text(lines) == "shop-api ! Bash: 2 failed"
        daemon.spoken.append(LogLine("docs", "said", "Far ahead.", wall + 1e8))
        assert await text(lines) == "docs       Far ahead."
        daemon.spoken.append(LogLine("docs", "said", "No time."))
        assert await text(lines) == "docs       No time."
        live.server.end()
        assert b"waiting for it to come back" in await beside.readline()
        # More than a look shows at first, at one time, and that long ago.
        daemon.spoken += [LogLine("shop-api", "said", f"{number}.", wall - 500) for number in range(700)]
        daemon.spoken += [LogLine("docs", "said", "Behind.", None)]
        async with serving(daemon, live.socket.parent):
            told = [await text(lines) for _ in range(701)]
            daemon.spoken.append(LogLine("docs", "said", "After.", wall))
            assert await text(lines) == "docs       After."
    assert [one for one in told if one.startswith("shop")] == [f"shop-api   {number}." for number in range(700)]
    assert [one for one in told if one.startswith("docs")] == ["docs       Behind."]


async def test_a_follower_ends_with_its_reader_though_nothing_is_said(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    spoken(daemon)
    ours, theirs = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", "log", "-f", "-n", "1", stdout=theirs, stderr=asyncio.subprocess.PIPE,
        env=environment(home, PHOENIX_SOCKET=os.fspath(live.socket)),
    )  # fmt: skip
    os.close(theirs)
    try:
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(os.read, ours, 4096)
            os.close(ours)
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, said) == (0, b"")


async def test_whom_a_selector_means_is_looked_at_anew(live: Live, daemon: FakeDaemon, home: Path) -> None:
    spoken(daemon)
    async with running(live, home, ["log", "-f", "d*", "!docs-old,doc?", "shop-api"]) as (_, beside):
        assert b"!docs-old leaves nobody out" in await beside.readline()
    async with running(live, home, ["log", "-f", "-n", "1", "d*", "!shop-*"]) as (lines, _):
        assert (await text(lines)).endswith("long.")
        daemon.declare("dawn")
        daemon.spoken += [LogLine("dawn", "said", "Hello.", daemon.now().wall), LogLine("shop-api", "said", "No.")]
        assert await text(lines) == "dawn   Hello."


async def test_an_answer_of_many_megabytes_is_read_whole(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.spoken = [LogLine("docs", "said", f"{number} " + "x" * 4000, 1000.0 + number) for number in range(5000)]

    told = (await ctl("log", "-n", "5000")).out.splitlines()

    assert len(told) == 5000
    assert [" 0 x" in told[0], " 4999 x" in told[-1]] == [True, True]


async def test_a_change_is_a_line_and_nothing_else_is(live: Live, daemon: FakeDaemon, home: Path) -> None:
    daemon.declare("docs")
    daemon.declare("web")
    async with running(live, home, ["status", "--watch", "--json"]) as (lines, _):
        first = json.loads(await lines.readline())
        assert sorted(row["name"] for row in first["agents"]) == ["docs", "web"]
        daemon.wait("docs", text="npm publish")
        assert json.loads(await lines.readline())["waiting_for"] == "permission (Bash npm publish)"
        daemon.die("web")
        changes = [json.loads(await lines.readline())]
        assert {row["name"] for row in changes} == {"web"}


async def test_watch_tells_people_without_moving_a_cursor(live: Live, daemon: FakeDaemon, home: Path) -> None:
    daemon.declare("docs")
    async with running(live, home, ["status", "-w"]) as (lines, _):
        assert b"1 of 1 alive" in await lines.readline()
        daemon.wait("docs", text="npm publish")
        told = b""
        while b"npm publish" not in told:
            told = await lines.readline()
        assert told.isascii()
        assert b"\x1b" not in told
        assert without_time(told.decode()).startswith("! docs  running, waiting, permission (Bash npm publish)  #")


async def test_watch_tells_a_death_and_its_cause_before_what_follows(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    daemon.declare("docs")
    async with running(live, home, ["status", "--watch"]) as (lines, _):
        assert b"1 of 1 alive" in await lines.readline()
        daemon.die("docs")
        told = b""
        while b"died" not in told:
            told = await lines.readline()
    assert without_time(told.decode()).startswith("~ docs  died, ")
    assert told.rstrip().endswith(b", incarnation 1")


async def test_watch_waits_for_what_is_to_match_and_a_name_that_nobody_has_is_a_slip(
    live: Live, daemon: FakeDaemon, home: Path, ctl: Ctl
) -> None:
    daemon.declare("docs")
    for words in (["zz-*"], ["docs", "s:waiting"]):
        async with running(live, home, ["status", *words, "--watch", "--json"]) as (lines, beside):
            assert (await beside.readline()).decode() == f"nothing matches {' '.join(words)} yet; waiting\n"
            if words[0] == "zz-*":
                daemon.declare("zz-1")
                assert json.loads(await lines.readline())["name"] == "zz-1"
            else:
                daemon.wait("docs", text="npm publish")
                assert json.loads(await lines.readline())["activity"] == "waiting"
    assert (await ctl("status", "nobody", "--watch")).code == exits.NOT_FOUND
    assert (await ctl("status", "qq-*")).code == exits.NOT_FOUND


async def test_watch_tells_who_enters_and_leaves_what_was_chosen_also_over_a_restart(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    daemon.declare("shop-a")
    daemon.declare("shop-b")
    daemon.declare("docs")
    async with running(live, home, ["status", "s:running", "shop-*", "--watch", "--json"]) as (lines, beside):

        async def told() -> tuple[str, str]:
            row = json.loads(await lines.readline())
            return row["name"], row["state"]

        first = json.loads(await lines.readline())
        assert sorted(row["name"] for row in first["agents"]) == ["shop-a", "shop-b"]
        async with asyncio.timeout(PATIENCE):
            while not live.api.feed.followers:
                await asyncio.sleep(0.02)
        daemon.happen(StopRequested("docs"))
        daemon.happen(StopRequested("shop-a"))
        assert await told() == ("shop-a", "not chosen any more")
        daemon.happen(StartRequested("shop-a"))
        assert await told() == ("shop-a", "running")
        daemon.happen(AgentWithdrawn("shop-b"))
        assert await told() == ("shop-b", "removed")
        live.server.end()
        assert b"waiting for it to come back" in await beside.readline()
        daemon.happen(AgentWithdrawn("shop-a"))
        daemon.declare("shop-c")
        async with serving(daemon, live.socket.parent):
            assert [await told(), await told()] == [("shop-c", "running"), ("shop-a", "gone")]
