"""Brief runs: when they are due, what they are told, and that their outcome is switched in whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.api.values import BriefWriting, LoopsRead
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.briefing import DAY, LAG
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.deeds import TaskRow, TasksListed
from phoenixd.documents.kept_ledger import VERSION, KeptLedger
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.drivers.files import plain as plain_files
from phoenixd.errors import WriterFailed
from phoenixd.memory.brief import switch as brief_switch
from phoenixd.memory.brief.loops import KINDS, Kind
from phoenixd.memory.brief.run import BriefRuns
from phoenixd.memory.papers import Papers
from phoenixd.ports.papers import WriterAnswer
from tests.start.places import NOW, Room, entry

LOOP = {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-11-15"}
TALK = (
    Utterance("user", "Please finish the login page.", "2026-11-21T09:00:00Z"),
    Utterance("assistant", '{"command": "pytest -q"}', "2026-11-21T09:30:00Z", "Bash"),
    Utterance("tool", "5 failed, 47 passed in 3.2s", "2026-11-21T09:30:00Z", "Bash"),
    Utterance("assistant", "Remaining:\n- the token refresh is untested", "2026-11-21T09:31:00Z"),
)

TASKS = ("Refresh the token",)


@dataclass
class Scripted:
    """A writer that answers what a test wants, and keeps what it was asked."""

    answers: list[Callable[[BriefMaterial], str] | WriterFailed] = field(default_factory=list)
    asked: list[tuple[BriefMaterial, str | None]] = field(default_factory=list)
    tokens: int = 100

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        self.asked.append((material, complaint))
        answer = self.answers.pop(0)
        if isinstance(answer, WriterFailed):
            raise answer
        return WriterAnswer(answer(material), self.tokens)


def says(**fields: Any) -> Callable[[BriefMaterial], str]:
    return lambda material: json.dumps({"agent": material.agent, "open_loops": [], **fields})


@dataclass
class Desk:
    """A room whose papers have a writer and a conversation."""

    room: Room
    writer: Scripted
    talk: tuple[Utterance, ...] = TALK
    talks: dict[str, tuple[Utterance, ...]] = field(default_factory=dict)
    """By session id, where it is not the one above."""
    heard: list[str] = field(default_factory=list)
    tasks: tuple[str, ...] = ()
    """What stands on the session's own list, and is not done."""
    tasks_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By session id, where it is not the one above."""

    async def said(self, agent: Agent, budget: int) -> Conversation | None:
        session_id = agent.session.session_id if agent.session is not None else ""
        self.heard.append(session_id)
        return Conversation("s", self.talks.get(session_id, self.talk), is_whole=True)

    async def stands(self, agent: Agent, kept: object, clean: object) -> KeptLedger:
        session_id = agent.session.session_id if agent.session is not None else ""
        ledger = SessionLedger(session_id=session_id)
        rows = tuple(TaskRow(None, text, "open") for text in self.tasks_of.get(session_id, self.tasks))
        ledger.tasks.listed(TasksListed(None, rows, True, NOW - 600))
        return KeptLedger(VERSION, "/t.jsonl", 0, 0, 0, "", True, ledger)

    async def wrote(self, agent: Agent) -> BriefWriting:
        """Write the agent's brief now, and tell what a person sees of that."""
        await self.room.papers.briefing.generate(agent)
        return await self.writing_of(agent.name)

    async def writing_of(self, name: str) -> BriefWriting:
        page = await self.room.papers.brief(name)
        assert page is not None
        assert page.writing is not None
        return page.writing

    def restarted(self) -> Papers:
        self.room.options = {
            "conversation": self.said, "writers": {WriterKind.COMMAND: self.writer}, "ledger": self.stands,
        }  # fmt: skip
        return self.room.restarted()

    def agent(self, **rules: Any) -> Agent:
        brief = BriefRules(writer=WriterKind.COMMAND, command=("writer",), **rules)
        return self.room.running(self.room.agent(self.room.spec(brief=brief)))

    def plain(self, **rules: Any) -> Agent:
        return self.room.running(self.room.agent(self.room.spec(brief=BriefRules(**rules))))


