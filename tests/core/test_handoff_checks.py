"""What `handoff status` says of a handoff that came to nothing is what became of it (E75, E76)."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.orders import RollbackRequested
from phoenixd.core.handoff import checks
from phoenixd.core.handoff.checks import Check
from phoenixd.core.seat import finding
from tests.core.handing import HandoffStory


def check(story: HandoffStory, name: str) -> Check:
    return next(one for one in checks.checks(story.fleet, story.seat) if one.name == name)


def test_e75_updates_that_a_rollback_broke_off_are_not_finished() -> None:
    story = HandoffStory()
    story.works()
    story.hook("stop")
    story.begins()
    story.comes_to_nothing()
    assert check(story, "updates finished") == Check("updates finished", False, "they are gone")

    story.begins()
    story.files = "never"
    story.told_to_finish()
    story.tell(RollbackRequested("o"))
    assert check(story, "updates finished").well is None, "that was an order"


def test_e76_what_is_taken_before_the_ack_is_not_said_to_be_taken_at_it() -> None:
    story = HandoffStory().awaiting()
    run = story.fleet.agents["o-g2"].run
    assert run is not None
    story.tell(UsageSeen("o-g2", run.incarnation, 6_000, 200_000, "transcript", story.wall))
    seen = check(story, "room in the successor")
    assert (seen.well, seen.what) == (None, "3.0% of its window is taken so far; what is at its ack is awaited")
    story.ack()
    story.exits("o", None, 15)
    seen = check(story, "room in the successor")
    assert (seen.well, seen.what) == (True, "3.0% of its window was taken at its ack")


def test_e75_why_an_ack_was_refused_stands_with_the_checks() -> None:
    story = HandoffStory().awaiting()
    story.ack(facts=(("phase", "phase-02-api"), ("step", "4")))
    told = "tries: 1; the newest ack was refused: what it says of step is not what stands there"
    assert check(story, "package loaded").what == told
    story.ack("o", word="sparrow")
    assert check(story, "package loaded").what == told, "the predecessor's is none"


def test_e75_what_a_successor_did_is_found_after_its_handoff_was_rolled_back() -> None:
    story = HandoffStory().awaiting()
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    assert story.find("o-g2") is None
    assert finding.written_by(story.fleet, "o") == ("o", "o-g2")
    assert finding.written_by(story.fleet, "o-g2") == "o-g2"
    assert finding.written_by(story.fleet, "o-g3") is None
    plain = replace(story.agent, spec=replace(story.agent.spec, name="o-g2", seat=""))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, "o-g2": plain})
    assert finding.written_by(story.fleet, "o") == "o", "an agent of that name is none of the seat"


def test_e76_until_a_handoff_is_done_its_predecessor_stands_with_what_it_does() -> None:
    story = HandoffStory().awaiting()
    seen = check(story, "predecessor down")
    assert (seen.well, seen.what) == (None, f"o is {story.fleet.agents['o'].state_words}")
    story.fleet = replace(story.fleet, agents={name: one for name, one in story.fleet.agents.items() if name != "o"})
    assert check(story, "predecessor down").what == "o is gone"
