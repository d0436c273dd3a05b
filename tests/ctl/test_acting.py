"""Many agents by one command: one question that names them, --yes for scripts, results agent by agent, and undo."""

from __future__ import annotations

import asyncio
import os
import pty
import shlex
import sys
from pathlib import Path

import pytest

from phoenixd.core.agent.state import Stopped
from phoenixd.core.selection import KEYS, STATES
from phoenixd.ctl.grammar import parse
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import ROOT, Ctl, environment


def stopped(daemon: FakeDaemon) -> list[str]:
    return sorted(name for name, agent in daemon.state.agents.items() if isinstance(agent.state, Stopped))


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
        (("statsu",), 2, "there is no verb 'statsu'; did you mean status?\ndo: phoenixctl --help"),
        (("phase", "lst"), 2, "there is no verb 'lst'; did you mean list?\ndo: phoenixctl phase --help"),
        (("status", "shop-ap"), 4, "there is no agent shop-ap; did you mean shop-api?\ndo: phoenixctl status shop-api"),
        (("run", "new", "claude"), 2, "the command to run goes last, after --\ndo: phoenixctl run new -- claude"),
        (("help", "statsu"), 2, "there is no verb 'statsu'; did you mean status?\ndo: phoenixctl help"),
        (("undo",), 4, "nothing was stopped, removed, begun afresh or muted within 7 days\ndo: phoenixctl events"),
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
