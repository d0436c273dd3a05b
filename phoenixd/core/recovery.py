"""What a daemon learns when it begins: another boot, an epoch of its own, a journal older than the world."""

from __future__ import annotations

from phoenixd.core import alerts
from phoenixd.core.behind import epochs, plan, tasks
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, Rebooted, RecoveryConfirmed
from phoenixd.core.facts import WatchBegan
from phoenixd.core.fleet import Fleet, Step, clear, put, put_all, warn
from phoenixd.core.lifecycle import ends
from phoenixd.core.moment import Moment, between


def reboot(before: Fleet, found: Step, event: Rebooted, now: Moment) -> Step:
    """Another boot: no run lives."""
    by_agent = {end.agent: end for end in event.ended}
    for agent in before.agents.values():
        found = put(found, ends.after_reboot(agent, by_agent.get(agent.name), now), now)
    return found


def begin_epoch(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """A daemon begins, in an epoch of its own."""
    newest = max(event.newest, before.epoch)
    begun = _begun(event, newest, now)
    # What stands in the directory of a task is its alone, also where the journal has forgotten that there was one.
    number = max(before.tasks.next, event.tasks + 1)
    tasks = replace(before.tasks.remembering(event.kept), next=number)
    back = len(tasks.ended) - len(before.tasks.ended)
    told = Decision(None, reason=f"{back} tasks are known by their directories again", weight="story")
    return Step(replace(before, epoch=newest, tasks=tasks), (begun, told) if back > 0 else (begun,))


def _begun(event: EpochBegun, newest: int, now: Moment) -> Decision:
    """What is told of it: for how long nobody watched, and how the daemon before ended."""
    if event.unwatched is None:
        return Decision(None, reason=f"a daemon begins, after epoch {newest}", weight="detail")
    gone = between(event.unwatched, now.wall)
    how = f"nobody watched for {gone}: the one before was ended by {event.ended}"
    if not event.ended:
        # It may have lived on for a while in which nothing happened.
        how = f"nobody watched for {gone} at most: the one before was killed, or died"
    return Decision(
        None, reason=f"a daemon begins; {how}", weight="story", facts=(WatchBegan(event.unwatched, event.ended),)
    )


def count_epoch(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Begin a new epoch where an order, a start or another wish was decided."""
    if not epochs.moves(before.agents, found.decisions, event):
        return found
    return replace(found, fleet=replace(found.fleet, epoch=found.fleet.epoch + 1))


def face_the_world(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Bring every agent up to what the world knows of it, before anything is killed or started."""
    fleet, event = before, replace(event, specs=tasks.declared(before.tasks, event))
    known = replace(
        fleet, epoch=max(fleet.epoch, event.world.newest), next_item=fleet.next_item + plan.ITEM_GAP,
        tasks=replace(fleet.tasks, next=fleet.tasks.next + plan.ITEM_GAP),
    )  # fmt: skip
    found = put_all(Step(known), plan.decisions(fleet.agents, fleet.retired, event, now), now)
    return tasks.face_the_world(found, now)


def tell_plan(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Raise the one alert of what was found of all agents, once it is known who holds which seat."""
    event = replace(event, specs=tasks.declared(before.tasks, event))
    left = plan.left_alone(before.agents, event, now)
    alert = plan.alert(event.why, found.fleet.agents.values(), left, found.fleet.tasks)
    return warn(found, Decision(None, (alert,), alert.text), now)


def renew_plan(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """After an order: what it settled is not to be recovered any more."""
    standing = alerts.find(found.fleet.alerts, plan.BEHIND)
    if standing is None or found.refusal is not None:
        return found
    alert = plan.renewed(standing, found.fleet.agents, found.fleet.tasks)
    if alert is None:
        return clear(found, standing, "every agent was settled by an order of its own")
    return warn(found, Decision(None, (alert,)), now)


def confirm_recovery(before: Fleet, found: Step, event: RecoveryConfirmed, now: Moment) -> Step:
    """Do what was proposed where the journal was old."""
    found = put_all(found, plan.confirmed(before.agents.values(), event.by, now), now)
    found = tasks.confirm(found, event.by)
    standing = alerts.find(before.alerts, plan.BEHIND)
    return clear(found, standing, f"confirmed by {event.by}") if standing is not None else found
