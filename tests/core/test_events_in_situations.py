"""What each event comes to in each of many situations, as it was when it was last written down.

An answer is what was decided, and what is to be done; behind it stands a digest of all that changed of the fleet. Of an
event stands what it comes to mostly, and below that where it comes to something else.
`python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

import pytest

from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Tick
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.glance import glances
from phoenixd.core.inbox import inbox
from phoenixd.core.moment import Moment
from phoenixd.core.projection import project
from phoenixd.core.step import step
from tests.core.fleets.every import FLEETS
from tests.core.fleets.situation import At
from tests.core.happening import ALL, Happens
from tests.core.recorded.rendering import changes, clipped, value
from tests.core.recorded.tables import compare
from tests.core.test_rules_of_agents import SITUATIONS

DAY = 86_400.0
MOST = 16
"""Deadlines of a situation that are waited for."""
EARLY = 0.001


ALONE = frozenset(situation for situation, _, _ in SITUATIONS)
LIVING = [one for one in FLEETS if one.agent.run is not None or one.situation in ALONE]
"""Where what a run says is heard; that it is nothing where none lives, those that are alone show."""


def answer(before: Fleet, now: Moment, found: Step) -> str:
    said = [f"refused: {found.refusal.message}"] if found.refusal is not None else []
    for decision in found.decisions:
        said += [", ".join((clipped(decision.reason), *(type(action).__name__ for action in decision.actions)))]
    came = list(changes("", before, found.fleet))
    for one in found.decisions:
        came += map(value, (one.weight, one.removed, one.readings, one.actions, one.facts, one.sample))
    came += map(value, found.kept)
    came += [value(next_deadline(found.fleet, now))] if came else []
    digest = f" #{sha256(' '.join(came).encode()).hexdigest()[:6]}" if came else ""
    return f"{'; '.join(filter(None, said)) or 'nothing'}{digest}"


def happened(event: Event, one: At) -> tuple[str, Fleet]:
    found = step(one.fleet, event, one.now)
    return answer(one.fleet, one.now, found), found.fleet


def answers(happens: Happens, fleets: Sequence[At] = FLEETS) -> list[str]:
    """What an event comes to in most situations, and in which it comes to something else.

    Of situations in which the same is said, a digest stands behind those in which other things change than in most.
    """
    said: dict[str, dict[str, str]] = {}
    for one in fleets:
        words, _, digest = happened(happens(one.agent), one)[0].partition(" #")
        said.setdefault(words, {})[one.situation] = digest
    most = max(said, key=lambda words: len(said[words]))
    found = []
    for words in (most, *sorted(said.keys() - {most})):
        usual, _ = Counter(said[words].values()).most_common(1)[0]
        where = [
            name if digest == usual else f"{name} #{digest}"
            for name, digest in said[words].items() if words != most or digest != usual
        ]  # fmt: skip
        digest = f" #{usual}" if usual else ""
        found.append(f"{words}{digest}{': ' if where else ''}{', '.join(where)}")
    return [found[0], *(f"    {one}" for one in found[1:])]


@pytest.mark.parametrize("name", ALL)
def test_an_event_comes_in_each_situation_to_what_it_came_to(name: str) -> None:
    found = []
    for what, happens in ALL[name].items():
        most, *others = answers(happens, LIVING if name in ("hooks", "signs") else FLEETS)
        found += [f"{what}: {most}", *others]
    compare(f"events-{name}", found)


def test_faces_show_of_each_situation_what_they_showed() -> None:
    """The state, and a digest of all that rows, glances and the inbox hold."""
    found = []
    for one in FLEETS:
        rows = project(one.fleet, one.now)
        seen = [value(rows), value(inbox(one.fleet)), *map(value, glances(one.fleet, one.now))]
        states = ", ".join(
            f"{row.name} {row.state} ({row.group}{f', {row.activity}' if row.activity else ''})" for row in rows
        )
        found.append(f"{one.situation}: {states} #{sha256(' '.join(seen).encode()).hexdigest()[:6]}")
    compare("situations-shown", found)


def passes(one: At) -> Iterator[str]:
    """What comes at each of the next deadlines of a fleet that nobody tells anything, and that nothing comes before.

    Of the same words again and again stand the first.
    """
    began, before = one.now.at, ""
    for _ in range(MOST):
        due = next_deadline(one.fleet, one.now)
        if due is None or due > began + DAY:
            return
        for at in (due - EARLY, due) if due > one.now.at else (one.now.at,):
            one = one._replace(now=replace(one.now, at=at, wall=one.now.wall + at - one.now.at))
            said, after = happened(Tick(), one)
            words = said.partition(" #")[0]
            if words != before and (at >= due or said != "nothing"):
                yield f"{at - began:.10g} s: {said}"
                before = words
            one = one._replace(fleet=after)


def test_time_brings_in_each_situation_what_it_brought() -> None:
    """Each deadline is met on its instant, and not before it."""
    found = []
    for one in FLEETS:
        found += [one.situation, *(f"    {line}" for line in passes(one))]
    compare("events-of-time", found)
