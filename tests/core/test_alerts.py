"""An alert is raised once, does not repeat while it stands, and is over by the event that proves it."""

from __future__ import annotations

import pytest

from phoenixd.core import alert_kinds, condition
from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.events import Event, is_journaled
from phoenixd.core.events.fleet import TerminalSeen, TroubleGone, TroubleSeen
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested
from phoenixd.core.events.runs import ShimLost, StartFailed, TreeGone, TreeLingers
from phoenixd.core.fleet import Fleet
from phoenixd.core.inbox import inbox
from phoenixd.core.step import step
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent


def over(story: Story) -> list[str]:
    return [word.kind for word in story.of(Reassure)]


def standing(story: Story) -> list[str]:
    return [one.kind for one in story.agent.alerts]


def ask(story: Story, text: str) -> None:
    story.tell(hook_of("a", story.run.incarnation, "permission-request", tool="Bash", text=text))


def test_p84_a_question_is_told_once_and_is_over_when_it_is_answered() -> None:
    story = Story(claude()).runs()
    ask(story, "make")
    ask(story, "make")
    assert (story.alerts(), over(story), standing(story)) == (["permission"], [], ["permission"])
    story.tell(hook_of("a", 1, "tool-end", tool="Bash"))
    assert (over(story), standing(story)) == ([], ["permission"]), "it was asked twice"
    story.tell(hook_of("a", 1, "tool-end", tool="Bash"))
    assert (over(story), standing(story)) == (["permission"], [])
    ask(story, "make")
    assert story.alerts() == ["permission", "permission"]


def test_another_question_is_news_and_the_one_before_is_over() -> None:
    story = Story(claude()).runs()
    ask(story, "make")
    ask(story, "rm -rf build")
    assert [(alert.text, alert.id) for alert in story.of(Alert)] == [("Bash make", 1), ("Bash rm -rf build", 2)]
    assert over(story) == ["permission"]
    item = story.agent.item
    assert item is not None
    assert item.id == story.agent.alerts[0].id, "the alert bears the number of its inbox item"


def test_p84_processes_that_linger_are_told_once_and_are_over_when_the_tree_is_gone() -> None:
    """F-SY-20: one alert for one cause."""
    story = Story(spec()).runs()
    story.tell(ShimLost("a", 1))
    for _ in range(30):
        story.tell(TreeLingers("a", 1, (5, 6)))
        story.wait(10)
    assert (story.alerts(), over(story)) == (["lingering"], [])
    told = [decision for decision in story.decisions if "outlive SIGKILL" in decision.reason]
    assert len(told) == 1, "one row in the journal, not one for each time that it is said"
    assert not is_journaled(TreeLingers("a", 1, (5, 6)))
    assert inbox(story.fleet)[0].kind == "lingering"
    story.tell(TreeGone("a", 1))
    assert over(story) == ["lingering"]
    assert inbox(story.fleet) == ()


def test_a_quarantine_is_over_when_somebody_starts_the_agent() -> None:
    story = Story(spec())
    story.start()
    story.tell(StartFailed("a", 1, 127, "no such command"))
    assert standing(story) == ["quarantined"]
    story.tell(StartRequested("a"))
    assert (over(story), standing(story)) == (["quarantined"], [])


def test_a_hang_is_over_when_a_later_run_was_productive_and_not_before() -> None:
    story = Story(claude()).runs()
    story.tell(hook_of("a", 1, "prompt-submit", text="go"))
    story.wait(901)
    assert story.alerts() == ["hung"]
    assert standing(story) == ["hung"]
    assert condition.group(story.agent) != "needs_you", "it heals by itself"
    story.exited(signal=9)
    story.started()
    story.hook("session-start", source="resume")
    assert standing(story) == ["hung"]
    story.hook("prompt-submit", text="go on")
    story.hook("tool-end", tool="Read")
    assert standing(story) == ["hung"]
    story.hook("stop")
    assert (over(story), standing(story)) == (["hung"], [])


