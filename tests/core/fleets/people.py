"""What agents ask, what operators have ordered, and what they have configured."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import Any

from phoenixd.core.events.evidence import KeysRead
from phoenixd.core.events.fleet import AlertAcknowledged, SavingHalted
from phoenixd.core.events.orders import AnswerRequested, MuteRequested, StartRequested
from phoenixd.core.rules import (
    BreakerRules,
    BriefRules,
    CleanupRules,
    ContextRules,
    HandoffRules,
    LimitRules,
    LoopRules,
    ResonanceRules,
    RestartPolicy,
    RestartRules,
    WriterKind,
)
from phoenixd.core.spec import FleetLimits, Kind, PreparedAnswer
from tests.core.fleets.situation import At, at
from tests.core.story import Story, claude, spec
from tests.core.test_left_questions import ASKED


def asking() -> Iterator[At]:
    """Questions: held by the shim, answered from afar, left by a run that is over."""
    plan = dumps({"plan": "Paint."})
    for tool, text in (("Bash", "make"), ("AskUserQuestion", dumps(ASKED)), ("ExitPlanMode", plan)):
        story = Story(claude()).works()
        story.hook("permission-request", tool=tool, text=text, held=True, seq=3)
        yield at(f"{tool} is held", story)
        story.hook("permission-request", tool="Bash", text="make install", held=True, seq=4)
        yield at(f"{tool} is held, and another", story)
        given = {"words": ("1",)} if tool == "AskUserQuestion" else {"allow": True}
        story.tell(AnswerRequested("a", story.agent.items[-1].id, **given))
        yield at(f"{tool} is being answered", story)
    story = Story(claude()).works()
    story.screen = None
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=3)
    story.tell(KeysRead("a", 1))
    yield at("keys were read at its question", story)
    story.wait(0.7)
    yield at("its question is in doubt", story)
    story = Story(claude()).works()
    story.hook("permission-request", tool="AskUserQuestion", text=dumps(ASKED), held=True, seq=3)
    story.pass_over(400)
    story.exited(signal=9)
    yield at("it left a question", story)
    story.tell(AnswerRequested("a", story.agent.items[0].id, words=("1",)))
    yield at("the question that it left is answered", story)
    story.respawned().runs()
    yield at("the question that it left is answered, and it begins", story)


def ordered() -> Iterator[At]:
    """What operators did and can take back, or hold back."""
    story = Story(claude()).works()
    story.stop(act="u1", by="ada")
    yield at("its stop can be taken back while it ends", story)
    story.exited(None, 15)
    yield at("its stop can be taken back", story, after=86_400)
    story = Story(claude()).works()
    story.restart(fresh=True, act="u1")
    story.exited(None, 15)
    story.respawned().works()
    yield at("its fresh start can be taken back", story, after=60)
    story = Story(claude()).works()
    story.tell(MuteRequested("a", 600.0, "ada", "u1"))
    yield at("it is muted", story, after=60)
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=3)
    yield at("it asks and is muted", story, after=60)
    story.tell(AlertAcknowledged(story.agent.items[0].id, "ada"))
    yield at("it asks, and somebody has seen it", story, after=60)
    halted = Story(claude(), claude("b"))
    halted.tell(SavingHalted("the disk is full"))
    halted.start()
    yield at("it is to start, and nothing can be saved", halted, after=60)
    crowded = Story(claude(), claude("b"), limits=FleetLimits(max_starting=1))
    for name in ("b", "a"):
        crowded.tell(StartRequested(name))
    yield at("it is to start after another", crowded, after=5)
    loop = Story(spec(kind=Kind.LOOP))
    loop.start()
    loop.started()
    loop.stop(after_iteration=True)
    yield at("a loop is to stop after its iteration", loop, after=60)


OPTIONS: dict[str, dict[str, Any]] = {
    "its turns are judged": {"breaker": BreakerRules(per_turn=True, warn=1, stop=2)},
    "its own turns are judged": {"breaker": BreakerRules(per_turn=True, warn=2, stop=3)},
    "a loop with bounds": {
        "kind": Kind.LOOP,
        "loop": LoopRules(pause=5.0, session="resume", max_iterations=2, max_per_hour=3, done_text="Done."),
        "breaker": BreakerRules(warn=1, stop=2, cooldown=600.0, same_error=1, permission_denials=1),
    },
    "a loop that ends by its code": {"kind": Kind.LOOP, "loop": LoopRules(done_code=1, done_file="done.md")},
    "a loop whose breaker is off": {"kind": Kind.LOOP, "breaker": BreakerRules(enabled=False)},
    "it is always restarted": {"restart": RestartRules(RestartPolicy.ALWAYS, max_crashes=1)},
    "it is never restarted": {"restart": RestartRules(RestartPolicy.NEVER)},
    "its harness is gemini": {"harness": "gemini"},
    "its harness is opencode": {"harness": "opencode"},
    "its prompt is typed": {"harness": "command", "prompt_via": "paste"},
    "a command that tells of a limit": {"harness": "command", "limits": LimitRules(exit_codes=(1,))},
    "a command with a heartbeat": {"harness": "command", "heartbeat_file": "beat"},
    "its model writes its brief": {"brief": BriefRules(writer=WriterKind.AUTO, spacing=0.0)},
    "it cleans up": {"cleanup": CleanupRules(("node",), (8080,), "refuse")},
    "its answers are written down": {"answers": (PreparedAnswer("Bash make", False, "not now"),)},
    "its marker is asked for": {"resonance": ResonanceRules(enabled="on", mode="classic", interval_turns=1)},
    "it is an orchestrator of a small window": {
        "kind": Kind.ORCHESTRATOR, "context": ContextRules(0.5, 0.5, 0.6, limit=100_000),
        "handoff": HandoffRules(writer="model", drain=30.0, tries=1, spacing=0.0),
    },
}  # fmt: skip


JUDGED: dict[str, str | None] = {"its turns are judged": None, "its own turns are judged": "machine"}
"""Whose turns are judged, with the source of a further prompt: a person's, and one of nobody."""


def configured() -> Iterator[At]:
    """What an operator can ask for, in the middle of its second turn, which changed nothing, and after its end."""
    for what, options in OPTIONS.items():
        story = Story(claude(**options))
        story.work = "git:same"
        story.works()
        if story.agent.spec.has_hooks:
            story.hook("stop", text="Done with that.")
            story.hook("prompt-submit", text="Go on.", source=JUDGED.get(what))
        yield at(what, story, after=60)
        if what in JUDGED:
            story.work = "late"
            story.hook("stop", text="I looked.")
            yield at(f"{what}; its turn is measured", story, after=60)
            story.hook("prompt-submit", text="Once more.", source=JUDGED[what])
            yield at(f"{what}; it works again", story, after=60)
        story.pass_over(60)
        story.work = "late"
        story.exited(1)
        yield at(f"{what}; it ended", story, after=1)
