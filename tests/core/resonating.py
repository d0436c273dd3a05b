"""An agent in virtual time whose codes are planted, and that answers checks as a test says."""

from __future__ import annotations

import random
from typing import Any

from phoenixd.core import armed
from phoenixd.core.actions import Arm, PlantCodes, ReadSeed
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Refusal
from phoenixd.core.events.resonance import AnchorSeen, CodesPlanted, SeedRead
from phoenixd.core.events.runs import AgentStarted, ArmedUsed
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.hooks import hook_of
from phoenixd.documents.resonance.marker import mint, mint_codes
from phoenixd.planting import Planting, codes_in, is_ours
from tests.core.story import Story, claude

PERSONA = "The Architect"
SEED = "[CONTEXT SEED]\nRole: The Architect\nActive task: Build the shop.\nConstraint: No framework."
"""What the papers say of the session that was lost."""


def resonant(name: str = "a", **rules: Any) -> AgentSpec:
    """A resident whose CLI drops the front of its context in silence."""
    return claude(name, resonance=ResonanceRules(**{"overflow": "silent", **rules}))


class ResonanceStory(Story):
    """The first agent. Codes are planted and the seed is read at once, unless `papers` says otherwise.

    memory: the planting that the agent has in its context; None: it lost that. shows: its CLI writes down what it was
    given at its session's start.
    """

    def __init__(self, *specs: AgentSpec, papers: str = "well", shows: bool = True) -> None:
        self.shows = shows
        self.dice, self.used = random.Random(7), set[str]()
        self.papers, self.memory = papers, None
        self.seq = 0
        self.plantings: list[Planting] = []
        super().__init__(*(specs or (resonant(),)))

    memory: Planting | None

    @property
    def known(self) -> Resonance:
        assert self.agent.resonance is not None
        return self.agent.resonance

    @property
    def facts(self) -> list[MarkerNoted]:
        return [fact for decision in self.decisions for fact in decision.facts if isinstance(fact, MarkerNoted)]

    @property
    def steps(self) -> list[int]:
        """The steps of restorations, in their order."""
        return [fact.step for fact in self.facts if fact.what == "restoration"]

    @property
    def verdicts(self) -> list[str]:
        return [fact.verdict for fact in self.facts if fact.what == "checked"]

    def draw(self, count: int) -> str:
        return self.dice.randbytes(count).hex()

    def minted(self, mode: Any = "one_time", codes: int = 24) -> Planting:
        marker = mint(self.draw, self.used)
        given = mint_codes(self.draw, {*self.used, marker.code}, codes) if mode == "one_time" else ()
        self.used |= {marker.code, *given}
        return Planting(marker, given, mode=mode)

    def tell(self, event: Any) -> Refusal | None:
        seen = len(self.decisions)
        refusal = super().tell(event)
        if self.papers == "well":
            self.carry_out(seen)
        return refusal

    def carry_out(self, seen: int) -> None:
        """What was ordered of the papers since the decision number `seen`."""
        for action in [one for decision in self.decisions[seen:] for one in decision.actions]:
            if isinstance(action, PlantCodes):
                self.plant(action)
            if isinstance(action, ReadSeed):
                self.tell(SeedRead(action.agent, action.incarnation, words=SEED))

    def plant(self, order: PlantCodes) -> None:
        rules = self.fleet.agents[order.agent].spec.resonance
        planting = self.minted(rules.mode, rules.codes)
        self.plantings.append(planting)
        if order.why in ("start", "restoration"):
            self.memory = planting
        self.tell(CodesPlanted(order.agent, order.incarnation, planting, self.wall, PERSONA))
        if self.shows and order.why in ("start", "restoration"):
            self.tell(AnchorSeen(order.agent, order.incarnation, planting.marker.code, self.wall))

    # The agent.

    def begins(self) -> ResonanceStory:
        """Bring it from wherever it is down to running and idle: its first turn is over."""
        if self.agent.run is None:
            self.start()
        self.up()
        self.hook("prompt-submit", text="Build the shop.")
        self.ends_turn()
        return self

    def up(self, link: int = armed.LINK) -> None:
        """exec succeeded, and its session has begun."""
        run = self.run
        self.tell(AgentStarted(self.agent.name, run.incarnation, run.run_id, 100, 1000, link))
        self.hook("session-start", session_id=run.session_id, source=run.mode.value if run.mode else "startup")

    @property
    def ready(self) -> ArmedAnswer | None:
        """What stands ready for its next turn's end."""
        return next((one.answer for one in armed.standing(self.agent, self.at) if one.answer.on == "stop"), None)

    def turn(self, words: str = "Done with that part.", answer: str | None = None) -> str | None:
        """One turn, and at its end the check that stands ready, if any: the question. answer: None: as it remembers."""
        self.hook("prompt-submit", text="Go on.")
        return self.ends_turn(words, answer)

    def ends_turn(self, words: str = "Done with that part.", answer: str | None = None) -> str | None:
        question = self.asked(words)
        if question is None:
            self.hook("stop", text=words)
            return None
        self.hook("stop", text=self.recited(question) if answer is None else answer)
        return question

    def asked(self, words: str = "Done with that part.") -> str | None:
        """The shim holds up the turn's end, where something stands ready for it."""
        ready = self.ready
        if ready is None or (ready.spares_questions and words.rstrip().endswith("?")):
            return None
        name, number = self.agent.name, self.run.incarnation
        self.seq += 1
        kept, used = hook_of(name, number, "stop-blocked", text=words), ArmedUsed(name, number, ready.id, 1, self.wall)
        # Either may come first.
        for event in (kept, used) if self.seq % 2 else (used, kept):
            self.tell(event)
        return ready.text

    def recited(self, question: str) -> str:
        """What the agent answers, from what it has in its context."""
        if "take the place of" in question:
            self.memory = self.plantings[-1]
            return "noted"
        if self.memory is None:
            return "I cannot see it."
        if "the code of the resonance marker" in question:
            return self.memory.marker.code
        number = int(question.split("resonance code number ")[1].split()[0])
        return self.memory.code(number)

    def idles(self) -> bool:
        return isinstance(self.state, Running) and not self.state.activity.turn_open

    def sent(self) -> list[str]:
        """Every text that was armed for it as a check."""
        return [one.answer.text for one in self.of(Arm) if is_ours(one.answer.text)]


def hexes_in(text: str, *plantings: Planting) -> set[str]:
    return set(codes_in(text)) & {code for planting in plantings for code in planting.hexes()}
