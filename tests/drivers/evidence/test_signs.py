"""Signs of life by files: any hand's heartbeat counts, an old one tells its age, and nothing stops the watch."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run, Session
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.drivers.evidence import signs as evidence
from phoenixd.drivers.evidence.looks import Followed
from phoenixd.drivers.evidence.signs import EvidenceFiles, known_transcript
from phoenixd.drivers.files.changes import DirectoryChanges
from tests.agents import an_agent
from tests.waiting import eventually

RUN_ID = "run-now"


def running(name: str = "a", incarnation: int = 1, began: float | None = None, **spec: Any) -> Agent:
    began = time.time() - 10 if began is None else began
    run = Run(incarnation, f"{RUN_ID}-{incarnation}", Mode.FRESH, "s", PromptKind.GOAL, 0.0, began)
    agent = an_agent(name, state=Running(run, Activity(True, 0.0, 0.0)), session=Session("s", began, began))
    liveness = replace(agent.spec.liveness, check_interval=spec.pop("check_interval", 60.0))
    return replace(agent, spec=replace(agent.spec, name=name, liveness=liveness, **spec))


class Watch:
    """A living EvidenceFiles and what it reported."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.seen: list[EvidenceSeen] = []
        self.changes = DirectoryChanges()
        self.files = EvidenceFiles(state, self.seen.append, self.changes)

    def home(self, name: str = "a") -> Path:
        directory = self.state / "agents" / name
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def beat(self, path: Path | None = None, **fields: Any) -> None:
        path = path or self.home() / "heartbeat.json"
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(fields))
        os.rename(temporary, path)

    async def follow(self, agent: Agent) -> None:
        """Follow, and wait until the first look is over: what comes after it is news."""
        self.files.follow(agent)
        followed = self.files._followed[agent.name]
        await eventually(lambda: followed.looked, what="the first look")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "STEP_MS", 20)
    monkeypatch.setattr(evidence, "DEBOUNCE_MS", 100)
    monkeypatch.setattr(evidence, "BLIND_INTERVAL", 0.05)
    monkeypatch.setattr(evidence, "GATHER", 0.02)


@asynccontextmanager
async def watching(state: Path) -> AsyncIterator[Watch]:
    watch = Watch(state)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.files.run)
        yield watch
        tasks.cancel_scope.cancel()


def ago(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() - seconds, UTC).isoformat()


async def test_g3_g20_all_files_are_looked_at_every_check_interval_and_the_debug_log_tells_when(tmp_path: Path) -> None:
    with capture_logs() as told:
        async with watching(tmp_path) as watch:
            watch.home()
            await watch.follow(running(check_interval=0.3))
            began, before = time.monotonic(), len(told)
            await eventually(lambda: len(told) >= before + 3, what="three looks")
            took = time.monotonic() - began

    assert {entry["event"] for entry in told} == {"signs_of_life_looked_for"}
    assert took >= 0.6, "that is no interval of 0.3 s"


async def test_g53_two_agents_do_not_refresh_each_other(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        for name in ("a", "b"):
            watch.home(name)
            await watch.follow(running(name))
        watch.beat(watch.home("b") / "heartbeat.json", timestamp=ago(0))
        await eventually(lambda: watch.seen, what="the beat is seen")

    assert {event.agent for event in watch.seen} == {"b"}


async def test_a_write_by_any_hand_is_evidence(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())

        watch.beat(timestamp=ago(0))
        await eventually(lambda: watch.seen)

    event = watch.seen[0]
    assert (event.agent, event.incarnation, event.source) == ("a", 1, "heartbeat")
    assert event.age is not None
    assert event.age < 20


async def test_g30_an_explicitly_old_timestamp_tells_its_age(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())

        watch.beat(timestamp=ago(1200))
        await eventually(lambda: watch.seen)

    assert watch.seen[0].age is not None
    assert 1199 < watch.seen[0].age < 1230


@pytest.mark.parametrize("content", ["{", "", '{"timestamp": "noon"}'])
async def test_f_hb_2_what_claims_no_time_counts_from_its_writing(tmp_path: Path, content: str) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())

        (watch.home() / "heartbeat.json").write_text(content)
        await eventually(lambda: watch.seen)

    assert watch.seen[-1].age is None


