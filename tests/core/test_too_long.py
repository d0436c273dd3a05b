"""What begins too long is not begun again: a fresh session helps where work filled the one before (F-HO-1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.actions import Alert, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined, Running, Starting, Stopping
from phoenixd.core.events.evidence import AnswerCut, UsageSeen
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Step
from phoenixd.core.question.render import TITLE
from phoenixd.documents.hooks import hook_event
from tests.core.handing import HandoffStory, orchestrator
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent

SAID = "prompt is too long: 208310 tokens > 200000 maximum"
JSON = '413 {"type":"error","error":{"type":"invalid_request_error","message":"' + SAID + '"}}'
FULL = {"error": "invalid_request", "error_details": JSON}
TOO_LONG = "too long"


class Filling(Story):
    """One agent whose API refuses it for its length."""

    @property
    def agent(self) -> Agent:
        found: Agent = self.fleet.agents["a"]
        return found

    def begins(self, size: int = 812_345) -> Filling:
        """The run that was ordered is up, and its first prompt is submitted."""
        if not isinstance(self.state, Starting):
            self.respawned()
        self.runs()
        self.hook("prompt-submit", text="Build the shop.", size=size)
        return self

    def asks(self, text: str) -> None:
        self.hook("prompt-submit", text=text, size=len(text))

    def calls(self, number: int) -> None:
        for one in range(number):
            self.hook("tool-start", tool="Bash", tool_use_id=f"t{one}")
            self.hook("tool-end", tool="Bash", tool_use_id=f"t{one}")

    def turns(self, number: int) -> None:
        for _ in range(number):
            self.calls(1)
            self.hook("stop")
            self.asks("Go on.")

    def refused(self, **said: str) -> None:
        """The API refuses what was asked; where the run is ended for it, it ends."""
        self.tell(hook_event("a", self.run.incarnation, "stop-failure", said or FULL, self.wall))
        if isinstance(self.state, Stopping):
            self.exited(None, 15)

    def saved(self) -> None:
        """The daemon begins again, and knows what its journal has."""
        agents = {name: load_agent(dump_agent(agent)) for name, agent in self.fleet.agents.items()}
        self.fleet = Fleet(agents, seats=self.fleet.seats)

    @property
    def starts(self) -> int:
        return len(self.of(Spawn))

    @property
    def called(self) -> list[str]:
        """What stands in the inbox."""
        return [item.kind for item in self.agent.items]


def begun(**changes: Any) -> Filling:
    story = Filling(claude(**changes))
    story.start()
    return story.begins()


def call_of(story: Filling) -> Alert:
    return next(one for one in reversed(story.of(Alert)) if one.kind == TOO_LONG)


def test_1_one_fresh_start_follows_a_session_that_its_work_filled_and_no_further_one() -> None:
    story = begun()
    story.turns(20)
    story.pass_over(3 * 3600)
    story.refused()
    assert story.starts == 2, "the old session was full"

    story.begins()
    story.refused()
    story.wait(600)

    assert story.starts == 2
    assert isinstance(story.state, Running), "shorter words may be answered in it"
    assert (story.called, story.alerts()) == ([TOO_LONG], [TOO_LONG])
    reason = next(one for one in story.reasons if "a person is called" in one)
    assert "nothing was done in its session" in reason


def test_1_a_session_that_is_full_as_it_begins_for_the_first_time_is_not_begun_again_either() -> None:
    story = begun()
    story.refused()
    story.wait(600)
    assert (story.starts, story.called) == (1, [TOO_LONG])


def test_the_alert_says_what_was_refused_how_long_it_was_and_what_can_be_typed() -> None:
    story = begun()
    story.refused()
    told = call_of(story)
    for words in ("812,345 bytes", f"({SAID})", 'phoenixctl send a "TEXT"', "phoenixctl restart a"):
        assert words in told.text
    readings = dict(next(one for one in story.decisions if one.readings and "called" in one.reason).readings)
    assert (readings["achieved"], readings["prompt bytes"]) == ("nothing", 812_345)


@pytest.mark.parametrize("calls", [0, 5], ids=["nothing was done", "after some calls"])
def test_the_remedy_of_the_longest_name_stands_in_the_alert(calls: int) -> None:
    name, long = "o" * 64, {**FULL, "error_details": f"{SAID} {'x' * 500}"}
    story = Story(claude(name))
    story.start()
    for _ in range(3):
        if not isinstance(story.state, Running):
            story.respawned()
            story.runs()
            story.hook("prompt-submit", text="Build the shop.", size=999_999_999)
        for one in range(calls):
            story.hook("tool-end", tool="Bash", tool_use_id=f"t{one}")
        story.tell(hook_event(name, story.run.incarnation, "stop-failure", long, story.wall))
        if isinstance(story.state, Stopping):
            story.exited(None, 15)
    told = next(one for one in story.of(Alert) if one.kind == TOO_LONG)
    assert len(told.text) <= TITLE
    assert told.text.endswith(f"phoenixctl restart {name}")


def test_2_a_shorter_text_into_the_same_session_is_answered_and_all_is_well() -> None:
    story = begun()
    story.refused()
    story.asks("Only the till.")
    assert story.called == []
    story.hook("stop")

    assert (story.starts, story.called, story.agent.alerts) == (1, [], ())
    story.asks("And the rest.")
    story.refused()
    assert story.starts == 2, "a session that has worked was filled by its work"


def test_2_where_the_shorter_text_is_refused_too_the_person_is_called_again() -> None:
    story = begun()
    story.refused()
    story.asks("Only the till, please.")
    story.refused()
    assert (story.starts, story.called, story.alerts()) == (1, [TOO_LONG], [TOO_LONG, TOO_LONG])
    assert "22 bytes" in call_of(story).text


def test_3_sessions_that_work_are_begun_anew_however_often_they_fill() -> None:
    story = begun()
    for number in range(2, 14):
        story.turns(20)
        story.refused()
        assert (story.starts, story.called) == (number, [])
        story.begins()


def test_4_after_three_sessions_in_a_row_that_end_no_turn_a_person_is_called() -> None:
    story = begun()
    for starts in (2, 3):
        story.calls(5)
        story.refused()
        assert story.starts == starts
        story.begins()
    assert story.called == []
    story.calls(5)
    story.refused()
    story.wait(600)

    assert (story.starts, story.called) == (3, [TOO_LONG])
    assert "3 sessions in a row" in call_of(story).text


def test_4_a_turn_that_came_to_its_end_between_them_begins_the_count_anew() -> None:
    story = begun()
    for starts in (2, 3):
        story.calls(5)
        story.refused()
        assert story.starts == starts
        story.begins()
    story.turns(1)
    story.refused()
    for starts in (5, 6):
        story.begins()
        story.calls(5)
        story.refused()
        assert (story.starts, story.called) == (starts, [])


@pytest.mark.parametrize("order", ["start", "restart"])
@pytest.mark.parametrize("calls", [0, 5], ids=["nothing was done", "after some calls"])
def test_5_an_operators_order_tries_at_once_in_a_fresh_session_and_the_count_begins_anew(
    order: str, calls: int
) -> None:
    story = begun()
    while not story.called:
        story.calls(calls)
        story.refused()
        if not story.called:
            story.begins()
    before = story.starts

    assert getattr(story, order)() is None
    story.exited(None, 15)

    assert (story.starts, story.spawn.mode.value, story.called) == (before + 1, "fresh", [])
    story.begins()
    story.calls(calls)
    story.refused()
    assert story.called == ([] if calls else [TOO_LONG])


def test_5_a_start_of_one_that_runs_and_called_nobody_is_what_it_was() -> None:
    story = begun()
    assert story.start() is None
    assert isinstance(story.state, Running)


def test_6_a_daemon_that_begins_between_the_refusals_keeps_the_count() -> None:
    story = begun()
    for _ in range(2):
        story.calls(5)
        story.refused()
        story.saved()
        story.begins()
    story.calls(5)
    story.saved()
    story.refused()
    story.saved()
    assert (story.starts, story.called) == (3, [TOO_LONG])


def test_6_a_session_that_an_older_daemon_began_is_trusted() -> None:
    story = begun()
    old = json.loads(dump_agent(story.agent))
    del old["session"]["achieved"], old["session"]["may_be_over"], old["dead_ends"]
    story.fleet = Fleet({"a": load_agent(json.dumps(old))})
    story.refused()
    assert (story.starts, story.called) == (2, [])


class FillingSeat(HandoffStory):
    def refused(self, name: str) -> None:
        agent = self.fleet.agents[name]
        self.tell(hook_event(name, agent.incarnation, "stop-failure", FULL, self.wall))


def test_7_a_seat_is_handed_over_once_and_a_successor_that_begins_too_long_calls_a_person() -> None:
    story = FillingSeat(orchestrator(project="shop"))
    story.works()
    story.hook("stop")
    story.hook("prompt-submit", text="Go on.")
    story.refused("o")
    story.exits("o", None, 15)
    assert (story.handoff.trigger, story.step) == ("full", Step.SPAWN)
    story.started_of("o-g2")
    handoff = story.handoff.id

    story.refused("o-g2")
    story.wait(3600)

    assert [one.agent for one in story.of(Spawn)] == ["o", "o-g2"]
    assert (story.handoff.id, story.step, story.handoff.tries) == (handoff, Step.AWAIT_ACK, 1)
    (told,) = (one for one in story.of(Alert) if one.kind == TOO_LONG)
    assert "phoenixctl attach o-g2" in told.text
    assert "phoenixctl handoff rollback o" in told.text


def test_7_after_three_generations_that_fill_in_their_first_turn_no_fourth_follows() -> None:
    story = FillingSeat(orchestrator(project="shop"))
    story.works()
    for generation in (2, 3):
        name, following = story.agent.name, f"o-g{generation}"
        story.hook_of(name, "tool-end", tool="Bash", tool_use_id="t1")
        story.refused(name)
        story.exits(name, None, 15)
        story.started_of(following)
        story.ack(following)
        assert story.agent.name == following
        story.pass_over(900)
    story.hook_of("o-g3", "tool-end", tool="Bash", tool_use_id="t1")
    story.refused("o-g3")
    story.wait(3600)

    assert [one.agent for one in story.of(Spawn)] == ["o", "o-g2", "o-g3"]
    (told,) = (one for one in story.of(Alert) if one.kind == TOO_LONG)
    assert "3 sessions in a row were full" in told.text


def test_7_a_generation_that_ends_a_turn_begins_the_count_anew() -> None:
    story = FillingSeat(orchestrator(project="shop"))
    story.works()
    story.hook("tool-end", tool="Bash", tool_use_id="t1")
    story.refused("o")
    story.exits("o", None, 15)
    story.started_of("o-g2")
    story.ack()
    assert story.agent.dead_ends == 1
    story.hook_of("o-g2", "stop")
    story.hook_of("o-g2", "prompt-submit", text="Go on.")
    assert story.agent.dead_ends == 0


@pytest.mark.parametrize(
    "said",
    [
        {"error": "rate_limit", "error_details": "429"},
        {"error": "overloaded", "error_details": "529 Overloaded"},
        {"error": "invalid_request", "error_details": "tools.14.custom.input_schema: JSON schema is invalid."},
        {"error": "authentication_failed", "error_details": "401"},
    ],
    ids=lambda said: said["error"],
)
def test_8_of_a_refusal_for_another_reason_it_says_nothing(said: dict[str, str]) -> None:
    story = begun()
    story.refused(**said)
    assert TOO_LONG not in (*story.called, *story.alerts())
    assert story.agent.dead_ends == 0


CUT_AT_THE_END = {
    "error": "max_output_tokens",
    "last_assistant_message": "API Error: The model has reached its context window limit.",
}


@pytest.mark.parametrize("told", [0, 3], ids=["before its tokens are told", "after"])
def test_an_answer_that_is_cut_at_the_windows_end_was_given_whichever_is_told_first(told: int) -> None:
    """A fresh session may come further; what was refused as a prompt is refused again."""
    story = begun()
    for starts in (2, 3):
        if told:
            assert story.agent.session is not None
            session = story.agent.session.session_id
            story.tell(UsageSeen("a", story.run.incarnation, told, None, "transcript", story.wall, session))
        story.refused(**CUT_AT_THE_END)
        assert (story.starts, story.called) == (starts, [])
        story.begins()
    story.refused(**CUT_AT_THE_END)
    story.wait(600)
    assert (story.starts, story.called) == (3, [TOO_LONG])


def test_a_cut_at_the_end_of_the_window_that_is_told_of_beside_it_ends_nothing() -> None:
    story = begun()
    story.refused()
    story.tell(AnswerCut("a", 1, "window", story.wall))
    assert isinstance(story.state, Running)
    assert (story.called, story.alerts()) == ([TOO_LONG], [TOO_LONG])


def test_a_program_that_ends_after_it_is_given_up_and_not_begun_again() -> None:
    story = begun()
    story.refused()
    story.pass_over(20)
    story.exited(1)
    assert isinstance(story.state, Quarantined)
    story.start()
    assert (story.starts, story.spawn.mode.value) == (2, "fresh")


def test_a_session_that_a_person_cleared_has_done_nothing_and_one_that_was_resumed_may_have() -> None:
    story = begun()
    story.turns(1)
    story.hook("session-start", session_id="cleared", source="clear")
    story.asks("All of it.")
    story.refused()
    assert (story.starts, story.called) == (1, [TOO_LONG])

    other = begun()
    other.hook("session-start", session_id="elsewhere", source="compact")
    other.asks("All of it.")
    other.refused()
    assert (other.starts, other.called) == (2, [])


def test_a_cli_whose_turns_end_by_the_same_word_either_way_has_done_nothing_by_that_word() -> None:
    story = begun(harness="gemini")
    story.hook("stop")
    story.refused()
    assert (story.starts, story.called) == (1, [TOO_LONG])
    story.asks("Only the till.")
    story.hook("stop")
    story.asks("And the rest.")
    story.refused()
    assert (story.starts, story.called) == (2, [])


def test_the_first_prompt_after_a_resume_is_not_the_first_of_its_session() -> None:
    story = begun()
    story.turns(2)
    story.pass_over(600)
    story.exited(1)
    story.begins()
    assert story.spawn.mode.value == "resume"
    story.refused()
    assert (story.starts, story.called) == (3, [])
