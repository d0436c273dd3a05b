"""What came too late for a package: prompts to the predecessor and changed files, and how the successor hears of it."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Arm, Deliver, UpdatePapers, WriteAddendum
from phoenixd.core.armed import LINK
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import AddendumWritten
from phoenixd.core.events.orders import RollbackRequested
from phoenixd.core.events.runs import ArmedUsed, Delivered, RunAdopted
from phoenixd.core.handoff import words
from phoenixd.core.handoff.state import Step
from tests.core.handing import HandoffStory

PATH = ".claude/orchestrators/orchestrator-2/handoff-addendum.json"


def fenced() -> HandoffStory:
    story = HandoffStory().awaiting()
    assert story.ack() is None
    return story


def written(story: HandoffStory, **changes: object) -> None:
    story.tell(AddendumWritten("o", story.handoff.id, **changes))  # type: ignore[arg-type]


def texts(story: HandoffStory) -> list[str]:
    return [one.text for one in story.of(Deliver) if one.agent == "o-g2"]


@pytest.mark.parametrize("at", ["spawn", "await_ack"])
def test_what_a_person_submits_to_the_predecessor_after_the_snapshot_is_kept_once(at: str) -> None:
    story = HandoffStory().drained() if at == "spawn" else HandoffStory().awaiting()
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    assert [one.text for one in story.handoff.late] == ["Mind the till."]


def test_what_came_before_the_snapshot_is_in_the_package_and_our_own_words_are_nobodys() -> None:
    story = HandoffStory()
    story.works()
    story.hook("prompt-submit", text="Before.")
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    for ours in (words.FINISH, words.REMINDER, words.CALLED_OFF):
        story.hook_of("o", "prompt-submit", text=ours)
    story.hook_of("o-g2", "prompt-submit", text="To the successor itself.")
    assert story.handoff.late == ()


def test_f_ho_11_at_the_fence_an_addendum_is_ordered_once_and_again_by_a_daemon_that_begins() -> None:
    story = HandoffStory().awaiting()
    assert not story.of(WriteAddendum)
    story.ack()
    (order,) = story.of(WriteAddendum)
    assert (order.agent, order.handoff) == ("o", story.handoff.id)
    story.tell(EpochBegun(1))
    assert len(story.of(WriteAddendum)) == 2
    written(story)
    story.tell(EpochBegun(1))
    assert len(story.of(WriteAddendum)) == 2


def test_the_successor_is_told_where_the_addendum_lies_once_it_holds_the_seat_alone() -> None:
    story = fenced()
    written(story, path=PATH, files=3, said=1)
    assert texts(story) == []
    story.exits("o", None, 15)
    assert story.step is Step.DONE
    (text,) = texts(story)
    assert "3 files changed, and 1 prompt came to the session before you" in text
    assert PATH in text
    sent = story.of(Deliver)[-1]
    story.hook_of("o-g2", "prompt-submit", text=text)
    story.tell(Delivered(sent.agent, sent.incarnation, sent.message_id, "prompt"))
    assert story.handoff.letters == ()
    assert story.handoff.posted is None
    assert story.agent.last_prompt != text, "it is word of ours, and no task"


def test_an_addendum_that_comes_after_the_end_is_told_as_well_and_nothing_is_told_of_none() -> None:
    story = fenced()
    story.exits("o", None, 15)
    written(story, path=PATH, files=1, said=0)
    (text,) = texts(story)
    assert "1 file changed" in text
    written(story, path=PATH, files=1, said=0)
    assert len(texts(story)) == 1

    quiet = fenced()
    written(quiet)
    quiet.exits("o", None, 15)
    assert texts(quiet) == []


def test_where_it_cannot_be_written_the_prompts_go_to_the_successor_themselves() -> None:
    story = HandoffStory().awaiting()
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.ack()
    written(story, why="the addendum was not written: the disk is full")
    story.exits("o", None, 15)
    (text,) = texts(story)
    assert "Mind the till." in text


def test_a_handoff_that_is_rolled_back_has_no_addendum_for_its_predecessor_has_heard_it_all() -> None:
    story = HandoffStory().awaiting()
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.tell(RollbackRequested("o", "operator"))
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert not story.of(WriteAddendum)


@pytest.mark.parametrize("when", ["before the work on files", "after the end"])
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"path": PATH, "files": 2, "said": 1}, ("2 files changed, and 1 prompt", PATH)),
        ({"why": "the disk is full"}, ("Mind the till.", "look yourself which files changed")),
    ],
)
def test_f_ho_11_an_addendum_that_the_next_handoff_overtakes_is_told_to_who_holds_the_seat_then(
    how: dict[str, object], told: tuple[str, ...], when: str
) -> None:
    story = HandoffStory().awaiting()
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.ack()
    story.exits("o", None, 15)
    assert story.step is Step.DONE
    first = story.handoff.id
    story.hook_of("o-g2", "stop")
    assert story.begins() is None, "an operator need not wait for it"
    assert story.handoff.id != first
    written = AddendumWritten("o", first, **how)  # type: ignore[arg-type]
    if when == "before the work on files":
        story.tell(written)
    story.told_to_finish()
    story.started_of("o-g3")
    assert story.ack("o-g3") is None
    story.exits("o-g2", None, 15)
    assert story.step is Step.DONE
    if when == "after the end":
        assert not [one for one in story.of(Deliver) if one.agent == "o-g3"]
        ordered = len(story.of(WriteAddendum))
        story.tell(EpochBegun(1))
        assert [one.handoff for one in story.of(WriteAddendum)[ordered:]] == [first, story.handoff.id]
        story.tell(written)
    (text,) = [one.text for one in story.of(Deliver) if one.agent == "o-g3"]
    assert all(one in text for one in told)
    assert first in text
    assert words.is_ours(text)
    story.tell(written)
    assert len([one for one in story.of(Deliver) if one.agent == "o-g3"]) == 1, "once"
    assert (story.handoff.letters, story.handoff.owed) == ((), ())


def test_f_ho_11_an_addendum_of_before_is_ordered_before_a_package_is_written_again() -> None:
    story = HandoffStory().awaiting()
    story.ack()
    story.exits("o", None, 15)
    first = story.handoff.id
    story.hook_of("o-g2", "stop")
    story.begins()
    story.files = "never"
    story.told_to_finish()
    assert story.step is Step.UPDATE
    seen = len(story.decisions)
    story.tell(EpochBegun(1))
    ordered = [one for decision in story.decisions[seen:] for one in decision.actions]
    assert [type(one) for one in ordered if isinstance(one, WriteAddendum | UpdatePapers)] == [
        WriteAddendum, UpdatePapers,
    ]  # fmt: skip
    assert [one.handoff for one in ordered if isinstance(one, WriteAddendum)] == [first]


def test_f_ho_12_a_turns_end_is_held_up_once_in_a_handoff_and_never_again() -> None:
    story = HandoffStory()
    story.works()
    story.tell(RunAdopted("o", 1, 100, 1000, link=LINK, armed=()))
    assert story.begins() is None
    (block,) = [one.answer for one in story.of(Arm) if one.answer.on == "stop"]
    assert (block.text, block.times) == (words.FINISH, 1)
    story.tell(ArmedUsed("o", 1, block.id, 1, story.wall))
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.tell(EpochBegun(1))
    story.tell(RunAdopted("o", 1, 100, 1000, link=LINK, armed=((block.id, 1),)))
    story.wait(60)
    assert len([one for one in story.of(Arm) if one.answer.on == "stop"]) == 1
    story.hook("stop", text="The till is half done.")
    assert story.step is Step.SPAWN, "and the next one ends the drain"


@pytest.mark.parametrize("how", ["hook", "queue"])
def test_that_a_handoff_is_called_off_is_no_task_in_hand(how: str) -> None:
    story = HandoffStory()
    story.works()
    story.hook("prompt-submit", text="Build the till.")
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    assert story.agent.last_prompt == "Build the till.", "nor is the word to finish"
    story.tell(RollbackRequested("o", "operator"))
    text = story.of(Deliver)[-1]
    assert (text.agent, text.text) == ("o", words.CALLED_OFF)
    if how == "hook":
        story.hook_of("o", "prompt-submit", text=text.text)
        story.tell(Delivered("o", text.incarnation, text.message_id, "prompt"))
    else:
        story.tell(Delivered("o", text.incarnation, text.message_id, "queued", queued=text.text))
    assert story.agent.last_prompt == "Build the till."
