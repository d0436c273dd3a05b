"""Deaths at every period: an agent that achieves nothing is given up, one that works never is (design section 3).

Two days of virtual time for each period from 10 s to 2 h. What a run has to show is its turns, its tool calls and its
work, never its age.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phoenixd.core.actions import Spawn
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Starting, Stopping
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.rules import LivenessRules
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.turn.liveness import was_told
from tests.core.story import Story, claude, spec

pytestmark = pytest.mark.slow

MINUTE, HOUR = 60.0, 3600.0
TWO_DAYS = 48 * HOUR
PERIODS = (10, 30, 60, 100, 299, 301, 6 * MINUTE, 10 * MINUTE, 20 * MINUTE, 37 * MINUTE, HOUR, 1.5 * HOUR, 2 * HOUR)
TOLD_ONCE = ("quarantined", "hung")

Life = Callable[["Days"], None]


class Days(Story):
    """One agent or more, each of whose runs does `life`, until it dies or is ended after `period`."""

    def __init__(self, *specs: AgentSpec, work: str | None = "git:same", limits: FleetLimits | None = None) -> None:
        super().__init__(*specs, limits=limits or FleetLimits(max_starting=100))
        self.work = work

    def lived_through(self, life: Life, period: float, until: float = TWO_DAYS) -> Days:
        """Start the first agent, and let each of its runs live so."""
        self.start()
        while self.at < until:
            if isinstance(self.state, BackingOff | Parked):
                due = next_deadline(self.fleet, self.now)
                if due is None:
                    break
                self.wait(max(0.001, due - self.at))
                continue
            if not isinstance(self.state, Starting):
                break
            born = self.run.incarnation
            self.started()
            life(self)
            dies_at = self.at + period
            while self._lives(born) and self.at < dies_at:
                due = next_deadline(self.fleet, self.now)
                self.wait(min(dies_at, due if due is not None else dies_at) - self.at)
            if self._lives(born):
                self.exited(signal=9)
        return self

    def _lives(self, incarnation: int) -> bool:
        """Whether this run still lives; one that is ended by us obeys."""
        if isinstance(self.state, Stopping):
            self.exited(signal=15)
        return self.agent.run is not None and self.run.incarnation == incarnation

    @property
    def starts(self) -> int:
        return len(self.of(Spawn))


def begins(days: Days) -> None:
    days.hook("session-start", session_id=days.run.session_id)


def says_continuing(days: Days) -> None:
    """A turn that ends well and holds no work: "Continuing where I left off."."""
    begins(days)
    if was_told(days.run, days.agent.spec):
        days.hook("prompt-submit", text="continue")
        days.hook("stop", text="Continuing where I left off.")


def dies_in_its_turn(days: Days) -> None:
    begins(days)
    days.hook("prompt-submit", text="continue")
    days.hook("tool-start", tool="Bash", tool_use_id="t")


def dies_idle(days: Days) -> None:
    begins(days)


def dies_unheard(days: Days) -> None:
    """Not one hook of it, where there used to be some."""


def does_something(days: Days) -> None:
    """A completed tool call in a turn that never ends."""
    begins(days)
    days.hook("prompt-submit", text="continue")
    days.hook("tool-start", tool="Bash", tool_use_id="t")
    days.hook("tool-end", tool="Bash", tool_use_id="t")


def ends_a_turn(days: Days) -> None:
    does_something(days)
    days.hook("stop", text="Done.")


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("life", [says_continuing, dies_in_its_turn, dies_idle, does_something])
def test_48_hours_of_deaths_without_progress_are_eight_starts_and_one_alert(life: Life, period: float) -> None:
    prompt = None if life is dies_idle else "Build the shop."
    days = Days(claude(prompt=prompt, liveness=LivenessRules(enabled=False))).lived_through(life, period)
    if life is says_continuing:
        # The first run followed no death, so its turn counts; each later one proves nothing.
        assert days.starts <= 9
    else:
        assert days.starts <= 8
    assert isinstance(days.state, Quarantined)
    assert days.alerts() == ["quarantined"]
    assert days.agent.item is not None
    assert days.agent.item.kind == "quarantined"


def test_48_hours_of_hangs_are_eight_starts_and_one_alert_for_each_cause() -> None:
    days = Days(claude()).lived_through(dies_in_its_turn, TWO_DAYS)
    assert isinstance(days.state, Quarantined)
    assert days.starts <= 8
    assert days.alerts() == ["hung", "quarantined"]
    assert "8 runs in a row" in days.agent.reason
    assert "restart.max_unproductive" in days.agent.reason


@pytest.mark.parametrize("period", [period for period in PERIODS if period >= 20 * MINUTE])
def test_48_hours_of_deaths_after_a_turn_of_work_are_resumed_each_time(period: float) -> None:
    days = Days(claude()).lived_through(ends_a_turn, period)
    assert days.starts >= TWO_DAYS / period - 2
    assert days.alerts() == []


@pytest.mark.parametrize("period", [period for period in PERIODS if period >= 20 * MINUTE])
def test_48_hours_of_deaths_that_leave_changed_work_are_resumed_each_time(period: float) -> None:
    days = Days(claude(liveness=LivenessRules(enabled=False)), work="new").lived_through(does_something, period)
    assert days.starts >= TWO_DAYS / period - 2
    assert days.alerts() == []


@pytest.mark.parametrize("period", PERIODS)
def test_48_hours_of_a_command_that_dies_at_a_steady_period_are_told_once(period: float) -> None:
    days = Days(spec()).lived_through(dies_unheard, period)
    if period < 5 * MINUTE:
        assert isinstance(days.state, Quarantined)
        assert days.starts == 5
        assert days.alerts() == ["quarantined"]
    else:
        assert days.starts >= TWO_DAYS / period - 2
        assert days.alerts() == ["steady deaths"]
