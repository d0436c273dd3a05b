"""Alerts: raised once, not repeated while they stand, over by the event that proves it.

Rules raise one by the action `Alert`, watches outside the core by `TroubleSeen`. Both pass through `settle`, which
keeps what stands in the agent's saved state: a daemon that starts again neither repeats nor forgets it. Nobody clears
an alert by hand or by a timer; what an agent is, or a watch's `TroubleGone`, clears it.
"""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.core import alert_kinds
from phoenixd.core.actions import Action, Alert, Reassure
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.change import replace
from phoenixd.core.moment import Moment
from phoenixd.core.question.render import title
from phoenixd.core.question.reply import is_reachable
from phoenixd.core.reports import CONTRADICTED, OF_A_TASK

DEGRADED = "degraded"
"""The fleet's alert that decisions cannot be saved, or soon may not be, and that nothing is started meanwhile."""

SLOW_DISK = "slow disk"
"""The fleet's alert that decisions are saved, and late."""

MAX_TEXT = 2048


def needs_person_kind(kind: str) -> bool:
    """Whether an alert of this kind makes its agent one that needs a person."""
    return alert_kinds.of(kind).needs_person


def pressing(standing: Iterable[StandingAlert]) -> tuple[StandingAlert, ...]:
    """Those that need a person, the oldest first."""
    return tuple(sorted((one for one in standing if needs_person_kind(one.kind)), key=lambda one: one.raised_wall))


def next_command(kind: str, agent: str | None, answer: int = 0, about: tuple[str, ...] = ()) -> str:
    """What a person does about an alert, as a command. answer: the number by which it can be answered from afar.

    about: as the alert has it; of a contradicted claim the task, whose page has all claims: no terminal shows any.
    """
    if agent is None:
        return "phoenixctl recover" if kind == "journal behind" else "phoenixctl doctor"
    if answer:
        return f"phoenixctl answer {answer}"
    if kind == CONTRADICTED:
        return " ".join(("phoenixctl task status", *(of.removeprefix(OF_A_TASK) for of in about)))
    return f"phoenixctl attach {agent}" if alert_kinds.of(kind).is_question else f"phoenixctl explain {agent}"


def settle(
    before: tuple[StandingAlert, ...],
    agent: Agent,
    actions: Iterable[Action],
    number: int,
    why: str,
    now: Moment,
    called: str = "",
    *,
    muted: bool = False,
    ways: tuple[str, ...] = (),
) -> tuple[Agent, tuple[Action, ...], int]:
    """Fold a decision's alerts into those that stand, and clear what the agent's new state proves to be over.

    before: what stood before the decision, which may have cleared some itself. called: the name that people know the
    agent by, where it has another. muted: what is raised now is told to nobody. ways: those that are to tell it.
    Returns the agent, the actions with repeats left out and with what is over told, and the next free number.
    """
    standing, kept, number = fold(agent, agent.alerts, actions, number, now, called, muted=muted, ways=ways)
    standing = tuple(one for one in standing if not is_over(one, agent))
    over = [one for one in before if all(one.id != other.id for other in (*standing, *unsure(agent)))]
    if standing != agent.alerts:
        agent = replace(agent, alerts=standing)
    return (
        agent,
        (*kept, *(reassure(called or agent.name, one, why or alert_kinds.of(one.kind).over) for one in over)),
        number,
    )


def fold(
    agent: Agent | None,
    standing: tuple[StandingAlert, ...],
    actions: Iterable[Action],
    number: int,
    now: Moment,
    called: str = "",
    *,
    muted: bool = False,
    ways: tuple[str, ...] = (),
) -> tuple[tuple[StandingAlert, ...], tuple[Action, ...], int]:
    """The alerts that stand after these actions, the actions without those that would repeat one, the next number.

    An alert about an item of the inbox has that item's number. An alert that a mute held back is no repetition once the
    mute is over. What is to be told waits for all ways in the very state that is saved before any of them is asked.
    """
    name, incarnation, items = (called or agent.name, agent.incarnation, agent.items) if agent else (None, 0, ())
    kept: list[Action] = []
    for action in actions:
        if not isinstance(action, Alert):
            kept.append(action)
            continue
        item = next((one for one in reversed(items) if (one.kind, one.text) == (action.kind, action.text)), None)
        text = (title(item) if item is not None else action.text)[:MAX_TEXT]
        known = next((one for one in standing if _is_same(one, action, text, item)), None)
        held = muted and not alert_kinds.of(action.kind).is_ours
        reached = item is not None and is_reachable(item)
        if known is not None:
            is_freed = known.held and not held
            newer = replace(
                known, text=text, about=action.about, gist=action.gist, held=known.held and held,
                waits=ways if is_freed else known.waits,
            )  # fmt: skip
            standing = tuple(newer if one is known else one for one in standing)
            if is_freed:
                kept.append(_told(action, newer, name, answerable=reached))
            continue
        bears = item.id if item is not None else number
        newer = StandingAlert(
            bears, action.kind, text, now.wall, incarnation, action.watched, action.about, action.gist, held,
            waits=() if held else ways,
        )  # fmt: skip
        standing = (*standing, newer)
        kept.append(_told(action, newer, name, answerable=reached))
        number += item is None
    return standing, tuple(kept), number


def _told(action: Alert, standing: StandingAlert, name: str | None, *, answerable: bool) -> Alert:
    return replace(
        action, agent=name, text=standing.text, id=standing.id, raised_wall=standing.raised_wall, answerable=answerable,
        held=standing.held,
    )  # fmt: skip


def find(standing: Iterable[StandingAlert], kind: str) -> StandingAlert | None:
    """The alert of a watch that stands."""
    return next((one for one in standing if one.watched and one.kind == kind), None)


def reassure(name: str | None, over: StandingAlert, why: str) -> Reassure:
    """The word that an alert is over, and what proved it."""
    return Reassure(name, over.kind, over.text, over.id, over.raised_wall, why, over.held)


def ended(actions: Iterable[Action]) -> str:
    """Why a decision was made that ends alerts and has no other reason; empty where it ends none."""
    return "; ".join(f"{one.kind} is over: {one.why}" for one in actions if isinstance(one, Reassure))


def unsure(agent: Agent) -> tuple[StandingAlert, ...]:
    """The alert of a question that is closed, and perhaps not over: nobody is told of its end yet."""
    doubted = agent.activity.doubted if agent.activity is not None else None
    return (doubted.alert,) if doubted is not None and doubted.alert is not None else ()


def is_over(standing: StandingAlert, agent: Agent) -> bool:
    """Whether what the agent is now proves that an alert is over; a watch's own alert is never judged here."""
    cure = alert_kinds.of(standing.kind).cure
    return not standing.watched and cure is not None and cure(standing, agent)


def _is_same(standing: StandingAlert, raised: Alert, text: str, item: InboxItem | None) -> bool:
    kind = alert_kinds.of(raised.kind)
    if item is not None and kind.is_question:
        return standing.id == item.id
    if standing.kind != raised.kind or (kind.is_each and standing.about != raised.about):
        return False
    return not kind.is_question or standing.text == text
