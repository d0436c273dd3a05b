"""What phoenixd decides in a case: the case is played as its CLI would tell it, and what was decided is read off.

The cases were written and frozen by somebody who knew the requirements and the CLIs, and neither the rule nor its
tests. Half of them were opened when the rule was finished: it was right in 16 of those 20. One of the four was a bug,
generations of a seat that were not counted together, and is repaired; for the others nothing was changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Alert
from phoenixd.core.agent.state import Running, Stopping
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.handoff.state import Step
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import TOO_LONG
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.harness import HARNESSES
from phoenixd.harness.failed_turn import failed_turn
from phoenixd.runtime.cut_answers import answer_cut
from tests.blind.frozen import Case, Corpus
from tests.core.full_contexts.leading import Leading
from tests.core.full_contexts.missed import FULL_MISSED
from tests.core.full_contexts.writing import Line, Writer, content_of, encoded, writer
from tests.core.story import spec

KINDS = {"resident": Kind.RESIDENT, "worker": Kind.EPHEMERAL, "orchestrator": Kind.ORCHESTRATOR}
STOPS = {"window": "model_context_window_exceeded", "output limit": "max_tokens", "cause unknown": None}
"""The stop_reason that Claude Code writes of a cut answer; it writes none where the stream ended after a block."""
CALL, TURN, REST = 20.0, 120.0, 3600.0
"""Seconds of a call, between turns, and before a session is judged: longer than any spacing of handoffs."""
FULL = Corpus(Path(__file__).parent, "open.json", "held.json", FULL_MISSED, sure="")


def decided(case: Case) -> str:
    """fresh, handoff, person or other; the last step is what is judged."""
    played = _Played(case)
    for steps in case["before"]:
        played.session(steps)
    played.session(case["steps"], case["meter"])
    return played.verdict()


class _Played(Leading):
    def __init__(self, case: Case) -> None:
        kind = KINDS[case["kind"]]
        project = {"project": "shop"} if kind is Kind.ORCHESTRATOR else {}
        super().__init__(spec("o", kind=kind, harness=case["cli"], prompt="Build the shop.", **project))
        self.is_asked = False
        self.judged_from = 0
        self.start()

    def session(self, steps: list[dict[str, Any]], meter: dict[str, int | None] | None = None) -> None:
        if isinstance(self.agent.state, Stopping):
            self.exits(self.agent.name, None, 15)
        if not self.is_handed_over:
            self.pass_over(REST)
        self.is_asked = False
        for one in steps[:-1]:
            self.happens(one)
        if meter is not None and meter["tokens"] is not None:
            name, run = self.agent.name, self.alive.incarnation
            self.tell(UsageSeen(name, run, meter["tokens"], meter["window"], "transcript", self.wall))
        self.judged_from = len(self.decisions)
        self.happens(steps[-1])

    def happens(self, one: dict[str, Any]) -> None:
        ((what, said),) = one.items()
        match what:
            case "began":
                self.began(said)
            case "prompt_bytes":
                self.asks(said)
            case "calls":
                self.calls(said)
            case "turns":
                for _ in range(said):
                    self.calls(1)
                    self.turn_ends()
                    self.pass_over(TURN)
            case "turn_ended":
                self.turn_ends()
            case "failed":
                self.asks_if_idle()
                self.fails(said)
            case "cut":
                self.hears("stop")
                lines = self.writes.answer(self.wall, "msg", content_of("text", "So", ""), STOPS[said], 30_000, 32_000)
                found = answer_cut(self.agent, self.read(lines))
                assert found is not None, "the reader knows no cut answer of it"
                self.tell(found)
            case _:
                raise AssertionError(what)

    def hears(self, kind: str, **payload: Any) -> None:
        self.tell(hook_event(self.agent.name, self.alive.incarnation, kind, payload, self.wall))

    def fails(self, said: dict[str, str]) -> None:
        """Claude Code tells it by a hook; what the others tell is read from their transcripts."""
        if self.agent.spec.harness == "claude":
            self.hears("stop-failure", **said)
            return
        facts = self.read(self.writes.failed(self.wall, None, said["error_details"]))
        failed = failed_turn(self.agent, facts, HARNESSES[self.agent.spec.harness], self.wall)
        assert failed is not None, "the reader knows no failed turn of it"
        self.tell(failed)

    @property
    def writes(self) -> Writer:
        return writer(self.agent.spec.harness, self.alive.session_id or "")

    def read(self, lines: Iterable[Line]) -> SessionFacts:
        """What the reader of its CLI says of a transcript."""
        reading, form = SessionReading(), HARNESSES[self.agent.spec.harness].transcript_form
        assert form is not None
        for line in lines:
            if (record := form.record(encoded(line))) is not None:
                reading.hear(record)
        return reading.facts()

    def began(self, how: str) -> None:
        if not isinstance(self.agent.state, Running):
            self.respawned()
            name, run = self.agent.name, self.alive
            self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        session = f"session-after-{len(self.decisions)}" if how == "clear" else self.alive.session_id
        self.hears("session-start", session_id=session, source=how)
        self.is_asked = False

    def asks(self, size: int) -> None:
        self.hears("prompt-submit", prompt="Go on.", prompt_bytes=size)
        self.is_asked = True

    def asks_if_idle(self) -> None:
        if not self.is_asked:
            self.asks(200)

    def calls(self, number: int) -> None:
        self.asks_if_idle()
        if self.is_handed_over and self.step is Step.AWAIT_ACK:
            # A successor that works has said what its package told it.
            self.ack(self.agent.name)
        for _ in range(number):
            self.pass_over(CALL)
            call = f"t{len(self.decisions)}"
            self.hears("tool-start", tool_name="Bash", tool_use_id=call)
            self.hears("tool-end", tool_name="Bash", tool_use_id=call)

    def turn_ends(self) -> None:
        self.hears("stop")
        self.is_asked = False

    def verdict(self) -> str:
        agent = self.agent
        said = [action for decision in self.decisions[self.judged_from :] for action in decision.actions]
        if isinstance(agent.state, Stopping):
            self.exits(agent.name, None, 15)
            return "handoff" if self.is_handed_over else "fresh"
        if any(isinstance(one, Alert) and one.kind == TOO_LONG for one in said):
            return "person"
        is_called = any(isinstance(one, Alert) for one in said)
        return "person" if agent.spec.kind is Kind.EPHEMERAL and is_called else "other"
