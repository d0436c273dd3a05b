"""What follows a death: stay down, try again when and how, or give up. Backoff, intensity and resume rules."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode, Run, Session
from phoenixd.core.causes import BLAMELESS, EndCause
from phoenixd.core.change import replace
from phoenixd.core.decision import Readings
from phoenixd.core.moment import Instant, Moment, in_words, measured
from phoenixd.core.rules import RestartPolicy, RestartRules
from phoenixd.core.spec import AgentSpec, Kind

INTERRUPTED = 130
CLEAN_CODES = (0, INTERRUPTED)
SIGINT, SIGKILL = 2, 9
RECYCLE_CODES = (100, 101)
HUNG = 124
OVERTIME = 125
ANSWERS = (0, 1)
"""How an agent ends whose end is an answer: yes, no."""
QUESTION = "question failed"
"""The alert that it ended without one."""
KILLS = 3
"""Short runs lately: where the last one was killed from outside, its session is not resumed once more."""
KILLED_AGAIN = "killed from outside again and again"
NOT_EXECUTABLE = 126
NOT_FOUND = 127

CAUSES: dict[int, EndCause] = {HUNG: "hung", OVERTIME: "overtime"}
"""How an end that we decided on is told apart from a program's own exit of the same number."""
A_JOB = "a job that ends so is of --kind ephemeral"
"""What is told of a start that failed by ending with 0."""
HOST_RETRY = 5.0
"""Least seconds between starts that the host refuses or cuts short; nothing of it counts against the agent."""


@dataclass(frozen=True, slots=True)
class StayDown:
    """No restart; the agent's own end, or the operator's word."""

    reason: str


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Restart after `delay` seconds; `crashes` is the history to keep."""

    delay: float
    reason: str
    crashes: tuple[Instant, ...]
    readings: Readings = ()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Quarantine: only an operator starts it again."""

    reason: str
    readings: Readings = ()
    counted: bool = False
    """It was given up because of how often its runs ended."""
    crashes: tuple[Instant, ...] = ()
    """Those ends, where they were counted, with the last one."""
    misdeclared: bool = False
    """It could not be run as it is declared."""
    refused: bool = False
    """Its login, its account or its first prompt was refused."""


Verdict = StayDown | TryAgain | GiveUp

CUT_SHORT: dict[EndCause, str] = {
    "terminal_lost": "its terminal was closed",
    "start interrupted": "its start was cut short",
}
"""Ends for which the terminal is to blame, or the shim in it, as people are told them."""


def judge_death(agent: Agent, ended: LastExit, now: Moment) -> Verdict:
    """Decide what a death means by kind, exit, policy and history (design section 3)."""
    verdict = _judge(agent, ended, now)
    if not isinstance(verdict, TryAgain) or agent.spec.kind is not Kind.LOOP or is_blameless(ended):
        return verdict
    # However an iteration ended, the pause lies before the next one (G46).
    return replace(verdict, delay=max(verdict.delay, agent.spec.loop.pause))


