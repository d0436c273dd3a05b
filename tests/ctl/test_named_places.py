"""What was named, and is not what was meant: a socket, a directory, agents before a text, a file with a slip in it."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from phoenixd import daemon
from phoenixd.api.pages import acting
from phoenixd.api.pages.layout import UNCUT, Page
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.ctl import wire
from phoenixd.top import orders
from phoenixd.top.effects import Fetch
from phoenixd.top.face import Face, Order, World
from phoenixd.top.model import Model
from phoenixd.top.told import Answer, ordered
from phoenixd.top.view import paint
from phoenixd.top.words import Clock
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, environment
from tests.ctl.forked import run_forked
from tests.ctl.ran import Ran


async def asked(home: Path, *words: str, **more: str) -> Ran:
    return await run_forked(*words, env=environment(home, **more))


@pytest.mark.parametrize("name", ["--socket", "PHOENIX_SOCKET", "PHOENIX_STATE_DIR", "PHOENIX_RUNTIME_DIR"])
async def test_where_a_named_place_is_empty_that_is_said_of_that_place_alone(home: Path, name: str) -> None:
    there = home / "elsewhere"
    words = ("--socket", os.fspath(there)) if name == "--socket" else ()
    more = {} if words else {name: os.fspath(there)}

    ran = await asked(home, "status", *words, **more)

    said, remedy = ran.err.splitlines()
    assert ran.code == 7
    assert said.startswith(f"nothing answers at {there}")
    # Of a socket of any name nothing says where its agents would be.
    is_known = name in ("PHOENIX_STATE_DIR", "PHOENIX_RUNTIME_DIR")
    known = "no agent of that one runs" if is_known else "whether agents run is not known"
    assert f"where {name} says that phoenixd is; {known}" in said
    assert (f"leave {name} out" if words else f"unset {name}") in ran.err
    # No daemon that is started listens at a socket of any name.
    assert (remedy == "do: phoenixctl up") == is_known


async def test_a_state_directory_that_is_no_whole_path_is_told_as_that(home: Path) -> None:
    ran = await asked(home, "status", PHOENIX_STATE_DIR="rel", XDG_RUNTIME_DIR=os.fspath(home / "xdg"))

    assert (ran.code, ran.err.splitlines()) == (
        2, ["PHOENIX_STATE_DIR=rel is not an absolute path", "do: give the whole path, from /"],
    )  # fmt: skip


async def test_what_a_state_directory_says_is_not_what_the_session_says(home: Path) -> None:
    there = home / "st2"

    ran = await asked(home, "status", PHOENIX_STATE_DIR=os.fspath(there), XDG_RUNTIME_DIR=os.fspath(home / "xdg"))

    assert ran.err.startswith(f"nothing answers at {there}/run/api.sock, where PHOENIX_STATE_DIR says")


async def test_where_nothing_was_named_no_agent_runs(short_tmp: Path) -> None:
    ran = await asked(short_tmp, "status")

    assert "No agent runs, and phoenixd does not answer." in ran.err


async def test_a_name_that_is_too_long_for_a_socket_is_told_as_that(home: Path) -> None:
    """The kernel is not asked, so that there is no number of an error."""
    ran = await asked(home, "status", PHOENIX_SOCKET=os.fspath(home / ("x" * 120)))

    assert "None" not in ran.err
    assert "too long" in ran.err


async def test_a_run_is_not_told_to_forget_its_own_daemon(home: Path) -> None:
    ran = await asked(home, "status", PHOENIX_SOCKET=os.fspath(home / "x.sock"), PHOENIX_AGENT="docs")

    assert "unset" not in ran.err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["send", "e*", "w*", "hello all"], ["send", "e* w*", "hello all"]),
        (["send", "docs", "nobody", "hello all"], ["send", "docs nobody", "hello all"]),
        (["send", "docs", "s:idle", "!asks", "hello"], ["send", "docs s:idle !asks", "hello"]),
        (["send", "docs", "shop-web", "hello", "--key", "docs"], ["send", "--key", "docs", "docs shop-web", "hello"]),
        (["send", "docs", "hello", "world"], ["send", "docs", "hello world"]),
        (["send", "docs", "look:", "here"], ["send", "docs", "look: here"]),
    ],
)
async def test_no_remedy_of_send_types_a_selector_as_text(
    ctl: Ctl, daemon: FakeDaemon, words: list[str], remedy: list[str]
) -> None:
    daemon.declare("docs")
    daemon.declare("shop-web")

    ran = await ctl(*words)

    assert ran.code == 2
    assert shlex.split(ran.err.splitlines()[1])[1:] == ["phoenixctl", *remedy]


async def test_config_show_tells_what_the_file_says_in_vain(home: Path) -> None:
    (home / "a.toml").write_text('[agent.docs]\nargv = []\n[daemon]\nlog_level = "loud"\n')
    options = ("--config", os.fspath(home / "a.toml"))

    checked, shown = await asked(home, "config", "check", *options), await asked(home, "config", "show", *options)
    as_json = await asked(home, "config", "show", "--json", *options)

    assert (checked.code, shown.code, as_json.code) == (1, 1, 1)
    assert checked.err.splitlines()[0] == shown.err.splitlines()[0] == as_json.err.splitlines()[0]
    assert "what is wrong in the files is left out of these values: " in shown.err
    assert sorted(as_json.json) == ["configuration", "origins"]
    assert "daemon.log_level" not in as_json.json["origins"]
    assert f'daemon.log_level = "info"    # not what is wrong at {home / "a.toml"}:4\n' in shown.out


async def test_config_check_tells_what_it_finds_in_the_order_of_the_files_and_their_lines(home: Path) -> None:
    """Errors still come last: what is printed last stands nearest to the prompt."""
    (home / "conf.d").mkdir(exist_ok=True)
    (home / "phoenixd.toml").write_text(
        "[agent.zoe]\nargv = ['/nowhere/zoe']\nfish = 1\n[agent.ann]\nargv = ['/nowhere/ann']\nfowl = 1\n"
        "[defaults]\nflesh = 1\n[daemon]\nfruit = 1\n"
    )
    (home / "conf.d" / "more.toml").write_text("[limits]\nherb = 1\n[agent.bob]\nargv = ['/nowhere/bob']\n")

    checked = await asked(home, "config", "check", "--config", os.fspath(home / "phoenixd.toml"))
    places = [re.findall(r"(\w+: )\S*/(\w+)\.toml:(\d+)", line) for line in checked.err.splitlines()]
    found = [(level, file == "more", int(line)) for ((level, file, line),) in filter(None, places)]

    assert len(found) == 5, checked.err
    assert found == sorted(found, key=lambda one: (one[0] == "error: ", *one[1:])), checked.err


async def test_config_check_counts_what_it_shows(home: Path) -> None:
    tables = "".join(f'[agent.{name}]\nargv = ["/bin/sh"]\ncwd = "/nowhere"\n' for name in ("docs", "shop"))
    (home / "a.toml").write_text(tables)

    checked = await asked(home, "config", "check", "--config", os.fspath(home / "a.toml"))

    assert len(checked.err.splitlines()) == 1
    assert "the configuration is in order, with 2 warnings, told in 1 place:" in checked.out


LOOKS = [
    ["status"], ["status", "--all"], ["status", "docs"], ["inbox"], ["inbox", "--closed"], ["explain", "docs"],
    ["explain", "shop"], ["since", "yesterday"], ["events"], ["loops"], ["doctor"], ["breaker", "show"],
    ["breaker", "show", "docs"], ["plan"], ["task", "status"], ["memory", "list"], ["resonance", "status"], ["log"],
    ["brief", "check", "docs"], ["heartbeat", "show", "docs"], ["turns", "docs"], ["mute", "docs", "1h"], ["recover"],
    ["handoff", "status", "boss"], ["explain", "boss"], ["status", "boss"], ["inbox", "#77"], ["explain", "nobody"],
]  # fmt: skip
OTHERS = ("up", "stop")
"""What begins a daemon, and what the agent in these stories asks to be allowed."""


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
async def test_the_commands_on_a_page_reach_the_daemon_that_socket_named(
    live: Live, daemon: FakeDaemon, home: Path, words: list[str]
) -> None:
    daemon.declare("docs")
    daemon.declare("shop")
    daemon.declare("boss", kind="orchestrator", harness="claude", argv=("claude",), project="kp")
    daemon.wait("docs", text="phoenixctl stop shop")
    told = "it was rolled back. Look: phoenixctl handoff status boss; again: phoenixctl handoff start boss"
    alerts = daemon.state.agents["boss"].alerts
    daemon.change("boss", alerts=(*alerts, StandingAlert(77, "handoff", told, daemon.now().wall)))
    there = os.fspath(live.socket)

    plain = await asked(home, *words, PHOENIX_SOCKET=there)
    named = await asked(home, "--socket", there, *words)

    ours, reaching = commands_on(plain), commands_on(named)
    assert ours, "each of these pages names a command"
    assert reaching == [f"--socket {there} {one}" if one.split()[0] not in OTHERS else one for one in ours]
    assert "--socket" not in (await asked(home, "--socket", there, *words, "--json")).out


def commands_on(ran: Ran) -> list[str]:
    """The commands on a page, each with the three words behind `phoenixctl`, or behind the socket."""
    told = " ".join((ran.out + ran.err).split()).split("phoenixctl ")[1:]
    return [" ".join(one.split()[: 5 if one.startswith("--socket ") else 3]) for one in told]


async def test_what_is_told_of_each_of_several_agents_reaches_the_daemon_that_socket_named(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    daemon.declare("docs")
    daemon.declare("shop")
    there = os.fspath(live.socket)

    ran = await asked(home, "--socket", there, "mute", "docs", "shop", "--yes")

    told = ran.out.split("phoenixctl ")[1:]
    assert len(told) == 2
    assert all(one.startswith(f"--socket {there} ") for one in told), told


def test_a_refusal_of_one_of_several_agents_quotes_a_call_as_it_is() -> None:
    quoted, remedy = "it asks for `phoenixctl stop shop`", "phoenixctl inbox 3"
    results = [("docs", True, "docs starts. See: phoenixctl status docs", ""), ("shop", False, quoted, remedy)]

    page = acting.done("start", results, Page(0.0, UNCUT, socket="/b/api.sock"))

    assert page.splitlines()[1:] == [
        f"! {quoted}",
        "    do: phoenixctl --socket /b/api.sock inbox 3",
        "  docs starts. See: phoenixctl --socket /b/api.sock status docs",
    ]


async def test_of_a_terminal_that_shows_nothing_the_hint_reaches_the_daemon_that_socket_named(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    daemon.declare("docs")
    there = os.fspath(live.socket)

    ran = await asked(home, "--socket", there, "screen", "docs")

    assert ran.out == f"the terminal of docs shows nothing. See: phoenixctl --socket {there} status docs\n"


async def test_each_way_to_answer_is_a_command_that_can_be_typed(live: Live, daemon: FakeDaemon, home: Path) -> None:
    daemon.declare("held")
    daemon.report("held")
    daemon.wait("held", text="make deploy", held=True)
    there = os.fspath(live.socket)

    ran = await asked(home, "--socket", there, "inbox")

    words = f"phoenixctl --socket {there}"
    number = ran.out.split("#")[1].split()[0]
    assert ran.out.splitlines()[-1] == (
        f'answer: {words} answer {number} allow; or {words} answer {number} deny "REASON"; or {words} attach held'
    )


def test_the_pages_of_top_name_the_socket_that_it_was_begun_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire._Shown, "socket", "/b/api.sock")

    for kind in ("explain", "closed", "log"):
        assert orders.fetch(Fetch(kind, "docs"), 80).target.endswith("&socket=%2Fb%2Fapi.sock"), kind


def test_what_top_tells_at_its_foot_and_on_an_empty_list_names_the_socket_that_it_was_begun_with() -> None:
    face, order = Face(socket="/b/api.sock"), Order("start", {}, "start")
    world = World(Model(heard_at=1.0), face, Clock(1.0, 0.0), 120, 24)
    refused = Answer(6, {"detail": "`phoenixctl stop x` waits", "remedy": "phoenixctl inbox 3"})
    failed = {"name": "docs", "exit": 6, "message": "docs is down", "remedy": "phoenixctl start docs"}

    told = [
        ordered(face, order, refused).message,
        ordered(face, order, Answer(6, {"agents": [failed]})).message,
        "".join("".join(span.text for span in one) for one in paint(world).lines),
    ]

    assert told[0] == "start: `phoenixctl stop x` waits. do: phoenixctl --socket /b/api.sock inbox 3"
    assert told[1] == "docs: is down. do: phoenixctl --socket /b/api.sock start docs"
    assert "In a shell: phoenixctl demo, or phoenixctl --socket /b/api.sock run NAME -- claude" in told[2]


async def test_config_check_names_a_program_that_is_not_there_and_one_in_a_home_directory_that_is(home: Path) -> None:
    """The daemon's `plan` and `add` warn of it too; nothing is wrong that would keep the file from being used."""
    (home / "bin").mkdir()
    (home / "bin" / "worker").write_text("#!/bin/sh\n")
    agent = '[agent.{}]\nargv = ["{}"]\ncwd = "/"\n'
    text = agent.format("a", "~/bin/worker") + agent.format("b", "no-such-program") + agent.format("c", "sh")
    (home / "a.toml").write_text(text)
    words = ("config", "check", "--config", os.fspath(home / "a.toml"))

    checked = await asked(home, *words)
    assert checked.code == 0
    assert f"chmod +x {home}/bin/worker" in " ".join(checked.err.split())
    (home / "bin" / "worker").chmod(0o700)
    found = json.loads((await asked(home, *words, "--json")).out)["problems"]
    assert [(one["severity"], one["line"], one["key"]) for one in found] == [("warning", 5, "agent.b.argv")]
    assert "no-such-program is not to be found on this PATH now: install no-such-program" in found[0]["message"]


