"""P72: what a killed daemon had decided and not written into ops.jsonl is written by the next one, once, in order."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.memory import ops_log
from phoenixd.memory.papers import Papers
from phoenixd.ports.journal import Entry
from tests.start.places import NOW, Room, entry


def said(number: int, words: str = "", **detail: Any) -> Entry:
    """The end of a turn, `number` seconds later than the others."""
    found = entry("hook_seen", reason=f"turn {number} is over {words}".rstrip(), kind="stop", **detail)
    return replace(found, at=NOW + number, wall=NOW + number)


def told(room: Room) -> list[str]:
    """The reasons of the lines, in their order."""
    return [json.loads(line)["meta"].get("reason", "") for line in room.text("ops.jsonl").splitlines()]


def inheriting(room: Room, agent: Agent, rows: Sequence[Entry]) -> Papers:
    """The papers of the next daemon, which has found these rows in the journal."""
    room.options["agents"] = lambda: (agent,)
    papers = room.restarted()
    papers.inherit(rows)
    return papers


async def test_what_a_program_said_before_the_daemon_began_stands_in_its_log(room: Room) -> None:
    agent = room.running(room.agent())
    assert room.papers.heard_before(agent) is None
    await room.papers.publish(agent, [entry("hook_seen", kind="stop", text="The shop stands.")])

    papers = room.restarted()
    assert papers.heard_before(agent) == ("The shop stands.", NOW)
    assert papers.heard_before(replace(agent, spec=room.spec(name="b"))) is None
    later = replace(agent, session=Session("another", NOW + 1, NOW + 1))
    assert papers.heard_before(later) is None, "that was said in another session"


async def test_p72_what_a_killed_daemon_had_decided_and_not_written_down_is_written_once(room: Room) -> None:
    agent = room.running(room.agent())
    first = [entry("agent_started", reason="exec succeeded, pid 7"), entry("hook_seen", reason="it works", kind="stop")]
    await room.papers.publish(agent, first)
    lost = entry("hook_seen", reason="it works", kind="stop")
    bare = replace(entry("hook_seen", kind="tool-start"), state=None)
    papers = inheriting(room, agent, [*first, bare, lost])
    await papers.publish(agent, [entry("run_adopted", reason="adopted, pid 7")])
    await papers.publish(agent, [lost])

    found = [json.loads(line)["event"] for line in room.text("ops.jsonl").splitlines()]
    assert found == ["run_start", "stop", "stop", "run_adopted", "stop"], "one stood, and the last is another one"


async def test_p72_what_was_written_before_the_log_was_rotated_is_not_written_again(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, first = room.running(room.agent()), [entry("agent_started", reason="exec succeeded, pid 7")]
    await room.papers.publish(agent, first)
    monkeypatch.setattr(ops_log, "OPS_LIMIT", 10)
    await room.papers.publish(agent, [entry("hook_seen", reason="it works", kind="stop")])
    monkeypatch.undo()
    papers = inheriting(room, agent, first)
    await papers.publish(agent, [])

    assert "run_start" in room.text("ops.jsonl.1")
    assert "run_start" not in room.text("ops.jsonl")


async def test_p72_a_log_that_is_longer_than_its_end_is_not_written_again(room: Room) -> None:
    agent, rows = room.running(room.agent()), [said(number, "x" * 200) for number in range(400)]
    for first in range(0, len(rows), 100):
        await room.papers.publish(agent, rows[first : first + 100])
    assert len(room.text("ops.jsonl")) > 1.5 * ops_log.OPS_TAIL
    lost = said(500)

    await inheriting(room, agent, [*rows, lost]).publish(agent, [])

    assert told(room) == [row.reason for row in (*rows, lost)]


async def test_p72_what_no_daemon_wrote_is_no_news_behind_newer_lines(room: Room) -> None:
    """In a burst the oldest of too many are left out, and of a generation what was before it held its seat."""
    agent = room.running(room.agent())
    left_out, end = said(1, text="old words"), replace(entry("agent_exited", reason="it is over", code=1), wall=NOW + 2)
    await room.papers.publish(agent, [end, said(3, text="new words")])
    papers = inheriting(room, agent, [left_out, end, said(3, text="new words"), said(4)])
    await papers.publish(agent, [])

    assert told(room) == ["it is over", "turn 3 is over", "turn 4 is over"]
    ops = papers.publication.desks.desk_of(agent).shelf.ops
    assert [one.wall for one in ops.happenings] == [NOW + 2, NOW + 3, NOW + 4]
    assert ops.spoken == (NOW + 3, "new words")
    assert ops.last_end is None, "how a run ended long ago is not how the last one ended"


async def test_p72_a_journal_that_is_older_than_the_log_has_nothing_for_it(room: Room) -> None:
    agent, old = room.running(room.agent()), [said(number) for number in range(3)]
    await room.papers.publish(agent, [said(10), said(11)])

    await inheriting(room, agent, [*old, said(12)]).publish(agent, [])

    assert told(room) == ["turn 10 is over", "turn 11 is over", "turn 12 is over"]


async def test_p72_a_line_with_a_secret_that_is_known_only_now_is_not_told_twice(room: Room) -> None:
    agent = room.running(room.agent())
    rows = [said(0), said(1, "quite-a-secret-word"), said(2, "quite-a-secret-word")]
    await room.papers.publish(agent, rows[:2])
    agent = replace(agent, spec=room.spec(env=(("OWN_TOKEN", "quite-a-secret-word"),)))

    await inheriting(room, agent, rows).publish(agent, [])

    assert told(room)[1:] == ["turn 1 is over quite-a-secret-word", "turn 2 is over [redacted]"]


async def test_p84_the_alerts_of_a_last_decision_are_not_lost(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [said(1)])
    alert = replace(entry("alert_raised", kind="hung", text="it is hung", alert="x"), state=None, wall=NOW + 2)

    await inheriting(room, agent, [said(1), said(2), alert]).publish(agent, [])

    assert [json.loads(line)["event"] for line in room.text("ops.jsonl").splitlines()] == [
        "stop",
        "stop",
        "alert_raised",
    ]


async def test_f_st_3_a_full_disk_costs_neither_what_is_inherited_nor_what_is_new(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [said(1)])
    papers = inheriting(room, agent, [said(1), said(2)])

    def full(path: object, line: bytes, mode: int = 0o600, durable: bool = True) -> None:
        raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as disk:
        disk.setattr("phoenixd.drivers.files.plain.append", full)
        with pytest.raises(OSError, match="no room"):
            await papers.publish(agent, [said(3)])
    await papers.publish(agent, [said(4)])

    assert told(room) == [f"turn {number} is over" for number in range(1, 5)]


@pytest.mark.parametrize("what", ["fifo", "link", "odd lines", "torn"])
async def test_p72_whatever_an_agent_made_of_its_log_holds_nobody_up(room: Room, what: str) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [said(1), said(2)])
    log = room.state / "ops.jsonl"
    content, stranger = log.read_bytes(), room.work / "elsewhere"
    stranger.write_bytes(content)
    if what in ("fifo", "link"):
        log.unlink()
        os.mkfifo(log) if what == "fifo" else log.symlink_to(stranger)
    elif what == "torn":
        log.write_bytes(content[:-3])
    else:
        digits = b"9" * 5000
        odd = [b"[]", b"{}", b"\xff", b"[" * 5000]
        odd += [b'{"ts": %b, "event": [], "meta": {"incarnation": %b}}' % (digits, digits)]
        odd += [b'{"ts": "x", "event": "stop", "meta": {"incarnation": %b, "state": {}}}' % digits]
        log.write_bytes(content + b"\n".join(odd) + b"\n")

    await inheriting(room, agent, [said(1), said(2), said(3)]).publish(agent, [])

    assert stranger.read_bytes() == content
    found = log.read_bytes()
    assert found.count(b"turn 3 is over") == 1
    assert found.count(b"turn 2 is over") == (2 if what == "torn" else 1)
