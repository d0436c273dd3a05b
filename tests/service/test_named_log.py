"""`log --since` tells what was said in a stretch, in whatever session it was said."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import EarlierSession, Session
from phoenixd.drivers.transcripts.log import EVERY, Looks, TranscriptLog
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.ports.journal import KeptLife
from phoenixd.service.named_log import NamedLog
from tests.core.story import Story, claude

NOW = 1.9e9
HOUR = 3600.0


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def write(place: Path, session: str, *said: tuple[float, str]) -> None:
    records: list[dict[str, Any]] = [
        {
            "type": "user", "uuid": f"{session}-{number}", "sessionId": session, "timestamp": stamp(at),
            "message": {"role": "user", "content": text},
        }
        for number, (at, text) in enumerate(said)
    ]  # fmt: skip
    path = place / f"{session}.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    os.utime(path, (said[-1][0], said[-1][0]))


def life(number: int, session: str, started: float, ended: float | None) -> KeptLife:
    return KeptLife("a", number, session_id=session, started=started, ended=ended)


class Told:
    """An agent whose newest session is "new", and what stands in the journal of its runs."""

    def __init__(self, place: Path, *lives: KeptLife) -> None:
        known = Story(claude()).agent
        self.agent = replace(known, session=Session("new", NOW - HOUR, NOW))

        def where(agent: Agent) -> Any:
            assert agent.session is not None
            return str(place / f"{agent.session.session_id}.jsonl"), claude_transcript

        async def kept(name: str) -> Sequence[KeptLife]:
            assert name == "a"
            return lives

        clock = count(0.0, EVERY + 1.0)
        reader = TranscriptLog(
            Looks(where, lambda: next(clock)), lambda name, text: text.replace("secret", "[redacted]")
        )
        self.log = NamedLog(lambda name: self.agent, lambda name, text: text, reader, kept)

    async def since(self, at: float | None, most: int = 1000) -> list[tuple[str, str]]:
        return [(line.kind, line.text) for line in await self.log.newest(["a"], most, at, NOW)]


LIVES = (
    life(4, "new", NOW - HOUR, None),
    life(3, "mid", NOW - 2 * HOUR, NOW - HOUR - 5),
    life(2, "mid", NOW - 3 * HOUR, NOW - 2 * HOUR - 5),
    life(1, "old", NOW - 9 * HOUR, NOW - 3 * HOUR - 5),
)


def written(place: Path) -> None:
    write(place, "old", (NOW - 9 * HOUR, "long ago"), (NOW - 4 * HOUR, "in the old one"))
    write(place, "mid", (NOW - 2.5 * HOUR, "before noon"), (NOW - 1.5 * HOUR, "a secret at noon"))
    write(place, "new", (NOW - HOUR / 2, "now"))


async def test_log_since_shows_all_sessions_of_the_stretch_each_behind_a_line_that_names_its_beginning(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    told = Told(tmp_path, *LIVES)
    lines = await told.log.newest(["a"], 1000, NOW - 2 * HOUR, NOW)
    assert [(line.kind, line.text) for line in lines] == [
        ("session", "session mid begins"),
        ("prompt", "a [redacted] at noon"),
        ("session", "session new begins"),
        ("prompt", "now"),
    ]
    assert [line.at for line in lines if line.kind == "session"] == [NOW - 3 * HOUR, NOW - HOUR]
    assert [text for kind, text in await told.since(NOW - 5 * HOUR) if kind == "prompt"] == [
        "in the old one", "before noon", "a [redacted] at noon", "now",
    ]  # fmt: skip


async def test_log_since_shows_a_session_that_its_run_left_by_clear(tmp_path: Path) -> None:
    """The journal has the newest session of each run, and so the one before /clear was missed."""
    written(tmp_path)
    told = Told(tmp_path, life(1, "new", NOW - 9 * HOUR, None))
    old = EarlierSession("old", 1, NOW - 9 * HOUR, NOW - 3 * HOUR)
    mid = EarlierSession("mid", 1, NOW - 3 * HOUR, NOW - HOUR)
    told.agent = replace(told.agent, earlier=(old, mid))
    assert await told.since(NOW - 2 * HOUR) == [
        ("session", "session mid begins"), ("prompt", "a [redacted] at noon"), ("session", "session new begins"),
        ("prompt", "now"),
    ]  # fmt: skip
    whole = await told.since(NOW - 10 * HOUR)
    assert [text for kind, text in whole if kind == "session"] == [
        "session old begins", "session mid begins", "session new begins"
    ]  # fmt: skip


async def test_where_one_session_alone_falls_into_the_stretch_nothing_separates_it(tmp_path: Path) -> None:
    written(tmp_path)
    told = Told(tmp_path, *LIVES)
    assert await told.since(NOW - HOUR) == [("prompt", "now")]
    assert await told.since(None) == [("prompt", "now")]
    assert await Told(tmp_path).since(NOW - 9 * HOUR) == [("prompt", "now")], "nothing is known of earlier ones"


async def test_a_session_whose_transcript_is_gone_is_left_out_and_a_follower_goes_on_in_the_newest(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    (tmp_path / "mid.jsonl").unlink()
    told = Told(tmp_path, *LIVES)
    assert [text for kind, text in await told.since(NOW - 5 * HOUR) if kind == "prompt"] == ["in the old one", "now"]
    write(tmp_path, "new", (NOW - HOUR / 2, "now"), (NOW, "and then"))
    added, _ = await told.log.added(["a"], NOW - HOUR, 1000)
    assert [line.text for line in added][-1] == "and then"


async def test_of_a_stretch_with_more_lines_than_are_wanted_no_older_session_is_read(tmp_path: Path) -> None:
    """Fifty sessions of each agent, 10,000 lines of each, were read and held, and nearly all thrown away."""
    sessions = 40
    lives = []
    for number in range(sessions):
        began = NOW - (number + 1) * HOUR
        write(tmp_path, f"s{number}", *((began + minute, f"{number} {minute}") for minute in range(10)))
        lives.append(life(sessions - number, f"s{number}", began, began + 10))
    told = Told(tmp_path, *lives)
    read: list[str] = []
    earlier = told.log.reader.earlier

    async def noted(agent: Agent, most: int, since: float) -> list[Any]:
        assert agent.session is not None
        read.append(agent.session.session_id)
        return await earlier(agent, most, since)

    told.log.reader.earlier = noted  # type: ignore[method-assign]
    lines = [text for kind, text in await told.since(NOW - 100 * HOUR, 15) if kind == "prompt"]
    assert lines == [*(f"1 {minute}" for minute in range(6, 10)), *(f"0 {minute}" for minute in range(10))]
    assert read == ["s0", "s1"]
    assert len(await told.since(NOW - 100 * HOUR)) == 11 * sessions
