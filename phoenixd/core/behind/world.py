"""What the world says beside the journal: the epoch, each agent's last wish, its files, and what lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.breaker import Word as BreakerWord

Word = Literal["running", "ending", "stopped", "removed"]
"""What was last wanted of an agent. ending: its run goes on to its end, and nothing follows."""

ShimWord = Literal["none", "silent", "idle", "runs"]
"""none: nobody listens. silent: somebody does, and does not answer as a shim of ours. idle: it has nothing to run."""

Verdict = Literal["keep", "adopt", "heal", "stop", "down", "quarantine", "wait", "forget", "leave"]
"""keep: journal and world agree. heal: it is wanted, and its newest run is dealt with as ever. quarantine: it had been
given up, and a person has to start it. leave: nobody declares it, so it is not touched."""


MOST_CAUSE = 80
"""Characters of why an agent was given up that stand in its wish, whose file has no room for more."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An agent is wanted, and was given up until a person starts it; fields as its quarantine has them.

    cause: the beginning of it, in ASCII, without what JSON would write in two characters.
    """

    cause: str
    counted: bool = False
    misdeclared: bool = False
    refused: bool = False


def cause_of(text: str) -> str:
    """As much of a cause as stands in a wish."""
    plain = "".join(one if " " <= one <= "~" and one not in '"\\' else "'" for one in text)
    return plain if len(plain) <= MOST_CAUSE else f"{plain[: MOST_CAUSE - 3]}..."


@dataclass(frozen=True, slots=True)
class Wish:
    """An agent's last wish. epoch: when it was wished. incarnation: the newest one by then.

    left_out: it is a member of a sequence that somebody stopped on purpose, and no turn of that is to begin it.
    given_up: it is in quarantine.
    """

    word: Word
    epoch: int
    incarnation: int = 0
    left_out: bool = False
    given_up: GivenUp | None = None

    def is_as(self, other: Wish) -> bool:
        """Whether both want the same."""
        return (self.word, self.left_out, self.given_up) == (other.word, other.left_out, other.given_up)


@dataclass(frozen=True, slots=True)
class KeptBreaker:
    """A breaker as its file tells it."""

    state: BreakerWord
    no_progress: int = 0
    iterations: int = 0
    last_progress: int = 0
    opens: int = 0
    notes: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run as its shim, or run.json, tells it. epoch: of its start, 0 where an older daemon ordered it.

    heard: the newest of its hooks that its shim wrote down; empty where there was none.
    """

    incarnation: int
    run_id: str
    session_id: str = ""
    mode: str = ""
    pid: int | None = None
    start_time: int | None = None
    began_wall: float = 0.0
    epoch: int = 0
    boot_id: str = ""
    heard: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """What one agent has left in the world.

    living: the run that its shim says is alive. last: the newest one of run.json. incarnation: the highest that was
    met anywhere. told: the newest fsynced epoch that its shim was told, 0 for none. ended: exit.json tells the end of
    `last`. breaker: what its breaker's file holds; None for nothing that can be read. anchored: the session whose
    marker stands on the disk; empty for none.
    """

    agent: str
    wish: Wish | None = None
    shim: ShimWord = "none"
    living: SeenRun | None = None
    last: SeenRun | None = None
    incarnation: int = 0
    told: int = 0
    ended: bool = False
    breaker: KeptBreaker | None = None
    anchored: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """All of it. journal: the epoch that the journal was saved with. epoch: that of the file beside it. 0: none.

    is_damaged: the journal was salvaged, so that rows of it may be missing.
    """

    boot_id: str
    journal: int
    epoch: int
    traces: tuple[Trace, ...] = ()
    is_damaged: bool = False

    @property
    def newest(self) -> int:
        """The highest epoch that anything outside the journal knows."""
        return max((self.epoch, *(_newest(trace) for trace in self.traces)))

    @property
    def is_whole(self) -> bool:
        """Whether the state directory is as new as the shims remember it; one that went back is not, wishes and all."""
        return self.epoch >= max((trace.told for trace in self.traces), default=0)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of an agent, in words for people: journal, wish and processes, the verdict and its reason.

    proposal: what `recover` does with it once it is confirmed; empty for nothing. end: it is a generation of a seat
    whose handoff the journal has lost.
    """

    verdict: Verdict
    journal: str
    wish: str
    processes: str
    reason: str
    proposal: Literal["", "start", "end"] = ""


def _newest(trace: Trace) -> int:
    wished = trace.wish.epoch if trace.wish is not None else 0
    begun = trace.living.epoch if trace.living is not None else 0
    ran = trace.last.epoch if trace.last is not None else 0
    return max(wished, begun, ran, trace.told)
