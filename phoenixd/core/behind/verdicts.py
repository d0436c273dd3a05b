"""What becomes of each agent where the journal is older than the world (promises 3 and 9).

What lives is adopted. Where the journal has nothing newer, an agent's wish decides. Nothing that was stopped on purpose
starts, nothing is ended but what an operator had asked to end, and an agent without a wish that can be believed waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run, Session
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Desired,
    Quarantined,
    Running,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.behind.epochs import word_of
from phoenixd.core.behind.world import Finding, GivenUp, KeptBreaker, SeenRun, Trace, Verdict, Wish, Word, World
from phoenixd.core.breaker import Breaker, Closed, HalfOpen, Open
from phoenixd.core.moment import Moment
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.spec import AgentSpec
from phoenixd.core.transitions import RECOVER, close_items, open_item, quarantine
from phoenixd.core.turn import liveness
from phoenixd.core.turns import has_breaker

OPENS = ("prompt-submit", "tool-start", "tool-end", "tool-failure")
"""Hooks of a main thread after which its turn is open."""
CLOSES = ("stop", "stop-failure")
BEGINS = "session-start"
"""The first hook of a run. A session can also begin anew within a turn, where its context is compacted."""

CODES_UNKNOWN = "the journal is lost or old, and which of its codes prove something is not known: it gets new ones"
"""Why no check can be made of a session whose marker stands on the disk."""

INCARNATION_GAP = 1000
"""Incarnations that are skipped where the files that would name them have gone back in time as well."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One agent's verdict. agent: as it is from now on; None where it is left alone. forgotten: it was removed."""

    name: str
    finding: Finding
    agent: Agent | None = None
    forgotten: bool = False


def lag(world: World, agents: Mapping[str, Agent], retired: Mapping[str, int], declared: Collection[str]) -> str | None:
    """Why the journal is older than the world; None where it is not.

    retired: the last incarnations of agents that were removed. declared: the agents of the configuration. A journal
    that knows no epoch in a world that knows none is of an older version, and behind in nothing.
    """
    if world.journal < world.newest:
        known = f"epoch {world.journal}" if world.journal else "no epoch"
        return f"it knows {known}, and the world knows epoch {world.newest}"
    if world.is_damaged and (missing := sorted(set(declared) - set(agents))):
        return f"it was damaged, and knows nothing of {', '.join(missing[:5])}"
    for trace in world.traces:
        agent = agents.get(trace.agent)
        known_as = agent.incarnation if agent is not None else retired.get(trace.agent, 0)
        matters = agent is not None or trace.living is not None or trace.agent in declared
        wished = trace.wish is not None and trace.wish.word != "removed"
        # A daemon that was killed while it removed one may have left its last wish behind.
        if agent is None and wished and (trace.agent in declared or trace.agent not in retired):
            return f"it does not know {trace.agent}, which has a wish"
        if matters and trace.incarnation > known_as:
            return f"it knows {known_as} runs of {trace.agent}, and the world knows {trace.incarnation}"
    return None


def judge_all(
    world: World, agents: Mapping[str, Agent], specs: Mapping[str, AgentSpec], now: Moment
) -> Iterator[Judged]:
    """A verdict on every agent that journal, configuration or world know of, in the order of their names."""
    traces = {trace.agent: trace for trace in world.traces}
    for name in sorted({*agents, *specs, *traces}):
        judged = judge(world, traces.get(name, Trace(name)), agents.get(name), specs.get(name), now)
        if judged is not None:
            yield judged


def judge(world: World, trace: Trace, agent: Agent | None, spec: AgentSpec | None, now: Moment) -> Judged | None:
    """One agent's verdict; None where there is nothing to say of it."""
    case = _Case(world, trace, agent, spec, now)
    if agent is None and spec is None:
        if trace.living is None:
            return None
        return Judged(trace.agent, case.finding("leave", "nobody declares it"))
    if trace.living is not None:
        return case.alive(trace.living)
    return case.dead()


