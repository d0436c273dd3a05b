"""What `since` says in JSON: a stretch of the journal, added up, as plain dictionaries."""

from __future__ import annotations

from phoenixd.api.history import Stretch
from phoenixd.api.representation import Json, item
from phoenixd.api.row import alert
from phoenixd.api.spells import Spells
from phoenixd.api.times import rfc3339
from phoenixd.core.facts import VERBS


def stretch(told: Stretch) -> Json:
    """A stretch of the journal added up."""
    digest = told.digest
    again = sum(digest.unhealed_agents[name] for name in told.running_again)
    return {
        "from": rfc3339(digest.since),
        "to": rfc3339(told.until),
        "complete": digest.complete and told.journal_begins is None and digest.untyped_until is None,
        "journal_begins": rfc3339(digest.begins if told.journal_begins is None else told.journal_begins),
        "seen": rfc3339(told.seen),
        "deaths": {
            "total": digest.deaths,
            "healed": digest.healed,
            "repeated": digest.repeated,
            "healing": digest.unhealed - again,
            "running_again": again,
            "quarantined": digest.quarantined,
            "returned": digest.returned,
            "released": digest.released,
            "ended": digest.ended,
            "resumed": digest.resumed,
            "fresh": digest.fresh,
            "slowest": digest.slowest,
            "died": digest.died_agents,
            "back": told.back,
            "agents": sorted({*digest.quarantined_agents, *digest.unhealed_agents}),
            "healed_agents": sorted(digest.healed_agents),
        },
        **spells(digest.spells),
        "terminal_ends": [
            {
                "at": rfc3339(one.at), "fell": sorted(one.fell), "back": sorted(one.back),
                "back_by": rfc3339(max(one.back.values(), default=None)),
            }
            for one in digest.terminals.told
        ],
        "ordered": [
            {"agent": one.agent, "verb": one.verb, "by": one.by, "at": rfc3339(one.at)} for one in digest.by_hand.orders
        ],
        "questions": [
            {
                "id": one.id, "agent": one.agent, "kind": one.kind, "from": rfc3339(one.begins),
                "to": rfc3339(one.until), "answered_by": one.by or None, "verdict": one.verdict,
                "ended_with_run": one.with_run,
            }
            for one in digest.by_hand.asked
        ],
        "failed_starts": sum(digest.failed_starts.values()),
        "unstarted": sorted(digest.unstarted),
        "waiting": [item(waiting) for waiting in told.waiting],
        "alerts": [alert(one) for one in told.alerts],
        "outages": digest.outages,
        "unwatched": [
            {"from": rfc3339(one.begins), "to": rfc3339(one.until), "ended_by": one.ended or None}
            for one in digest.unwatched
        ],
        "ran_on": sorted(digest.ran_on),
        "orders": {verb: digest.orders.get(verb, 0) for verb in VERBS},
        "started": digest.orders.get("start", 0),
        "stopped": digest.orders.get("stop", 0),
        "finished": digest.finished,
        "iterations": digest.iterations,
        "cut_answers": digest.cut_answers,
        "cut_gone_on": digest.cut_gone_on,
        "sent": digest.orders.get("send", 0),
        "not_delivered": digest.not_delivered,
    }  # fmt: skip


def spells(told: Spells) -> Json:
    """What began and ended within a stretch. to: null while it goes on."""
    return {
        "limits": [
            {
                "kind": one.kind, "of": one.of or None, "from": rfc3339(one.begins), "to": rfc3339(one.until),
                "due": rfc3339(one.due), "agents": sorted(one.agents), "parked": sorted(one.waiting),
            }
            for one in told.of("limit", "overload", "outage")
        ],
        "quarantines": [
            {
                "agent": one.of, "from": rfc3339(one.begins), "to": rfc3339(one.until), "ended_by": one.by or None,
                "productive": one.productive,
            }
            for one in told.of("quarantine")
        ],
        "fleet_alerts": [
            {"kind": one.of, "from": rfc3339(one.begins), "to": rfc3339(one.until)} for one in told.of("alert")
        ],
        "handoffs": [
            {
                "name": one.seat, "from": rfc3339(one.begins), "to": rfc3339(one.until), "generation": one.generation,
                "done": one.done,
            }
            for one in told.handoffs.values()
        ],
        "reboots": [
            {"at": rfc3339(one.at), "ended": sorted(one.runs), "back": sorted(one.back)} for one in told.reboots
        ],
        "finished_agents": [
            {"agent": one.agent, "at": rfc3339(one.at), "by_person": one.by_person} for one in told.finished
        ],
    }  # fmt: skip