def _judge(agent: Agent, ended: LastExit, now: Moment) -> Verdict:
    spec, rules = agent.spec, agent.spec.restart
    if spec.task:
        return StayDown(f"{ended.text}: its run for task {spec.task} is over")
    if is_blameless(ended):
        # At once, but not over and over: what ends each start within seconds is still there at the next one, and
        # memory that has run out is not there at once.
        lasted = ended.cause == "reboot" or (ended.lived >= HOST_RETRY and not ended.oom)
        delay = 0.0 if lasted else HOST_RETRY * (1 + now.chance)
        what = CUT_SHORT.get(ended.cause) or (ended.text if ended.oom else f"{ended.text} ({ended.told})")
        return TryAgain(delay, f"{what}, not the agent's doing", agent.crashes)
    if ended.code in (NOT_EXECUTABLE, NOT_FOUND) and ended.lived < spec.restart.productive:
        why = ended.text if ended.cause == "exit" else ended.told
        named = why if spec.argv[0] in why else f"{why}: {spec.argv[0]}"
        return GiveUp(f"the command cannot run: {named}", misdeclared=True)
    if ended.limited and rules.policy is not RestartPolicy.NEVER and not ended_well(spec, ended):
        return TryAgain(0.0, f"{ended.text}, as it had met a limit", agent.crashes)
    if spec.is_question and ended_well(spec, ended):
        return StayDown(f"{ended.text}: {'yes' if ended.code == 0 else 'no'}, to the sequence of {spec.turn_of}")
    if spec.is_question:
        return StayDown(f"{ended.text}: no answer to the sequence of {spec.turn_of}, which is 0 or 1")
    if spec.turn_of is not None:
        return StayDown(f"{ended.text}: its turn in the sequence of {spec.turn_of} is over")
    if ended_well(spec, ended):
        return _after_clean_exit(spec, ended, agent.crashes)
    if ended.cause == CAUSES[OVERTIME]:
        return TryAgain(spec.loop.pause, f"iteration ended at its maximum run time ({OVERTIME})", ())
    if rules.policy is RestartPolicy.NEVER:
        return StayDown(f"{ended.text} after {measured(ended.lived)}, and the restart policy is never")
    if is_recycling(ended):
        # No crash; but one that does nothing else than ask for it waits longer each time, and one that has something to
        # show within moments waits as well: it would do so without end.
        least = HOST_RETRY * (1 + now.chance) if ended.proof and ended.lived < HOST_RETRY else 0.0
        delay = max(least, backoff(rules, len(agent.record.unproductive), now.chance))
        return TryAgain(delay, f"{ended.text} after {measured(ended.lived)}: asks to be recycled", agent.crashes)
    if ended.failed_turn:
        return _count(rules, agent.crashes, ended, now, f"its last turn failed, and it ended with {ended.text}")
    if is_clean(spec, ended):
        what = f"{ended.text} within {spec.early_exit:g} s of the start, a crash"
        counted = _count(rules, agent.crashes, ended, now, what)
        return replace(counted, reason=f"{counted.reason}; {A_JOB}") if may_be_a_job(spec, ended) else counted
    return _count(rules, agent.crashes, ended, now, _death_in_words(ended))


def may_be_a_job(spec: AgentSpec, ended: LastExit | None) -> bool:
    """Whether an end that came too early looks like a job that was done, of an agent whose kind is to stay."""
    if ended is None or spec.kind is not Kind.RESIDENT or ended.cause != "exit" or ended.failed_turn:
        return False
    return ended.code == 0 and not ended.left and ended.lived < spec.early_exit


def may_ask_for_more(spec: AgentSpec, ended: LastExit | None) -> bool:
    """Whether an end that was counted as a crash looks like a program's own way to ask for its next run.

    Such a program is told which code asks for that (`RECYCLE_CODES`). An agent CLI has no such way: it failed.
    """
    if ended is None or spec.kind is not Kind.RESIDENT or spec.has_hooks or ended.failed_turn:
        return False
    if ended.cause != "exit" or not ended.ran:
        return False
    return ended.signal is None and ended.code not in (None, *CLEAN_CODES, *RECYCLE_CODES, NOT_EXECUTABLE, NOT_FOUND)


def is_blameless(ended: LastExit) -> bool:
    """Whether the end was somebody else's doing: the terminal's, the shim's, the host's."""
    return ended.cause in BLAMELESS or ended.oom == "host"


def says_nothing(ended: LastExit) -> bool:
    """Whether the end tells nothing about the agent, so that nothing is counted by it."""
    return ended.limited or is_blameless(ended)


def is_interrupted(ended: LastExit) -> bool:
    """Whether it ended as a program does after Ctrl-C; who pressed that, or sent the signal, it does not say."""
    return ended.cause == "exit" and (ended.code == INTERRUPTED or ended.signal == SIGINT)


def is_killed(ended: LastExit) -> bool:
    """Whether somebody killed it from outside: no program ends itself so, and the kernel had no want of memory."""
    return ended.cause == "exit" and ended.signal == SIGKILL and not ended.oom


def is_recycling(ended: LastExit) -> bool:
    """Whether the agent asks for a fresh start in its place (E): no failure, and no session to go back to."""
    return ended.cause == "exit" and ended.ran and ended.code in RECYCLE_CODES


def is_clean(spec: AgentSpec, ended: LastExit) -> bool:
    """Whether the agent ended by itself on purpose: 0, or Ctrl-C; a loop's is asked about at its terminal."""
    if spec.kind is Kind.LOOP and is_interrupted(ended):
        return False
    return ended.code in CLEAN_CODES or ended.signal == SIGINT


