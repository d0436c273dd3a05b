"""The handoff of a seat, spawn and acknowledgement: a successor that cannot start, says nothing, or proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.actions import Deliver, WritePackage
from phoenixd.core.agent.state import Starting, Stopping
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import PackageFailed, PackageWritten
from phoenixd.core.events.runs import ShimLost, StartFailed
from phoenixd.core.handoff import verdict, words
from phoenixd.core.handoff.state import Step
from tests.core.handing import (
    FACTS,
    HASH,
    STEPS_BEFORE_FENCE,
    WORD,
    HandoffStory,
    armed_at_ack,
    at,
    denied,
    run_of,
)


def test_deadlines_stand_still_while_the_successor_asks_a_person() -> None:
    story = at("await_ack")
    story.hook_of("o-g2", "permission-request", tool="Bash", text="phoenixctl handoff ack")
    story.wait(5000)
    assert story.step is Step.AWAIT_ACK
    story.hook_of("o-g2", "tool-end", tool="Bash")
    assert story.ack() is None


def test_f_ho_9_a_successor_that_cannot_start_is_told_as_that_with_what_is_in_its_way() -> None:
    story = HandoffStory().drained()
    for _ in range(2):
        run = story.fleet.agents["o-g2"].run
        assert run is not None
        story.tell(StartFailed("o-g2", run.incarnation, 1, "/srv/shop is not there", obstacle="no directory"))

    assert story.step is Step.ROLLED_BACK
    assert story.handoff.why_back == "generation 2 did not start: /srv/shop is not there, and 2 tries are all"


def test_f_ho_9_a_successor_that_never_confirms_is_ended_one_more_is_tried_then_it_is_rolled_back() -> None:
    story = at("await_ack")
    story.wait(301)
    assert isinstance(story.fleet.agents["o-g2"].state, Stopping)
    assert story.step is Step.SPAWN
    first = story.fleet.agents["o-g2"].incarnation
    story.exits("o-g2", None, 15)
    assert story.handoff.tries == 2
    again = story.fleet.agents["o-g2"]
    assert isinstance(again.state, Starting)
    assert again.incarnation > first
    story.started_of("o-g2")
    story.wait(301)
    assert story.step is Step.ROLLBACK
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert list(story.fleet.agents) == ["o"]
    assert story.seat.generation == 1
    assert "handoff" in story.alerts()
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "the predecessor is told to go on"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"package": "00" * 32}, "package hash"),
        ({"package": ""}, "package hash"),
        ({"word": "stork"}, "word"),
        ({"word": ""}, "word"),
        ({"facts": ()}, "does not say phase"),
        ({"facts": FACTS[:1]}, "does not say step"),
        ({"facts": (("phase", "phase-01-plan"), ("step", "3"))}, "phase is not what stands there"),
    ],
)
def test_f_ho_10_e46_e48_e74_an_ack_that_proves_nothing_is_refused_with_the_reason(
    changes: dict[str, Any], why: str
) -> None:
    story = at("await_ack")
    refusal = story.ack(**changes)
    assert refusal is not None
    assert refusal.code == "conflict"
    assert why in refusal.message
    assert story.step is Step.AWAIT_ACK
    assert story.seat.generation == 1


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_x13_an_ack_of_the_generation_that_holds_the_seat_is_refused(step: str) -> None:
    story = at(step)
    generation = story.seat.generation
    refusal = story.ack(story.seat.holder)
    assert refusal is not None
    assert story.seat.generation == generation


def test_e47_an_ack_at_the_end_of_an_answer_counts_as_well() -> None:
    story = at("await_ack")
    told = f'{{"package": "{HASH}", "word": "{WORD}", "phase": "phase-02-api", "step": 3}}'
    story.hook_of("o-g2", "stop", text=f"I have read all of it.\nHANDOFF-ACK {told}")
    assert story.seat.generation == 2


def last_words(**changes: object) -> str:
    said = {"package": HASH, "word": WORD, **dict(FACTS), **changes}
    return f"I have read all of it.\nHANDOFF-ACK {json.dumps(said)}"


def test_f_ho_7_f_ho_10_an_ack_by_last_words_passes_the_same_gate_as_handoff_ack() -> None:
    """What the package names is gone: it is written again, and its successor is told to read it again."""
    story = at("await_ack")
    story.doubts = {"missing": GONE}
    story.hook_of("o-g2", "stop", text=last_words())
    assert (story.step, story.seat.generation, story.handoff.refused) == (Step.AWAIT_ACK, 1, GONE)
    assert len(story.of(WritePackage)) == 2
    told = story.of(Deliver)[-1]
    assert (told.agent, told.text) == ("o-g2", words.READ_AGAIN)

    story.doubts = {}
    story.hook_of("o-g2", "prompt-submit", text=told.text)
    story.hook_of("o-g2", "stop", text=last_words())
    assert story.seat.generation == 2


def test_f_ho_8_last_words_that_quote_a_package_that_was_changed_have_it_written_again() -> None:
    story = at("await_ack")
    story.doubts = {"changed": True}
    story.hook_of("o-g2", "stop", text=last_words(package="77" * 32))
    assert (story.step, story.seat.generation) == (Step.AWAIT_ACK, 1)
    assert len(story.of(WritePackage)) == 2
    assert story.of(Deliver)[-1].text == words.READ_AGAIN


def test_f_ho_7_files_that_go_again_and_again_end_the_try_of_last_words_too() -> None:
    story = at("await_ack")
    story.doubts = {"missing": GONE}
    for _ in range(30):
        if story.step is not Step.AWAIT_ACK or story.find("o-g2") is None:
            break
        story.hook_of("o-g2", "prompt-submit", text="read it")
        story.hook_of("o-g2", "stop", text=last_words())
        story.wait(100)
    assert story.seat.generation == 1
    assert len(story.of(WritePackage)) == 1 + 2, "it is written again twice in a try"


def test_f_ho_6_an_ack_by_last_words_is_looked_at_by_the_next_daemon_where_the_first_one_died() -> None:
    story = at("await_ack")
    story.files = "never"
    story.hook_of("o-g2", "stop", text=last_words())
    assert (story.step, story.seat.generation) == (Step.AWAIT_ACK, 1)
    assert not [one for one in story.of(Deliver) if one.agent == "o-g2"], "it has said it, and is not asked"
    story.files = "well"
    story.tell(EpochBegun(7))
    assert story.seat.generation == 2


def test_f_ho_6_a_package_that_was_being_written_again_for_last_words_is_so_after_the_daemon_died() -> None:
    story = at("await_ack")
    story.doubts = {"missing": GONE}
    story.files = "unwritten"
    story.hook_of("o-g2", "stop", text=last_words())
    assert len(story.of(WritePackage)) == 2
    assert not [one for one in story.of(Deliver) if one.agent == "o-g2"], "what it is to read is being written"
    story.files, story.doubts = "well", {}
    story.tell(EpochBegun(7))
    assert story.of(Deliver)[-1].text == words.READ_AGAIN


def test_f_ho_10_last_words_that_prove_nothing_are_answered_by_the_reminder_alone() -> None:
    story = at("await_ack")
    story.hook_of("o-g2", "stop", text=last_words(word="stork"))
    assert (story.step, story.seat.generation) == (Step.AWAIT_ACK, 1)
    assert "word" in story.handoff.refused
    assert len(story.of(WritePackage)) == 1
    assert story.of(Deliver)[-1].text == words.REMINDER


def test_an_answer_that_quotes_an_ack_in_its_middle_is_none() -> None:
    assert verdict.in_last_words('HANDOFF-ACK {"package": "x"}\nthat is what I would say') is None
    assert verdict.in_last_words("HANDOFF-ACK {broken") is None
    assert verdict.in_last_words('```\nHANDOFF-ACK {"package": "x", "word": "y"}\n```') == ("x", "y", ())


def test_of_an_ack_names_of_up_to_100_characters_are_read() -> None:
    said: dict[str, object] = {"n" * 100: "read", "n" * 101: "too long", "word": "y"}
    assert verdict.read(said) == ("", "y", (("n" * 100, "read"),))


def test_f_ho_8_a_package_that_was_changed_is_written_again_before_an_ack_counts() -> None:
    story = at("await_ack")
    story.files = "never"
    refusal = story.ack(changed=True, package="00" * 32)
    assert refusal is not None
    assert "written again" in refusal.message
    assert len(story.of(WritePackage)) == 2


def test_a_successor_whose_turn_ends_without_an_ack_is_asked_once_more() -> None:
    """It may have asked while no daemon lived."""
    story = at("await_ack")
    for _ in range(2):
        story.hook_of("o-g2", "stop", text="I have read it.")
    (asked,) = [one for one in story.of(Deliver) if "-ack-" in one.message_id]
    assert (asked.agent, asked.until) == ("o-g2", story.at + 60), "there is time to type it"
    assert story.ack() is None


def test_a_successor_of_the_last_try_that_cannot_be_ended_rolls_back() -> None:
    story = armed_at_ack()
    story.wait(301)
    assert story.step.value == "spawn"
    story.wait(301)
    assert story.step.value == "rollback"
    assert denied(story) == []
    story.wait(301)
    assert "handoff" in story.alerts()


@pytest.mark.parametrize("step", ["spawn", "await_ack"])
def test_f_ho_9_a_successor_that_is_being_ended_and_cannot_be_is_waited_for_no_longer_than_one_that_is_silent(
    step: str,
) -> None:
    """Its shim is lost, and what is left of its run is never known gone."""
    story = at(step)
    story.tell(ShimLost("o-g2", run_of(story).incarnation))
    assert isinstance(story.fleet.agents["o-g2"].state, Stopping)
    assert story.step.value == step
    story.wait(301)
    assert (story.step.value, story.handoff.made) == ("spawn", False)
    story.wait(301)
    assert story.step.value == "rollback"
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "the predecessor goes on meanwhile"
    story.wait(301)
    assert "handoff" in story.alerts()


def test_a_package_that_is_changed_again_and_again_does_not_put_the_deadline_off_for_ever() -> None:
    story = at("await_ack")
    for _ in range(30):
        story.pass_over(100)
        refusal = story.ack(changed=True, package="00" * 32)
        assert refusal is not None
        story.wait(0)
    assert story.step.value != "await_ack"
    assert len(story.of(WritePackage)) == 1 + 2, "it is written again twice in a try"


def test_a_changed_package_that_cannot_be_written_again_is_told() -> None:
    story = at("await_ack")
    story.files = "never"
    story.ack(changed=True, package="00" * 32)
    story.tell(PackageFailed("o", story.handoff.id, "the disk is full"))
    assert story.step.value == "await_ack"
    assert any("the disk is full" in one for one in story.reasons)
    story.tell(PackageFailed("o", story.handoff.id, "there is no project shop", final=True))
    assert story.step.value == "rollback"


GONE = ".claude/projects/shop/phase-02-api/plan.md is not there"


def test_e35_f_ho_7_an_ack_of_a_package_that_names_a_file_that_is_gone_is_refused_and_the_package_written_again() -> (
    None
):
    story = at("await_ack")
    story.files = "never"
    refusal = story.ack(missing=GONE)
    assert refusal is not None
    assert refusal.message == f"{GONE}: the package is being written again from what is there; read it again, then ack"
    assert len(story.of(WritePackage)) == 2
    assert (story.step, story.handoff.refused, story.seat.generation) == (Step.AWAIT_ACK, GONE, 1)

    other = "77" * 32
    story.tell(PackageWritten("o", story.handoff.id, other, WORD, FACTS, "read it", "orchestrator-a", "orchestrator-b"))
    stale = story.ack()
    assert stale is not None
    assert "hash" in stale.message, "only the newest counts"
    assert story.ack(package=other) is None
    assert story.seat.generation == 2


def test_e35_f_ho_7_files_that_go_again_and_again_end_in_a_rollback_with_the_reason() -> None:
    story = at("await_ack")
    told = []
    for _ in range(30):
        story.pass_over(100)
        refusal = story.ack(missing=GONE)
        assert refusal is not None
        told.append(refusal.message)
        story.wait(0)
    assert story.step.value != "await_ack"
    assert len(story.of(WritePackage)) == 1 + 2, "it is written again twice in a try"
    assert f"{GONE}, though the package was written 2 times more" in told
    assert story.seat.generation == 1


def test_an_ack_that_proves_nothing_has_no_package_written_again_for_it() -> None:
    story = at("await_ack")
    refusal = story.ack(word="stork", missing=GONE)
    assert refusal is not None
    assert "word" in refusal.message
    assert len(story.of(WritePackage)) == 1


def test_e37_artifacts_that_workers_remove_all_the_time_hold_no_handoff_back() -> None:
    story = at("await_ack")
    gone = ".claude/projects/shop/phase-02-api/artifacts/build.tmp is not there"
    refusals = [story.ack(missing_artifacts=gone) for _ in range(2)]
    assert all(one is not None and gone in one.message for one in refusals)
    assert len(story.of(WritePackage)) == 3
    assert story.ack(missing_artifacts=gone) is None
    assert story.seat.generation == 2
    assert any(one.endswith(f"has acknowledged, though {gone}") for one in story.reasons)