def test_what_a_watch_saw_stands_until_the_watch_says_that_it_is_gone() -> None:
    story = Story(claude()).runs()
    story.tell(TroubleSeen("a", "brief", "it is 37 h old"))
    story.tell(TroubleSeen("a", "brief", "it is 38 h old"))
    story.stop()
    assert story.alerts() == ["brief"]
    assert story.agent.alerts[0].text == "it is 38 h old"
    assert condition.group(story.agent) == "needs_you"
    story.tell(TroubleGone("a", "brief", "it was written anew"))
    story.tell(TroubleGone("a", "brief"))
    assert [word.why for word in story.of(Reassure)] == ["it was written anew"]


def test_trouble_of_the_fleet_stands_with_the_fleet() -> None:
    story = Story(spec())
    for text in ("disk full", "disk full", "disk still full"):
        story.tell(TroubleSeen(None, "degraded", text))
    assert [(one.kind, one.text) for one in story.fleet.alerts] == [("degraded", "disk still full")]
    assert story.alerts() == ["degraded"]
    story.tell(TroubleGone(None, "degraded"))
    assert (story.fleet.alerts, over(story)) == ((), ["degraded"])


def test_trouble_of_an_agent_that_nobody_knows_changes_nothing() -> None:
    story = Story(spec())
    before = story.fleet
    story.tell(TroubleSeen("stranger", "brief", "old"))
    story.tell(TroubleGone("a", "brief"))
    assert story.fleet == before
    assert story.decisions == []


def test_an_outage_of_the_terminal_is_one_alert_of_the_fleet_until_it_answers() -> None:
    story = Story(*(spec(f"a{number}") for number in range(6)))
    for name in story.fleet.agents:
        story.tell(StartRequested(name))
    for agent in tuple(story.fleet.agents.values()):
        story.tell(ShimLost(agent.name, agent.incarnation))
    for _ in range(5):
        story.tell(TerminalSeen(False))
        story.wait(5)
    assert story.alerts().count("terminal") == 1
    story.tell(TerminalSeen(True))
    assert over(story) == ["terminal"]


def test_what_stands_of_a_removed_agent_is_over() -> None:
    story = Story(spec())
    story.tell(TroubleSeen("a", "brief", "old"))
    story.tell(AgentWithdrawn("a"))
    assert over(story) == ["brief"]


@pytest.mark.parametrize("event", [TroubleSeen("a", "brief", "old"), TreeLingers("a", 1, (5,))])
def test_a_daemon_that_starts_again_neither_repeats_nor_forgets_an_alert(event: Event) -> None:
    story = Story(claude()).runs()
    story.tell(event)
    (known,) = story.agent.alerts
    restored = Fleet({"a": load_agent(dump_agent(story.agent))}, next_item=story.fleet.next_item)
    again = step(restored, event, story.now)
    assert again.fleet.agents["a"].alerts == (known,)
    assert [action for decision in again.decisions for action in decision.actions] == []


def test_an_alert_cannot_fill_the_state_with_an_agents_words() -> None:
    story = Story(claude()).runs()
    for number in range(300):
        ask(story, f"{number} {'x' * 100_000}")
    assert len(story.agent.alerts) == 1
    assert len(dump_agent(story.agent)) < 40_000


def test_alerts_that_tell_what_phoenixd_does_by_itself_need_no_person() -> None:
    """`needs you` of status counts the others, so each kind that is added has to choose."""
    by_itself = {kind.name for kind in alert_kinds.TABLE if not kind.needs_person}
    assert {"unfenced", "marker lost", "quarantined", "unread", "resonance"} & by_itself == {"unfenced", "marker lost"}


def test_an_end_that_no_rule_words_tells_what_proved_it() -> None:
    """A decision that does something carries its reason, also where the end of an alert is all that it does."""
    story = Story(claude()).works()
    for _ in range(5):
        story.hook("stop-failure", error="server_error")
        story.hook("prompt-submit", text="Go on.")
    assert [alert.kind for alert in story.agent.alerts] == ["outage"]
    story.hook("tool-start", tool="Bash", tool_use_id="t1")
    story.decisions.clear()
    story.hook("tool-end", tool="Bash", tool_use_id="t1")

    assert over(story) == ["outage"]
    assert story.of(Reassure)[0].why == "a call or a turn went well"
    assert [one.reason for one in story.decisions] == ["outage is over: a call or a turn went well"]