@dataclass(frozen=True, slots=True)
class _Case:
    world: World
    trace: Trace
    agent: Agent | None
    spec: AgentSpec | None
    now: Moment

    @property
    def wish(self) -> Wish | None:
        """The wish, as far as it can be believed: a state directory that went back has old ones."""
        return self.trace.wish if self.world.is_whole else None

    @property
    def word(self) -> Word | None:
        """What is wanted of it; None where neither a wish nor a journal that covers it tells."""
        if self.wish is None:
            return None
        if self.agent is None or self.wish.epoch > self.world.journal:
            return self.wish.word
        return word_of(self.agent)

    @property
    def is_left_out(self) -> bool:
        """Whether it is to have no turns in its sequence, by the wish or the journal, whichever is newer."""
        if self.agent is None or (self.wish is not None and self.wish.epoch > self.world.journal):
            return self.wish is not None and self.wish.left_out
        return self.agent.left_out

    @property
    def is_up_to_date(self) -> bool:
        """Whether the journal knows the agent's newest run."""
        return self.agent is not None and self.agent.incarnation >= self.trace.incarnation

    @property
    def base(self) -> Agent:
        """The agent as the journal has it, or as it is declared; its incarnations go on from what the world knows."""
        met = self.trace.incarnation
        if not self.world.is_whole and self.trace.living is None:
            met += INCARNATION_GAP
        if self.agent is not None:
            found = replace(self.agent, incarnation=max(self.agent.incarnation, met), left_out=self.is_left_out)
            return replace(found, breaker=_breaker(found.breaker, self.trace.breaker, self.now))
        assert self.spec is not None
        found = Agent(self.spec, Desired.STOPPED, Stopped(), self.now.wall, "found by its traces", met)
        return replace(found, left_out=self.is_left_out, breaker=_breaker(found.breaker, self.trace.breaker, self.now))

    @property
    def given_up(self) -> GivenUp | None:
        """Why it is in quarantine, by a wish that is newer than the journal, and than which no run of it is newer."""
        wish = self.wish
        if wish is None or wish.given_up is None or wish.incarnation < self.trace.incarnation:
            return None
        return wish.given_up if self.agent is None or wish.epoch > self.world.journal else None

    def alive(self, living: SeenRun) -> Judged:
        """It has a run that lives under its shim."""
        base, word = self.base, self.word
        same = base.run is not None and base.run.run_id == living.run_id
        if word == "stopped" and self._was_asked_after(living):
            if same and isinstance(base.state, Stopping):
                return self._judged("keep", base, "its stop was under way, and goes on")
            run = base.run if same and base.run is not None else _revived(base, living, self.now)
            stopping = self._stopping(base, run, StopStep.TERMINATE, "stopped by operator before the journal was lost")
            return self._judged("stop", stopping, "it was asked to stop after this run had begun")
        desired = Desired.STOPPED if word == "ending" else Desired.RUNNING
        if same and not (isinstance(base.state, Stopping) and word == "running"):
            kept = base if isinstance(base.state, Stopping) else replace(base, desired=desired)
            return self._judged("keep", kept, "the journal knows the run that lives")
        run = base.run if same and base.run is not None else _revived(base, living, self.now)
        activity = _heard_of(liveness.first_activity(run, base.spec, self.now), living, self.now)
        adopted = replace(
            _marked(close_items(base), run, self.trace), desired=desired, state=Running(run, activity),
            since_wall=self.now.wall, session=_session(base, run, self.now), iteration=None, turns=(),
            hooks_seen=base.hooks_seen or bool(living.heard),
        )  # fmt: skip
        return self._judged("adopt", adopted, "it lives, and the journal did not know this run")

    def dead(self) -> Judged:
        """Nothing is known to live of it."""
        base, word = self.base, self.word
        if self.trace.shim == "silent":
            if word in ("stopped", "ending", "removed"):
                base = replace(base, desired=Desired.STOPPED)
            elif self.agent is None or word is None:
                return self._waiting(base, "its shim does not answer")
            return self._judged("keep", base, "its shim does not answer, so that it is left as it is")
        match word:
            case "removed" if self.agent is not None and self.spec is None:
                return Judged(self.trace.agent, self.finding("forget", "it was removed"), base, forgotten=True)
            case "stopped" | "ending" | "removed":
                return self._down(base, "it was stopped")
            case "running" if self.spec is None and not (self.agent is not None and self.agent.spec.task):
                return self._waiting(base, "nobody declares it any more")
            case "running":
                return self._wanted(base)
            case _ if self.agent is not None and self.agent.desired is Desired.STOPPED:
                return self._down(base, "the journal has it stopped, and no wish says otherwise")
            case _:
                return self._waiting(base, "nothing says whether it was stopped since")

    def _wanted(self, base: Agent) -> Judged:
        breaker = base.breaker
        is_known = self.is_up_to_date and isinstance(base.state, Quarantined)
        if (given_up := self.given_up) is not None and not is_known:
            quarantined = Quarantined(given_up.cause, given_up.counted, given_up.misdeclared, given_up.refused)
            return self._quarantined(base, quarantined, f"it had been given up ({given_up.cause})")
        if isinstance(breaker, Open) and not is_known and has_breaker(base):
            why = f"the breaker is open: {breaker.reason}"
            return self._quarantined(base, Quarantined(why), why)
        if self.is_up_to_date and base.desired is Desired.RUNNING:
            return self._judged("keep", base, "journal and wish agree")
        last = self.trace.last
        wanted = replace(close_items(base), desired=Desired.RUNNING, since_wall=self.now.wall, iteration=None, turns=())
        if not self.is_up_to_date and last is not None and last.boot_id == self.world.boot_id:
            run = _revived(base, last, self.now)
            activity = liveness.first_activity(run, base.spec, self.now)
            lost = replace(wanted, state=Running(run, activity), session=_session(base, run, self.now))
            return self._judged("heal", lost, "it is wanted, and its newest run is judged like any that ended unseen")
        due = replace(wanted, state=BackingOff(self.now.at, Mode.RESUME, PromptKind.CONTINUE))
        return self._judged("heal", due, "it is wanted, and nothing of it runs")

    def _quarantined(self, base: Agent, state: Quarantined, why: str) -> Judged:
        idle = replace(close_items(base), desired=Desired.RUNNING, iteration=None, turns=())
        # Its alert is the one of the old journal; what waits for a person stands in the inbox again.
        given_up = quarantine(idle, state, self.now).agent
        assert given_up is not None
        return self._judged("quarantine", given_up, f"{why}, and waits until: phoenixctl start {base.spec.role}")

    def _down(self, base: Agent, why: str) -> Judged:
        if self.is_up_to_date and base.desired is Desired.STOPPED:
            return self._judged("keep", base, f"{why}, and the journal knows it")
        if self._has_told_its_end:
            # It was to stop, and nothing is to start: the shim's own record is believed, and nothing is waited for.
            return self._judged("down", self._laid_down(base, why), f"{why}, and stays so")
        return self._judged("down", self._put_down(base, why), f"{why}, and stays so")

    def _waiting(self, base: Agent, why: str) -> Judged:
        start = base.desired is Desired.RUNNING if self.agent is not None else base.spec.autostart
        text = f"the journal was lost or is old, and {why}. Start it, or leave it stopped: phoenixctl recover"
        down = self._put_down(base, why)
        return self._judged("wait", open_item(down, RECOVER, text, "command", self.now), why, start=start)

    def _put_down(self, base: Agent, why: str) -> Agent:
        """The agent, down; what a run without a shim may have left is fenced first."""
        run = base.run
        last = self.trace.last
        if last is not None and (run is None or last.incarnation > run.incarnation):
            run = _revived(base, last, self.now) if last.boot_id == self.world.boot_id else None
        down = self._laid_down(base, why)
        if run is None or self.trace.shim == "idle":
            return down
        return self._stopping(down, run, StopStep.FENCE, why)

    def _laid_down(self, base: Agent, why: str) -> Agent:
        return replace(
            close_items(base), desired=Desired.STOPPED, state=Stopped(), since_wall=self.now.wall, iteration=None,
            turns=(), reason=why,
        )  # fmt: skip

    @property
    def _has_told_its_end(self) -> bool:
        """Whether the shim of the newest run is gone, and recorded that run's end before it went."""
        last, run = self.trace.last, self.base.run
        is_newest = last is not None and (
            run is None or run.incarnation < last.incarnation or run.run_id == last.run_id
        )
        return is_newest and self.trace.ended and self.trace.shim == "none"

    def _stopping(self, agent: Agent, run: Run, step: StopStep, why: str) -> Agent:
        activity = liveness.first_activity(run, agent.spec, self.now)
        deadline = self.now.at + agent.spec.stop.grace
        state = Stopping(run, activity, step, deadline, Afterwards.STAY, why, asked=self.now.at)
        return replace(
            close_items(agent), desired=Desired.STOPPED, state=state, since_wall=self.now.wall, iteration=None, turns=()
        )

    def _was_asked_after(self, living: SeenRun) -> bool:
        wish = self.wish
        if wish is None:
            return False
        if self.agent is not None and wish.epoch <= self.world.journal:
            # The journal's own word, which is about the run that it knows.
            return self.agent.incarnation >= living.incarnation
        return wish.epoch > living.epoch if living.epoch else wish.incarnation >= living.incarnation

    def _judged(self, verdict: Verdict, agent: Agent, why: str, *, start: bool = False) -> Judged:
        finding = self.finding(verdict, why, start=start)
        told = f"the journal is old: {why}"
        # What is known otherwise than by the journal has nothing to wait out.
        idle = replace(agent.limits, parking=None)
        changed = agent if verdict == "keep" else replace(agent, reason=told, limits=idle)
        return Judged(self.trace.agent, finding, replace(changed, found=finding))

    def finding(self, verdict: Verdict, why: str, *, start: bool = False) -> Finding:
        return Finding(
            verdict, _journal_says(self.agent), self._wish_says(), _processes_say(self.trace), why,
            "start" if start else "",
        )  # fmt: skip

    def _wish_says(self) -> str:
        wish = self.trace.wish
        if wish is None:
            return "none"
        old = "" if self.world.is_whole else ", not believed: the state directory is older than the shims remember"
        return f"{wish.word}, epoch {wish.epoch}{old}"


