"""How a simulated orchestrator behaves: its context fills up, it hands tasks out, it acknowledges its package.

It acknowledges by the verb or with its last words, wrongly first, late, or never; in calm it does what it is asked.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.tasks import TaskRequested
from phoenixd.core.handoff.words import REMINDER
from tests.simulate.host import Host
from tests.simulate.program import MINUTE, Program
from tests.simulate.project import FRESH, WINDOW

if TYPE_CHECKING:
    from tests.simulate.shim import Run, Shim

OPENING = "Take up this project."
REFUSED_FROM = 0.985
"""The share of the window from which on the CLI takes no prompt."""
SHORTENED_FROM = 0.95
"""The share from which on the CLI would shorten the context by itself."""
MANNERS = {"verb": 10, "words": 3, "wrong first": 2, "late": 1, "never": 1, "dies": 1}


class Orchestrator(Program):
    """One run of a generation of a seat."""

    def __init__(self, host: Host, agent: Agent, spawn: Spawn) -> None:
        super().__init__(host, agent, spawn)
        self._project = host.project
        self._seat = agent.spec.seat
        self._opening = agent.spec.opening
        (manner,) = host.dice.choices(list(MANNERS), list(MANNERS.values()))
        self._manner = manner
        self._acks_with_words = False
        self._turns = 0
        self._in_turn = False

    def begin(self, shim: Shim, run: Run) -> None:
        self._project.tokens.setdefault(self._spawn.session_id, FRESH)
        super().begin(shim, run)
        self._meter()

    def prompt(self, text: str) -> None:
        """What is typed during a turn is read at its next step."""
        self._host.promises.prompted(self._agent.name, self._limited_until)
        self._host.seats.typed(self._agent, self._spawn.incarnation, text)
        if self._in_turn:
            self._hook("prompt-submit", prompt=text)
        else:
            self._after(0.2, lambda: self._turn(text))

    def _turn(self, prompt: str) -> None:
        if self._in_turn:
            return  # What it would have begun by itself has to wait.
        if self._share >= REFUSED_FROM:
            self._host.seen["full context refused a prompt"] += 1
            self._hook("prompt-submit", prompt=prompt)
            self._fail(error="invalid_request", last_assistant_message="Prompt is too long")
            return
        self._in_turn = True
        self._turns += 1
        super()._turn(prompt)
        if self._host.is_calm:
            self._turn_ends = self._host.now + self._host.dice.uniform(30, 90)
        if self._opening and (self._turns == 1 or prompt == REMINDER):
            self._after(self._host.dice.uniform(1, 30), self._acknowledge)
            self._turn_ends = min(self._turn_ends, self._host.now + self._host.dice.uniform(MINUTE, 3 * MINUTE))

    def _work(self) -> None:
        if not self._host.is_calm:
            self._grow(self._host.dice.randrange(500, 9_000))
        if self._share >= REFUSED_FROM:
            self._host.seen["full context ended a turn"] += 1
            self._fail(error="invalid_request", last_assistant_message="Prompt is too long")
            return
        if self._host.happens(0.3) and not self._shim.answers(self._run, "tool-start"):
            self.hand_out()
        super()._work()

    def _rest(self) -> None:
        self._in_turn = False
        super()._rest()

    def _meet_limit(self) -> None:
        self._in_turn = False
        super()._meet_limit()

    def _fail(self, **said: Any) -> None:
        self._in_turn = False
        self._turn_failed = True
        self.screen = "idle"
        self._hook("stop-failure", **said)

    # --- its context -------------------------------------------------------------------------------------------------

    @property
    def _share(self) -> float:
        return self._project.tokens[self._spawn.session_id] / WINDOW

    def fill(self, share: float) -> None:
        """Something long was read."""
        self._project.tokens[self._spawn.session_id] = int(share * WINDOW)
        self._grow(0)

    def _grow(self, tokens: int) -> None:
        self._project.tokens[self._spawn.session_id] += tokens
        if self._share >= SHORTENED_FROM:
            if self._shim.answers(self._run, "pre-compact"):
                self._host.seen["compaction was blocked"] += 1
            else:
                self._host.seen["compacted"] += 1
                self._hook("pre-compact", trigger="auto")
                self._project.tokens[self._spawn.session_id] = 2 * FRESH
                self._hook("compacted")
        self._project.spent(self._agent.name, self._spawn.incarnation, self._spawn.session_id)

    def _meter(self) -> None:
        self._project.spent(self._agent.name, self._spawn.incarnation, self._spawn.session_id)
        self._after(self._host.dice.uniform(30, 90), self._meter)

    # --- its work ----------------------------------------------------------------------------------------------------

    def hand_out(self) -> None:
        """The next task of the plan. Its key is the plan's, so that a request without an answer is repeated."""
        number = self._project.asked[self._seat]
        key = f"{self._seat}-{number}"
        if key in self._project.taken:
            self._project.asked[self._seat] = number = number + 1
            key = f"{self._seat}-{number}"
        spec = replace(self._agent.spec, opening="")
        place = f"/srv/{self._host.dice.randrange(3)}"
        self._project.ask(
            TaskRequested(spec, "Do it.", key, self._seat, self._seat, plan=key, place=place, timeout=1800.0)
        )

    # --- its acknowledgement -----------------------------------------------------------------------------------------

    def _acknowledge(self) -> None:
        package = self._project.packages.get(self._seat)
        if package is None:
            return
        host, manner = self._host, "verb" if self._host.is_calm else self._manner
        host.seen[f"ack: {manner}"] += 1
        match manner:
            case "never":
                return
            case "dies":
                self._shim.end(self._run, 1, None, "exit")
            case "late":
                self._after(host.dice.uniform(30, 300), self._say_ack)
            case "words":
                self._acks_with_words = True
            case "wrong first":
                wrong = ((package.hash, "stork"), ("00", package.word))[host.dice.randrange(2)]
                self._project.acknowledge(HandoffAcked(self._agent.name, *wrong, package.facts))
                self._after(host.dice.uniform(1, 30), self._say_ack)
            case _:
                self._say_ack()

    def _say_ack(self) -> None:
        package = self._project.packages[self._seat]
        if package.tampered:
            self._project.acknowledge(HandoffAcked(self._agent.name, "ff", package.word, package.facts, changed=True))
            self._after(self._host.dice.uniform(5, 20), self._say_ack)
            return
        self._host.seats.proved(self._agent.name, package.hash)
        self._project.acknowledge(HandoffAcked(self._agent.name, package.hash, package.word, package.facts))

    def _last_words(self) -> str:
        package = self._project.packages.get(self._seat)
        if not self._acks_with_words or package is None:
            return "done"
        self._acks_with_words = False
        self._host.seats.proved(self._agent.name, package.hash)
        said = {"package": package.hash, "word": package.word, **dict(package.facts)}
        return f"I have read it.\nHANDOFF-ACK {json.dumps(said)}"
