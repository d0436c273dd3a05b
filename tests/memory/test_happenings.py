"""What happened, as the documents keep it: a line for each happening, incidents, and what git says."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent.run import Incident
from phoenixd.core.facts import CaseNoted, Treating
from phoenixd.core.treatment.examined import FailureRead, Opinion
from phoenixd.documents.workspace import Commit, GitSummary
from phoenixd.memory import ops_log
from tests.start.places import NOW, Room, entry


class TestOps:
    async def test_p37_p72_each_happening_is_a_line(self, room: Room) -> None:
        entries = [
            entry("hook_seen", kind="session-start", reason="session startup"),
            entry("hook_seen", kind="prompt-submit", text="password=hunter2"),
            entry("agent_exited", "backing_off", "died, signal 9", signal=9),
        ]

        await room.papers.publish(room.agent(), entries)

        lines = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
        assert [(line["event"], line["status"]) for line in lines] == [
            ("session_start", "ok"),
            ("task_started", "ok"),
            ("run_end", "error"),
        ]
        assert "hunter2" not in room.text("ops.jsonl")
        assert "died, signal 9" in room.text("brief.md")

    async def test_c40_what_the_clinic_noted_stands_behind_the_row_that_it_was_noted_on(self, room: Room) -> None:
        died = (
            CaseNoted(
                1, "c1", "diagnosis", "crash", "logic_error", "request", "a rule", 0.8, why="password=hunter2secret"
            ),
            CaseNoted(1, "c1", "prescription", number=1, treatment="resume", by="restart"),
            Treating(1, "c1", "handoff", proposed=True),
            Treating(1, "c1", "advise"),
        )
        over = (
            FailureRead(1, "c1", "the model m", opinion=Opinion("ambiguous_instruction", "Two ways.", 0.9, "abort")),
            FailureRead(1, "c1", "the model m", problem="no answer came in time"),
            CaseNoted(
                1, "c1", "outcome", number=1, treatment="resume", run=2, outcome="failed", why="back", seconds=2.5
            ),
        )
        rows = [
            replace(entry("agent_exited", "backing_off", "died, signal 9", signal=9), facts=died),
            replace(entry("tick", reason="noted"), facts=over),
        ]

        await room.papers.publish(room.agent(), rows)

        lines = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
        assert [(line["event"], line["status"]) for line in lines] == [
            ("run_end", "error"),
            ("clinic.diagnosis", "warn"),
            ("clinic.prescription", "ok"),
            ("clinic.proposal", "ok"),
            ("tick", "ok"),
            ("clinic.examination", "ok"),
            ("clinic.examination", "ok"),
            ("clinic.outcome", "warn"),
        ]
        told = [line["meta"] for line in lines if line["event"].startswith("clinic.")]
        assert {(one["case"], one["incarnation"]) for one in told} == {("c1", 1)}
        assert (told[0]["failure"], told[0]["cause"], told[0]["detail"]) == ("crash", "logic_error", "request")
        assert (told[1]["treatment"], told[1]["action"], told[1]["by"]) == ("resume", "retry", "restart")
        assert (told[2]["treatment"], told[2]["action"]) == ("handoff", "summarize_history")
        assert (told[3]["cause"], told[3]["action"]) == ("ambiguous_instruction", "abort")
        assert told[4]["problem"] == "no answer came in time"
        assert (told[5]["outcome"], told[5]["run"], told[5]["healed_seconds"]) == ("failed", 2, 2.5)
        assert "hunter2secret" not in room.text("ops.jsonl")
        assert "clinic" not in room.text("brief.md"), "a brief tells of the last failure in a section of its own"

    async def test_f_st_13_rotated_and_four_old_ones_are_kept(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ops_log, "OPS_LIMIT", 200)
        for number in range(30):
            await room.papers.publish(room.agent(), [entry("agent_started", reason=f"number {number}")])

        logs = sorted(path.name for path in room.state.glob("ops.jsonl*"))
        assert logs == ["ops.jsonl", "ops.jsonl.1", "ops.jsonl.2", "ops.jsonl.3", "ops.jsonl.4"]
        assert "number 29" in room.text("ops.jsonl")


class TestGit:
    SUMMARY = GitSummary("main", (Commit("abc1234", "2026-11-21", "Fix password=hunter2"),), 2, 1)

    async def test_the_first_brief_waits_a_second_for_git_and_no_start_after_it_does(self, room: Room) -> None:
        room.git.summary = self.SUMMARY

        for _ in range(3):
            await room.order(room.agent())

        assert room.git.asked == [(str(room.work), 1.0)]
        assert "- Branch: main" in room.text("brief.md")
        assert "hunter2" not in room.text("brief.md")

    async def test_it_is_refreshed_when_a_turn_ended_and_not_more_often_than_due(self, room: Room) -> None:
        room.git.summary = self.SUMMARY
        stop = [entry("hook_seen", kind="stop", reason="the turn ended")]
        for _ in range(3):
            await room.papers.publish(room.agent(), stop)
        assert len(room.git.asked) == 1

        room.clock.wall += 31
        await room.papers.publish(room.agent(), [entry("hook_seen", kind="notification")])
        assert len(room.git.asked) == 1
        await room.papers.publish(room.agent(), stop)
        assert len(room.git.asked) == 2

    async def test_a_repository_that_fails_is_left_alone_for_a_while_and_the_last_good_summary_stays(
        self, room: Room
    ) -> None:
        room.git.summary = self.SUMMARY
        stop = [entry("hook_seen", kind="stop", reason="the turn ended")]
        await room.papers.publish(room.agent(), stop)
        room.git.summary = GitSummary(problem="git did not answer in time")
        for _ in range(4):
            room.clock.wall += 60
            await room.papers.publish(room.agent(), stop)

        assert len(room.git.asked) == 2
        assert "- Branch: main" in room.text("brief.md")

    async def test_git_can_be_switched_off(self, tmp_path: Path) -> None:
        room = Room(tmp_path, brief={"git": False})

        await room.order(room.agent())

        assert room.git.asked == []


HUNG = Incident(1, "hung", "silent for 15 minutes", NOW)


def record(room: Room) -> RecordIncident:
    return RecordIncident("a", 1, HUNG, (("silent_for", 900.0),))


async def test_g43_incidents_stand_in_a_directory_of_their_own(room: Room) -> None:
    """agents/NAME/incidents/*.json (requirements 4.3), the newest twenty."""
    agent = room.running(room.agent())
    for number in range(1, 23):
        incident = replace(HUNG, incarnation=number)
        await room.papers.record_incident(agent, replace(record(room), incident=incident), "waiting for pytest")

    kept = {path.name for path in (room.state / "incidents").iterdir()}
    assert len(kept) == 20
    assert {"1-hung.json", "2-hung.json"} & kept == set()
    assert room.document("incidents/22-hung.json")["pane"] == ["waiting for pytest"]
    assert stat.S_IMODE((room.state / "incidents").stat().st_mode) == 0o700


async def test_g43_what_an_older_version_left_is_found_in_the_new_place(room: Room) -> None:
    room.state.mkdir(parents=True)
    (room.state / "incident-7-overtime.json").write_text("{}")
    await room.papers.publish(room.agent(), [])

    assert replace(HUNG, incarnation=7, kind="overtime").file == "incidents/7-overtime.json"
    assert room.text("incidents/7-overtime.json") == "{}"
    assert not list(room.state.glob("incident-*"))


async def test_g43_a_link_in_the_place_of_the_incidents_leads_nowhere(room: Room, tmp_path: Path) -> None:
    room.state.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (room.state / "incidents").symlink_to(tmp_path / "elsewhere")
    await room.papers.record_incident(room.running(room.agent()), record(room), "screen")

    assert not list((tmp_path / "elsewhere").iterdir())
    assert room.document("incidents/1-hung.json")["kind"] == "hung"
