"""The rules that the operator sets for an agent, one value for each table of its declaration. Checked at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

MINUTE = 60.0
HOUR = 3600.0


class RestartPolicy(StrEnum):
    """When a death is answered by a restart; the words are systemd's."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class RestartRules:
    """Backoff and restart intensity (design section 3). Durations in seconds."""

    policy: RestartPolicy = RestartPolicy.ON_FAILURE
    max_crashes: int = 5
    period: float = 30 * MINUTE
    early_exit: float | None = None
    backoff_initial: float = 1.0
    backoff_factor: float = 2.0
    backoff_max: float = 300.0
    productive: float = 5 * MINUTE
    """A run that lived this long is no crash; of a command without hooks that is all that can show progress."""
    max_unproductive: int = 8
    """Runs in a row without progress, at any period, until the agent is given up; 0 for no limit."""


@dataclass(frozen=True, slots=True)
class ResumeRules:
    """When the next start may resume the session, and how it is told to go on."""

    enabled: bool = True
    prompt: str | None = None
    window: float = 30.0
    """Seconds to the first sign of life, for harnesses whose hooks have been seen."""
    max_age: float = 24 * HOUR
    refused_within: float = 2.0


@dataclass(frozen=True, slots=True)
class LivenessRules:
    """How long an open turn may be silent (design section 8). Durations in seconds."""

    enabled: bool = True
    """Whether silence is judged at all; a loop's max_runtime holds all the same."""
    stale: float = 15 * MINUTE
    check_interval: float = 60.0
    subagent_max: float = 2 * HOUR
    lease_slack: float = 60.0
    lease_max: float = 2 * HOUR
    busy_max: float = 2 * HOUR
    """How long work may renew an open call that its harness does not end by itself."""


@dataclass(frozen=True, slots=True)
class StopRules:
    """How a run is ended: TERM, this many seconds, KILL."""

    grace: float = 5.0
    kill_retry: float = 5.0
    unproven: float = 30.0
    """How long nothing of a run may be seen whose end nothing proves, before that is taken for its end."""


@dataclass(frozen=True, slots=True)
class LimitRules:
    """What is done about rate limits, overload and outages. Durations in seconds."""

    wait: float = 15 * MINUTE
    """For a limit that names no reset time, or an absurd one; doubled with each further one in a row."""
    overload_wait: float = 30.0
    """For an overload or outage; doubled likewise."""
    wait_max: float = HOUR
    margin: float = 30.0
    """Added to a reset time, for clocks differ and times are named by the minute."""
    longest: float = 32 * 24 * HOUR
    """A reset time farther away is absurd."""
    reprompt: bool | None = None
    """Whether the agent has to be told to go on; None: as its harness needs it."""
    exit_codes: tuple[int, ...] = ()
    """Exit codes by which the command says that it met a limit."""


@dataclass(frozen=True, slots=True)
class Member:
    """One turn of a sequence after the first: whose it is, and when it comes about; without a condition, always.

    when_exists: a path or pattern below the first member's directory. when_agent: an agent whose exit 0 says so.
    """

    agent: str
    when_exists: str | None = None
    when_agent: str | None = None


@dataclass(frozen=True, slots=True)
class PhaseRules:
    """How long the plans of an orchestrator's project may be, in lines, and whether a longer one is split."""

    max_lines: int = 3000
    warn_lines: int = 2700
    auto_split: bool = True
    """At the next handoff; what stood before is kept in the phase's archive."""


