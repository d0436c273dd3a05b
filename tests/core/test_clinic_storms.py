"""Storms with the clinic acting (issue 14, "efficacy that can be wrong"): its bounds hold whatever comes.

`./dev proof` plays 1,000 of them; the gate plays the first 20.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from phoenixd.api.cases import trials
from phoenixd.core.agent.state import Desired, Quarantined, Starting
from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.facts import Treating
from phoenixd.core.spec import FleetLimits
from phoenixd.core.treatment.authority import AGENT_PERIOD, FLEET_PERIOD, AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.outcome import Figure
from phoenixd.runtime.cases import treatments
from tests.core.story import Story, claude

GATE, ALL = 20, 1000
STRIKES = 40
ALIKE = ("there is no such model", "model_not_found")
WATCHING = ClinicRules(AuthorityRules(**dict.fromkeys(AuthorityRules.__slots__, "observe")))  # type: ignore[arg-type]
ASKING = ClinicRules(AuthorityRules(summarise="propose", fresh="propose", advise="propose", abort="propose"))


class Storm:
    """One agent under a storm of its own; each treatment is looked at as it is ordered."""

    def __init__(self, seed: int, rules: ClinicRules, caps: Caps) -> None:
        self.dice, self.caps = random.Random(seed), caps
        self.story = Story(claude(clinic=rules))
        self.story.tell(LimitsDeclared(FleetLimits(), clinic=caps))
        self.story.works()
        self.ordered: list[tuple[float, Treating]] = []
        self.looked_at = 0

    def rage(self) -> None:
        for _ in range(STRIKES):
            if self.story.agent.run is None:
                self.back()
            else:
                self.strike()
            self.check()

    def strike(self) -> None:
        story, dice = self.story, self.dice
        story.pass_over(dice.choice([1, 30, 400]))
        match dice.choice(["turn", "death", "death", "same", "limit", "model", "hang", "answer", "stop"]):
            case "turn":
                story.hook("prompt-submit", text="and now this")
                story.hook("tool-start", tool="Bash", tool_use_id="t")
                story.hook("tool-end", tool="Bash", tool_use_id="t")
                story.hook("stop")
            case "death":
                story.exited(signal=dice.choice([6, 9, 15]))
            case "same":
                story.exited(1)
            case "limit":
                story.hook("stop-failure", error=dice.choice(["rate_limit", "server_error"]), text="no")
            case "model":
                story.hook("stop-failure", error=ALIKE[1], text=ALIKE[0])
                story.exited(1)
            case "answer":
                items = [one for one in story.agent.items if one.kind == "proposal"]
                for one in items[:1]:
                    word = dice.choice(["allow", "deny"])
                    story.tell(AnswerRequested("a", one.id, word == "allow", words=(word,)))
            case "stop":
                story.stop(after_iteration=dice.random() < 0.5)
            case _:
                story.wait(3600)

    def back(self) -> None:
        story = self.story
        story.wait(self.dice.choice([1, 700, 7200]))
        if story.agent.run is None:
            story.start()
        if isinstance(story.state, Starting) and story.run.pid is None:
            story.works()

    def check(self) -> None:
        """Every treatment that was ordered since the last look, against the bounds."""
        story = self.story
        for decision in story.decisions[self.looked_at :]:
            for fact in decision.facts:
                if not isinstance(fact, Treating):
                    continue
                agent = decision.agent
                assert agent is not None
                slack = 1 if fact.allowed else 0
                assert fact.incarnation <= agent.incarnation <= fact.incarnation + slack, "of an older run"
                assert fact.allowed or agent.desired is Desired.RUNNING or fact.treatment == "abort", "after a stop"
                if not fact.allowed:
                    self.ordered.append((story.at, fact))
        self.looked_at = len(story.decisions)
        by_case = Counter(fact.case for _, fact in self.ordered)
        assert all(count <= self.caps.per_case for count in by_case.values())
        for at, _ in self.ordered:
            assert sum(at - AGENT_PERIOD < other <= at for other, _ in self.ordered) <= self.caps.per_agent
            assert sum(at - FLEET_PERIOD < other <= at for other, _ in self.ordered) <= self.caps.per_fleet
        given = Counter((fact.case, fact.treatment) for _, fact in self.ordered)
        assert all(count == 1 for count in given.values()), "the same prescription twice in one Case"
        book = story.fleet.cases
        waits = {patient.case for patient in book.patients}
        waits |= {one.about[0] for one in story.agent.items if one.kind == "proposal"}
        for case in book.cases:
            assert (case.closed is None) == (case.is_treated or case.id in waits), "open for ever, or closed too early"
            for one in case.treated:
                assert one.run == 0 or one.run >= one.incarnation
                assert one.outcome != "held" or one.productive is not None, "counted before it is known"

    def deaths_until_the_end(self) -> int:
        """Deaths without progress that it takes until the agent is given up."""
        story = self.story
        if not isinstance(story.state, Quarantined):
            story.stop()
            if story.agent.run is not None:
                story.exited(signal=15)
        story.start()
        story.work = "same"
        for count in range(1, 30):
            if isinstance(story.state, Quarantined):
                return count
            story.respawned()
            story.works()
            story.pass_over(30)
            story.exited(1)
            self.check()
        raise AssertionError("quarantine does not end it any more")


def play(seed: int) -> Counter[str]:
    """The bounds under each authority; what was ordered."""
    caps = Caps() if seed % 3 else Caps(per_case=1, per_agent=2, per_fleet=2)
    ends = {}
    found: Counter[str] = Counter()
    for name, rules in (("acting", ClinicRules()), ("asking", ASKING), ("watching", WATCHING)):
        storm = Storm(seed, rules, caps)
        storm.rage()
        found.update(f"{name} {fact.treatment}" for _, fact in storm.ordered)
        ends[name] = storm.deaths_until_the_end()
    assert ends["acting"] <= ends["watching"], "quarantine came later than without the clinic"
    return found


@pytest.mark.slow
def test_the_clinic_keeps_its_bounds_in_the_storms_of_the_gate() -> None:
    found: Counter[str] = sum((play(seed) for seed in range(GATE)), Counter())

    expected = {"acting advise", "acting abort", "asking advise"}
    assert expected <= found.keys(), "a treatment that never came proves nothing"
    assert not any(one.startswith("watching") for one in found)


FAILURES = 40
"""Failures of one agent, hours apart where it is helped."""


def efficacy(helps: bool) -> tuple[dict[str, Figure], Story]:
    """What `clinic list` says of each treatment in a world where every one helps, or none ever does."""
    story = Story(claude()).works()
    story.work = "new" if helps else "same"
    for _ in range(FAILURES):
        story.pass_over(400)
        story.exited(1)
        if isinstance(story.state, Quarantined):
            story.wait(7 * 3600)
            story.start()
        else:
            story.respawned()
        story.works()
        if helps:
            for text in ("one", "two", "three", "four", "five", "six", "seven"):
                story.hook("tool-start", tool="Bash", tool_use_id="t")
                story.hook("tool-end", tool="Bash", tool_use_id="t")
                story.hook("stop")
                story.pass_over(30)
                story.hook("prompt-submit", text=text)
            story.pass_over(2 * 3600)
    newest = {(one.case_id, one.number): one for one in treatments(story.kept)}
    figures, _ = trials(newest.values())
    return {one.group[3]: one for one in figures}, story


def test_treatments_that_never_help_are_said_to_have_held_0_of_n_within_the_caps() -> None:
    found, story = efficacy(helps=False)

    assert {name for name, one in found.items() if one.tried} >= {"resume", "advise"}
    assert {one.held for one in found.values()} == {0}
    assert {one.low for one in found.values() if one.tried} == {0.0}
    own = Counter(one.case_id for one in {(t.case_id, t.number): t for t in treatments(story.kept)}.values()
                  if one.by == "clinic")  # fmt: skip
    assert max(own.values()) <= Caps().per_case
    assert found["resume"].tried <= FAILURES


def test_a_treatment_that_always_helps_is_not_reported_above_its_interval() -> None:
    found, _ = efficacy(helps=True)

    resume = found["resume"]
    assert (resume.held, resume.tried) == (FAILURES, FAILURES)
    assert resume.low is not None
    assert 0.9 < resume.low < 0.95, "40 of 40 prove no more"
    assert resume.high == 1.0


@pytest.mark.proof
@pytest.mark.parametrize("first", range(GATE, ALL, GATE))
def test_the_clinic_keeps_its_bounds_in_a_thousand_storms(first: int) -> None:
    for seed in range(first, first + GATE):
        play(seed)
