"""A seat in virtual time: its generations start, work, acknowledge and die as a test says."""

from __future__ import annotations

from typing import Any

from phoenixd.core import armed
from phoenixd.core.actions import CheckPackage, Deliver, UpdatePapers, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.decision import Refusal
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.handoffs import HandoffAcked, PackageChecked, PackageWritten, PapersFailed, PapersUpdated
from phoenixd.core.events.orders import HandoffRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, NotDelivered
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude

HASH, WORD = "5f" * 32, "heron"
FACTS = (("phase", "phase-02-api"), ("step", "3"))
OPENING = "Read your package."


def orchestrator(name: str = "o", **changes: Any) -> AgentSpec:
    return claude(name, kind=Kind.ORCHESTRATOR, **changes)


STEPS_BEFORE_FENCE = ("freeze", "drain", "update", "snapshot", "spawn", "await_ack")


class HandoffStory(Story):
    """The seat `o`. Work on files is done at once unless `files` says otherwise."""

    def __init__(self, *specs: AgentSpec) -> None:
        super().__init__(*(specs or (orchestrator(),)))
        self.files = "well"
        self.doubts: dict[str, Any] = {}
        """What the disk says against the package that last words quote."""

    @property
    def seat(self) -> Seat:
        return self.fleet.seats["o"]

    @property
    def handoff(self) -> Handoff:
        assert self.seat.handoff is not None, "no handoff was ever begun"
        return self.seat.handoff

    @property
    def step(self) -> Step:
        """How far the handoff is; a call forgets what was compared before."""
        return self.handoff.step

    @property
    def agent(self) -> Agent:
        """The holder."""
        return self.fleet.agents[self.seat.holder]

    def find(self, name: str) -> Agent | None:
        found: Agent | None = self.fleet.agents.get(name)
        return found

    def tell(self, event: Any) -> Refusal | None:
        seen = len(self.decisions)
        refusal = super().tell(event)
        for action in [one for decision in self.decisions[seen:] for one in decision.actions]:
            if isinstance(action, UpdatePapers) and self.files == "lost":
                self.tell(PapersFailed(action.agent, action.handoff, "they are gone", final=True))
            elif isinstance(action, UpdatePapers) and self.files != "never":
                self.tell(PapersUpdated(action.agent, action.handoff))
            if isinstance(action, WritePackage) and self.files not in ("never", "unwritten"):
                self.tell(PackageWritten(action.agent, action.handoff, HASH, WORD, FACTS, OPENING))
            if isinstance(action, CheckPackage) and self.files != "never":
                self.tell(PackageChecked(action.agent, action.handoff, action.package, **self.doubts))
        return refusal

    def begins(self, **details: Any) -> Refusal | None:
        return self.tell(HandoffRequested("o", **details))

    def started_of(self, name: str) -> None:
        run = self.fleet.agents[name].run
        assert run is not None, f"{name} was not started: {self.fleet.agents[name].reason}"
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 200, 2000))
        self.tell(hook_of(name, run.incarnation, "session-start", session_id=run.session_id, source="startup"))
        self.tell(hook_of(name, run.incarnation, "prompt-submit", text=OPENING))

    def hook_of(self, name: str, kind: str, **details: Any) -> None:
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(hook_of(name, run.incarnation, kind, **details))

    def exits(self, name: str, code: int | None = None, signal: int | None = None, **details: Any) -> None:
        run = self.fleet.agents[name].run
        assert run is not None, f"{name} does not run"
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, signal, **details))

    def told_to_finish(self) -> None:
        """The text arrives, a turn begins with it and ends."""
        text = self.of(Deliver)[-1]
        self.hook_of(text.agent, "prompt-submit", text=text.text)
        self.tell(Delivered(text.agent, text.incarnation, text.message_id, "prompt"))
        assert self.step is Step.DRAIN
        self.hook_of(text.agent, "stop")

    def comes_to_nothing(self) -> None:
        """The handoff that began is rolled back, and nobody ordered that: its project's files are gone."""
        self.files = "lost"
        self.told_to_finish()
        self.files = "well"
        assert self.step is Step.ROLLED_BACK, self.handoff

    def drained(self) -> HandoffStory:
        """The holder rests, a handoff is asked for, it finishes: a successor is being started."""
        self.works()
        self.hook("stop")
        assert self.begins() is None
        self.told_to_finish()
        assert self.step is Step.SPAWN, self.handoff
        return self

    def awaiting(self) -> HandoffStory:
        """The successor runs."""
        self.drained()
        self.started_of("o-g2")
        assert self.step is Step.AWAIT_ACK
        return self

    def ack(self, name: str = "o-g2", **changes: Any) -> Refusal | None:
        said = {"package": HASH, "word": WORD, "facts": FACTS, **changes}
        return self.tell(HandoffAcked(name, **said))

    def hands_over(self) -> Handoff:
        """The holder rests, and the seat passes to its second generation; what came of that."""
        self.hook("stop")
        self.begins()
        self.told_to_finish()
        self.started_of("o-g2")
        self.ack()
        self.exits("o", None, 15)
        return self.handoff

    def uses(self, tokens: int, limit: int | None = 200_000) -> None:
        run = self.run
        self.tell(UsageSeen(self.agent.name, run.incarnation, tokens, limit, "transcript", self.wall))


def at(step: str) -> HandoffStory:
    """A handoff that has come to this step."""
    story = HandoffStory()
    match step:
        case "freeze":
            story.works()
            story.hook("stop")
            story.begins()
        case "drain":
            story.works()
            story.begins()
            text = story.of(Deliver)[-1]
            story.tell(NotDelivered("o", 1, text.message_id, "the terminal is busy"))
        case "update" | "snapshot":
            story.works()
            story.hook("stop")
            story.files = "never"
            story.begins()
            story.told_to_finish()
            if step == "snapshot":
                story.tell(PapersUpdated("o", story.handoff.id))
        case "spawn":
            story.drained()
        case "await_ack":
            story.awaiting()
        case "shutdown":
            story.awaiting()
            assert story.ack() is None
        case _:
            raise ValueError(step)
    assert story.step.value == step, story.handoff
    return story


def run_of(story: HandoffStory, name: str = "o-g2") -> Run:
    run = story.fleet.agents[name].run
    assert run is not None
    return run


def denied(story: HandoffStory) -> list[str]:
    """What stands armed for the predecessor: begin, finish, rest."""
    return [one.answer.id.rsplit("-", 1)[1] for one in armed.standing(story.fleet.agents["o"], story.at)]


def armable() -> HandoffStory:
    """A holder at work, whose shim takes armed answers."""
    story = HandoffStory()
    story.start()
    story.tell(AgentStarted("o", 1, story.run.run_id, 100, 1000, link=2))
    story.hook("session-start", session_id=story.run.session_id, source="startup")
    story.hook("prompt-submit", text="Build the shop.")
    return story


def armed_at_ack() -> HandoffStory:
    """A predecessor whose shim takes armed answers has handed its work over, and is denied every tool."""
    story = armable()
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    assert denied(story) == ["begin", "rest"]
    return story
