"""When git is asked for an agent's brief: as often as its spacing says, whatever somebody does to the wall clock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.moment import Moment
from phoenixd.documents.workspace import GitSummary
from phoenixd.drivers.files import plain as files
from phoenixd.memory.desk import Desk
from phoenixd.memory.repositories import GIT_PENANCE, GIT_SPACING, Repositories
from tests.start.places import NOW, Git, Room


@dataclass
class SetClock:
    """A clock whose wall time somebody sets. wall: what it showed when nothing had passed."""

    passed: float = 100.0
    wall: float = NOW

    def at(self) -> float:
        return self.passed

    def now(self) -> Moment:
        return Moment(self.passed, self.wall + self.passed)

    async def sleep_until(self, at: float) -> None:
        self.passed = max(self.passed, at)


@pytest.mark.parametrize("step", [0.0, -86400.0, 86400.0], ids=["as it is", "set back", "set ahead"])
@pytest.mark.parametrize(
    ("summary", "spacing"),
    [(GitSummary("main"), GIT_SPACING), (GitSummary("", problem="it did not answer"), GIT_PENANCE)],
    ids=["answers", "fails"],
)
async def test_git_is_asked_once_in_its_spacing_however_the_clock_is_set(
    room: Room, tmp_path: Path, step: float, summary: GitSummary, spacing: float
) -> None:
    clock, git = SetClock(), Git(summary)
    repositories = Repositories(ConfigurationTable(), clock, git)
    desk, agent = Desk.of("a", tmp_path / "a", files, ConfigurationTable()), room.agent()
    await repositories.refresh(desk, agent)
    assert len(git.asked) == 1

    clock.wall += step
    clock.passed += spacing - 1
    await repositories.refresh(desk, agent)
    assert len(git.asked) == 1, "it was asked a moment ago"
    clock.passed += 2
    await repositories.refresh(desk, agent)
    assert len(git.asked) == 2, "it is time again"
