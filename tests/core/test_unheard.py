"""A way to the operator that is configured anew is told what stands, in one go that nobody has to scroll through."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent.standing import Ack, StandingAlert
from phoenixd.core.fleet import Fleet
from phoenixd.core.unheard import MOST, numbers, unheard
from tests.core.story import Story, claude


def with_alerts(*of_agent: StandingAlert, of_fleet: tuple[StandingAlert, ...] = ()) -> Fleet:
    fleet = Story(claude()).fleet
    (agent,) = fleet.agents.values()
    return replace(fleet, agents={agent.name: replace(agent, alerts=of_agent)}, alerts=of_fleet)


def test_what_stands_is_told_but_for_what_is_muted_was_seen_or_is_told_to_nobody() -> None:
    one = StandingAlert(1, "quarantined", "it crashed", 10.0)
    fleet = with_alerts(
        one,
        replace(one, id=2, held=True),
        replace(one, id=3, ack=Ack("root", 11.0)),
        replace(one, id=4, kind="stopped"),
        of_fleet=(StandingAlert(5, "degraded", "the disk is full", 5.0),),
    )

    told = unheard(fleet, numbers(fleet))

    assert [(one.agent, one.kind, one.text, one.id, one.raised_wall) for one in told] == [
        (None, "degraded", "the disk is full", 5, 5.0),
        ("a", "quarantined", "it crashed", 1, 10.0),
    ]
    assert unheard(fleet, {1}) == told[1:], "what this daemon raised itself was told by every way already"


def test_of_many_that_stand_those_that_need_a_person_come_first_and_the_rest_is_counted() -> None:
    minor = [StandingAlert(n, "hung", "it hung", float(n)) for n in range(1, 31)]
    major = [StandingAlert(n, "quarantined", "it crashed", float(n)) for n in range(31, 36)]
    fleet = with_alerts(*minor, *major)

    told = unheard(fleet, numbers(fleet))

    assert [one.id for one in told] == [*range(31, 36), *range(1, MOST - 4)]
    assert told[-1].text == "it hung (15 more stand: phoenixctl inbox)"
