"""A successor acknowledges by handoff-ack.json (E47): the same gate as by the command, and whose word a file is."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import Deliver, WritePackage
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import AckFileSeen
from phoenixd.core.handoff import ack_file, words
from phoenixd.core.handoff.state import Step
from tests.core.handing import FACTS, HASH, WORD, HandoffStory, at, run_of

GONE = "phase-02-api/artifacts/a.txt is not there"


def writes(story: HandoffStory, mark: str = "a", **changes: Any) -> None:
    said = {"package": HASH, "word": WORD, "facts": FACTS, "run": run_of(story).run_id, **changes}
    story.tell(AckFileSeen("o", story.handoff.id, mark, **said))


def told(story: HandoffStory) -> list[str]:
    return [one.text for one in story.of(Deliver) if one.agent == "o-g2"]


def test_e47_a_file_that_quotes_the_package_passes_the_seat_on_once() -> None:
    story = at("await_ack")
    writes(story)
    assert (story.step, story.seat.generation) == (Step.SHUTDOWN, 2)
    seen = len(story.decisions)
    writes(story)
    writes(story, "b")
    assert not [one for one in story.decisions[seen:] if one.actions]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"package": "77" * 32}, "its package hash is not that of the package that was written"),
        ({"word": "stork"}, "its word is not the one that stands in the package"),
        ({"facts": FACTS[:1]}, "it does not say step"),
        ({"run": ""}, ack_file.NO_RUN),
        ({"fault": "it is no JSON object"}, "it is no JSON object"),
    ],
)
def test_e47_a_wrong_file_is_refused_and_its_successor_is_told_why_once(changes: dict[str, Any], why: str) -> None:
    story = at("await_ack")
    writes(story, **changes)
    writes(story, **changes)
    assert (story.step, story.seat.generation, story.handoff.refused) == (Step.AWAIT_ACK, 1, why)
    assert told(story) == [words.file_refused(why)]
    assert words.is_ours(told(story)[0])
    story.hook_of("o-g2", "stop")
    assert len(told(story)) == 1, "no reminder beside it"
    writes(story, "b")
    assert story.seat.generation == 2


def of_the_predecessor(story: HandoffStory) -> str:
    run = story.fleet.agents["o"].run
    assert run is not None
    return run.run_id


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"generation": "1"}, "it says that it is of another generation than 2"),
        ({"session": "orchestrator-old"}, "it says that it is of another session than "),
        ({"run": "r-0"}, "it names another run than the one that generation 2 is at"),
        ({"run": of_the_predecessor}, "its predecessor, generation 1, wrote it"),
    ],
)
def test_e47_a_file_of_another_generation_or_run_is_ignored_and_the_journal_says_why(
    changes: dict[str, Any], why: str
) -> None:
    story = at("await_ack")
    writes(story, **{key: one(story) if callable(one) else one for key, one in changes.items()})
    assert (story.step, story.seat.generation, story.handoff.refused) == (Step.AWAIT_ACK, 1, "")
    assert told(story) == []
    assert story.reasons[-1].endswith(f"its handoff-ack.json is ignored: {why}")
    writes(story, "b")
    assert story.seat.generation == 2


def test_f_ho_9_a_file_of_the_try_before_is_no_word_of_the_next_successor() -> None:
    story = at("await_ack")
    earlier = run_of(story).run_id
    story.wait(301)
    story.exits("o-g2", None, 15)
    story.started_of("o-g2")
    assert (story.step, story.handoff.tries) == (Step.AWAIT_ACK, 2)
    writes(story, run=earlier)
    assert (story.step, story.seat.generation) == (Step.AWAIT_ACK, 1)


def test_f_ho_7_a_file_that_acknowledges_what_is_gone_has_the_package_written_again() -> None:
    story = at("await_ack")
    story.doubts = {"missing": GONE}
    writes(story)
    assert (story.step, story.seat.generation, story.handoff.refused) == (Step.AWAIT_ACK, 1, GONE)
    assert len(story.of(WritePackage)) == 2
    assert told(story) == [], "it is at a turn"
    story.hook_of("o-g2", "stop")
    assert told(story) == [words.READ_AGAIN]
    story.doubts = {}
    writes(story, "b")
    assert story.seat.generation == 2


def test_f_ho_6_a_file_that_was_heard_of_is_looked_at_by_the_next_daemon_where_the_first_one_died() -> None:
    story = at("await_ack")
    story.files = "never"
    writes(story)
    story.files = "well"
    story.tell(EpochBegun(7))
    assert story.seat.generation == 2


def test_only_so_many_files_of_a_try_are_judged() -> None:
    story = at("await_ack")
    for number in range(ack_file.MOST_FILES + 5):
        writes(story, str(number), word="stork")
    assert len(told(story)) == ack_file.MOST_FILES


@pytest.mark.parametrize("step", ["freeze", "drain", "update", "snapshot", "spawn", "shutdown"])
def test_a_file_that_nothing_waits_for_changes_nothing(step: str) -> None:
    story = at(step)
    before = story.handoff
    story.tell(AckFileSeen("o", before.id, "a", HASH, WORD, FACTS, "r-1"))
    assert story.handoff == before
