"""What the daemon's own core says of a recorded failure: the record's events are told to it, one after the other.

Whether a failure is one at all is decided where the daemon decides it: by what opens a Case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from phoenixd.core import restart
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Starting
from phoenixd.core.causes import EndCause
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import AnswerCut, FailureStatusSeen, ScreenSeen
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.hooks import HookEvent, PromptSubmitted, SessionStarted, TurnEnded, TurnFailed
from phoenixd.core.spec import Kind
from phoenixd.core.traits import traits_of
from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.documents.limits import reset_in_words
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.harness import HARNESSES
from phoenixd.harness.failed_turn import broke_off, meaning
from tests.core.story import Story, spec
from tests.eval_clinic.reading import Record, facts_of, hooks_of, kind_of, said_of, silence_of

BY_RULE: dict[EndCause, int] = {"hung": restart.HUNG, "overtime": restart.OVERTIME}
"""The code by which the core knows what it ended itself."""


class Told(Story):
    """A daemon's core that hears a record. diagnosis: of the newest failure that no good end of a turn followed."""

    def __init__(self, record: Record) -> None:
        self.said = said_of(record.place)
        kind = Kind.RESIDENT if kind_of(self.said) == "terminal" else Kind.EPHEMERAL
        super().__init__(spec("a", harness=record.harness, kind=kind, prompt="Work through the plan."))
        self.record = record
        self.screen = "idle"
        self.diagnosis: Diagnosis | None = None

    def resumes(self) -> None:
        """The start that was ordered takes a session up that an earlier run left."""
        state = self.agent.state
        assert isinstance(state, Starting)
        agent = replace(self.agent, state=replace(state, run=replace(state.run, mode=Mode.RESUME)))
        self.fleet = replace(self.fleet, agents={**self.fleet.agents, "a": agent})

    def tell(self, event: Event) -> Refusal | None:
        known = len(self.kept)
        refusal = super().tell(event)
        new = [one for kept in self.kept[known:] for one in kept.noticed]
        if new:
            self.diagnosis = new[-1].diagnosis
        elif isinstance(event, TurnEnded | ScreenSeen) and self.fleet.cases.patient("a") is None:
            self.diagnosis = None
        return refusal


def diagnosed(record: Record) -> Diagnosis | None:
    """What the daemon's core says of it; None where it opens no Case, or a later turn ended well."""
    told = Told(record)
    told.start()
    if told.said.get("mode") == "resume":
        told.resumes()
    told.tell(AgentStarted("a", told.run.incarnation, told.run.run_id, 100, 1000))
    place, said = record.place, told.said
    harness = HARNESSES[record.harness]
    by_hook = False
    for hook in hooks_of(place / "hooks.jsonl", record.harness, silence_of(said)):
        if told.agent.run is None:
            break
        told.tell(_of_run(told, hook))
        if not hook.sub:
            by_hook = isinstance(hook, TurnFailed) or (by_hook and not isinstance(hook, TurnEnded | PromptSubmitted))
    facts = facts_of(place / "transcript.jsonl", harness)
    if facts is not None and told.agent.run is not None:
        for event in _of_transcript(told, facts, by_hook=by_hook):
            told.tell(event)
    ended = said.get("exit")
    if ended is not None and told.agent.run is not None:
        _end(told, ended)
    return told.diagnosis


def _of_run(told: Told, event: HookEvent) -> HookEvent:
    """The hook as one of the run that was started here."""
    run = told.run
    changes: dict[str, Any] = {"agent": "a", "incarnation": run.incarnation}
    if isinstance(event, SessionStarted):
        changes["session_id"] = run.session_id
    return replace(event, **changes)


def _of_transcript(told: Told, facts: SessionFacts, *, by_hook: bool) -> Iterator[Event]:
    """What the daemon reads there once a turn is over."""
    cut, failed, run = facts.cut_at_end, facts.error, told.run
    if failed is not None:
        resets = failed.resets if failed.resets is not None else reset_in_words(failed.text, told.wall)
        word, failure, named = meaning(failed, resets=resets is not None, broke=broke_off(facts))
        if not by_hook:
            yield TurnFailed(
                "a", run.incarnation, text=failed.text, error=word, failure=failure, named=named, reset_wall=resets,
                status=failed.status,
            )  # fmt: skip
        elif failed.status is not None:
            yield FailureStatusSeen("a", run.incarnation, failed.status, failure, named)
    if cut is not None:
        went_on = facts.went_on and facts.unended is None
        yield AnswerCut("a", run.incarnation, cut.how, cut.at, went_on, cut.calls or ())


def _end(told: Told, ended: dict[str, Any]) -> None:
    said, run = told.said, told.run
    if said.get("asked_to_end") is True:
        told.stop()
    limits = said.get("limits") or {}
    ended_as: EndCause = limits["ended_as"] if limits.get("ended_as") in BY_RULE else "exit"
    by_kernel = limits.get("oom") or ("agent" if limits.get("oom_kills") else "")
    oom: Literal["", "agent", "host"] = ("agent" if by_kernel == "agent" else "host") if by_kernel else ""
    lived = said.get("lived_s")
    told.pass_over(float(lived or 0.0))
    is_full = bool(limits.get("disk_full") or limits.get("disk full"))
    told.tell(
        AgentExited(
            "a", run.incarnation, run.run_id, BY_RULE.get(ended_as, ended.get("code")), ended.get("signal"),
            ended_as, oom=oom, full_disks=("cwd",) if is_full else (),
            lived=float(lived) if lived is not None else None, left=_is_left(told),
        )
    )  # fmt: skip


def _is_left(told: Told) -> bool:
    """Whether its terminal shows that a person left it, which the daemon asks where nothing else can tell."""
    shown, hooks = told.record.place / "screen.txt", told.record.place / "hooks.jsonl"
    if not traits_of(told.record.harness).leaves_in_silence or not shown.exists() or not hooks.exists():
        return False
    first = json.loads(next(iter(hooks.read_text().splitlines()), "{}"))
    session = str(first.get("body", first).get("session_id", ""))
    return HARNESSES[told.record.harness].takes_leave(shown.read_text(), session)