def ended_well(spec: AgentSpec, ended: LastExit) -> bool:
    """Whether the end was clean, and a person's doing or late enough.

    A CLI ends with 0 also where its turn failed (F-PROC-27). A loop's next iteration begins then in any case, and its
    breaker counts the error.
    """
    if ended.cause in BLAMELESS:
        # Whatever code it ended with, its terminal or the host ended it: that is no end on purpose.
        return False
    if spec.is_question:
        return ended.ran and ended.cause == "exit" and ended.code in ANSWERS
    if ended.failed_turn and spec.kind is not Kind.LOOP:
        return False
    if spec.kind is Kind.LOOP and ended.code is not None and ended.code == spec.loop.done_code:
        return True
    return is_clean(spec, ended) and (ended.left or ended.lived >= spec.early_exit)


def _death_in_words(ended: LastExit) -> str:
    if ended.cause == CAUSES[HUNG]:
        return f"ended as hung ({HUNG})"
    if not ended.ran:
        return f"could not start: {ended.told}"
    shown = f' ("{ended.shown}" on its terminal)' if ended.shown else ""
    return f"died, {ended.text}{shown}"


def _after_clean_exit(spec: AgentSpec, ended: LastExit, crashes: tuple[Instant, ...]) -> Verdict:
    if spec.kind is Kind.LOOP:
        return TryAgain(spec.loop.pause, f"iteration ended with {ended.text}", ())
    if spec.restart.policy is RestartPolicy.ALWAYS and spec.kind is not Kind.EPHEMERAL:
        return TryAgain(spec.restart.backoff_initial, f"{ended.text}, and the restart policy is always", crashes)
    what = "task done" if spec.kind is Kind.EPHEMERAL else "ended on purpose"
    return StayDown(f"{ended.text}: {what}")


def _count(rules: RestartRules, history: tuple[Instant, ...], ended: LastExit, now: Moment, what: str) -> Verdict:
    began = ended.cause != "not started"
    after, counted = (f"{what} after {measured(ended.lived)}", "crashes") if began else (what, "failed starts")
    recent = tuple(at for at in history if at > now.at - rules.period)
    if ended.lived >= rules.productive:
        return TryAgain(0.0, after, () if ended.proof else recent)
    # However much a short run did: what ends so often costs more than it achieves.
    crashes = (*recent, now.at)
    readings: Readings = (
        ("lived", round(ended.lived, 3)),
        ("crashes", len(crashes)),
        ("restart.max_crashes", rules.max_crashes),
        ("restart.period", rules.period),
    )
    if len(crashes) >= rules.max_crashes:
        span = crashes[-1] - crashes[0]
        return GiveUp(
            f"{after}: {len(crashes)} {counted} in {in_words(span)}, the limit is {rules.max_crashes} in "
            f"{in_words(rules.period)}",
            readings,
            counted=True,
            crashes=crashes,
            misdeclared=not began,
        )
    return TryAgain(backoff(rules, len(crashes), now.chance), after, crashes, readings)


def backoff(rules: RestartRules, crashes: int, chance: float) -> float:
    """Seconds before the next start: none after the first crash, then full jitter under a doubling ceiling."""
    if crashes <= 1:
        return 0.0
    ceiling = rules.backoff_initial
    for _ in range(crashes - 2):
        ceiling = min(rules.backoff_max, ceiling * rules.backoff_factor)
    return chance * min(rules.backoff_max, ceiling)


def judge_session(
    agent: Agent,
    run: Run,
    ended: LastExit,
    turn_open: bool,
    deliberate: bool = False,
    failed: bool = False,
    crashes: int = 0,
) -> Session | None:
    """The session as the end leaves it: still good to resume, or spoiled and why (design section 3).

    deliberate: somebody ended the run, so its shortness and silence say nothing about the session. failed: its last
    turn had failed, and nothing was asked of it since. crashes: how many were counted lately, without this end.
    """
    session = agent.session
    if session is None:
        return None
    if not ended.ran:
        return unborn(session, run)
    finished = agent.spec.kind is Kind.LOOP and is_clean(agent.spec, ended) and not is_blameless(ended)
    hangs = session.hangs + (ended.cause == CAUSES[HUNG])
    session = replace(session, turn_open=turn_open and not finished, hangs=hangs)
    if is_recycling(ended) and not deliberate:
        # It asked to go on in a new one: there, it is told to.
        has_task = agent.spec.prompt is not None or agent.last_prompt is not None
        return replace(session, spoiled="it asked to be recycled", turn_open=session.turn_open or has_task)
    if session.spoiled or deliberate:
        return session
    if failed and ended.code == 0 and not ended.left and not is_blameless(ended):
        # It was never gone on with: whatever the turn failed for stands in that session (F-PROC-27).
        return replace(session, spoiled="its last turn failed, and it ended with exit 0")
    return replace(session, spoiled=_spoiled_by(agent, run, ended, session, crashes))


