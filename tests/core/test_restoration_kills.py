"""kill -9 of the daemon at each of the seven steps, in virtual time: each restoration comes to one end (R48).

`./dev proof restoring` does the same for real.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Refusal
from phoenixd.core.events.resonance import RestorationRequested
from phoenixd.core.events.runs import RunAdopted, RunMissing, TreeGone
from phoenixd.core.resonance.state import STEPS, Step
from tests.core.resonating import ResonanceStory, resonant
from tests.journaled import dump_agent, load_agent

When = Literal["before its commit", "before its actions"]


class Dying(ResonanceStory):
    """Its daemon dies at a step, once: in place of the commit that notes it, or before it carries anything out."""

    dies: tuple[int, When] | None = None
    deaths = 0

    def tell(self, event: Any) -> Refusal | None:
        if self.dies is None or self.papers != "well":
            return super().tell(event)
        before, seen = self.fleet, len(self.decisions)
        step, when = self.dies
        self.papers = "held"
        refusal = super().tell(event)
        self.papers = "well"
        if step not in self.noted(seen):
            self.carry_out(seen)
            return refusal
        self.dies, self.deaths = None, self.deaths + 1
        if when == "before its commit":
            # Nothing of it was noted, and its teller tells it again.
            self.fleet = before
            del self.decisions[seen:]
            self.begins_anew()
            return self.tell(event)
        self.begins_anew()
        return refusal

    def noted(self, seen: int) -> list[int]:
        facts = [fact for decision in self.decisions[seen:] for fact in decision.facts]
        return [fact.step for fact in facts if getattr(fact, "what", "") == "restoration"]  # type: ignore[union-attr]

    def begins_anew(self) -> None:
        """Another daemon: it reads the journal, and finds what lives."""
        loaded = load_agent(dump_agent(self.agent))
        assert loaded.resonance == self.agent.resonance
        self.fleet = replace(self.fleet, agents={"a": loaded})
        run = loaded.run
        if run is not None and run.pid is not None:
            held = tuple((one.answer.id, one.uses) for one in loaded.armed if not one.over)
            self.tell(RunAdopted("a", run.incarnation, 100, 1000, link=2, armed=held))
        elif run is not None:
            self.tell(RunMissing("a", run.incarnation))
            self.tell(TreeGone("a", run.incarnation))

    def goes_on(self, *, knows: bool) -> None:
        """What the agent and its shim do next. knows: it keeps what it is told."""
        match self.state.name:
            case "stopping":
                self.exited(143)
            case "backing_off":
                self.respawned()
            case "starting":
                self.up()
            case "running" if not knows:
                self.memory = None
                self.turn(answer=None if self.ready is None or "take the place of" in self.ready.text else "No.")
            case "running":
                self.turn()


@pytest.mark.parametrize("when", ["before its commit", "before its actions"])
@pytest.mark.parametrize("step", STEPS)
def test_r48_a_daemon_that_dies_at_a_step_goes_on_with_it_and_ends_it_once(step: Step, when: When) -> None:
    told = Dying(resonant(interval_turns=50)).begins()
    told.dies = (STEPS.index(step) + 1, when)
    base = told.agent.incarnation
    told.tell(RestorationRequested("a"))
    for _ in range(40):
        if told.steps[-1:] in ([6], [7]) and (told.state.name == "quarantined" or step is not Step.ESCALATE):
            break
        told.goes_on(knows=step is not Step.ESCALATE)

    assert told.deaths == 1
    last = 7 if step is Step.ESCALATE else 6
    assert told.steps == [1, 2, 3, 4, 5, last]
    if step is not Step.ESCALATE:
        assert isinstance(told.state, Running)
        assert told.agent.incarnation > base
        assert told.known.state == "intact"
