"""Seats that pass on, and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phoenixd.core.events.handoffs import AddendumWritten, PackageWritten, PapersUpdated
from phoenixd.core.events.orders import RollbackRequested, SendRequested
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import Member
from tests.core.filled import filled
from tests.core.fleets.situation import At, at
from tests.core.handing import FACTS, HASH, OPENING, WORD, HandoffStory
from tests.core.test_sequence import SequenceStory


def handing() -> Iterator[At]:
    """A seat that passes on, step by step: its holder, and its successor."""
    story = HandoffStory()
    story.works()
    story.begins()
    yield at("handed over: its turn is waited for", story, "o")
    story.hook("stop")
    yield at("handed over: it is told to finish", story, "o")
    story.files = "never"
    story.told_to_finish()
    yield at("handed over: its papers are brought up to date", story, "o", 10)
    story.tell(PapersUpdated("o", story.handoff.id))
    yield at("handed over: its package is being written", story, "o", 10)
    story.tell(PackageWritten("o", story.handoff.id, HASH, WORD, FACTS, OPENING, "s1", "s2"))
    yield at("handed over: its successor is started", story, "o")
    yield at("it is a successor that is started", story, "o-g2")
    story.started_of("o-g2")
    yield at("handed over: its successor reads", story, "o")
    yield at("it is a successor that reads", story, "o-g2")
    story.hook_of("o", "prompt-submit", text="Mind the till.")
    story.tell(SendRequested("o", "m1", "And the door."))
    story.ack()
    yield at("handed over: its successor has read", story, "o-g2" if "o" not in story.fleet.agents else "o")
    yield at("it is a successor that has read", story, "o-g2")
    story.tell(AddendumWritten("o", story.handoff.id, "/srv/addendum.md", 1, 1))
    yield at("it is a successor with an addendum", story, "o-g2")
    story.exits("o", 0)
    yield at("it is a successor whose predecessor ended", story, "o-g2")
    awaiting = HandoffStory().awaiting()
    for step in Step:
        one = story if step in (Step.FENCE, Step.SHUTDOWN, Step.DONE) else awaiting
        handoff = replace(filled(one.handoff), id="h1", step=step, deadline=one.at + 1, held="")
        handoff = replace(handoff, acked=not handoff.is_before_fence)
        fleet = replace(one.fleet, seats={"o": replace(one.seat, handoff=handoff)})
        yield At(f"handed over: all is known of it at {step}", fleet, one.agent, one.now)
    full = HandoffStory()
    full.works()
    full.uses(185_000)
    yield at("its context is full", full)
    again = HandoffStory().awaiting()
    again.exits("o-g2", 1)
    yield at("handed over: its successor died", again, "o")
    again.tell(RollbackRequested("o"))
    yield at("handed over: it is called off", again, "o")
    back = HandoffStory()
    back.works()
    back.hook("stop")
    back.begins()
    back.comes_to_nothing()
    yield at("its handoff came to nothing", back, "o")
    yield at("its handoff came to nothing long ago", back, "o", 7_200)
    down = HandoffStory()
    down.works()
    down.stop()
    down.exited(None, 15)
    yield at("its seat is down", down, "o")


def turns() -> Iterator[At]:
    """A sequence: its first member, and who has the turn."""
    story = SequenceStory()
    yield at("first of a sequence", story, "builder")
    story.has_run("builder")
    yield at("first of a sequence, another has its turn", story, "builder")
    yield at("it has its turn", story, "criticizer")
    yield at("its turn comes later", story, "planner")
    asks = SequenceStory(Member("planner", when_agent="criticizer"))
    asks.has_run("builder")
    yield at("it says whether another has its turn", asks, "criticizer")
    looks = SequenceStory(Member("planner", when_exists="todo.md"))
    looks.has_run("builder")
    yield at("its turn depends on a file", looks, "builder")
