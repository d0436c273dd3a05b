"""What the core decides of an end: its CLI's hooks, transcript and shim tell it through their real readers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from phoenixd.core.actions import Alert, SeeAttendance
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.decision import Refusal
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.facts import RunEnded
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.restart import HUNG, OVERTIME
from phoenixd.core.rules import LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.treatment.case import Noticed
from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.session_facts import SessionReading
from phoenixd.harness import HARNESSES
from phoenixd.harness.failed_turn import failed_turn, is_told_by_transcript_alone
from phoenixd.runtime.exits import exit_event
from phoenixd.runtime.failed_starts import start_failed
from phoenixd.shim import payload
from tests.core.ends.reading import Facts
from tests.core.full_contexts.writing import encoded, writer
from tests.core.story import Story, spec

FINISHED, CRASHED, START, LIMIT = "finished well", "crashed", "start failed", "rate or usage limit"
LOGIN, FULL, ORDER, OUTSIDE, HANGS = (
    "authentication", "context full", "stopped by an order", "killed by something outside", "hung",
)  # fmt: skip
RESUME, FRESH, PARK, GIVE_UP, LEAVE = (
    "restart by resume", "restart fresh with brief", "park until a time", "give up and tell", "leave it",
)  # fmt: skip
"""The words of the cases."""
CALL, ENOUGH, PROVED = 20.0, 4 * 3600.0, 3600.0
"""Seconds of a call; until when a wait is over at the latest; until a run counts as living with nothing else told."""
LATEST = 2700.0
"""Seconds after which phoenixd has ended a run by a rule of its own."""
OF_DETAIL = {
    "window": (FULL,), "login": (LOGIN,), "billing": (LOGIN, LIMIT), "limit": (LIMIT,), "usage_limit": (LIMIT,),
    "resume_refused": (START,), "failed_start": (START,), "session_in_use": (START,),
    "terminated": (OUTSIDE,), "killed": (OUTSIDE,), "memory": (OUTSIDE,), "host": (OUTSIDE,),
    "hang": (HANGS, ORDER), "hang_in_call": (HANGS, ORDER), "overtime": (ORDER,),
}  # fmt: skip
"""What the clinic's diagnosis of an end is in the words of the cases; whatever is not here has crashed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """what: every word of the cases that says what the core has concluded, for it does not tell all of them apart."""

    what: tuple[str, ...]
    does: str
    reason: str
    parked: tuple[str, ...] = ()
    """Who waits for a limit or an outage at the moment of the end."""


def answer(facts: Facts) -> Answer:
    return End(facts).played()


def spec_of(facts: Facts) -> AgentSpec:
    return spec(
        "a",
        kind=facts.kind,
        harness=facts.harness,
        argv=facts.argv,
        prompt="Build the shop." if facts.harness != "command" else None,
        restart=RestartRules(policy=RestartPolicy(facts.policy)),
        loop=LoopRules(session=facts.session),
        account="team" if facts.peers else None,
    )


