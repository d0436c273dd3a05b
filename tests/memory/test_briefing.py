"""Brief runs: what they are told and write, what they cost, and that their outcome is switched in whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.briefing import DAY
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Utterance
from phoenixd.errors import WriterFailed
from phoenixd.memory.brief import switch as brief_switch
from phoenixd.ports.papers import WriterAnswer
from tests.memory.desk import LOOP, TALK, TASKS, Desk, Scripted, ids, place, says
from tests.start.places import NOW, entry


async def test_p24_p25_without_a_model_loops_and_numbers_come_from_what_the_session_did(desk: Desk) -> None:
    desk.tasks = TASKS
    agent = desk.plain()
    place(desk.room, open_loops=[LOOP])
    await desk.room.papers.publish(agent, [])

    status = await desk.wrote(agent)

    state = desk.room.document()
    assert ids(desk.room) == ["auth-flow", "task-refresh-the-token"]
    assert state["open_loops"][1]["kind"] == "tasks"
    assert state["numbers"] == {"pytest: tests_passed": "47", "pytest: tests_failed": "5"}
    assert '`task-refresh-the-token`: "Refresh the token"' in desk.room.text("brief.md")
    assert desk.room.document("brief.json")["ledger"]["last_run"] == NOW
    assert (status.writer, status.note) == ("deterministic", "")


async def test_a_loop_that_there_is_no_room_for_was_taken_out_by_nobody(desk: Desk) -> None:
    agent = desk.plain()
    await desk.room.papers.publish(agent, [])

    for count in (30, 31, 31, 31):
        # New ones stand first on the list, and push out the last.
        desk.tasks = tuple(f"Refresh token number {number}" for number in range(count, 0, -1))
        await desk.room.papers.briefing.generate(agent)

    assert desk.room.document()["resolved"] == []
    assert desk.room.document()["open_loops"][-1]["text"] == "and 1 more of the kind tasks"


async def test_p24_a_writers_answer_changes_brief_and_state_together(desk: Desk) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[LOOP])
    await desk.room.papers.publish(agent, [])
    loop = {"id": "token-refresh", "text": "The token refresh is untested", "quote": "the token refresh is untested"}
    desk.writer.answers = [says(open_loops=[{"id": "auth-flow", "text": "x"}, loop], numbers={"tests_passed": 47})]

    await desk.room.papers.briefing.generate(agent)

    assert ids(desk.room) == ["auth-flow", "token-refresh"]
    assert desk.room.document()["open_loops"][0]["text"] == LOOP["text"], "a known loop keeps its words"
    assert "token-refresh" in desk.room.text("brief.md")
    assert "47" in desk.room.document("session-start.1.json")["hookSpecificOutput"]["additionalContext"]
    assert not (desk.room.state / brief_switch.SWITCH_FILE).exists()


async def test_p65_an_answer_of_the_wrong_shape_is_asked_for_once_more_with_the_error(desk: Desk) -> None:
    agent = desk.agent()
    desk.writer.answers = [lambda material: "Sure! Here you go.", says()]

    await desk.room.papers.briefing.generate(agent)

    assert desk.writer.asked[0][1] is None
    assert "no JSON object" in (desk.writer.asked[1][1] or "")
    assert desk.room.document("brief.json")["narrative"]["writer"] == "command"
    assert desk.room.document("brief.json")["ledger"]["tokens"] == 200


@pytest.mark.parametrize("answers", [[lambda m: "no", lambda m: "no"], [WriterFailed("exit status 1")]])
async def test_f_br_1_f_br_5_a_writer_that_fails_is_replaced_by_facts_and_the_reason_is_noted(
    desk: Desk, answers: list[Any]
) -> None:
    desk.tasks = TASKS
    agent = desk.agent()
    desk.writer.answers = answers

    status = await desk.wrote(agent)

    assert status.writer == "deterministic"
    assert "the command writer was not used: " in status.note
    assert "task-refresh-the-token" in ids(desk.room)
    assert "Note of phoenixd: the command writer was not used" in desk.room.text("brief.md")
    assert desk.room.document("brief.json")["ledger"]["failures"] == 1


async def test_f_br_5_a_writer_that_never_answers_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from phoenixd.memory.brief import writing as brief_run

    async def never(*_: object) -> WriterAnswer:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(brief_run, "GRACE", 0.0)
    monkeypatch.setattr(desk.writer, "write", never)

    status = await desk.wrote(desk.agent(timeout=0.05))

    assert "no answer within 0.05 s" in status.note


async def test_f_br_3_loops_that_a_writer_drops_stay_and_are_marked(desk: Desk) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[LOOP, {**LOOP, "id": "other", "text": "Retry queue is not bounded"}])
    desk.writer.answers = [says(), says()]

    await desk.room.papers.briefing.generate(agent)

    loops = desk.room.document()["open_loops"]
    assert [(loop["id"], loop["unconfirmed"]) for loop in loops] == [
        ("auth-flow", "2026-11-21"),
        ("other", "2026-11-21"),
    ]
    assert "left out" in (desk.writer.asked[1][1] or "")
    assert "(open since 2026-11-15, unconfirmed since 2026-11-21)" in desk.room.text("brief.md")
    desk.writer.answers = [says(open_loops=[{"id": "auth-flow", "text": "x"}, {"id": "other", "text": "x"}])]
    await desk.room.papers.briefing.generate(agent)
    assert all("unconfirmed" not in loop for loop in desk.room.document()["open_loops"])


async def test_f_st_5_f_st_9_what_others_do_while_the_writer_thinks_survives(desk: Desk) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[LOOP, {**LOOP, "id": "other"}], numbers={"n": "1"})
    await desk.room.papers.publish(agent, [])

    def meanwhile(material: BriefMaterial) -> str:
        document = desk.room.document()
        document["open_loops"] = [{**LOOP, "text": "An operator wrote this"}]
        document["numbers"] = {"n": "2"}
        (desk.room.state / "state.json").write_text(json.dumps(document))
        return says(open_loops=[{"id": "auth-flow", "text": "x"}, {"id": "other", "text": "x"}])(material)

    desk.writer.answers = [meanwhile]
    await desk.room.papers.briefing.generate(agent)

    state = desk.room.document()
    assert [(loop["id"], loop["text"]) for loop in state["open_loops"]] == [("auth-flow", "An operator wrote this")]
    assert state["numbers"]["n"] == "2"


async def test_p66_a_sign_of_life_while_the_writer_thinks_is_kept_and_so_is_what_it_knows_nothing_of(
    desk: Desk,
) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[{**LOOP, "ticket": 7}], owner="ops")
    await desk.room.papers.publish(agent, [])
    before = desk.room.document()

    async def meanwhile() -> None:
        desk.room.clock.wall = NOW + 300
        (desk.room.state / "heartbeat.json").write_text(json.dumps({"timestamp": NOW + 299}))
        await desk.room.papers.publish(agent, [entry("hook_seen", kind="tool-end")])

    class Slow(Scripted):
        async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
            await meanwhile()
            return await super().write(agent, material, complaint)

    desk.writer = Slow([says(open_loops=[{"id": "auth-flow", "text": "x"}])])
    desk.restarted()
    await desk.room.papers.briefing.generate(agent)

    after = desk.room.document()
    assert (before["last_active"], after["last_active"]) == ("2026-11-21T10:00:00Z", "2026-11-21T10:04:59Z")
    assert {name: after[name] for name in ("agent", "status", "owner", "open_loops")} == {
        name: before[name] for name in ("agent", "status", "owner", "open_loops")
    }


async def test_an_operators_number_stands_until_the_session_says_another_later(desk: Desk) -> None:
    agent = desk.plain()
    place(desk.room, numbers={"pytest: tests_passed": "50"})
    await desk.room.papers.briefing.generate(agent)
    assert desk.room.document()["numbers"]["pytest: tests_passed"] == "50"

    desk.room.clock.wall += 3600
    again = (TALK[1], Utterance("tool", "51 passed", "2026-11-21T10:30:00Z", "Bash"))
    desk.talk = (*TALK, *again)
    await desk.room.papers.briefing.generate(agent)
    assert desk.room.document()["numbers"]["pytest: tests_passed"] == "51"


async def test_p67_f_st_8_a_resolved_loop_does_not_come_back_under_its_own_or_another_id(desk: Desk) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[{**LOOP, "text": "The token refresh is untested"}])
    desk.writer.answers = [says(open_loops=[{"id": "auth-flow", "text": "x"}])]
    await desk.room.papers.briefing.generate(agent)
    assert await desk.room.papers.resolve(agent, "auth-flow", "tested by hand") == "resolved"
    quoted = {"text": "the token refresh is untested", "quote": "the token refresh is untested"}
    desk.writer.answers = [says(open_loops=[{"id": "auth-flow", **quoted}, {"id": "refresh-again", **quoted}])]

    await desk.room.papers.briefing.generate(agent)

    assert ids(desk.room) == []
    assert "was resolved" in str(desk.room.document("brief.json")["narrative"]["refused"])


async def test_a_resolution_that_the_session_bears_out_is_put_on_record(desk: Desk) -> None:
    agent = desk.agent()
    place(desk.room, open_loops=[{**LOOP, "source": "session"}])
    desk.talk = (Utterance("assistant", "I tested the OAuth redirect in Safari and Firefox, it works."),)
    quote = "tested the OAuth redirect in Safari and Firefox"
    claim = {"id": "auth-flow", "reason": "tested in Safari and Firefox", "quote": quote}
    desk.writer.answers = [says(resolved=[claim])]

    await desk.room.papers.briefing.generate(agent)

    assert ids(desk.room) == []
    assert desk.room.document()["resolved"][0]["reason"] == f'the agent said: "{desk.talk[0].text}"'
    assert json.loads(desk.room.text("resolved.jsonl"))["id"] == "auth-flow"


async def test_the_goal_stands_in_the_brief_byte_for_byte_and_reaches_no_model_as_an_order(desk: Desk) -> None:
    goal = "Line one\n```\nLine `two`\t\n"
    agent = desk.agent()
    agent = replace(agent, spec=replace(agent.spec, prompt=goal))
    desk.writer.answers = [says(summary="The login page is being finished.")]

    await desk.room.papers.briefing.generate(agent)

    assert f"````text\n{goal}\n````" in desk.room.text("brief.md")


async def test_f_br_5_the_budget_holds_over_restarts_and_ends_with_the_day(desk: Desk) -> None:
    agent = desk.agent(runs_per_day=2)
    for _ in range(2):
        desk.writer.answers = [says()]
        await desk.room.papers.briefing.generate(agent)
        desk.restarted()

    status = await desk.wrote(agent)
    assert "budget of 2 runs by command is used up" in status.note
    assert len(desk.writer.asked) == 2

    desk.room.clock.wall += DAY
    desk.writer.answers = [says()]
    assert (await desk.wrote(agent)).writer == "command"


async def test_the_budget_counts_a_run_before_it_begins(desk: Desk) -> None:
    agent = desk.agent()
    counted: list[int] = []

    def look(material: BriefMaterial) -> str:
        counted.append(desk.room.document("brief.json")["ledger"]["runs"])
        return says()(material)

    desk.writer.answers = [look]
    await desk.room.papers.briefing.generate(agent)
    assert counted == [1]


async def test_the_budget_of_tokens(desk: Desk) -> None:
    agent = desk.agent(tokens_per_day=150)
    for _ in range(2):
        desk.writer.answers = [says()]
        await desk.room.papers.briefing.generate(agent)

    assert "150 tokens is used up (200)" in (await desk.wrote(agent)).note
