"""A loop for tests: each iteration is a shell script in a real repository, judged by the real look and the breaker."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from phoenixd.core import breaker as breakers
from phoenixd.core.agent import Agent
from phoenixd.core.breaker import Breaker, Closed, Judgement, Open, Signals
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.moment import Moment
from phoenixd.core.progress import findings
from phoenixd.core.rules import BreakerRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.drivers.git.work import WorkPrints, neighbours_of
from tests.agents import an_agent
from tests.drivers.git.repositories import IDENTITY, git, make_repository

NOW = Moment(1000.0, 1_800_000_000.0)

Between = Callable[[int], object]


def sh(directory: Path, script: str, number: int = 0) -> None:
    """Run a script, in which $n is the iteration."""
    ran = subprocess.run(
        ["sh", "-euc", script], cwd=directory, env={**os.environ, **IDENTITY, "n": str(number), "GIT_EDITOR": "true"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"


class Loop:
    """One agent's iterations. others: agents that the daemon knows besides. judgements: what each came to."""

    def __init__(self, cwd: Path, rules: BreakerRules | None = None, others: tuple[Agent, ...] = ()) -> None:
        spec = AgentSpec("b", ("true",), str(cwd), Kind.LOOP, breaker=rules or BreakerRules())
        self.agent = an_agent(spec=spec)
        self.others = others
        self.prints = WorkPrints()
        self.breaker: Breaker = Closed()
        self.judgements: list[Judgement] = []

    def iterate(self, script: str | Callable[[], object], number: int = 0) -> Judgement:
        neighbours = tuple(neighbours_of(self.agent, self.others))
        before = self.prints.read(self.agent, None, neighbours)
        if isinstance(script, str):
            sh(Path(self.agent.spec.cwd), script, number)
        else:
            script()
        after = self.prints.read(self.agent, before.survey, neighbours)
        if after.survey is not None:
            self.agent = replace(self.agent, workplaces=after.survey.entered)
        measured = WorkMeasured(
            "b", 1, True, after.fingerprint, survey=after.survey, deeds=after.deeds, lost=after.lost,
            shared=after.shared,
        )  # fmt: skip
        found = findings(before.survey, measured)
        judgement = breakers.judge(
            self.breaker, before.fingerprint, after.fingerprint, Signals(), self.agent.spec.breaker, NOW, found
        )
        self.breaker = judgement.breaker
        self.judgements.append(judgement)
        return judgement

    def opens_after(
        self, script: str, most: int = 8, meanwhile: Between = lambda number: None, first: int = 1
    ) -> int | None:
        """After how many iterations the breaker is open; None where it stays closed. first: $n of the first."""
        for number in range(first, first + most):

            def both(number: int = number) -> None:
                meanwhile(number)
                sh(Path(self.agent.spec.cwd), script, number)

            self.iterate(both, number)
            if isinstance(self.breaker, Open):
                return number - first + 1
        return None

    @property
    def why(self) -> list[str]:
        return [judgement.reason for judgement in self.judgements]


class Town:
    """A repository with a remote, and a neighbour who publishes something whenever he is asked to."""

    def __init__(self, place: Path) -> None:
        self.tmp = place
        self.work = place / "work"

    @classmethod
    def built(cls, place: Path) -> Town:
        work = make_repository(place)
        git(place, "init", "-q", "--bare", "-b", "main", "remote.git")
        git(work, "remote", "add", "origin", "../remote.git")
        git(work, "push", "-q", "-u", "origin", "main")
        git(place, "clone", "-q", "remote.git", "neighbour")
        git(place / "neighbour", "remote", "set-url", "origin", "../remote.git")
        return cls(place)

    def copied(self, place: Path) -> Town:
        """Another one just like it: copying takes a fraction of building."""
        shutil.copytree(self.tmp, place, symlinks=True, dirs_exist_ok=True)
        for name in ("work", "neighbour"):
            config = place / name / ".git/config"
            config.write_text(config.read_text().replace("../remote.git", str(place / "remote.git")))
        return Town(place)

    def publish(self, number: int) -> None:
        # No other pushes to main: there is nothing to be pulled first.
        script = "echo $n > theirs.txt; git add theirs.txt; git commit -qm their-$n; git push -q"
        sh(self.tmp / "neighbour", script, number)
