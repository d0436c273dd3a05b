"""The handoff of a seat, update and snapshot: work on the project's files that fails, dies or takes tokens."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import UpdatePapers, WritePackage
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import PackageFailed, PapersFailed, PapersUpdated
from phoenixd.core.handoff.state import Step
from phoenixd.core.meter.reading import WORDING
from tests.core.handing import at


def test_e73_an_update_that_fails_twice_rolls_back_where_there_is_time() -> None:
    story = at("update")
    story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.UPDATE
    assert len(story.of(UpdatePapers)) == 2
    story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.ROLLED_BACK


def test_x30_at_the_hard_limit_it_goes_on_degraded() -> None:
    story = at("update")
    story.uses(194_001)
    for _ in range(2):
        story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.SNAPSHOT
    assert "plan.md is a pipe" in story.handoff.degraded


def test_f_ho_13_the_alert_of_a_project_that_is_gone_says_what_the_next_handoff_needs() -> None:
    """To begin it again alone must fail alike."""
    story, anew = at("update"), "phoenixctl phase init --standard --project o --workspace /srv/shop"
    story.tell(PapersFailed("o", story.handoff.id, "it is gone", final=True, remedy=anew))
    assert story.step is Step.ROLLED_BACK
    (alert,) = [one for one in story.agent.alerts if one.kind == "handoff"]
    told = f"bring that back, or begin it anew: {anew} && phoenixctl handoff start o"
    assert alert.text.endswith(f"was rolled back: it is gone. Look: phoenixctl handoff status o; {told}")

    assert story.begins() is None
    assert story.handoff.remedy == "", "another handoff knows of nothing that it needs"


def test_f_ho_20_a_project_that_is_gone_rolls_back_at_once() -> None:
    story = at("update")
    story.tell(PapersFailed("o", story.handoff.id, "there is no project shop", final=True))
    assert story.step is Step.ROLLED_BACK
    assert "handoff" in story.alerts()


def test_a_package_that_cannot_be_written_rolls_back() -> None:
    story = at("snapshot")
    for _ in range(2):
        story.tell(PackageFailed("o", story.handoff.id, "the disk is full"))
    assert story.step is Step.ROLLED_BACK


@pytest.mark.parametrize("step", ["update", "snapshot"])
def test_f_ho_6_work_that_died_with_the_daemon_is_ordered_again(step: str) -> None:
    story = at(step)
    kind = UpdatePapers if step == "update" else WritePackage
    before = len(story.of(kind))
    story.tell(EpochBegun(5))
    assert len(story.of(kind)) == before + 1


@pytest.mark.parametrize("step", ["update", "snapshot"])
def test_work_that_is_never_answered_is_given_up(step: str) -> None:
    story = at(step)
    story.wait(241)
    assert story.step is Step.ROLLED_BACK


@pytest.mark.parametrize("step", ["update", "spawn"])
def test_what_a_model_took_to_word_the_papers_is_counted_whatever_became_of_it(step: str) -> None:
    story = at(step)
    before = story.step
    story.tell(PapersFailed("o", story.handoff.id, "the disk is full", tokens=700))
    story.tell(PapersUpdated("o", "of another", tokens=9))
    story.tell(PapersUpdated("o", story.handoff.id, tokens=500))
    assert story.handoff.tokens == 1200
    spent = [one.sample for one in story.decisions if one.sample is not None and one.sample.source == WORDING]
    assert [(one.agent, one.session_id, one.tokens, one.limit) for one in spent] == [
        ("o", story.handoff.id, 700, None), ("o", story.handoff.id, 500, None),
    ]  # fmt: skip
    assert before is Step.UPDATE or story.step is before


def test_what_went_otherwise_with_the_papers_stands_in_the_reason() -> None:
    story = at("update")
    story.tell(PapersUpdated("o", story.handoff.id, note="handoff.command was not heeded"))
    assert any("(handoff.command was not heeded)" in one.reason for one in story.decisions)
    assert story.step is Step.SNAPSHOT
