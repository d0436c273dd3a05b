"""What an operator orders of agents, by phoenixctl or by a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.behind.world import World
from phoenixd.core.events.resonance import CheckRequested, RestorationRequested
from phoenixd.core.spec import AgentSpec


@dataclass(frozen=True, slots=True)
class AgentDeclared:
    """The operator declared an agent, or changed its specification."""

    spec: AgentSpec
    start: bool = False
    world: World | None = None
    """What was seen of one whose run lives although nobody declared it so far."""
    is_undo: bool = False
    """Whether a removal is being taken back, which is an order of its own."""
    fills_env: bool = False
    """The environment is the one with which its run began; the journal has none, and it was read nowhere until now."""


@dataclass(frozen=True, slots=True)
class AgentWithdrawn:
    """The operator removed an agent; it is stopped first."""

    agent: str
    by: str = "operator"
    act: str = ""
    """Under which name it can be taken back; empty: it cannot. So it is with the orders below."""


@dataclass(frozen=True, slots=True)
class StartRequested:
    """An operator wants the agent running."""

    agent: str
    fresh: bool = False
    by: str = "operator"
    act: str = ""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """An operator wants the agent down, and kept down."""

    agent: str
    by: str = "operator"
    after_iteration: bool = False
    act: str = ""


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """An operator wants a new incarnation."""

    agent: str
    fresh: bool = False
    by: str = "operator"
    act: str = ""


@dataclass(frozen=True, slots=True)
class MuteRequested:
    """An operator wants to be told of none of the agent's alerts for some seconds."""

    agent: str
    seconds: float
    by: str = "operator"
    act: str = ""


@dataclass(frozen=True, slots=True)
class UnmuteRequested:
    """An operator wants to be told of the agent's alerts again."""

    agent: str
    by: str = "operator"
    act: str = ""


@dataclass(frozen=True, slots=True)
class UndoRequested:
    """An operator takes an act on one agent back."""

    agent: str
    act: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class SendRequested:
    """An operator wants this text typed into the agent."""

    agent: str
    message_id: str
    text: str = field(repr=False)
    by: str = "operator"
    within: float = 60.0
    """Seconds in which it has to be begun: others may be typed before it."""


@dataclass(frozen=True, slots=True)
class AnswerRequested:
    """An operator answers what an agent asks. text_hash: of the text that was shown, where the caller names it.

    words: what the operator said, read by what the item asks; as_text: none of it is an option or a verb. Without words
    allow and reason are the answer. secret: the words hold a secret, and are kept nowhere.
    """

    agent: str
    item: int
    allow: bool = False
    reason: str = ""
    text_hash: str | None = None
    by: str = "operator"
    words: tuple[str, ...] = ()
    as_text: bool = False
    secret: bool = False


@dataclass(frozen=True, slots=True)
class HandoffRequested:
    """An operator, or an orchestrator itself, wants its seat handed over to the next generation."""

    agent: str
    by: str = "operator"
    why: str = ""


@dataclass(frozen=True, slots=True)
class RollbackRequested:
    """An operator wants a handoff called off: the predecessor goes on."""

    agent: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class BreakerReset:
    """Somebody wants a breaker closed, by a command or by deleting its file."""

    agent: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class BreakerEdited:
    """Somebody wrote into a breaker's file."""

    agent: str
    state: Literal["CLOSED", "HALF_OPEN", "OPEN"]
    no_progress: int


@dataclass(frozen=True, slots=True)
class BreakerCorrupt:
    """A breaker's file cannot be read; a copy of it was kept."""

    agent: str
    why: str


OperatorEvent = (
    AgentDeclared
    | AgentWithdrawn
    | StartRequested
    | StopRequested
    | RestartRequested
    | MuteRequested
    | UnmuteRequested
    | UndoRequested
    | SendRequested
    | AnswerRequested
    | BreakerReset
    | BreakerEdited
    | BreakerCorrupt
    | HandoffRequested
    | RollbackRequested
    | CheckRequested
    | RestorationRequested
)
