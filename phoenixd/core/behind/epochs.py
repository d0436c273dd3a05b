"""What moves the epoch: an order of an operator's, a start, another wish. Between these nothing happens that a daemon
with an older journal could undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Quarantined, Running, Starting
from phoenixd.core.behind.world import GivenUp, Wish, Word, cause_of
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, RecoveryConfirmed
from phoenixd.core.events.orders import OperatorEvent

ORDERS = OperatorEvent | EpochBegun | JournalBehind | RecoveryConfirmed
"""After these the epoch is made durable outside the journal, before anything is done about them."""


def word_of(agent: Agent) -> Word:
    """What is wanted of an agent now."""
    if agent.desired is Desired.RUNNING:
        return "running"
    return "ending" if isinstance(agent.state, Starting | Running) else "stopped"


def wish_of(agent: Agent, epoch: int) -> Wish:
    """The wish that is to stand in the agent's own directory."""
    return Wish(word_of(agent), epoch, agent.incarnation, agent.left_out, _given_up(agent))


def _given_up(agent: Agent) -> GivenUp | None:
    state = agent.state
    if not isinstance(state, Quarantined) or agent.desired is not Desired.RUNNING:
        return None
    return GivenUp(cause_of(state.cause), state.counted, state.misdeclared, state.refused)


def moves(before: Mapping[str, Agent], decisions: Iterable[Decision], event: Event) -> bool:
    """Whether these decisions begin a new epoch. before: the agents as they were."""
    decided = tuple(decisions)
    if isinstance(event, ORDERS) and any(one.refusal is None for one in decided):
        return True
    return any(one.removed or _differs(before, one.agent) for one in decided if one.agent is not None)


def _differs(before: Mapping[str, Agent], agent: Agent) -> bool:
    known = before.get(agent.name)
    if known is None or known.incarnation != agent.incarnation:
        return True
    return not wish_of(known, 0).is_as(wish_of(agent, 0))
