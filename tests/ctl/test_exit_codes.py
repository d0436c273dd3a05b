"""Design section 6: each exit code means one thing, and every refusal says what, why and what to do next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from phoenixd.api.finding import Finding
from phoenixd.api.handlers import commands, sending
from phoenixd.api.values import Change
from phoenixd.drivers.files.lock import DirectoryLock
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, Ran
from tests.waiting import eventually


def assert_refuses(ran: Ran, code: int) -> None:
    """Nothing on standard output, a reason on standard error, and a next thing to do that can be copied."""
    assert ran.code == code, (ran.out, ran.err)
    assert ran.out == ""
    reason, _, remedy = ran.err.partition("\ndo: ")
    assert reason.strip(), ran.err
    assert remedy.strip(), ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "words",
    [
        (), ("status",), ("status", "--all"), ("status", "docs"), ("inbox",), ("since",), ("since", "8h"), ("events",),
        ("events", "docs", "-n", "3"), ("explain", "docs"), ("doctor",), ("plan",), ("apply",), ("logs", "docs"),
        ("heartbeat", "show", "docs"), ("heartbeat", "simulate", "docs", "--age", "20m"), ("watchdog", "--once"),
        ("start", "docs"), ("start", "docs", "--wait"), ("restart", "docs", "--wait"), ("send", "docs", "hello"),
        ("wait", "docs", "--for", "running"), ("stop", "docs"), ("remove", "docs"), ("down",), ("down", "--agents"),
        ("version",), ("add", "new", "--", "true"), ("hooks", "print"), ("hooks", "test"), ("config", "check"),
        ("config", "show"), ("config", "schema"), ("completion", "bash"), ("completion", "zsh"), ("completion", "fish"),
        ("loops",), ("loops", "docs"), ("resolve", "auth-flow", "tested"), ("brief", "generate", "docs"),
        ("brief", "check", "docs"),
        ("up",), ("--help",), ("send", "--help"), ("--version",),
    ],
    ids=" ".join,
)  # fmt: skip
async def test_0_ok(ctl: Ctl, live: Live, daemon: FakeDaemon, words: tuple[str, ...]) -> None:
    daemon.declare("docs")
    daemon.panes["docs"] = "$ work\n"
    daemon.begin("docs", "auth-flow")
    if words and words[0] == "down":
        # A real daemon goes when it has answered; here its socket has to.
        daemon.shut_down = lambda dismiss=False: live.socket.unlink(missing_ok=True)  # type: ignore[method-assign]

    ran = await ctl(*words)

    assert ran.code == 0, (ran.out, ran.err)
    assert ran.out.strip()
    assert "Traceback" not in ran.err


async def test_1_failed_send_says_why(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.delivers = None

    ran = await ctl("send", "docs", "hello")

    assert (ran.code, ran.out) == (1, "")
    assert "NOT delivered to docs: a dialog is open" in ran.err
    assert "phoenixctl attach docs" in ran.err


async def test_1_a_start_that_ends_in_quarantine_failed(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs", start=False)
    daemon.fails_with = 127

    ran = await ctl("start", "docs", "--wait")

    assert (ran.code, ran.out) == (1, "")
    assert "did not start" in ran.err
    assert "; what would help: phoenixctl doctor" in " ".join(ran.err.split())
    assert "phoenixctl explain docs" in ran.err


@pytest.mark.parametrize("verb", ["start", "restart"])
async def test_1_a_start_of_what_ends_at_once_failed(
    ctl: Ctl, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """It said "is running", of a program that was gone already."""
    monkeypatch.setattr(commands, "AT_ONCE", 60.0, raising=False)
    daemon.declare("docs", start=False)
    asked = asyncio.create_task(ctl(verb, "docs", "--wait"))
    await eventually(lambda: daemon.state.agents["docs"].run is not None)
    daemon.die("docs", 1)

    ran = await asked

    assert (ran.code, ran.out) == (1, "")
    assert "docs began, and ended after " in ran.err
    assert "phoenixctl explain docs" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("frobnicate",), ("start",), ("status", "--fish"), ("send", "docs"), ("wait", "docs"), ("config",),
        ("wait", "docs", "--for", "lunch"), ("since", "never"), ("events", "--since", "never"), ("add", "new"),
        ("add", "new", "--env", "X", "--", "true"), ("wait", "docs", "--for", "idle", "--timeout", "soon"),
        ("add", "No!", "--", "true"), ("hooks", "install"), ("send", "docs", ""), ("run",),
        ("run", "No!", "--", "true"),
        ("heartbeat", "simulate", "docs", "--age", "old"), ("start", "docs", "--timeout", "8d"),
        ("config", "check", "--config", "/nowhere"), ("resolve", "auth-flow"), ("resolve", "auth-flow", ""),
    ],
    ids=" ".join,
)  # fmt: skip
async def test_2_usage(ctl: Ctl, daemon: FakeDaemon, words: tuple[str, ...]) -> None:
    daemon.declare("docs")

    assert_refuses(await ctl(*words), 2)


async def test_2_a_wrong_verb_is_told_in_one_short_line(ctl: Ctl) -> None:
    assert (await ctl("frobnicate")).err == "phoenixctl: there is no verb 'frobnicate'\ndo: phoenixctl help\n"


async def test_the_usage_of_what_takes_a_command_shows_where_it_stands(ctl: Ctl) -> None:
    for verb, end in (("add", "NAME -- ARGV..."), ("run", "-- ARGV..."), ("stop", "]")):
        usage = (await ctl(verb, "--help")).out.partition("\n\n")[0]
        assert usage.endswith(end), usage


async def test_help_fits_eighty_columns(ctl: Ctl) -> None:
    pages = [(await ctl(*words, "--help")).out for words in ((), ("explain",), ("run",))]

    assert [line for page in pages for line in page.splitlines() if len(line) > 80] == []


async def test_3_status_of_an_agent_that_is_not_running(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs", start=False)

    ran = await ctl("status", "docs")

    assert (ran.code, ran.err) == (3, "")
    assert "docs is stopped" in ran.out
    assert (await ctl("status", "docs", "--json")).code == 3


async def test_0_status_of_a_loop_between_two_iterations(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("loop", kind="loop")
    daemon.die("loop", 0)
    between = await ctl("status", "loop", "--json")
    assert (between.code, between.json["agents"][0]["state"]) == (0, "backing_off")

    daemon.declare("crashed", kind="loop")
    daemon.performs = False
    daemon.die("crashed", 1)
    assert (await ctl("status", "crashed")).code == 3


async def test_3_doctor_found_a_problem(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.findings = (Finding("ok", "tmux"), Finding("problem", "disk full", "0 bytes left", "df -h"))

    ran = await ctl("doctor")

    assert ran.code == 3
    assert "do: df -h" in ran.out
    assert "tmux" not in ran.out, "what is well is a count"
    assert "1 check is well; see: phoenixctl doctor --all" in ran.out
    everything = await ctl("doctor", "--all")
    assert everything.out.index("disk full") > everything.out.index("tmux"), "the worst comes last, near the prompt"
    assert everything.code == 3
    assert len((await ctl("doctor", "--json")).json["findings"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ("status", "nobody"), ("status", "../up"), ("start", "nobody"), ("stop", "nobody"), ("restart", "nobody"),
        ("remove", "nobody"), ("send", "nobody", "x"), ("logs", "nobody"), ("logs", "nobody", "-f"),
        ("events", "nobody"), ("events", "-f", "nobody"), ("explain", "nobody"), ("heartbeat", "show", "nobody"),
        ("heartbeat", "simulate", "nobody"), ("wait", "nobody", "--for", "idle"), ("attach", "no body"),
        ("loops", "nobody"), ("brief", "show", "nobody"), ("brief", "show", "docs"),
        ("resolve", "nothing", "x"), ("resolve", "nothing", "x", "--agent", "nobody"),
    ],
    ids=" ".join,
)  # fmt: skip
async def test_4_not_found(ctl: Ctl, words: tuple[str, ...]) -> None:
    assert_refuses(await ctl(*words), 4)


async def test_5_an_agent_may_not_stop_another(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.declare("shop")
    daemon.tokens["abc123"] = "docs"

    assert_refuses(await ctl("stop", "shop", PHOENIX_TOKEN="abc123"), 5)
    assert_refuses(await ctl("status", PHOENIX_TOKEN="abc123"), 5)
    assert_refuses(await ctl("resolve", "x", "y", "--agent", "shop", PHOENIX_TOKEN="abc123"), 5)
    assert (await ctl("status", "docs", PHOENIX_TOKEN="abc123")).code == 0, "its own row it may read"


async def test_6_conflict(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.declare("idle", start=False)
    daemon.wait("docs")

    assert_refuses(await ctl("send", "docs", "yes"), 6)
    assert_refuses(await ctl("send", "idle", "hello"), 6)
    assert_refuses(await ctl("start", "docs", "--fresh"), 6)
    assert_refuses(await ctl("add", "docs", "--", "true"), 6)
    assert_refuses(await ctl("heartbeat", "simulate", "idle"), 6)
    assert (await ctl("run", "docs", "--", "true")).code == 6


@pytest.mark.parametrize(
    "words",
    [
        (), ("status",), ("status", "docs"), ("status", "--json"), ("down",), ("add", "x", "--", "true"),
        ("remove", "x"), ("start", "x"), ("stop", "x"), ("restart", "x"), ("logs", "x"), ("logs", "x", "-f"),
        ("send", "x", "y"), ("events",), ("events", "-f"), ("explain", "x"), ("plan",), ("apply",), ("inbox",),
        ("since",),
        ("wait", "x", "--for", "idle"), ("heartbeat", "show", "x"), ("watchdog", "--once"), ("attach", "x"),
        ("loops",), ("resolve", "x", "y"), ("brief", "show", "x"), ("brief", "check", "x"), ("brief", "generate", "x"),
    ],
    ids=" ".join,
)  # fmt: skip
async def test_7_no_daemon(alone: Ctl, words: tuple[str, ...]) -> None:
    ran = await alone(*words)

    assert_refuses(ran, 7)
    # What is to be sent would be lost in a start, and nothing is started to be ended.
    assert "do: phoenixctl up" in ran.err or words[0] in ("send", "down")


async def test_7_doctor_works_in_part(alone: Ctl, runtime: Path) -> None:
    ran = await alone("doctor", "--all")

    assert ran.code == 7
    assert f"nothing answers at {runtime}/api.sock" in ran.out
    assert "Python 3" not in (await alone("doctor")).out
    assert "Python 3" in ran.out
    assert "state directory" in ran.out
    assert (await alone("doctor", "--json")).json["findings"][0]["level"] == "problem"


async def test_doctor_of_a_daemon_that_is_only_slow_never_says_that_there_is_none(alone: Ctl, runtime: Path) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    with DirectoryLock(runtime):
        async with await asyncio.start_unix_server(hang_up, runtime / "api.sock"):
            ran = await alone("doctor")

    assert ran.code == 7
    assert "phoenixd is there, and has not answered in time" in ran.out
    assert "does not answer" not in ran.out + ran.err
    assert "phoenixctl up" not in ran.out + ran.err


async def test_8_timed_out(ctl: Ctl, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TYPING", 0.1)
    daemon.declare("docs")
    assert_refuses_softly(await ctl("wait", "docs", "--for", "stopped", "--timeout", "0.1"))
    daemon.performs = False
    assert_refuses_softly(await ctl("send", "docs", "x", "--timeout", "0.1"))
    assert_refuses_softly(await ctl("stop", "docs", "--timeout", "0.1"))
    daemon.declare("new", start=False)
    assert_refuses_softly(await ctl("start", "new", "--wait", "--timeout", "0.1"))
    assert_refuses_softly(await ctl("down", "--agents", "--timeout", "0.1"))


def assert_refuses_softly(ran: Ran) -> None:
    assert (ran.code, ran.out) == (8, ""), ran
    assert "phoenixctl" in ran.err


async def test_start_and_stop_are_idempotent(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")

    assert [(await ctl("start", "docs")).code for _ in range(2)] == [0, 0]
    assert [(await ctl("stop", "docs")).code for _ in range(2)] == [0, 0]


async def test_a_plan_of_changes_exits_0_so_that_apply_may_follow(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.changes = (Change("docs", "change", "argv", restart=True), Change("shop", "keep"))

    planned = await ctl("plan")

    assert planned.code == 0
    assert "do it: phoenixctl apply" in planned.out
    assert "(its run ends)" in planned.out
    assert "done" in (await ctl("apply")).out
