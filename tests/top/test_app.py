"""The shell around the list, by textual's own pilot, against a living server with a daemon in memory behind it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from phoenixd.api.chronicle import SITTING
from phoenixd.core.events.orders import AnswerRequested, StopRequested
from phoenixd.documents.log_lines import LogLine
from phoenixd.top.app import Top
from phoenixd.top.spans import plain
from tests.api.conftest import Live, runtime, serving
from tests.api.daemon import FakeDaemon
from tests.top.fleets import QUESTION

__all__ = ["runtime"]
PATIENCE = 60.0


@pytest.fixture
async def live(runtime: Path) -> AsyncIterator[Live]:
    daemon = FakeDaemon()
    for name in ("asks", "docs", "works"):
        daemon.declare(name)
    daemon.hook("works", "prompt-submit", text="go")
    async with serving(daemon, runtime, beat=0.1) as running:
        yield running


def shown(app: Top) -> str:
    """What stands on the screen, read off the widget's own lines."""
    return "\n".join(plain(one) for one in app._screenful.lines)


async def until(pilot: Pilot[int], met: Callable[[str], bool], what: str) -> None:
    app = pilot.app
    assert isinstance(app, Top)
    async with asyncio.timeout(PATIENCE):
        while not met(shown(app)):
            await pilot.pause(0.01)


async def test_the_list_lives_and_a_permission_is_answered_from_it(live: Live) -> None:
    daemon = live.daemon
    app = Top([bytes(live.socket)])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda text: "works" in text and "0 NEED YOU" in text, "the list")
        daemon.wait("asks", text="npm test", held=True)
        await until(pilot, lambda text: "1 NEEDS YOU" in text and "npm test" in text, "the question")
        await pilot.press("n")
        await until(pilot, lambda text: "a allow once" in text, "half a second of rest")
        await pilot.press("a")
        await until(pilot, lambda text: "asks was allowed, this once" in text and "0 NEED YOU" in text, "the answer")
        (answered,) = [one for one in daemon.orders if isinstance(one, AnswerRequested)]
        assert (answered.words, answered.agent) == (("allow",), "asks")
        await pilot.press("ctrl+c")
    assert app.return_value == 0


async def test_a_question_words_and_an_answer_of_somebody_else(live: Live) -> None:
    daemon = live.daemon
    app = Top([bytes(live.socket)])
    async with app.run_test(size=(80, 24)) as pilot:
        daemon.wait("docs", tool="AskUserQuestion", text=QUESTION, held=True)
        await until(pilot, lambda text: "Which database?" in text, "the question")
        await pilot.press("n")
        await until(pilot, lambda text: "1-9 option" in text, "half a second of rest")
        await pilot.press("a", *"a file please", "enter")
        await until(pilot, lambda text: "docs was told: a file please" in text, "the answer")
        daemon.wait("asks", text="rm x", held=True)
        await until(pilot, lambda text: "rm x" in text, "the permission")
        await pilot.press("n")
        await until(pilot, lambda text: "d deny" in text, "half a second of rest")
        await pilot.press("d", *"no")
        (item,) = daemon.state.agents["asks"].items
        daemon.happen(AnswerRequested("asks", item.id, words=("deny", "mine"), by="uid 7", text_hash=item.text_hash))
        await until(pilot, lambda text: "0 NEED YOU" in text, "the other's answer")
        await pilot.press("enter")
        await until(pilot, lambda text: "was answered meanwhile" in text, "the refusal")


async def test_many_are_stopped_with_one_question_and_taken_back(live: Live) -> None:
    app = Top([bytes(live.socket)], "docs works")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda text: "works" in text, "the list")
        assert "asks" not in shown(app)
        await pilot.press("tab")
        assert "Tab opens it" in shown(app)
        await pilot.press("tab")
        await pilot.press("V", "s")
        assert "stop 2 agents: docs, works? y/n" in shown(app)
        await pilot.press("y")
        await until(pilot, lambda text: "stop: 2 of 2 done" in text and "RESTING (2)" in text, "the stop")
        await pilot.press("u")
        await until(pilot, lambda text: "y/n" in text, "what undo means")
        assert "undo (stop by operator" in shown(app)
        assert ": 2 agents: docs, works? y/n" in shown(app)
        live.daemon.happen(StopRequested("asks"))
        await pilot.press("y")
        await until(pilot, lambda text: "undo: 2 of 2 done" in text, "the undo")
        assert live.daemon.state.agents["asks"].desired.value == "stopped", "what was done since stays"


async def test_a_mute_is_taken_back(live: Live) -> None:
    app = Top([bytes(live.socket)], "docs works")
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda text: "works" in text, "the list")
        await pilot.press("V", "m", *"2h", "enter")
        await until(pilot, lambda text: "mute: 2 of 2 done" in text, "the mutes")
        assert set(live.daemon.state.mutes) == {"docs", "works"}
        await pilot.press("u")
        await until(pilot, lambda text: "undo (mute" in text and "docs, works? y/n" in text, "what undo means")
        await pilot.press("y")
        await until(pilot, lambda text: "undo: 2 of 2 done" in text, "the undo")
    assert not live.daemon.state.mutes


