"""Plays a case through the real core: what put the agent down, and what its operator changed, said by hand for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phoenixd.core import productive
from phoenixd.core.agent.state import Quarantined, Starting, Stopped
from phoenixd.core.events.orders import AgentDeclared, BreakerEdited, BreakerReset
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.hooks import Failure, TurnFailed
from phoenixd.core.merit import Record
from phoenixd.core.spec import AgentSpec
from tests.blind.frozen import Corpus
from tests.core.corrections.missed import MISSED
from tests.core.story import EPOCH, Story, spec
from tests.journaled import dump_agent, load_agent

CORRECTIONS = Corpus(Path(__file__).parent, "open.json", "held.json", MISSED, sure="sure")


def not_found(story: Story) -> None:
    """Its program is not there."""
    story.tell(StartFailed("a", story.run.incarnation, 127, f"{story.agent.spec.argv[0]}: not found"))


def no_directory(story: Story) -> None:
    """Its directory is not there, however often it is tried."""
    for _ in range(story.agent.spec.restart.max_crashes):
        if not isinstance(story.state, Starting):
            story.respawned()
        story.tell(StartFailed("a", story.run.incarnation, 1, "no such directory", "no directory"))


def crashes(seconds: float = 1.0) -> Callable[[Story], None]:
    """Its runs live so long, and end with 1."""

    def crash(story: Story) -> None:
        for _ in range(story.agent.spec.restart.max_crashes):
            if not isinstance(story.state, Starting):
                story.respawned()
            story.started()
            story.pass_over(seconds)
            story.exited(1)

    return crash


def _refused(failure: Failure) -> Callable[[Story], None]:
    def refuse(story: Story) -> None:
        story.started()
        story.tell(TurnFailed("a", 1, text="refused", failure=failure))
        story.exited(1)

    return refuse


login, bill = _refused("login"), _refused("billing")
"""The service refuses its login, or its bill is not paid, and its run ends."""


def nothing_achieved(story: Story) -> None:
    """As many runs in a row as may be were ended as hung in their first call."""
    record = Record(unproductive=tuple(1000.0 * number for number in range(story.agent.spec.restart.max_unproductive)))
    decision = productive.give_up(replace(story.agent, record=record), story.now)
    assert decision.agent is not None
    story.fleet = replace(story.fleet, agents={"a": decision.agent})


def memory(story: Story) -> None:
    """The kernel ends it, for memory has run out; its start is held until the disk has room."""
    story.started()
    story.pass_over(3600)
    story.exited(None, 9, oom="host")
    story.wait(1800)


def breaker_open(story: Story) -> None:
    """Five iterations without progress opened its breaker."""
    story.started()
    story.exited(0)
    story.tell(BreakerEdited("a", "OPEN", 5))


def closed_by_hand(story: Story) -> None:
    """Its breaker's file is deleted."""
    story.tell(BreakerReset("a", "the deletion of its file"))


def stopped_in_quarantine(story: Story) -> None:
    """It is given up for its directory, and somebody stops it."""
    no_directory(story)
    story.stop()


def left(story: Story) -> None:
    """A person at its terminal leaves it."""
    story.started()
    story.pass_over(3600)
    story.exited(0)


def limit(story: Story) -> None:
    """It meets the limit of its account, which ends in four hours, and lives on."""
    story.started()
    story.tell(TurnFailed("a", 1, text="limit reached", failure="limit", reset_wall=EPOCH + 4 * 3600))


def stopped(story: Story) -> None:
    """Somebody stops it."""
    story.started()
    story.stop()
    story.exited(143)


@dataclass(frozen=True, slots=True)
class Given:
    """before: as it was declared. down: what put it down. after: what is declared now, or None where that is nothing.

    while_down: it happened while no daemon lived. act: what the operator does otherwise.
    """

    down: Callable[[Story], None]
    before: AgentSpec = field(default_factory=spec)
    after: dict[str, Any] | None = None
    while_down: bool = False
    act: Callable[[Story], None] | None = None


def starts(given: Given) -> tuple[bool, str]:
    """Whether phoenixd starts it by itself, and why or why not."""
    story = Story(given.before)
    story.start()
    given.down(story)
    if given.down not in (limit, memory):
        assert isinstance(story.state, Quarantined | Stopped), story.state
    if given.while_down:
        story.fleet = replace(story.fleet, agents={"a": load_agent(dump_agent(story.agent))})
    told = len(story.reasons)
    if given.after is not None:
        story.tell(AgentDeclared(replace(given.before, **given.after)))
    if given.act is not None:
        given.act(story)
    if story.agent.state_name == "stopping":
        story.exited(143)
    return story.agent.state_name in {"starting", "running", "backing_off"}, "; ".join(
        story.reasons[told:]
    ) or story.agent.reason
