"""What a way to the operator has yet to tell waits in the alert itself, and is told in one go that can be read."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent.standing import Ack, StandingAlert
from phoenixd.core.events.fleet import AlertsTold, TroubleGone, TroubleSeen, WaysBegun
from phoenixd.core.events.orders import MuteRequested, UnmuteRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.unheard import MOST, Unheard, numbers, unheard
from tests.core.story import Story, claude
from tests.core.test_touched_dialogs import keys
from tests.journaled import dump_agent, load_agent

WAYS = ("command", "webhook")


def with_alerts(*of_agent: StandingAlert, of_fleet: tuple[StandingAlert, ...] = ()) -> Fleet:
    fleet = Story(claude()).fleet
    (agent,) = fleet.agents.values()
    return replace(fleet, agents={agent.name: replace(agent, alerts=of_agent)}, alerts=of_fleet)


def by_ways(*ways: str) -> Story:
    """An agent at work, in a fleet whose operator is told by these ways."""
    story = Story(claude()).runs()
    story.fleet = replace(story.fleet, ways=ways)
    story.decisions.clear()
    return story


def waits(story: Story, way: str) -> list[int]:
    return [one.id for one in unheard(story.fleet, way).alerts]


def killed(story: Story) -> None:
    """The daemon dies, and the next one has what was saved."""
    saved = {name: load_agent(dump_agent(one)) for name, one in story.fleet.agents.items()}
    story.fleet = replace(story.fleet, agents=saved)


def test_what_stands_is_told_but_for_what_is_muted_was_seen_or_is_told_to_nobody() -> None:
    one = StandingAlert(1, "quarantined", "it crashed", 10.0, waits=("webhook",))
    fleet = with_alerts(
        one,
        replace(one, id=2, held=True),
        replace(one, id=3, ack=Ack("root", 11.0)),
        replace(one, id=4, kind="stopped"),
        replace(one, id=6, waits=("command",)),
        of_fleet=(StandingAlert(5, "degraded", "the disk is full", 5.0, waits=WAYS),),
    )

    told = unheard(fleet, "webhook").alerts

    assert [(one.agent, one.kind, one.text, one.id, one.raised_wall) for one in told] == [
        (None, "degraded", "the disk is full", 5, 5.0),
        ("a", "quarantined", "it crashed", 1, 10.0),
    ]
    assert unheard(fleet, "webhook", {5}).alerts == told[1:], "it has been given that already"
    assert numbers(fleet) == {1, 5, 6}


def test_of_many_that_stand_those_that_need_a_person_come_first_and_the_rest_is_counted() -> None:
    minor = [StandingAlert(n, "hung", "it hung", float(n), watched=True, waits=WAYS) for n in range(1, 31)]
    major = [StandingAlert(n, "quarantined", "it crashed", float(n), watched=True, waits=WAYS) for n in range(31, 36)]
    story = Story()
    story.fleet = with_alerts(*minor, *major)

    late = unheard(story.fleet, "command")

    assert [one.id for one in late.alerts] == [*range(31, 36), *range(1, MOST - 4)]
    assert late.alerts[-1].text == "it hung (15 more stand: phoenixctl inbox)"
    story.tell(AlertsTold("command", (("a", late.alerts[-1].id), *late.counted)))
    assert waits(story, "command") == [*range(31, 36), *range(1, MOST - 5)], "the last one has told of the rest"


def test_an_alert_waits_for_every_way_until_that_one_told_it_whatever_daemon_lives_then() -> None:
    story = by_ways(*WAYS)
    for agent in ("a", None):
        story.tell(TroubleSeen(agent, "brief", "it is old"))
    of_agent, of_fleet = (one.id for one in story.of(Alert))
    killed(story)
    assert waits(story, "command") == waits(story, "webhook") == [of_agent, of_fleet]

    story.tell(AlertsTold("webhook", (("a", of_agent), (None, of_fleet))))
    killed(story)
    assert (waits(story, "command"), waits(story, "webhook")) == ([of_agent, of_fleet], [])
    story.tell(TroubleSeen("a", "brief", "it is older"))
    assert waits(story, "webhook") == [], "the same again is no news"
    assert "brief was told by the webhook" in story.reasons[-1]

    story.tell(TroubleGone("a", "brief"))
    story.tell(AlertsTold("command", (("a", of_agent), ("nobody", 3))))
    assert waits(story, "command") == [of_fleet], "what is over is not told as if it stood"


def test_what_a_mute_held_back_waits_from_the_mutes_end_on() -> None:
    story = by_ways("command")
    story.tell(MuteRequested("a", 60.0, "ada"))
    story.tell(TroubleSeen("a", "brief", "it is old"))
    assert story.agent.alerts[0].waits == ()

    story.tell(UnmuteRequested("a", "ada"))
    killed(story)
    assert waits(story, "command") == [story.agent.alerts[0].id]


def test_what_is_not_to_be_told_by_a_way_waits_for_it_no_more() -> None:
    story = by_ways(*WAYS)
    story.tell(TroubleSeen("a", "brief", "it is old"))
    story.tell(AlertsTold("command", (("a", story.agent.alerts[0].id),), "its agent raises many"))
    assert (waits(story, "command"), len(waits(story, "webhook"))) == ([], 1)
    assert story.reasons[-1].endswith("brief is not told by the command: its agent raises many")


def test_what_stood_before_a_way_was_configured_waits_for_it_and_what_this_daemon_raised_does_not() -> None:
    story = by_ways()
    for kind in ("brief", "state"):
        story.tell(TroubleSeen("a", kind, "it is old"))
    first, second = (one.id for one in story.agent.alerts)
    assert waits(story, "webhook") == []

    story.tell(WaysBegun(("webhook",), frozenset({first})))
    killed(story)
    assert waits(story, "webhook") == [first]
    assert second not in waits(story, "webhook")


def test_an_alert_of_a_version_that_noted_no_ways_was_told_by_all() -> None:
    story = by_ways(*WAYS)
    story.tell(TroubleSeen("a", "brief", "it is old"))
    stored = dump_agent(story.agent)
    older = load_agent(stored.replace(noted := ', "waits": ["command", "webhook"]', ""))
    assert noted in stored
    assert older.alerts[0].waits == ()


def test_what_waits_of_a_question_in_doubt_is_looked_for_again_as_what_waits_for_a_mutes_end() -> None:
    """If its dialog is drawn late it stands again without a word: its way has to be asked again by itself."""
    story = by_ways("webhook")
    story.screen = "working"
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=1)
    (asked,) = story.agent.alerts
    assert not unheard(story.fleet, "webhook").is_more
    story.wait(0.05)
    keys(story)
    story.wait(0.6)
    assert story.agent.alerts == ()
    found = unheard(story.fleet, "webhook")
    assert (found.alerts, found.is_more) == ((), True)
    assert not unheard(story.fleet, "webhook", {asked.id}).is_more, "it has been given that already"
    assert not unheard(story.fleet, "command").is_more

    story.screen = "permission"
    story.wait(0.3)
    assert waits(story, "webhook") == [asked.id]
    story.tell(MuteRequested("a", 60.0, "ada"))
    assert unheard(story.fleet, "webhook") == Unheard(is_more=True)
    story.tell(UnmuteRequested("a", "ada"))
    assert waits(story, "webhook") == [asked.id]
