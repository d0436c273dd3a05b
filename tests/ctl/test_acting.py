"""Many agents by one command: one question that names them, --yes for scripts, results agent by agent, and undo."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import shlex
import sys
from pathlib import Path

import pytest

from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.selection import KEYS, STATES
from phoenixd.ctl.grammar import parse
from tests.api.conftest import Live, serving
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import ROOT, Ctl, environment, run_ctl


def stopped(daemon: FakeDaemon) -> list[str]:
    return sorted(name for name, agent in daemon.state.agents.items() if isinstance(agent.state, Stopped))


async def is_heard(socket: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    writer.close()
    return True


def fleet(daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api", "shop-web"):
        daemon.declare(name)


async def test_above_one_agent_a_script_has_to_say_yes(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)

    refused = await ctl("stop", "shop-*")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "stop means 2 agents: shop-api, shop-web; nothing was done", "do: phoenixctl stop 'shop-*' --yes"
    ]  # fmt: skip
    assert stopped(daemon) == []

    done = await ctl("stop", "shop-*", "--yes")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "stop: 2 of 2 agents as asked.",
        "  shop-api is stopped, and stays so",
        "  shop-web is stopped, and stays so",
    ]
    assert stopped(daemon) == ["shop-api", "shop-web"]

    undone = await ctl("undo", "--yes")
    assert undone.code == 0, undone.err
    assert stopped(daemon) == []


async def test_undo_asks_by_the_act_who_did_it_and_when(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)
    await ctl("stop", "shop-*", "--yes")
    daemon.wall_offset += 720
    one = re.compile(
        r"undo means 2 agents: stop by [^,]+, 12m ago, act [0-9a-f]+: shop-api, shop-web; nothing was done"
    )

    assert one.fullmatch((await ctl("undo")).err.splitlines()[0])

    await ctl("mute", "docs", "--for", "1h")
    both = await ctl("undo", "shop-*", "docs")
    means = both.err.splitlines()[0].removeprefix("undo means 3 agents: ").split("; ")
    assert [re.sub(r"act [0-9a-f]+", "act", re.sub("by [^,]+", "by P", each)) for each in means] == [
        "stop by P, 12m ago, act: shop-api, shop-web", "mute by P, 0s ago, act: docs", "nothing was done",
    ]  # fmt: skip


async def test_a_text_goes_to_many_also_from_standard_input(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)

    sent = await ctl("send", "shop-* docs", "-", "--yes", stdin=b"What is left?")

    assert sent.code == 0, sent.err
    assert sent.out.splitlines()[0] == "send: 3 of 3 agents as asked."
    assert "delivered to docs (prompt-submit)" in sent.out


async def test_one_agent_that_a_selector_means_is_acted_on_at_once(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)

    assert (await ctl("stop", "shop-*", "!shop-web")).code == 0
    assert stopped(daemon) == ["shop-api"]
    assert (await ctl("stop", "docs", "--dry-run")).out.splitlines()[
        0
    ] == "stop would act on 1 agent; nothing was done."
    assert stopped(daemon) == ["shop-api"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("stop", "x-*", "--yes"), 4, "x-*: nothing matches; 3 agents are there\ndo: phoenixctl status --all"),
        (("stop", "docs", "shop-ap"), 4, "there is no agent shop-ap; did you mean shop-api?\ndo: phoenixctl status "),
        (("stop", "state:idle"), 2, "a selector has no key state:; the keys are: s:, h:, k:, p:, l:, needs:\ndo: phoe"),
        (("stop", "docs", "--now"), 2, "phoenixctl stop: there is no option --now\ndo: phoenixctl stop --help"),
        (("restart", "docs", "--frsh"), 2, "there is no option --frsh; did you mean --fresh?\ndo: phoenixctl rest"),
        (("statsu",), 2, "there is no verb 'statsu'; did you mean status?\ndo: phoenixctl status"),
        (("phase", "lst"), 2, "there is no verb 'lst'; did you mean list?\ndo: phoenixctl phase list"),
        (("status", "shop-ap"), 4, "there is no agent shop-ap; did you mean shop-api?\ndo: phoenixctl status shop-api"),
        (("run", "new", "claude"), 2, "the command to run goes last, after --\ndo: phoenixctl run new -- claude"),
        (("help", "statsu"), 2, "there is no verb 'statsu'; did you mean status?\ndo: phoenixctl help status"),
        (
            ("undo",), 4,
            "nothing is left to take back of what was stopped, removed, begun afresh or muted within 7 days\n"
            "do: phoenixctl events",
        ),
        (("log", "-g", "("), 2, "'(' is no regular expression: "),
        (("log", "x-*"), 4, "x-*: nothing matches; 3 agents are there"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)  # fmt: skip
async def test_a_mistake_is_answered_by_what_to_type(
    ctl: Ctl, daemon: FakeDaemon, words: tuple[str, ...], code: int, told: str
) -> None:
    fleet(daemon)

    ran = await ctl(*words)

    assert (ran.code, ran.out) == (code, ""), ran.err
    assert told in ran.err
    assert stopped(daemon) == []


@pytest.mark.parametrize(
    "typed",
    [
        "stop 'shop-*' --timeout 3m",
        "restart 'shop-*' docs --wait --fresh",
        "start s:running '!docs' --timeout 2m",
        "remove 'shop-*' --json",
        "send 'shop-*' 'What is left?' --timeout 5m --key 'my key'",
        "send 'shop-*' -",
        "send --key k1 -- 'shop-*' '-v is not it'",
    ],
)
async def test_what_is_told_to_type_has_all_that_was_typed(ctl: Ctl, daemon: FakeDaemon, typed: str) -> None:
    fleet(daemon)
    words = shlex.split(typed)

    refused = await ctl(*words, stdin=b"hello")

    assert refused.code == 2, refused.err
    told = shlex.split(refused.err.partition("do: phoenixctl ")[2])
    meant, known = parse(told), parse([*words[:1], "--yes", *words[1:]])
    assert (meant.given, meant.as_json) == (known.given, known.as_json)
    assert (await ctl(*told, stdin=b"hello")).code == 0


async def test_a_text_that_cannot_be_shown_in_a_line_is_told_as_text(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)

    refused = await ctl("send", "shop-*", "one\ntwo \x1b[2J", "--key", "k")

    assert refused.err.splitlines()[1] == "do: phoenixctl send 'shop-*' TEXT --key k --yes"


async def test_a_key_of_yours_goes_along_to_many(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)

    for _ in range(2):
        sent = await ctl("send", "shop-*", "hello", "--key", "k1", "--yes")
        assert sent.code == 0, sent.err

    texts = [one for one in daemon.orders if isinstance(one, SendRequested)]
    assert [(one.agent, one.message_id) for one in texts] == [("shop-api", "k1.shop-api"), ("shop-web", "k1.shop-web")]


async def test_many_are_waited_for_where_one_would_be(ctl: Ctl, daemon: FakeDaemon) -> None:
    for name in ("a", "b"):
        daemon.declare(name, start=False)
    daemon.performs = False

    started = await ctl("start", "a", "b", "--yes", "--timeout", "1h")

    assert started.code == 0, started.err
    assert "a is starting. See: phoenixctl status a" in started.out


async def test_a_text_for_many_outlives_the_daemon_that_took_it(live: Live, daemon: FakeDaemon, home: Path) -> None:
    """The next one is asked by the same key, for those whom it was for, and types nothing twice."""
    fleet(daemon)
    for name in ("docs", "shop-api", "shop-web"):
        daemon.report(name)
    daemon.performs = False
    words = ["send", "s:idle", "hello", "--yes", "--timeout", "2m"]
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    sending = asyncio.create_task(run_ctl(*words, env=env))
    async with asyncio.timeout(90):
        while len(texts := [one for one in daemon.orders if isinstance(one, SendRequested)]) < 3:
            await asyncio.sleep(0.02)
        live.server.end()
        while live.server.server_state.tasks or await is_heard(live.socket):
            await asyncio.sleep(0.02)
    for one in texts:
        daemon.happen(daemon.delivered(one.agent, one.message_id))
        daemon.hook(one.agent, "prompt-submit", text="hello")
    async with serving(daemon, live.socket.parent):
        sent = await sending

    assert sent.code == 0, sent.err
    assert sent.out.splitlines()[0] == "send: 3 of 3 agents as asked."
    assert "delivered to docs before" in sent.out
    assert len([one for one in daemon.orders if isinstance(one, SendRequested)]) == 3


async def test_a_text_for_many_whose_daemon_stays_away_says_how_to_ask_for_it(alone: Ctl) -> None:
    gone = await alone("send", "a", "b c", "--key", "k")
    assert gone.code == 7
    assert "what became of" not in gone.err, "nothing was sent"


@pytest.mark.parametrize(("answer", "code", "down"), [("y", 0, 2), ("n", 1, 0), ("", 1, 0)])
async def test_a_terminal_is_asked_once_and_shown_whom_it_means(
    live: Live, daemon: FakeDaemon, home: Path, answer: str, code: int, down: int
) -> None:
    fleet(daemon)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", "stop", "shop-*",
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment(home, PHOENIX_SOCKET=os.fspath(live.socket)),
    )  # fmt: skip
    os.close(theirs)
    shown = ""
    async with asyncio.timeout(90):
        while "[y/N] " not in shown:
            shown += (await asyncio.to_thread(os.read, ours, 4096)).decode()
        os.write(ours, answer.encode() + b"\n")
        assert await process.wait() == code
    os.close(ours)
    assert "stop: 2 agents: shop-api, shop-web" in shown
    assert len(stopped(daemon)) == down


async def test_help_tells_of_a_verb_and_of_selectors(ctl: Ctl) -> None:
    assert (await ctl("help", "restart")).out == (await ctl("restart", "--help")).out
    assert (await ctl("help")).out == (await ctl("--help")).out
    told = (await ctl("help", "select")).out
    assert all(f"{key}:" in told for key in KEYS)
    assert all(word in told for word in STATES)
    assert max(map(len, told.splitlines())) <= 80


async def test_prompt_is_short_whatever_happens(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.wait("docs")

    assert (await ctl("prompt")).out == "!1\n"
    gone = await ctl("prompt", "--socket", "/nowhere/api.sock")
    assert (gone.code, gone.out, gone.err) == (7, "?\n", "")


def test_every_verb_for_many_takes_several_words_in_any_place() -> None:
    for verb in ("start", "stop", "restart", "remove"):
        found = parse([verb, "a", "--dry-run", "s:idle", "!b", "--yes"])
        assert (found.given["name"], found.given["which"]) == ("a", ["s:idle", "!b"])


async def test_the_page_on_many_at_once_does_what_it_says(ctl: Ctl, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.declare("old", start=False)
    daemon.declare("web", harness="claude", project="web")
    daemon.hook("web", "session-start", source="startup")
    daemon.declare("goes-round", harness="codex", kind="loop")
    page = (ROOT / "docs/how-to/many-at-once.md").read_text(encoding="utf-8")
    told = [shlex.split(line, comments=True)[1:] for line in page.splitlines() if line.startswith("phoenixctl ")]
    lasting = {"-f", "--watch"}
    asks = {"restart", "start", "stop", "undo"}

    assert len(told) > 9
    for words in told:
        if lasting.isdisjoint(words):
            ran = await ctl(*words, *(["--yes"] if words[0] in asks else []))
            assert ran.code == 0 or (words == ["undo", "docs"] and ran.code == 4), (words, ran.err)
        if words[0] == "send":
            await ctl("stop", "docs", "shop-api", "--yes")
    assert stopped(daemon) == []