async def test_f_hb_2_g51_one_that_cannot_be_read_is_flagged_once_until_a_good_one_comes(tmp_path: Path) -> None:
    with capture_logs() as told:
        async with watching(tmp_path) as watch:
            watch.home()
            await watch.follow(running())
            place = watch.home() / "heartbeat.json"
            for number, content in enumerate(("{", "{{", json.dumps({"timestamp": ago(0)}), "{"), start=1):
                new = place.with_suffix(".new")
                new.write_text(content)
                os.rename(new, place)
                await eventually(lambda number=number: len(watch.seen) == number, what="it is seen")

    odd = "heartbeat that cannot be read"
    assert [event.source for event in watch.seen] == [odd, odd, "heartbeat", odd], "each is a sign of life"
    flagged = [(entry["agent"], entry["file"]) for entry in told if entry["event"] == "heartbeat_odd"]
    assert flagged == [("a", str(place))] * 2


async def test_f_hb_3_a_time_in_the_future_is_told_as_such(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())

        watch.beat(timestamp=ago(-8 * 3600))
        await eventually(lambda: watch.seen)

    assert watch.seen[-1].age is not None
    assert -8 * 3600 - 30 < watch.seen[-1].age < -8 * 3600 + 30


async def test_only_a_write_after_the_run_began_counts(tmp_path: Path) -> None:
    """A file of the run before is dated ahead; another one's rights change while its run lives."""
    async with watching(tmp_path) as watch:
        watch.beat(timestamp=ago(3000))
        os.utime(watch.home() / "heartbeat.json", (time.time() + 3000, time.time() + 3000))
        place = tmp_path / "beat.json"
        watch.beat(place, timestamp=ago(3000))
        await eventually(lambda: time.time() > place.stat().st_ctime + 0.05)
        await watch.follow(running(began=time.time(), heartbeat_file=str(place), check_interval=0.1))
        place.chmod(0o600)
        followed = watch.files._followed["a"]
        changed = place.stat().st_ctime_ns
        await eventually(lambda: followed.seen[place][3] == changed, what="the change is looked at")
        assert watch.seen == []

        watch.beat(place, timestamp=ago(1))
        await eventually(lambda: watch.seen)

    assert len(watch.seen) == 1


@pytest.mark.parametrize("content", ["{", '{"timestamp": "noon"}'])
async def test_g51_a_torn_heartbeat_that_was_dated_back_is_as_old_as_its_file(tmp_path: Path, content: str) -> None:
    async with watching(tmp_path) as watch:
        path = watch.home() / "heartbeat.json"
        await watch.follow(running())

        new = path.with_suffix(".new")
        new.write_text(content)
        os.utime(new, (time.time() - 1200, time.time() - 1200))
        os.rename(new, path)
        await eventually(lambda: watch.seen)

    assert watch.seen[-1].age is not None
    assert 1199 < watch.seen[-1].age < 1230


@pytest.mark.parametrize("jump", [-365 * 86400.0, 8 * 3600.0, 365 * 86400.0])
async def test_f_hb_4_what_ages_while_nobody_looks_is_not_old(tmp_path: Path, jump: float) -> None:
    """The host slept, or its clock was set, between the writing of a heartbeat and the look at it."""
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())
        watch.files._wall = lambda: time.time() + jump

        watch.beat(timestamp=ago(5))
        await eventually(lambda: watch.seen)

    assert watch.seen[0].age is None or watch.seen[0].age < 60


async def test_the_runs_own_beats_and_those_of_an_earlier_run_are_not_reported(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running(incarnation=2))

        for incarnation in (2, 1):
            watch.beat(timestamp=ago(900), run_id=f"{RUN_ID}-{incarnation}")
        watch.beat(timestamp=ago(5))
        await eventually(lambda: watch.seen)

    assert [event.age is not None and event.age < 60 for event in watch.seen] == [True]