def short_runs(agent: Agent, ended: LastExit) -> int:
    """How many runs in a row have lived under the productive limit; short ones whose ends tell nothing are skipped."""
    if not ended.ran:
        return agent.short_runs
    if ended.lived >= agent.spec.restart.productive:
        # However it ended, it lived.
        return 0
    if is_blameless(ended) or is_recycling(ended) or is_killed(ended):
        return agent.short_runs
    well = ended_well(agent.spec, ended) or ended.cause == CAUSES[OVERTIME]
    return 0 if well else agent.short_runs + 1


def unborn(session: Session, run: Run) -> Session | None:
    """The session after a run that was never executed: a fresh one does not exist, a resumed one is as it was."""
    if run.mode is Mode.RESUME:
        return session
    if run.prompt is PromptKind.GOAL:
        return None
    return replace(session, spoiled="it never began", turn_open=run.prompt is PromptKind.CONTINUE)


def _spoiled_by(agent: Agent, run: Run, ended: LastExit, session: Session, crashes: int) -> str | None:
    rules = agent.spec.resume
    if is_blameless(ended) or ended.cause == CAUSES[OVERTIME] or ended_well(agent.spec, ended):
        return None
    if is_killed(ended) and (run.evidence or (run.mode is Mode.RESUME and ended.lived < rules.window)):
        # Who killed it says nothing of its session. But what is killed again and again may be so for what it holds, as
        # by a guard of the host's memory, and what was tried twice is not tried once more (F-CL-7).
        is_again = KILLS <= crashes + 1 and ended.lived < agent.spec.restart.productive
        return KILLED_AGAIN if is_again else None
    if run.mode is Mode.RESUME and ended.lived <= rules.refused_within:
        return f"died {measured(ended.lived)} after a resume"
    if run.mode is Mode.RESUME and agent.hooks_seen and not run.session_seen:
        return "the resume was refused"
    if agent.hooks_seen and not run.evidence and (run.prompt is not PromptKind.NONE or not run.session_seen):
        return "the run died without any work of its main thread"
    if session.hangs >= 2:
        return "hung twice in this session"
    if ended.cause != CAUSES[HUNG] and ended.lived < agent.spec.restart.productive and agent.short_runs >= 1:
        return f"two runs in a row lived under {in_words(agent.spec.restart.productive)}"
    return None


@dataclass(frozen=True, slots=True)
class NextStart:
    """How the next run begins, and why so."""

    mode: Mode
    prompt: PromptKind
    reason: str


def next_start(agent: Agent, now: Moment, fresh: bool = False) -> NextStart:
    """Resume first, fresh with the brief as fallback (P34, P45, X5 as design section 3 rules)."""
    session = agent.session
    if agent.spec.task:
        return NextStart(Mode.FRESH, PromptKind.GOAL, "a worker begins fresh")
    if agent.spec.kind is Kind.LOOP and agent.spec.loop.session == "fresh":
        return NextStart(Mode.FRESH, PromptKind.GOAL, "a new iteration begins fresh")
    if session is None:
        return NextStart(Mode.FRESH, PromptKind.GOAL, "no session yet")
    if fresh:
        return NextStart(Mode.FRESH, PromptKind.GOAL, "fresh, as asked")
    idle = PromptKind.GOAL if agent.spec.kind is Kind.LOOP else PromptKind.NONE
    fallback = PromptKind.CONTINUE if session.turn_open else idle
    if not agent.spec.resume.enabled:
        return NextStart(Mode.FRESH, fallback, "this agent does not resume")
    if session.spoiled:
        return NextStart(Mode.FRESH, fallback, f"fresh with the brief: {session.spoiled}")
    if now.wall - session.active_wall > agent.spec.resume.max_age:
        age = in_words(agent.spec.resume.max_age)
        return NextStart(Mode.FRESH, fallback, f"fresh with the brief: the session was last active over {age} ago")
    return NextStart(Mode.RESUME, fallback, "resume")
