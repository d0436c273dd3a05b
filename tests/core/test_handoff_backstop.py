"""A CLI that begins to shorten a context by itself: the backstop of the meter (E80, F-HO-2, F-HO-3)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.armed import LINK
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.hooks import CompactionBegun
from phoenixd.core.rules import ContextRules
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_event
from tests.core.handing import HandoffStory, orchestrator
from tests.core.story import Story, claude


def metered(tokens: int | None = None, limit: int = 200_000, link: int = LINK, **changes: Any) -> HandoffStory:
    story = HandoffStory(orchestrator(context=ContextRules(predict=False), **changes))
    story.works()
    story.tell(RunAdopted("o", story.run.incarnation, 100, 1000, link=link, armed=()))
    if tokens is not None:
        story.uses(tokens, limit)
    return story


def compacts(story: HandoffStory, trigger: str | None = "auto", **said: Any) -> None:
    payload = {**said, **({"trigger": trigger} if trigger else {})}
    story.tell(hook_event(story.agent.name, story.run.incarnation, "pre-compact", payload, story.wall))


@pytest.mark.parametrize(
    ("said", "means"), [("auto", "auto"), ("manual", "manual"), ("by tides", "other"), (None, "other"), (7, "other")]
)
def test_who_has_a_context_shortened_is_read_from_the_hook(said: object, means: str) -> None:
    payload = {"trigger": said} if said is not None else {}
    event = hook_event("o", 1, "pre-compact", payload)
    assert isinstance(event, CompactionBegun)
    assert event.trigger == means


def test_e80_below_the_threshold_it_is_noted_with_its_tokens_and_the_third_in_a_row_is_a_request() -> None:
    story = metered(100_000)
    compacts(story, blocked=True)
    assert story.seat.handoff is None
    assert any("at 100,000 tokens, 50.00% of the window" in one and "kept from it" in one for one in story.reasons)
    compacts(story, blocked=True)
    assert story.seat.handoff is None
    compacts(story, blocked=True)
    assert story.handoff.trigger == "compaction"
    assert "time 3 in a row" in story.handoff.why


@pytest.mark.parametrize(("tokens", "begins"), [(143_999, False), (144_000, True)])
def test_f_ho_2_past_warn_the_first_one_is_a_request(tokens: int, begins: bool) -> None:
    story = metered(tokens)
    compacts(story)
    assert (story.seat.handoff is not None) == begins
    if begins:
        assert "before the threshold of 90%" in story.handoff.why


def test_f_ho_3_where_no_window_is_known_the_third_in_a_row_is_a_request_too() -> None:
    story = metered()
    for _ in range(3):
        assert story.seat.handoff is None
        compacts(story)
        story.hook("compacted")
    assert (story.handoff.trigger, "unknown number of tokens" in story.handoff.why) == ("compaction", True)


def test_e80_what_a_person_orders_asks_for_nothing_and_begins_the_row_anew() -> None:
    story = metered(100_000)
    for trigger in ("auto", "auto", "manual", "manual", "manual", "manual", "auto", "auto"):
        compacts(story, trigger)
    assert story.seat.handoff is None
    past = metered(150_000)
    for _ in range(5):
        compacts(past, "manual")
    assert past.seat.handoff is None


def test_a_word_that_is_not_known_asks_for_nothing() -> None:
    story = metered(150_000)
    for word in (None, "by tides", None, None):
        compacts(story, word)
    assert story.seat.handoff is None


def test_a_subagents_compaction_and_one_that_is_told_again_count_for_nothing() -> None:
    story = metered(150_000)
    compacts(story, agent_id="explorer")
    assert story.seat.handoff is None
    story = metered(100_000)
    for _ in range(4):
        story.tell(CompactionBegun("o", 1, seq=70, source="auto", trigger="auto"))
    assert story.seat.handoff is None


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
def test_only_an_orchestrators_compactions_mean_anything(kind: Kind) -> None:
    story = Story(claude(kind=kind)).works()
    story.tell(UsageSeen("a", 1, 150_000, 200_000, "transcript", story.wall))
    for _ in range(4):
        story.tell(hook_event("a", 1, "pre-compact", {"trigger": "auto"}, story.wall))
    assert not [one for one in story.reasons if "shorten" in one]
    assert (story.agent.meter.tokens, story.agent.meter.compactions) == (150_000, 0)


def test_f_ho_17_within_the_spacing_it_waits_and_what_was_shortened_meanwhile_asks_no_more() -> None:
    for is_let in (False, True):
        story = metered(100_000)
        story.begins()
        story.files = "lost"
        story.hook("stop")
        story.files = "well"
        first = story.handoff.id
        story.uses(150_000)
        compacts(story)
        assert story.handoff.id == first
        if is_let:
            story.tell(UsageSeen("o", 1, None, None, "transcript", None))
        story.wait(601)
        assert (story.handoff.id == first) == is_let


def test_e80_after_the_second_rollback_it_is_let_and_asks_for_nothing() -> None:
    story = metered(150_000)
    story.hook("stop")
    for _ in range(2):
        story.begins()
        story.comes_to_nothing()
    last = story.handoff.id
    for _ in range(5):
        compacts(story)
    story.wait(5000)
    assert (story.handoff.id, story.handoff.rollbacks) == (last, 2)
    assert not [one for one in armed.standing(story.agent, story.at) if one.answer.on == "compaction"]


def test_e80_it_is_forbidden_for_as_long_as_a_handoff_goes_on() -> None:
    story = metered(100_000)
    story.begins()
    story.screen = "permission"
    story.hook("permission-request", tool="Bash", text="make deploy")
    for _ in range(3):
        story.wait(10 * 3600)
        standing = [one.answer.on for one in armed.standing(story.fleet.agents["o"], story.at)]
        assert "compaction" in standing
    assert not story.handoff.is_over


def test_many_of_them_are_few_rows() -> None:
    story = metered(100_000)
    story.begins()
    for _ in range(50):
        compacts(story, blocked=True)
    assert len([one for one in story.reasons if "shorten its context" in one]) == 3
