"""An answer that was cut is gone on with once, then a person is asked; a full context ends the session (issue 13)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core import cut
from phoenixd.core.actions import Deliver, Spawn, Terminate
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Stopping
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.runs import Delivered, NotDelivered, RunAdopted
from phoenixd.core.facts import AnswerFellShort
from phoenixd.core.rules import LimitRules
from phoenixd.core.spec import Kind
from phoenixd.documents.cut_answers import cut_sentence
from phoenixd.documents.hooks import hook_event
from tests.core.accounts import Account
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent


def told(story: Story, how: Any = "output_limit", **more: Any) -> None:
    story.pass_over(1.0)
    at = more.pop("at", story.wall)
    story.tell(AnswerCut("a", story.agent.incarnation, how, at, **more))


def ended(story: Story | None = None, **changes: Any) -> Story:
    """An agent whose turn has just ended."""
    story = story or Story(claude(**changes)).works()
    story.hook("stop", text="One. Two.")
    return story


def taken(story: Story, order: Deliver) -> None:
    """The agent takes a text that was typed."""
    story.tell(Delivered("a", order.incarnation, order.message_id, "the agent took the prompt"))
    story.hook("prompt-submit", text=order.text)


def asked(story: Story) -> list[str]:
    return [item.kind for item in story.agent.items]


@pytest.mark.parametrize("how", ["output_limit", "stream", "filtered"])
def test_a_turn_that_ended_cut_is_gone_on_with_once_and_then_a_person_is_asked(how: str) -> None:
    story = ended()
    told(story, how)

    (order,) = story.of(Deliver)
    assert order.text == cut.GO_ON
    assert asked(story) == []
    taken(story, order)
    assert story.agent.last_prompt is None, "our words are nobody's task"
    ended(story)
    told(story, how)

    assert story.of(Deliver) == [order]
    assert asked(story) == [cut.CUT]
    assert story.alerts() == [cut.CUT]
    assert isinstance(story.state, Running)


def test_the_next_prompt_closes_the_question_and_its_own_cut_answer_is_gone_on_with_anew() -> None:
    story = ended()
    told(story)
    taken(story, story.of(Deliver)[0])
    ended(story)
    told(story)
    story.hook("prompt-submit", text="Now the till.")

    assert asked(story) == []
    assert story.agent.alerts == ()
    assert (story.agent.cut, story.agent.last_prompt) == (None, "Now the till.")
    ended(story)
    told(story)
    assert len(story.of(Deliver)) == 2


def test_a_turn_that_was_gone_on_with_and_came_to_its_end_asks_nobody() -> None:
    story = ended()
    told(story)
    taken(story, story.of(Deliver)[0])
    ended(story)
    story.wait(3600.0)

    assert (asked(story), story.alerts()) == ([], [])


def test_where_the_cli_went_on_by_itself_nothing_is_typed_and_the_lost_front_is_known() -> None:
    story = ended()
    told(story, went_on=True, calls=("Bash",))

    assert story.of(Deliver) == []
    assert story.agent.cut is not None
    assert story.agent.cut.went_on
    assert "its last message is the last part alone" in story.reasons[-1]
    assert "its call came with it, and was carried out: Bash" in story.reasons[-1]
    assert "was executed: Bash" in cut_sentence(story.agent.cut)
    assert story.decisions[-1].facts == (AnswerFellShort(1, "output_limit", True),)


def test_the_same_cut_answer_told_twice_is_one() -> None:
    story = ended()
    told(story, at=7.0)
    told(story, at=7.0)

    assert len(story.of(Deliver)) == 1
    short = [fact for one in story.decisions for fact in one.facts if isinstance(fact, AnswerFellShort)]
    assert len(short) == 1


def test_an_ephemeral_agent_is_told_nothing_and_asks_nobody() -> None:
    story = ended(kind=Kind.EPHEMERAL)
    told(story)

    assert (story.of(Deliver), asked(story)) == ([], [])
    assert story.agent.cut is not None
    assert AnswerFellShort(1, "output_limit") in story.decisions[-1].facts


@pytest.mark.parametrize(
    ("hook", "more"),
    [
        ("prompt-submit", {"text": "Something else."}),
        ("permission-request", {"tool": "Bash", "text": "rm -r x"}),
    ],
)
def test_nothing_is_typed_into_a_turn_or_a_dialog(hook: str, more: dict[str, str]) -> None:
    story = ended()
    story.hook(hook, **more)
    told(story)

    assert story.of(Deliver) == []
    assert "it is not told to go on" in story.reasons[-1]


def test_one_that_waits_out_a_limit_is_told_by_that() -> None:
    story = Story(claude()).works()
    story.tell(hook_event("a", 1, "stop-failure", {"error": "server_error"}, story.wall))
    told(story, "stream")

    assert story.agent.parking is not None
    assert story.of(Deliver) == []


@pytest.mark.parametrize("reprompt", [True, False])
def test_f_proc_26_one_that_idles_as_a_peer_meets_a_limit_is_told_too_or_a_person_is_asked(reprompt: bool) -> None:
    story = Account(
        claude(account="team", limits=LimitRules(reprompt=reprompt)), claude("b", account="team")
    ).all_work()
    ended(story)
    story.meets_limit("b")
    assert story.agent.parking is not None
    told(story, "stream")
    story.wait(2 * 3600.0 + 90)

    texts = [order for order in story.of(Deliver) if order.agent == "a"]
    assert (len(texts), asked(story)) == ((1, []) if reprompt else (0, ["answer cut"]))
    if reprompt:
        story.obeys("a")
        assert (story.agent.state_name, story.agent.cut) == ("running", None)


def test_a_failed_turn_asks_already_and_its_question_is_closed_by_going_on() -> None:
    story = Story(claude()).works()
    story.tell(hook_event("a", 1, "stop-failure", {"error": "max_output_tokens"}, story.wall))
    assert asked(story) == ["failed turn"]
    told(story)
    (order,) = story.of(Deliver)
    taken(story, order)
    assert asked(story) == []
    story.tell(hook_event("a", 1, "stop-failure", {"error": "max_output_tokens"}, story.wall))
    told(story)

    assert story.of(Deliver) == [order]
    assert asked(story) == ["failed turn"], "one question, and not two"


def test_words_that_cannot_be_typed_are_a_persons() -> None:
    story = ended()
    told(story)
    (order,) = story.of(Deliver)
    story.tell(NotDelivered("a", 1, order.message_id, "a dialog stands there"))

    assert asked(story) == [cut.CUT]
    assert "a dialog stands there" in story.agent.items[0].text


def test_after_a_daemon_start_the_words_are_not_typed_twice() -> None:
    story = ended()
    told(story)
    story.tell(RunAdopted("a", 1, 100, 1000))

    assert len(story.of(Deliver)) == 1
    assert asked(story) == [cut.CUT]


def test_after_a_daemon_start_a_person_is_asked_once_also_where_the_words_did_not_arrive() -> None:
    story = ended()
    told(story)
    order = story.of(Deliver)[0]
    story.tell(RunAdopted("a", 1, 100, 1000))
    alerts, (item,) = story.alerts(), story.agent.items
    story.tell(NotDelivered("a", 1, order.message_id, "nothing tells what became of it"))

    assert (story.alerts(), story.agent.items) == (alerts, (item,))


def test_after_a_daemon_start_what_was_delivered_asks_nobody() -> None:
    story = ended()
    told(story)
    order = story.of(Deliver)[0]
    story.tell(Delivered("a", 1, order.message_id, "seen"))
    story.tell(RunAdopted("a", 1, 100, 1000))

    assert asked(story) == []


def test_plain_max_output_tokens_spoils_no_session_and_a_window_that_is_exceeded_does() -> None:
    story = ended()
    told(story, "output_limit")
    assert isinstance(story.state, Running)

    story = Story(claude()).works()
    story.hook("tool-end", tool="Bash")
    said = {"error": "max_output_tokens", "last_assistant_message": "API Error: something new"}
    story.tell(hook_event("a", 1, "stop-failure", said, story.wall))
    told(story, "window")

    assert isinstance(story.state, Stopping), story.agent.reason
    assert (story.of(Deliver), asked(story)) == ([], [])
    assert story.of(Terminate)
    story.exited(143)
    assert story.respawned().spawn.mode is Mode.FRESH


def test_an_answer_at_which_the_session_ends_is_kept_among_those_that_fell_short() -> None:
    story = ended()
    told(story, "window")

    assert isinstance(story.state, Stopping)
    facts = [fact for decision in story.decisions for fact in decision.facts if isinstance(fact, AnswerFellShort)]
    assert facts == [AnswerFellShort(1, "window", went_on=False)]


def test_a_window_that_the_cli_got_out_of_by_itself_ends_nothing() -> None:
    story = ended()
    told(story, "window", went_on=True)

    assert isinstance(story.state, Running)


def test_a_run_that_ends_with_a_cut_answer_is_told_to_go_on_at_its_next_start() -> None:
    story = ended()
    told(story)
    story.exited(None, 9)
    spawn = story.respawned().of(Spawn)[-1]

    assert spawn.prompt is PromptKind.CONTINUE


def test_an_older_incarnations_cut_answer_changes_nothing() -> None:
    story = ended()
    story.exited(None, 9)
    story.respawned().works()
    story.tell(AnswerCut("a", 1, "output_limit", 7.0))

    assert story.agent.cut is None


def test_it_is_kept_in_the_journal() -> None:
    story = ended()
    told(story, calls=("Bash",))

    assert load_agent(dump_agent(story.agent)).cut == story.agent.cut