@pytest.fixture
def desk(room: Room) -> Desk:
    made = Desk(room, Scripted())
    made.restarted()
    return made


def place(room: Room, **fields: Any) -> None:
    room.state.mkdir(parents=True, exist_ok=True)
    (room.state / "state.json").write_text(json.dumps({"agent": "a", **fields}))


def ids(room: Room) -> list[str]:
    return [loop["id"] for loop in room.document()["open_loops"]]


async def until(condition: Callable[[], bool], papers: Papers) -> None:
    """Let the schedule run until something is so."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(papers.briefing.run)
        with anyio.fail_after(10):
            while not condition():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


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


class TestSchedule:
    async def test_p40_f_br_8_one_run_makes_up_for_days_of_down_time(self, desk: Desk) -> None:
        agent = desk.agent()
        desk.writer.answers = [says(), says(), says()]
        await desk.room.papers.briefing.generate(agent)
        desk.room.clock.wall += 5 * DAY
        papers = desk.restarted()
        papers.briefing.hear(agent)

        await until(lambda: len(desk.writer.asked) == 2 and papers.briefing._one.statistics().locked is False, papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] >= NOW + 5 * DAY

    async def test_p40_when_the_next_run_is_due_is_known_to_all_faces(self, desk: Desk) -> None:
        agent = desk.agent()
        desk.writer.answers = [says()]
        await desk.room.papers.briefing.generate(agent)
        await desk.room.papers.publish(agent, [])
        assert desk.room.papers.loops("b").brief is None
        plans = desk.room.papers.briefing._plans
        await until(lambda: "a" in plans, desk.room.papers)

        face = desk.room.papers.loops("a").brief

        assert face is not None
        assert face.next == plans["a"].at
        assert NOW < plans["a"].at <= NOW + DAY, "the daily run"
        second = replace(agent, spec=replace(agent.spec, name="a-g2", seat="a", generation=2))
        desk.room.papers.briefing.hear(second)
        await until(lambda: "a-g2" in plans, desk.room.papers)
        plans["a-g2"] = replace(plans["a-g2"], at=NOW + 7)
        face = desk.room.papers.loops("a").brief
        assert face is not None
        assert face.next == NOW + 7, "of a seat that of its holder"

    async def test_p20_a_changed_task_is_a_run_and_not_sooner_than_the_spacing(self, desk: Desk) -> None:
        """X22: what is a significant change is defined."""
        agent = desk.agent(daily=False, spacing=600.0)
        desk.writer.answers = [says(), says()]
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)

        await desk.room.papers.publish(replace(agent, last_prompt="Fix the logout"), [])
        await until(lambda: len(desk.writer.asked) == 2, desk.room.papers)

        assert desk.writer.asked[1][0].now == pytest.approx(NOW + 600)

    async def test_p20_a_clean_exit_is_a_run_at_once(self, desk: Desk) -> None:
        agent = desk.agent(daily=False)
        desk.writer.answers = [says(), says()]
        await desk.room.papers.briefing.generate(agent)
        ended = replace(desk.room.agent(agent.spec), last_exit=LastExit(1, 0, None, "exit", 60.0, NOW))

        await desk.room.papers.publish(ended, [])
        await until(lambda: len(desk.writer.asked) == 2, desk.room.papers)

        assert desk.writer.asked[1][0].now == NOW

    async def test_a_turns_end_costs_no_model_and_keeps_what_it_said(self, desk: Desk) -> None:
        desk.tasks = TASKS
        agent = desk.agent(daily=False)
        desk.writer.answers = [says(summary="Please finish the login page.")]
        await desk.room.papers.publish(agent, [])
        desk.tasks = ()
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS

        await desk.room.papers.publish(agent, [entry("hook_seen", kind="stop", reason="the turn ended")])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert len(desk.writer.asked) == 1
        assert "Please finish the login page." in desk.room.text("brief.md")

    async def test_a_turns_last_words_are_waited_for(self, desk: Desk) -> None:
        """Claude Code tells of a turn's end before it has written down the answer that ended it."""
        desk.tasks = TASKS
        agent = desk.plain(daily=False)
        await desk.room.papers.publish(agent, [])
        ended = entry("hook_seen", kind="stop", reason="the turn ended")

        await desk.room.papers.publish(agent, [ended])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] == ended.wall + LAG

    async def test_p28_open_loops_say_as_of_when_they_are_and_when_a_turn_since_then_is_read(self, desk: Desk) -> None:
        """What a turn did is read by the next brief run, which brief.spacing may put off for ten minutes."""
        agent = desk.plain(daily=False, spacing=600.0)
        papers = desk.room.papers
        await papers.publish(agent, [])
        assert papers.loops_read("a", "a").at == 0
        await papers.briefing.generate(agent)
        assert papers.loops_read("a", "a") == LoopsRead(NOW, 0.0)
        ended = entry("hook_seen", kind="stop", reason="the turn ended")
        await papers.publish(agent, [ended])
        assert papers.loops_read("a", "a").due > 0

        later = desk.restarted()
        await later.open_loops("a")
        assert later.loops_read("a", "a").at == NOW, "another daemon knows it as well"
        await later.publish(agent, [ended])
        desk.room.clock.stands_still = True
        await until(lambda: later.loops_read("a", "a") == LoopsRead(NOW, NOW + 600), later)
        desk.room.clock.stands_still = False
        await until(lambda: later.loops_read("a", "a") == LoopsRead(NOW + 600, 0.0), later)

    async def test_a_run_that_came_too_soon_for_a_turns_last_words_is_not_the_last(self, desk: Desk) -> None:
        agent = desk.plain(daily=False, spacing=60.0)
        ended = entry("hook_seen", kind="stop", reason="the turn ended")
        await desk.room.papers.publish(agent, [ended])
        desk.tasks = ()
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS
        assert ids(desk.room) == []

        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] == ended.wall + 60

    async def test_what_a_session_said_last_is_read_when_it_is_left_for_another(self, desk: Desk) -> None:
        """By /clear, or by a fresh start after a death: the next run would read another transcript."""
        agent = desk.plain(daily=False, spacing=600.0)
        assert agent.session is not None
        desk.tasks = ()
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)
        desk.tasks_of[agent.session.session_id] = TASKS
        desk.room.clock.wall += 60
        cleared = replace(agent, session=replace(agent.session, session_id="another"))

        await desk.room.papers.publish(cleared, [])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert "task-refresh-the-token" in desk.room.text("session-start.1.txt")
        # The next run, for the change, is due 600 s after the first, and the clock here runs fast.
        last_run = desk.room.document("brief.json")["ledger"]["last_run"]
        assert last_run in (NOW, NOW + 600.0), "the new session's runs are not put off"

    async def test_a_session_that_is_left_without_a_word_changes_nothing(self, desk: Desk) -> None:
        agent = desk.plain(daily=False)
        assert agent.session is not None
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)
        desk.room.clock.wall += 60
        before, desk.talks[agent.session.session_id] = desk.room.text("brief.json"), ()

        await desk.room.papers.publish(replace(agent, session=replace(agent.session, session_id="another")), [])
        await until(lambda: desk.heard[-1] == agent.session.session_id and not desk.room.papers.briefing._left["a"],
                    desk.room.papers)  # fmt: skip

        assert desk.room.text("brief.json") == before