@dataclass(frozen=True, slots=True)
class LoopRules:
    """How a loop agent iterates. A max_runtime of 0 means no limit."""

    pause: float = 10.0
    max_runtime: float = 45 * MINUTE
    session: str = "fresh"
    max_iterations: int = 0
    """Iterations after an operator's start until the loop ends as done; 0 for no limit."""
    max_per_hour: int = 0
    """Iterations that may begin within an hour, whichever; 0 for no limit."""
    done_code: int | None = None
    """An exit code by which the agent says that nothing is left to do."""
    done_text: str | None = None
    """What the agent says, on a line of its own, when nothing is left to do."""
    done_file: str | None = None
    """A file whose existence says so: a path or pattern below the agent's directory."""
    sequence: tuple[Member, ...] = ()
    """Whose turns follow within the same iteration, in this order."""


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When a loop that achieves nothing is stopped (seed G). Counts of iterations; 0 switches an optional rule off.

    cooldown: seconds until an open breaker tries once more by itself. token_ceiling: tokens spent without progress.
    roots: directories whose content is the work; default the agent's, or the repository around it. exclude: patterns of
    paths that are no work. notes: patterns of paths that are notes, and notes_stop: how many iterations may leave
    nothing else. time_limit: seconds that measuring may take. per_turn: a resident's turns are judged as iterations.
    """

    enabled: bool = True
    warn: int = 3
    stop: int = 5
    cooldown: float = 0.0
    same_error: int = 0
    permission_denials: int = 0
    token_ceiling: int = 0
    roots: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    time_limit: float = 20.0
    notes: tuple[str, ...] = ()
    notes_stop: int = 15
    per_turn: bool = False


@dataclass(frozen=True, slots=True)
class ContextRules:
    """When an agent's context is too full. Shares of the window, but for `warn`, which is one of `threshold`.

    limit: tokens of the window where nothing else tells them. predict: whether the next turn's growth counts.
    status_line: whether the CLI's status line is asked for the window, where it has one.
    """

    threshold: float = 0.9
    warn: float = 0.8
    hard: float = 0.97
    limit: int | None = None
    predict: bool = True
    status_line: bool = True


@dataclass(frozen=True, slots=True)
class HandoffRules:
    """How an orchestrator's seat passes to the next generation. Durations in seconds.

    writer: who words the project's papers. command: the program that does, for "command". model: the model, for
    "model". drain: how long the predecessor's turn is waited for. ack: how long a successor may take to acknowledge.
    tries: how many successors are made until the handoff is rolled back.
    spacing: between two that begin by themselves; a context that is full to context.hard does not wait for it. keep:
    packages and session records that stay on the disk. shared_memory: whether packages list what other projects shared.
    """

    writer: str = "deterministic"
    command: tuple[str, ...] = ()
    model: str | None = None
    drain: float = 10 * MINUTE
    ack: float = 5 * MINUTE
    tries: int = 2
    spacing: float = 10 * MINUTE
    keep: int = 5
    shared_memory: bool = False


class WriterKind(StrEnum):
    """Who writes an agent's brief. AUTO: its own CLI, where that can."""

    DETERMINISTIC = "deterministic"
    AUTO = "auto"
    COMMAND = "command"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class BriefRules:
    """When and by whom the brief is written. Durations in seconds; tokens_per_day 0 means no limit."""

    writer: WriterKind = WriterKind.DETERMINISTIC
    command: tuple[str, ...] = ()
    model: str | None = None
    timeout: float = 2 * MINUTE
    daily: bool = True
    on_change: bool = True
    spacing: float = 10 * MINUTE
    runs_per_day: int = 24
    tokens_per_day: int = 500_000
    transcript_chars: int = 60_000


@dataclass(frozen=True, slots=True)
class CleanupRules:
    """Which processes of a run are chosen by words of their command line and by TCP port, before and after each run.

    foreign_port: whether a start waits until a stranger has left one of the ports, or goes on.
    """

    match: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    foreign_port: Literal["report", "refuse"] = "report"

    @property
    def is_set(self) -> bool:
        return bool(self.match or self.ports)


@dataclass(frozen=True, slots=True)
class ReportRules:
    """How what it reports is known to be whole. seal: by two words that it is asked to write around it."""

    seal: bool = True


@dataclass(frozen=True, slots=True)
class ResonanceRules:
    """How it is noticed that an agent has lost the beginning of its context (seed R).

    enabled: "auto": on for orchestrators, and where overflow is not compaction. overflow: what becomes of a context
    that is too long: the CLI shortens it, the request is refused, or its front is dropped in silence. transport: how
    the marker reaches the agent; stateless: its program puts the seed before each request. mode: one_time asks for a
    code that was never asked for, classic for the marker's own. interval_turns: between two checks. restore: whether a
    loss is answered by a fresh session, max_per_hour times at most. preset: under which of the seed's names overflow
    and transport were chosen.
    """

    enabled: Literal["auto", "on", "off"] = "auto"
    preset: str = ""
    overflow: Literal["compaction", "reject", "silent"] = "compaction"
    transport: Literal["stateless", "stateful", "compaction"] = "compaction"
    mode: Literal["one_time", "classic"] = "one_time"
    codes: int = 24
    interval_turns: int = 10
    footer: bool = True
    restore: bool = True
    max_per_hour: int = 2

    @property
    def words(self) -> str:
        """The rules for people."""
        way = f"{self.preset}: " if self.preset else ""
        codes = f"{self.codes} codes of one use" if self.mode == "one_time" else "the marker's code each time"
        again = f"restored at most {self.max_per_hour} times in an hour" if self.restore else "not restored"
        footer = "with footer" if self.footer else "without footer"
        return (
            f"{way}overflow {self.overflow}, transport {self.transport}; every {self.interval_turns} turns, {codes}, "
            f"{footer}; {again}"
        )