async def test_what_an_earlier_run_left_is_no_claim_about_this_one(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.beat(timestamp=ago(3000))
        os.utime(watch.home() / "heartbeat.json", (time.time() - 3000, time.time() - 3000))
        await watch.follow(running())
        watch.beat(timestamp=ago(1))
        await eventually(lambda: watch.seen)

    assert len(watch.seen) == 1
    assert watch.seen[0].age is not None
    assert watch.seen[0].age < 60


async def test_a_beat_from_the_time_without_a_daemon_has_not_aged(tmp_path: Path) -> None:
    """After an adoption: the daemon's own down time must not be held against the agent."""
    async with watching(tmp_path) as watch:
        watch.beat(timestamp=ago(1200))
        await watch.follow(running(began=time.time() - 5000))
        await eventually(lambda: watch.seen)

    assert watch.seen[0].age is None


async def test_a_configured_heartbeat_file_counts_also_where_its_directory_comes_later(tmp_path: Path) -> None:
    place = tmp_path / "later" / "beat.json"
    async with watching(tmp_path / "state") as watch:
        watch.home()
        await watch.follow(running(heartbeat_file=str(place), check_interval=0.2))
        place.parent.mkdir()

        watch.beat(place, timestamp=ago(0))
        await eventually(lambda: watch.seen)
        watch.seen.clear()
        watch.beat(place, timestamp=ago(0))
        await eventually(lambda: watch.seen)


async def test_a_file_that_is_replaced_by_rename_is_seen_every_time(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        await watch.follow(running())
        for number in range(5):
            watch.beat(timestamp=ago(number))
            await eventually(lambda expected=number + 1: len(watch.seen) >= expected)


@pytest.mark.parametrize("kind", ["symlink", "fifo", "giant", "directory"])
async def test_what_is_no_plain_file_is_passed_over_and_stops_nothing(tmp_path: Path, kind: str) -> None:
    async with watching(tmp_path) as watch:
        path = watch.home() / "heartbeat.json"
        await watch.follow(running())
        match kind:
            case "symlink":
                path.symlink_to("/dev/zero")
            case "fifo":
                os.mkfifo(path)
            case "directory":
                path.mkdir()
            case _:
                with path.open("wb") as file:
                    file.truncate(1 << 40)
        await watch.follow(running("b"))
        watch.home("b")
        watch.files.follow(running("b"))
        await eventually(lambda: _beats_until_seen(watch))

    assert {event.agent for event in watch.seen if event.age is not None} == {"b"}


def _beats_until_seen(watch: Watch) -> bool:
    watch.beat(watch.home("b") / "heartbeat.json", timestamp=ago(0))
    return any(event.agent == "b" for event in watch.seen)


async def test_growth_of_the_transcript_is_evidence_and_its_first_sight_is_not(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "s-1.jsonl"
    log.parent.mkdir()
    log.write_text("old\n")
    async with watching(tmp_path / "state") as watch:
        watch.home()
        await watch.follow(running(transcript=f"{tmp_path}/logs/{{session_id}}-*.jsonl", check_interval=0.1))
        assert watch.seen == []

        with log.open("a") as file:
            file.write("new\n")
        await eventually(lambda: watch.seen)
        assert watch.seen == [EvidenceSeen("a", 1, "transcript")]
        (tmp_path / "logs" / "s-2.jsonl").write_text("another file\n")
        await eventually(lambda: len(watch.seen) == 2)


async def test_a_run_that_is_forgotten_reports_no_more(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        for name in ("a", "b"):
            watch.home(name)
            await watch.follow(running(name))

        watch.files.forget("a")
        watch.beat(watch.home("a") / "heartbeat.json", timestamp=ago(0))
        await eventually(lambda: _beats_until_seen(watch))
        watch.files.follow(replace(running("b"), state=an_agent().state))
        assert watch.files._followed == {}

    assert {event.agent for event in watch.seen} == {"b"}


async def test_a_run_that_is_forgotten_while_its_files_are_looked_at_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        examine = watch.files._examine

        def forgotten_meanwhile(*given: Any) -> list[EvidenceSeen]:
            anyio.from_thread.run_sync(watch.files.forget, "a")
            return examine(*given)

        monkeypatch.setattr(watch.files, "_examine", forgotten_meanwhile)
        watch.files.follow(running())
        await eventually(lambda: not watch.files._followed, what="it was forgotten")
        monkeypatch.setattr(watch.files, "_examine", examine)

        await watch.follow(running("a", 2))
        watch.beat(timestamp=ago(0))
        await eventually(lambda: watch.seen)


async def test_files_that_do_not_answer_keep_no_other_agent_from_being_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs: an agent that only writes a heartbeat would be ended as hung, wherever it writes it."""
    monkeypatch.setattr(evidence, "PATIENCE", 0.05)
    answers, examine = threading.Event(), Followed.examine

    def examined(followed: Followed, *given: Any) -> list[EvidenceSeen]:
        if followed.agent == "a":
            assert answers.wait(100)
        return examine(followed, *given)

    monkeypatch.setattr(Followed, "examine", examined)
    with capture_logs() as told:
        async with watching(tmp_path) as watch:
            for name in ("a", "b", "c"):
                watch.home(name)
                watch.files.follow(running(name, check_interval=0.1))
            await eventually(lambda: watch.files._followed["c"].looked, what="the first look at c")
            watch.beat(watch.home("b") / "heartbeat.json", timestamp=ago(0))
            watch.beat(watch.home("c") / "heartbeat.json", timestamp=ago(0))
            await eventually(lambda: {event.agent for event in watch.seen} == {"b", "c"}, what="both beats are seen")

            answers.set()
            await eventually(lambda: watch.files._followed["a"].looked, what="the first look at a")
            watch.beat(timestamp=ago(0))
            await eventually(lambda: "a" in {event.agent for event in watch.seen}, what="the beat is seen")

    assert [entry["agent"] for entry in told if entry["event"] == "files_do_not_answer"] == ["a"]


async def test_where_a_transcript_is_is_not_looked_for_in_the_loop(tmp_path: Path) -> None:
    """It is named after a working directory, whose disk may hang."""
    loop, asked = threading.get_ident(), list[int]()

    def transcript_of(agent: Agent) -> str | None:
        asked.append(threading.get_ident())
        return None

    async with watching(tmp_path) as watch:
        watch.home()
        watch.files._transcript_of = transcript_of
        await watch.follow(running())

    assert asked
    assert loop not in asked


async def test_a_new_session_of_the_same_run_keeps_what_was_seen(tmp_path: Path) -> None:
    async with watching(tmp_path) as watch:
        watch.home()
        agent = running()
        await watch.follow(agent)
        watch.beat(timestamp=ago(1200))
        await eventually(lambda: watch.seen)

        await watch.follow(agent)
        watch.beat(timestamp=ago(0))
        await eventually(lambda: len(watch.seen) == 2)

    assert [event.age is not None and event.age > 600 for event in watch.seen] == [True, False]


async def test_f_hb_10_without_a_watch_the_files_are_looked_at_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_watch(*_: object, **__: object) -> AsyncIterator[set[tuple[int, str]]]:
        raise OSError("inotify limit reached")
        yield set()

    monkeypatch.setattr(evidence, "awatch", no_watch)
    with capture_logs() as told:
        async with watching(tmp_path) as watch:
            monkeypatch.setattr(watch.changes, "watch", lambda directory: False)
            watch.home()
            place = tmp_path / "beat.json"
            await watch.follow(running(heartbeat_file=str(place)))
            watch.beat(timestamp=ago(0))
            await eventually(lambda: watch.seen)
            watch.seen.clear()
            watch.beat(place, timestamp=ago(0))
            await eventually(lambda: watch.seen)

    assert [entry["event"] for entry in told if entry["log_level"] == "warning"] == ["directories_not_watched"]


async def test_a_new_run_of_one_agent_has_nobody_elses_files_looked_at_nor_a_watch_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each death costs as much as there are agents."""
    looked, watches = list[tuple[str, int]](), list[tuple[Path, ...]]()
    examine, real = Followed.examine, evidence.awatch

    def counted(one: Followed, *given: Any) -> list[EvidenceSeen]:
        looked.append((one.agent, one.incarnation))
        return examine(one, *given)

    def watched(*paths: Path, **given: Any) -> Any:
        watches.append(paths)
        return real(*paths, **given)

    monkeypatch.setattr(Followed, "examine", counted)
    monkeypatch.setattr(evidence, "awatch", watched)
    place = tmp_path / "beat.json"
    async with watching(tmp_path) as watch:
        for name in "abc":
            watch.home(name)
            await watch.follow(running(name, heartbeat_file=str(place)))
        await eventually(lambda: watches, what="the operator's own directory is watched")
        looked.clear()
        for incarnation in range(2, 6):
            watch.files.forget("b")
            await watch.follow(running("b", incarnation, heartbeat_file=str(place)))

    assert looked == [("b", incarnation) for incarnation in range(2, 6)]
    assert len(watches) == 1


async def test_thirty_agents_and_one_burst_are_all_seen(tmp_path: Path) -> None:
    names = {f"a{number}" for number in range(30)}
    async with watching(tmp_path) as watch:
        for name in names:
            watch.home(name)
            watch.files.follow(running(name))
        for name in names:
            followed = watch.files._followed[name]
            await eventually(lambda one=followed: one.looked)
        for name in names:
            watch.beat(watch.home(name) / "heartbeat.json", timestamp=ago(0))

        await eventually(lambda: {event.agent for event in watch.seen} == names)


def test_a_transcript_is_known_only_by_a_session_id_that_can_be_part_of_a_path(tmp_path: Path) -> None:
    agent = replace(running(harness="claude", cwd=str(tmp_path)), session=Session("../../etc/passwd", 0.0, 0.0))
    known = replace(agent, session=Session("0-1", 0.0, 0.0))

    assert known_transcript(agent, {"HOME": "/h"}) is None
    assert (known_transcript(known, {"HOME": "/h"}) or "").startswith("/h/.claude/projects/")
    assert (known_transcript(known, {"CLAUDE_CONFIG_DIR": "/c"}) or "").startswith("/c/projects/")
    assert known_transcript(running(), {}) is None
