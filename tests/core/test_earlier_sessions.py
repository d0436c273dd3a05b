"""Sessions that a run left for another one are remembered: the journal has the newest one of each run."""

from __future__ import annotations

import pytest

from phoenixd.core.agent.run import EARLIER_KEPT, MOST_EARLIER
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent


def cleared(story: Story, session: str, source: str = "clear") -> None:
    story.hook("session-start", session_id=session, source=source)


def earlier(story: Story) -> list[tuple[str, int]]:
    return [(one.session_id, one.incarnation) for one in story.agent.earlier]


def test_a_session_that_is_cleared_away_is_remembered_with_its_stretch_also_over_a_restart_of_the_daemon() -> None:
    story = Story(claude()).works()
    first, began = story.run.session_id, story.now.wall
    story.hook("stop")
    story.pass_over(600)
    cleared(story, "second")
    story.pass_over(60)
    cleared(story, "third")
    assert earlier(story) == [(first, 1), ("second", 1)]
    old, second = story.agent.earlier
    assert (old.began_wall, old.until_wall) == (began, began + 600)
    assert (second.began_wall, second.until_wall) == (began + 600, began + 660)
    assert load_agent(dump_agent(story.agent)).earlier == story.agent.earlier


@pytest.mark.parametrize("known", [claude(), spec("a")])
def test_the_id_that_a_cli_gives_its_session_at_its_start_ends_none(known: object) -> None:
    story = Story(known)  # type: ignore[arg-type]
    story.start()
    story.started()
    cleared(story, "its own", "startup")
    assert earlier(story) == []


def test_of_many_the_newest_are_remembered_and_none_for_longer_than_the_journal_has_its_runs() -> None:
    story = Story(claude()).works()
    for number in range(MOST_EARLIER + 5):
        cleared(story, f"s{number}")
    assert len(story.agent.earlier) == MOST_EARLIER
    assert story.agent.earlier[-1].session_id == f"s{MOST_EARLIER + 3}"
    story.pass_over(EARLIER_KEPT)
    cleared(story, "much later")
    assert [one.session_id for one in story.agent.earlier] == [f"s{MOST_EARLIER + 4}"]


def test_a_subagents_session_ends_none_of_its_agent() -> None:
    story = Story(claude()).works()
    story.hook("session-start", session_id="of a subagent", source="startup", sub="t1")
    assert earlier(story) == []