async def test_p79_no_secret_reaches_writer_or_brief(tmp_path: Path) -> None:
    secret = "an unremarkable value"
    desk = Desk(Room(tmp_path, {"MY_TOKEN": secret}), Scripted())
    desk.restarted()
    desk.talk = (Utterance("assistant", f"The login uses {secret} and sk-ant-api03-abcdefghijklmnopqrstuvwx123456."),)
    desk.writer.answers = [says(summary=f"The login uses {secret}")]

    await desk.room.papers.briefing.generate(desk.agent())

    told = desk.writer.asked[0][0].conversation.utterances[0].text
    assert told == "The login uses [redacted] and [redacted]."
    for path in desk.room.state.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize("secret", ["an unremarkable value", "sk-ant-api03-abcdefghijklmnopqrstuvwx123456"])
async def test_p79_a_secret_that_an_agent_writes_into_its_state_reaches_no_writer_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    desk = Desk(Room(tmp_path, {"MY_TOKEN": "an unremarkable value"}), Scripted())
    agent = desk.agent()
    desk.restarted()
    await desk.room.papers.publish(agent, [])
    written: list[tuple[str, bytes]] = []
    replace_file, replace_unchanged = plain_files.replace, plain_files.replace_unchanged

    def replaced(path: Any, data: bytes, *given: Any, **named: Any) -> None:
        written.append((Path(path).name, data))
        replace_file(path, data, *given, **named)

    def replaced_unchanged(path: Any, data: bytes, *given: Any, **named: Any) -> bool:
        written.append((Path(path).name, data))
        return replace_unchanged(path, data, *given, **named)

    monkeypatch.setattr(plain_files, "replace", replaced)
    monkeypatch.setattr(plain_files, "replace_unchanged", replaced_unchanged)

    def by_the_agent(number: int) -> None:
        loops = [LOOP, {**LOOP, "id": f"loop-{number}", "text": f"Log in by {secret}", "why": [secret]}]
        place(
            desk.room, open_loops=loops, numbers={"port": f"{secret} {number}", f"of {secret}": "1", "n": f"{number}"}
        )

    def meanwhile(material: BriefMaterial) -> str:
        by_the_agent(2)
        return says(open_loops=[{"id": "auth-flow", "text": "x"}])(material)

    by_the_agent(1)
    desk.writer.answers = [meanwhile]
    await desk.room.papers.briefing.generate(agent)

    material = desk.writer.asked[0][0]
    assert {loop.text for loop in material.state.open_loops} == {LOOP["text"], "Log in by [redacted]"}
    assert secret not in repr(material)
    assert {"brief.json", ".brief-switch.json", "brief.md", "state.json"} <= {name for name, _ in written}
    assert [name for name, data in written if secret.encode() in data] == []
    assert desk.room.document()["numbers"]["n"] == "2", "what it wrote meanwhile is taken over"
    for path in desk.room.state.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path.name