async def test_pages_about_an_agent(live: Live) -> None:
    live.daemon.panes["asks"] = "what the terminal [bold]shows[/bold]\n"
    live.daemon.spoken = [LogLine("asks", "said", "I wrote [link=x]it[/link] \x1b[2J.", 1.0)]
    app = Top([bytes(live.socket)])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda text: "works" in text, "the list")
        await pilot.press("/", *"asks", "enter", "j")
        for key, words in (
            ("p", "what the terminal [bold]shows[/bold]"),
            ("l", "I wrote [link=x]it[/link]"),
            ("e", "started by autostart"),
            ("t", "inc 1"),
        ):
            await pilot.press(key)
            await until(pilot, lambda text, words=words: words in text, words)  # type: ignore[misc]
            assert "\x1b" not in shown(app)
            await pilot.press("escape")
        await pilot.press("?")
        assert "not here" in shown(app) or "1-" in shown(app)


async def test_a_daemon_that_goes_is_told_within_seconds_and_heard_again_without_a_reload(
    runtime: Path,
) -> None:
    daemon = FakeDaemon()
    daemon.declare("docs")
    app = Top([bytes(runtime / "api.sock")])
    async with app.run_test(size=(80, 24)) as pilot:
        async with serving(daemon, runtime, beat=0.1):
            await until(pilot, lambda text: "docs" in text, "the list")
        await until(pilot, lambda text: "NOT LIVE" in text and "phoenixd does not answer" in text, "silence is told")
        daemon.happen(StopRequested("docs"))
        daemon.attendants.clear()
        async with serving(daemon, runtime, beat=0.1):
            await until(pilot, lambda text: "NOT LIVE" not in text and "stopped" in text, "it lives again")


@pytest.mark.parametrize("size", [(20, 5), (40, 20), (200, 60)])
async def test_it_follows_the_size_of_the_terminal(live: Live, size: tuple[int, int]) -> None:
    app = Top([bytes(live.socket)])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda text: "works" in text, "the list")
        await pilot.resize_terminal(*size)
        await until(
            pilot, lambda text: len(text.splitlines()) <= size[1] and len(app._screenful.lines) == size[1], "it"
        )
        await pilot.press("G", "g", "j")
        assert "0 NEED YOU" in shown(app).splitlines()[0]


async def test_an_agent_is_muted_what_it_asks_is_acknowledged_and_what_was_closed_is_told(live: Live) -> None:
    daemon = live.daemon
    app = Top([bytes(live.socket)])
    async with app.run_test(size=(200, 40)) as pilot:
        await until(pilot, lambda text: "works" in text and "0 NEED YOU" in text, "the list")
        daemon.wait("asks", text="npm test", held=True)
        await until(pilot, lambda text: "1 NEEDS YOU" in text, "the question")
        await pilot.press("n", "A")
        await until(pilot, lambda text: "is acknowledged: it stands" in text, "the answer")
        await until(pilot, lambda text: "acknowledged: Bash npm test" in text, "the row")
        await pilot.press("m", *"2h", "enter")
        await until(pilot, lambda text: "asks is muted for 2h" in text or "is muted for" in text, "the mute")
        await until(pilot, lambda text: "muted until" in text, "the row")
        await pilot.press("U")
        await until(pilot, lambda text: "is not muted any more" in text, "its end")
        await until(pilot, lambda text: "muted until" not in text, "the row")
        (item,) = daemon.state.agents["asks"].items
        await pilot.press("c")
        await until(pilot, lambda text: "what waited, and how it ended" in text, "the page")
        await pilot.press("escape")
        daemon.happen(AnswerRequested("asks", item.id, words=("deny", "no"), by="uid 7", text_hash=item.text_hash))
        await until(pilot, lambda text: "0 NEED YOU" in text, "the answer of somebody else")
        await pilot.press("c")
        await until(pilot, lambda text: f"#{item.id}" in text and "uid 7" in text, "who ended it")


async def test_leaving_by_q_is_a_look_at_which_since_last_begins_once_its_sitting_is_over(runtime: Path) -> None:
    daemon = FakeDaemon(stands_at=1_764_000_000.0)
    daemon.declare("docs")
    async with serving(daemon, runtime, beat=0.1) as live:
        chronicle, uid = live.api.chronicle, os.getuid()
        await chronicle.saw(uid, daemon.now().wall)
        daemon.pass_time(SITTING / 2)
        before, left = await chronicle.last_look(uid, daemon.now().wall), daemon.now().wall
        app = Top([bytes(live.socket)])
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda text: "docs" in text, "the list")
            await pilot.press("q")
            async with asyncio.timeout(PATIENCE):
                while app.return_value is None:
                    await pilot.pause(0.01)
        assert app.return_value == 0
        assert await chronicle.last_look(uid, left) == before, "what top has counted can be looked back at"
        assert await chronicle.last_look(uid, left + SITTING) == left


async def test_what_happened_is_counted_from_looked_on_also_where_another_terminal_said_it(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phoenixd.top.app.SINCE_EVERY", 0.0)
    daemon = FakeDaemon()
    daemon.declare("docs")
    async with serving(daemon, runtime, beat=0.1) as live:
        daemon.die("docs")
        app = Top([bytes(live.socket)])
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda text: "1 death:" in text, "what happened")
            # A look of another terminal is not this one's.
            assert (await live.ask("GET", "/v1/since?look=1")).exit == 0
            daemon.happen(StopRequested("docs"))
            await until(pilot, lambda text: "1 stopped or removed" in text, "the newest of what happened")
            assert (await live.ask("POST", "/v1/looked")).exit == 0
            await until(pilot, lambda text: "no deaths" in text, "a count that begins anew")


async def test_a_log_without_a_word_names_its_agent_in_what_to_type(live: Live) -> None:
    app = Top([bytes(live.socket)], "docs")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda text: "docs" in text, "the list")
        await pilot.press("l")
        await until(pilot, lambda text: "Nothing was said" in text, "the log")
        assert "phoenixctl screen docs" in shown(app)