async def test_what_was_typed_is_named_with_what_to_type(home: Path) -> None:
    """A long directory was told of as a wrong --socket, which nobody had typed, and a typo made directories."""
    (home / "file").touch()
    away, long = home / "away", home / ("d" * 120)
    slips = (
        (("--socket", f"{home}/file", "status"), 7, "is: that is no socket; ", "correct --socket, or"),
        (("--socket", f"{home}", "status"), 7, "is: that is a directory; ", "correct --socket, or"),
        (("up", "--runtime-dir", f"{long}"), 2, f"the socket path {long}/", "choose a shorter directory: --runtime"),
        (("up", "--state-dir", "/proc/x"), 1, "cannot be used: /proc/x: No such", "phoenixctl up --state-dir DIR"),
        (("recover", "--take", "--runtime-dir", f"{away}"), 2, f"there is no runtime directory {away}, so there are",
         "phoenixctl recover --take --runtime-dir DIR"),
        (("phase", "import", f"{away}", "--project", "x", "--workspace", f"{home}"), 1,
         f"{away} cannot be read: No such", "phoenixctl phase import FILE --project x"),
        (("demo", "extra"), 2, "phoenixctl demo: unrecognized arguments: extra", "phoenixctl demo --help"),
    )  # fmt: skip
    for words, code, why, remedy in slips:
        ran = await asked(home, *words)

        assert (ran.code, words) == (code, words), ran.err
        said, do = ran.err.rstrip("\n").rsplit("\n", 1)
        assert why in said
        assert do.startswith(f"do: {remedy}")
    assert not away.exists()


def test_the_daemon_itself_names_what_is_wrong_on_its_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--config"], ["--log-level", "loud"], ["--bogus"], ["--state-dir", ""]):
        with pytest.raises(SystemExit) as ended:
            daemon.main(words)
        said = capfd.readouterr().err.splitlines()
        assert ended.value.code == 2
        assert words[0] in said[0]
        assert said[-1] == "  phoenixd --help"