def _revived(agent: Agent, seen: SeenRun, now: Moment) -> Run:
    """A run that the journal does not know, as far as the world can tell it."""
    mode = Mode.FRESH if seen.mode == Mode.FRESH else Mode.RESUME
    session_id = seen.session_id or (agent.session.session_id if agent.session is not None else "unknown")
    prompt = PromptKind.CONTINUE if mode is Mode.RESUME else PromptKind.GOAL
    # Of a program that has never told anything of its turns, nobody knows more than that it lives.
    tells = agent.spec.has_hooks or agent.hooks_seen or bool(seen.heard)
    settles = seen.heard in (*OPENS, *CLOSES) or (seen.heard == BEGINS and not agent.spec.has_hooks)
    return Run(
        seen.incarnation, seen.run_id, mode, session_id, prompt, now.at, seen.began_wall or now.wall, seen.pid,
        seen.start_time, exec_at=now.at, session_seen=tells, prompt_seen=True, evidence=tells,
        guessed=tells and not settles,
    )  # fmt: skip


def _breaker(known: Breaker, kept: KeptBreaker | None, now: Moment) -> Breaker:
    """The breaker by its file, which is written after each judgement, and so is as new as the journal or newer."""
    if kept is None or (known.name, known.tally.no_progress) == (kept.state, kept.no_progress):
        return known
    tally = replace(
        known.tally, iterations=kept.iterations, no_progress=kept.no_progress, last_progress=kept.last_progress,
        opens=kept.opens, notes=kept.notes,
    )  # fmt: skip
    why = kept.reason or "its file says so, and the journal is lost or old"
    match kept.state:
        case "CLOSED":
            return Closed(tally)
        case "HALF_OPEN":
            return HalfOpen(tally, "warning", why)
        case "OPEN":
            return Open(tally, why, now.at, now.wall)
        case _:
            assert_never(kept.state)


