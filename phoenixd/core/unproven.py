"""A run whose end nothing proves: its shim was lost, and it had no control group.

Nobody knows a shim's orphans once the shim is gone, and what emptied its environment bears no mark. Where every process
of our user can be read, and none is the run's for a while, that counts as the end, and is told. Where some could not be
read, only a person can say whose they are. If nothing is to start, nothing can be doubled, and nobody is asked.

No file proves anything here: without a control group the agent is the user whose files those are. It can write an
exit.json, and take a run.json away, or end its shim before that has written one. So a start that nothing tells of is
waited for as well, for it may have become a run. But it holds nobody for what could not be read: hardly ever was there
a run, and something that cannot be read there is on most hosts.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import cleanup
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, Desired, Stopping
from phoenixd.core.decision import Decision, one_reason
from phoenixd.core.events.runs import AgentExited, TreeGone
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.transitions import FENCE_PAUSE

UNFENCED = "unfenced"
UNREAD = "unread"
LOOK_EVERY = 10.0
NAMED = 5


def weighed(gone: TreeGone, ended: AgentExited | None, begun: bool) -> TreeGone | AgentExited:
    """What a look that found nothing tells, with the exit record beside it.

    Where the look is a proof, the record says how the run ended. Where it is none, neither is what the agent can write:
    the record is kept for how the run ended, once that was waited for. begun: whether anything tells that it was begun.
    """
    if ended is None:
        return replace(gone, untold=gone.unproven and not begun)
    return replace(gone, ended=ended) if gone.unproven else ended


def wait(agent: Agent, state: Stopping, event: TreeGone, now: Moment) -> Decision | None:
    """Look again later; None where the end is proven, or was waited for long enough."""
    if not event.unproven:
        return None
    since = _since(state, event, now)
    over = since + agent.spec.stop.unproven
    if now.at < over:
        again = replace(state, unseen_since=since, deadline=min(now.at + LOOK_EVERY, over))
        counts = f"after {in_words(agent.spec.stop.unproven)} of that it counts as ended"
        why = f"{_lacks(event)}: nothing of the run is seen, and {counts}"
        first = state.unseen_since is None or event.killed
        return Decision(replace(agent, state=again, reason=why), reason=why if first else "")
    if not event.unread or event.untold or _starts_nothing(agent, state):
        return None
    pause = max(LOOK_EVERY, min(FENCE_PAUSE, (now.at - since) / 4))
    text = (
        f"run {event.incarnation} may be alive: its shim is lost, and {_named(event.unread)} cannot be read. If that "
        f"is no part of it: phoenixctl stop {agent.name}, then phoenixctl start {agent.name}"
    )
    is_told = any(one.kind == UNREAD and one.incarnation == event.incarnation for one in agent.alerts)
    waiting = replace(agent, state=replace(state, unseen_since=since, deadline=now.at + pause), reason=text)
    return Decision(waiting, (Alert(agent.name, UNREAD, text),), "" if is_told else text)


def told(decision: Decision, state: Stopping, event: TreeGone, now: Moment) -> Decision:
    """The decision at such an end, with the word that nothing proved it."""
    if not event.unproven or decision.agent is None:
        return decision
    text = (
        f"nothing proves that run {event.incarnation} is gone: {_lacks(event)}; nothing of it was seen for "
        f"{in_words(now.at - _since(state, event, now))}"
    )
    if event.unread:
        text += f"; {_named(event.unread)} could not be read"
    reason = one_reason(decision.reason, text)
    if decision.removed:
        return replace(decision, reason=reason)
    alert = Alert(decision.agent.name, UNFENCED, text)
    agent = replace(decision.agent, unproven=event.incarnation)
    return cleanup.sweep(replace(decision, agent=agent, actions=(*decision.actions, alert), reason=reason))


def _lacks(event: TreeGone) -> str:
    """Of what nothing is left that could prove an end."""
    if event.untold:
        return f"nothing tells whether run {event.incarnation} was begun, and no shim lives that could"
    return "its shim is lost and it had no control group"


def _since(state: Stopping, event: TreeGone, now: Moment) -> Instant:
    """Since when nothing is seen: what was ended in this look was seen until now."""
    return now.at if state.unseen_since is None or event.killed else state.unseen_since


def _starts_nothing(agent: Agent, state: Stopping) -> bool:
    return state.then in (Afterwards.STAY, Afterwards.REMOVE) or (
        state.then is Afterwards.JUDGE and agent.desired is Desired.STOPPED
    )


def _named(pids: tuple[int, ...]) -> str:
    more = f" and {len(pids) - NAMED} more" if len(pids) > NAMED else ""
    listed = ", ".join(map(str, pids[:NAMED]))
    return f"process {listed}" if len(pids) == 1 else f"processes {listed}{more}"