class End(Story):
    def __init__(self, facts: Facts) -> None:
        self.facts, self.is_over = facts, False
        own = spec_of(facts)
        peers = (replace(own, name=f"peer{one}", kind=Kind.RESIDENT, prompt=None) for one in range(facts.peers))
        super().__init__(own, *peers)
        self.screen = None
        self.spent = (0.0, 0)
        if facts.wall is not None:
            self.wall = facts.wall - facts.lived

    def played(self) -> Answer:
        facts = self.facts
        for number in range(facts.peers):
            self.up(f"peer{number}")
        self.tell(StartRequested("a"))
        if facts.resumed and not facts.earlier:
            self.runs_for(PROVED, "open", 1)
            self.ends(1, None)
            self.respawned()
        for lived in facts.earlier:
            self.runs_for(lived, facts.turn, facts.calls)
            self.ends(facts.code, facts.signal)
            self.respawned()
        self.decisions.clear()
        self.kept.clear()
        run = self.run.incarnation
        self.last_run()
        what = self.what(run)
        parked = tuple(sorted(one.name for one in self.fleet.agents.values() if one.parking is not None))
        return Answer(what, self.does(), self.agent.reason if "a" in self.fleet.agents else "removed", parked)

    # --- what happens ---

    def up(self, name: str) -> None:
        self.tell(StartRequested(name))
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 300, 3000))
        self.hears("SessionStart", of=name, source="startup")

    def hears(self, name: str, *, of: str = "a", more: dict[str, Any] | None = None, **said: Any) -> None:
        agent = self.fleet.agents[of]
        kind = payload.kind_of(name)
        if agent.run is None or kind is None or not (agent.spec.has_hooks or self.facts.has_hooks):
            return
        kept = payload.trim({"session_id": agent.run.session_id, "cwd": "/srv/shop", **said, **(more or {})})
        self.tell(hook_event(of, agent.run.incarnation, kind, kept, self.wall))

    def runs_for(self, lived: float, turn: str, calls: int, in_flight: str = "") -> None:
        """A run up to the moment before its end."""
        began = self.at
        self.tell(AgentStarted("a", self.run.incarnation, self.run.run_id, 100, 1000))
        if turn == "none":
            self.pass_over(lived)
            return
        self.hears("SessionStart", source="resume" if self.run.mode == "resume" else "startup")
        share = min(CALL, lived / (calls + 2))
        self.hears("UserPromptSubmit", prompt="Build the shop.")
        self.pass_over(max(0.0, lived - share * (calls + 1)))
        for number in range(calls):
            told = {"tool_name": "Bash", "tool_use_id": f"t{number}", "tool_input": {"command": "make check"}}
            self.hears("PreToolUse", more=told)
            self.pass_over(share)
            self.hears("PostToolUse", more=told)
        if in_flight:
            told = {"tool_name": in_flight, "tool_use_id": "last", "tool_input": {"command": "make all"}}
            self.hears("PreToolUse", more=told)
        elif turn == "ended":
            self.hears("Stop", last_assistant_message="That is done.")
        self.pass_over(max(0.0, began + lived - self.at))

    def last_run(self) -> None:
        facts = self.facts
        if facts.never_ran:
            body = {"incarnation": self.run.incarnation, "code": facts.code, "message": facts.never_ran}
            self.tell(start_failed("a", body, self.agent))
            return
        if facts.by_us:
            self.runs_for(facts.lived / 2, facts.turn, facts.calls, facts.in_flight)
            for _ in range(60):
                if isinstance(self.state, Stopping):
                    break
                self.wait(LATEST / 60)
            assert isinstance(self.state, Stopping), f"phoenixd lets it run: {self.agent.reason}"
            assert self.state.code == (HUNG if facts.by_us == "hung" else OVERTIME)
            self.ends(None, 9)
            return
        self.runs_for(facts.lived, facts.turn, facts.calls, facts.in_flight)
        if facts.error or facts.text:
            self.fails()
        if facts.ordered == "stop":
            self.tell(StopRequested("a"))
        elif facts.ordered == "restart":
            self.tell(RestartRequested("a"))
        for reason in facts.session_end:
            self.hears("SessionEnd", reason=reason)
        if facts.cause == "reboot":
            self.tell(Rebooted("another boot"))
            return
        self.ends(facts.code, facts.signal)

    def fails(self) -> None:
        """What the CLI tells of its turn while it lives: Claude Code by a hook, the others in a transcript.

        That is looked at while a run lives. Of one without a terminal, which has ended by then, it is looked at where
        nothing else tells what the API refused.
        """
        facts = self.facts
        if facts.harness == "claude":
            more = {"resets_at": facts.resets_at} if facts.resets_at is not None else {}
            self.hears("StopFailure", error=facts.error, last_assistant_message=facts.text, more=more)
        elif (not facts.is_headless or is_told_by_transcript_alone(facts.harness)) and isinstance(self.state, Running):
            form, reading = HARNESSES[facts.harness].transcript_form, SessionReading()
            assert form is not None
            for line in writer(facts.harness, self.run.session_id).failed(self.wall, None, facts.text):
                if (record := form.record(encoded(line))) is not None:
                    reading.hear(record)
            failed = failed_turn(self.agent, reading.facts(), HARNESSES[facts.harness], self.wall)
            if failed is not None:
                self.tell(failed)

    def ends(self, code: int | None, signal: int | None) -> None:
        run = self.run
        lived = self.at - (run.exec_at if run.exec_at is not None else run.began)
        body = {"incarnation": run.incarnation, "run_id": run.run_id, "code": code, "signal": signal, "lived": lived}
        event = exit_event("a", {**body, "cause": self.facts.cause}, None)
        # What the kernel says of memory stands beside the shim's word.
        self.tell(replace(event, oom=self.facts.oom))

    def tell(self, event: Any) -> Refusal | None:
        seen = len(self.decisions)
        refusal = super().tell(event)
        for action in [one for decision in self.decisions[seen:] for one in decision.actions]:
            if isinstance(action, SeeAttendance):
                self.tell(AttendanceSeen(action.agent, action.incarnation, self.facts.attended))
        return refusal

    def measured(self, action: Any) -> None:
        self.work = self.facts.work if action.at_end else "git:same"
        super().measured(action)

    # --- what was decided ---

    def what(self, run: int) -> tuple[str, ...]:
        ends = [fact for decision in self.decisions for fact in decision.facts if isinstance(fact, RunEnded)]
        end = next(one for one in ends if one.incarnation == run)
        found = self.diagnosis(run)
        match end.meaning:
            case "asked":
                return (ORDER,)
            case "finished" if self.facts.kind in (Kind.RESIDENT, Kind.ORCHESTRATOR):
                # "Ended on purpose": by itself or by a person, for a CLI ends in the same way.
                return (FINISHED, ORDER)
            case "finished":
                return (FINISHED,)
            case "unstarted":
                return (START,)
            case "iteration" | "recycled" if found is None:
                return (FINISHED,)
        last = self.agent.last_exit
        if found is None and last is not None and last.incarnation == run and last.attended:
            # A person ended it at its terminal, and it is no failure.
            return (ORDER,)
        if found is None or found.detail == "crash":
            # Exit 0 too early is a failed start, see restart.may_be_a_job.
            return (START,) if end.code == 0 and end.meaning == "death" else (CRASHED,)
        if found.detail == "configuration" and end.code in (126, 127):
            return (START,)
        return OF_DETAIL.get(found.detail, (CRASHED,))

    def diagnosis(self, run: int) -> Diagnosis | None:
        """The clinic's of that run: the newest."""
        noticed: list[Noticed] = [one for kept in self.kept for one in kept.noticed]
        return next((one.diagnosis for one in reversed(noticed) if (one.agent, one.incarnation) == ("a", run)), None)

    def does(self) -> str:
        until = self.at + ENOUGH
        while self.at < until:
            agent = self.fleet.agents.get("a")
            if agent is None or isinstance(agent.state, Stopped):
                return LEAVE
            if isinstance(agent.state, Quarantined):
                assert any(isinstance(one, Alert) for one in self.actions), "nobody is told"
                return GIVE_UP
            if (
                isinstance(agent.state, Parked)
                and agent.parking is not None
                and agent.parking.kind is ParkingKind.LIMIT
            ):
                return PARK
            if isinstance(agent.state, Starting):
                return RESUME if self.spawn.mode == "resume" else FRESH
            assert isinstance(agent.state, Parked | BackingOff), agent.state
            # A service that failed is waited for, and then it is begun again.
            self.wait(30.0)
        raise AssertionError(f"nothing followed: {self.agent.reason}")