def _marked(agent: Agent, run: Run, trace: Trace) -> Agent:
    """The agent, where its living session bears a marker whose codes the journal does not know.

    Which codes were asked for is not known, and those of another session are none of its own: new ones are planted.
    """
    known = agent.resonance
    if not agent.spec.has_resonance or not trace.anchored or trace.anchored != run.session_id:
        return agent
    if known is not None and agent.session is not None and agent.session.session_id == run.session_id:
        return agent
    persona = known.persona if known is not None else ""
    unknown = Resonance(persona=persona, ordered="missing", state="unverifiable", note=CODES_UNKNOWN)
    return replace(agent, resonance=unknown)


def _heard_of(activity: Activity, seen: SeenRun, now: Moment) -> Activity:
    """What a run is at by its newest hook; where that does not tell, what is to be assumed until it is looked at."""
    if seen.heard in OPENS:
        return replace(activity, turn_open=True, turn_since=now.at)
    return replace(activity, turn_open=False, turn_since=None) if seen.heard in CLOSES else activity


def _session(agent: Agent, run: Run, now: Moment) -> Session:
    known = agent.session
    if known is not None and known.session_id == run.session_id:
        return replace(known, active_wall=max(known.active_wall, run.began_wall))
    return Session(run.session_id, run.began_wall, now.wall)


def _journal_says(agent: Agent | None) -> str:
    if agent is None:
        return "nothing"
    return f"{agent.state_name}, wanted {agent.desired.value}, run {agent.incarnation}"


def _processes_say(trace: Trace) -> str:
    if trace.living is not None:
        return f"run {trace.living.incarnation} lives, pid {trace.living.pid}"
    said = {"none": "no shim", "silent": "a shim that does not answer", "idle": "its shim runs nothing", "runs": ""}
    newest = f", newest run {trace.incarnation}" if trace.incarnation else ""
    return said[trace.shim] + newest