async def test_only_the_agent_of_which_something_changed_is_planned_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a hundred agents that work cost ten thousand plans for each round of theirs."""
    papers, looked = desk.room.papers, list[str]()
    look = BriefRuns.look

    async def counted(runs: BriefRuns, agent: Agent) -> Any:
        looked.append(agent.name)
        return await look(runs, agent)

    monkeypatch.setattr(BriefRuns, "look", counted)
    desk.room.clock.stands_still = True
    agents = {name: replace(desk.plain(), spec=replace(desk.room.spec(), name=name)) for name in "abcdefgh"}

    async def planned(name: str) -> None:
        await papers.publish(agents[name], [])
        with anyio.fail_after(60):
            while name not in looked:
                await anyio.sleep(0.01)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(papers.briefing.run)
        for name in agents:
            await planned(name)
        looked.clear()
        for name in "dg":
            await planned(name)
        assert set(looked) == set("dg")
        tasks.cancel_scope.cancel()


async def test_a_loop_that_an_operator_closed_is_a_change_at_once(desk: Desk) -> None:
    agent = desk.plain()
    place(desk.room, open_loops=[LOOP])
    await desk.room.papers.publish(agent, [])
    papers = desk.room.papers
    desk.room.clock.wall += 3600

    async def resolve() -> None:
        assert await papers.resolve(agent, "auth-flow", "tested by hand") == "resolved"

    async with anyio.create_task_group() as tasks:
        desk.room.clock.stands_still = True
        tasks.start_soon(papers.briefing.run)
        await anyio.wait_all_tasks_blocked()
        runs = len(desk.heard)
        await resolve()
        with anyio.fail_after(60):
            while len(desk.heard) == runs:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


def item(number: int, kind: str, text: str, left: bool = False) -> InboxItem:
    return InboxItem(number, "a", 1, kind, text, "hash", NOW, "attach", left=left)


@pytest.mark.parametrize(
    ("kind", "is_left"), [("failed turn", False), ("quarantined", False), ("permission", False), ("permission", True)]
)
async def test_what_was_answered_or_withdrawn_is_no_open_loop_two_seconds_later(
    desk: Desk, kind: str, is_left: bool
) -> None:
    """A newcomer read "Waits for a person" for more than a minute after the answer, and after a stop."""
    agent = replace(desk.plain(daily=False, spacing=600.0), items=(item(7, kind, "may it go on?", is_left),))
    papers = desk.room.papers
    await papers.publish(agent, [])
    await papers.briefing.generate(agent)
    (open_loop,) = (loop["id"] for loop in desk.room.document()["open_loops"] if "may it go on?" in loop["text"])

    await papers.publish(replace(agent, items=(item(8, "failed turn", "another one"),)), [])
    await until(lambda: open_loop not in ids(desk.room), papers)

    assert desk.room.document("brief.json")["ledger"]["last_run"] == NOW + LAG
    assert any("another one" in loop["text"] for loop in desk.room.document()["open_loops"])


async def test_what_a_reading_leaves_open_is_not_read_again_and_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = replace(desk.plain(daily=False, spacing=600.0), items=(item(7, "failed turn", "may it go on?"),))
    papers = desk.room.papers
    await papers.publish(agent, [])
    await papers.briefing.generate(agent)
    monkeypatch.setitem(KINDS, "inbox", Kind(lambda seen: iter(()), lambda loop, seen: None))
    await papers.publish(replace(agent, items=()), [])
    read = len(desk.heard)

    await until(lambda: "a" in papers.briefing._left_over, papers)
    for _ in range(3):
        await papers.publish(replace(agent, items=()), [])
        _, due = await papers.briefing._look(agent)
        assert due is None

    assert len(desk.heard) == read + 1


class TestSeats:
    """The papers of a seat outlive its generations, each of which counts its own incarnations."""

    async def test_p20_a_handoff_is_a_run_of_facts_that_leaves_what_a_writer_said(self, desk: Desk) -> None:
        agent = desk.agent(daily=False, on_change=False)
        place(desk.room, open_loops=[LOOP])
        kept = {"id": "auth-flow", "text": "x"}
        desk.writer.answers = [says(summary="Please finish the login page.", open_loops=[kept])]
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS
        desk.room.clock.wall += 60

        await desk.room.papers.briefing.hand_over(agent)

        assert len(desk.writer.asked) == 1, "the successor waits, so no model is asked"
        assert "task-refresh-the-token" in ids(desk.room)
        assert "Please finish the login page." in desk.room.text("brief.md")
        assert desk.room.document("brief.json")["ledger"]["last_run"] == NOW + 60

    async def test_p20_a_brief_that_cannot_be_written_holds_up_no_handoff(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(BriefRuns, "_switch", full)

        await desk.room.papers.briefing.hand_over(desk.agent())

    async def test_p20_the_clean_exit_of_a_successor_is_a_run_whatever_its_predecessors_count_was(
        self, desk: Desk
    ) -> None:
        desk.writer.answers = [says(), says(), says()]
        first = desk.agent(daily=False)
        await desk.room.papers.briefing.generate(first)
        ended = replace(desk.room.agent(first.spec), last_exit=LastExit(7, 0, None, "exit", 60.0, NOW))
        await desk.room.papers.publish(ended, [])
        # The writer is asked before what it says is written.
        await until(lambda: desk.room.document("brief.json")["ledger"]["ended"] == 7, desk.room.papers)

        second = replace(first.spec, name="a-g2", seat="a", generation=2)
        left = replace(desk.room.agent(second), last_exit=LastExit(1, 0, None, "exit", 60.0, NOW))
        await desk.room.papers.publish(left, [])
        await until(lambda: desk.room.document("brief.json")["ledger"]["ended"] == 1, desk.room.papers)
