"""A CLI's own compaction is forbidden beforehand, as long as a handoff can come first; and how the row tells of one."""

from __future__ import annotations

from phoenixd.core.actions import Arm, Disarm
from phoenixd.core.armed import LINK
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import RollbackRequested
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.handoff.compaction import ARMED_FOR
from phoenixd.core.projection import project
from phoenixd.core.rules import ContextRules
from tests.core.handing import HandoffStory, orchestrator


def at_work(rules: ContextRules | None = None, link: int = LINK) -> HandoffStory:
    story = HandoffStory(orchestrator(context=rules or ContextRules(predict=False)))
    story.works()
    story.tell(RunAdopted("o", story.run.incarnation, 100, 1000, link=link, armed=()))
    return story


def armed(story: HandoffStory) -> list[str]:
    return [one.answer.on for one in story.of(Arm)]


def test_e80_a_compaction_is_forbidden_as_soon_as_the_window_is_known() -> None:
    story = at_work()
    assert armed(story) == [], "no meter leads to a handoff yet, and nothing else would make room"
    story.uses(20_000)
    story.uses(30_000)
    assert armed(story) == ["compaction"]


def test_e80_where_the_operator_names_the_window_it_is_forbidden_from_the_start() -> None:
    assert armed(at_work(ContextRules(predict=False, limit=200_000))) == ["compaction"]


def test_a_shim_that_takes_no_answers_is_asked_for_none() -> None:
    story = at_work(link=LINK - 1)
    story.uses(20_000)
    assert armed(story) == []


def test_it_is_forbidden_for_longer_while_it_works() -> None:
    story = at_work()
    story.uses(20_000)
    story.hook("stop")
    story.wait(ARMED_FOR / 2 + 60)
    story.tell(Tick())
    first, second = story.of(Arm)
    assert (first.answer.id, first.answer.until < second.answer.until) == (second.answer.id, True)


def test_e80_after_the_second_rollback_it_is_let() -> None:
    story = at_work()
    story.uses(20_000)
    story.hook("stop")
    for count in (1, 2):
        assert story.of(Disarm) == [] or count == 2
        assert story.begins() is None
        story.comes_to_nothing()
        assert story.handoff.rollbacks == count
    assert "compaction" in [one.id for one in story.of(Disarm)]
    seen = len(story.of(Arm))
    story.uses(30_000)
    assert len(story.of(Arm)) == seen


def test_x13_the_row_says_handing_off_until_the_handoff_is_over() -> None:
    story = HandoffStory()
    story.works()
    assert [one.state for one in project(story.fleet, story.now)] == ["running"]
    story.hook("stop")
    assert story.begins() is None
    (row,) = project(story.fleet, story.now)
    assert (row.name, row.state, row.is_running) == ("o", "handing_off", True)
    story.tell(RollbackRequested("o"))
    assert [one.state for one in project(story.fleet, story.now)] == ["running"]
