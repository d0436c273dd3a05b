"""R: a claim that facts contradict is an alert, told once for each report, and never progress."""

from __future__ import annotations

from phoenixd.api.pages.layout import Page
from phoenixd.api.pages.next_commands import next_commands
from phoenixd.core import condition
from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.events.aftermath import ReportJudged
from phoenixd.core.events.orders import SendRequested, StartRequested
from phoenixd.core.projection import row
from phoenixd.core.reports import MOST_REPORTS
from phoenixd.drivers.notify.notifier import describe
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent


def judged(*contradicted: str, of: str = "task 1") -> ReportJudged:
    return ReportJudged("a", 1, of, contradicted, 3, 2)


def alerts(story: Story) -> list[str]:
    return [one.text for one in story.of(Alert) if one.kind == "contradicted claim"]


def over(story: Story) -> list[str]:
    return [one.text for one in story.of(Reassure) if one.kind == "contradicted claim"]


def test_a_contradicted_claim_is_told_with_its_words() -> None:
    story = Story(claude()).runs()
    story.tell(judged("pytest -q: it failed"))
    assert alerts(story) == ["the report of task 1 claims what did not happen (1): pytest -q: it failed"]
    assert story.decisions[-1].reason == "report of task 1: 1 claim contradicted, 3 verified, 2 unverifiable"
    assert condition.group(story.agent) == "needs_you"
    (alert,) = (one for one in story.of(Alert) if one.kind == "contradicted claim")
    assert describe(alert, 0.0)["next"] == "phoenixctl task status 1", "its terminal shows nothing of it"
    told = next_commands([row(story.agent, story.now)], Page(0.0, 200))
    assert "do: phoenixctl task status 1" in told
    assert "attach" not in told


def test_each_report_is_an_alert_of_its_own_and_a_newer_one_of_the_task_ends_it() -> None:
    story = Story(claude()).runs()
    story.tell(judged("x"))
    story.tell(judged("x"))
    story.tell(judged("y", of="task 2"))
    assert (len(alerts(story)), over(story)) == (2, [])
    story.tell(judged())
    assert len(over(story)) == 1
    assert [one.of for one in story.agent.disproved] == ["task 2"]


def test_whoever_starts_the_agent_or_tells_it_something_has_taken_it_up() -> None:
    for order in (SendRequested("a", "look again", "look again"), StartRequested("a")):
        story = Story(claude()).runs()
        story.tell(judged("x"))
        story.tell(order)
        assert len(over(story)) == 1, order


def test_a_clean_report_tells_nobody() -> None:
    story = Story(claude()).runs()
    story.tell(judged())
    assert alerts(story) == []
    assert "none contradicted" in story.decisions[-1].reason


def test_what_is_kept_is_bounded_and_survives_the_journal() -> None:
    story = Story(claude()).runs()
    for number in range(MOST_REPORTS + 5):
        story.tell(judged(*["x" * 5000] * 50, of=f"task {number}"))
    assert len(story.agent.disproved) == MOST_REPORTS
    assert sum(len(claim) for one in story.agent.disproved for claim in one.claims) <= MOST_REPORTS * 5 * 300
    assert load_agent(dump_agent(story.agent)).disproved == story.agent.disproved


def test_a_contradicted_claim_is_no_progress() -> None:
    story = Story(claude()).runs()
    before = story.agent
    story.tell(judged("x"))
    after = story.agent
    assert (after.record, after.breaker, after.turns) == (before.record, before.breaker, before.turns)
