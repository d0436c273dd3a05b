"""`send`: a text goes to an agent, and the answer says what became of it, also of one that was sent before."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

from phoenixd.api import exits, idempotency
from phoenixd.api.event_names import event_key
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.commands import order
from phoenixd.api.times import ago
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.handoff import letters
from phoenixd.core.seat import finding
from phoenixd.core.seat.names import seat_name
from phoenixd.ports.journal import Entry, StoredEntry

KEYS_REMEMBERED = 1000
"""Rows of an agent's journal in which a key of an earlier daemon is looked for."""
TYPING = 45.0
"""Seconds after which a text that was begun in time has arrived or was given up, at the latest."""
ORPHAN_WAIT = 5.0
"""Seconds in which an agent's shim may still tell of a prompt that came while no daemon lived."""
HEAD_COMPARED = 200
VERDICTS = ("delivered", "notdelivered")
"""Events that tell what became of a text."""


async def send_text(ask: Ask) -> Reply:
    ask.agent()
    message_id, timeout = ask.key or secrets.token_hex(16), float(ask.arguments["timeout"])
    if (kept := _kept(ask, message_id)) is not None:
        return kept
    if ask.key is not None and (earlier := await sent_before(ask, ask.key)) is not None:
        return await _outcome_of(ask, earlier, timeout)
    newest = await ask.service.journal.read(newest=True, limit=1)
    after = newest[-1].seq if newest else 0
    await order(ask, SendRequested(ask.name, message_id, str(ask.arguments["text"]), ask.caller.name, timeout))
    if (kept := _kept(ask, message_id)) is not None:
        return kept
    if not ask.arguments["wait"]:
        return _sent(message_id, None, "", "it is being typed", exits.OK)
    verdict = await typing_verdict(ask, ask.name, message_id, after, timeout + TYPING)
    if verdict is None:
        return _not_known(ask, message_id, timeout)
    delivered, evidence = verdict
    if delivered:
        return _sent(message_id, True, evidence, f"delivered to {ask.name} ({evidence})", exits.OK)
    words = f"NOT delivered to {ask.name}: {evidence}. Look: phoenixctl attach {ask.name}"
    return _sent(message_id, False, evidence, words, exits.FAILED)


async def sent_before(ask: Ask, key: str) -> StoredEntry | None:
    """The journal's row of a text that was sent under this key, be it by an earlier daemon: it is not typed again."""
    rows = await ask.service.journal.read(agent=ask.written_by(ask.name), newest=True, limit=KEYS_REMEMBERED)
    its = [row for row in rows if row.entry.detail.get("message_id") == key]
    # A refusal typed nothing, and frees its key.
    typed = next((row for row in its if any(action.startswith("deliver") for action in row.entry.actions)), None)
    if typed is not None:
        return typed
    # What was kept over a handoff was typed by no row of its own, and may have taken several tries.
    told = next((row for row in reversed(its) if event_key(row.entry.event) in VERDICTS), None)
    return replace(told, seq=told.seq - 1) if told is not None else None


def _kept(ask: Ask, message_id: str) -> Reply | None:
    """The answer about a text that waits for who holds the seat afterwards: it is saved, and may wait for long."""
    seat = finding.of(ask.service.fleet(), ask.name)
    handoff = seat.handoff if seat is not None else None
    waiting = letters.texts(handoff) if handoff is not None else ()
    letter = next((one for one in waiting if one.message_id == message_id), None)
    if seat is None or handoff is None or letter is None:
        return None
    if letter.text != str(ask.arguments["text"]):
        raise idempotency.another_text(message_id)
    words = f"kept for who holds {seat.name} after handoff {handoff.id}"
    return _sent(message_id, None, "", words, exits.OK, kept=True)


async def _outcome_of(ask: Ask, sent: StoredEntry, timeout: float) -> Reply:
    """What became of a text that was sent before; an earlier daemon may have died before it could tell."""
    key, text = str(sent.entry.detail["message_id"]), str(sent.entry.detail.get("text", ""))
    is_orphan = sent.entry.wall < ask.service.facts().started_at
    seconds = ORPHAN_WAIT if is_orphan else timeout + TYPING if ask.arguments["wait"] else 0.0
    verdict = await typing_verdict(ask, ask.name, key, sent.seq, seconds, text if is_orphan else None)
    if verdict is None and not ask.arguments["wait"] and not is_orphan:
        return _sent(key, None, "", "it is being typed", exits.OK)
    if verdict is None and not is_orphan:
        return _not_known(ask, key, timeout)
    if verdict is None:
        verdict = False, "phoenixd was restarted while it was being typed, and nothing tells that it arrived"
    delivered, evidence = verdict
    if delivered:
        return _sent(key, True, evidence, f"delivered to {ask.name} before ({evidence}); not sent again", exits.OK)
    words = f"NOT delivered to {ask.name}: {evidence}. Look: phoenixctl attach {ask.name}"
    return _sent(key, False, evidence, words, exits.FAILED)


async def typing_verdict(
    ask: Ask, agent: str, message_id: str, after: int, timeout: float, orphan: str | None = None
) -> tuple[bool, str] | None:
    """Whether a text arrived, with the evidence or the reason, as soon as the journal says so.

    orphan: the text itself, where the daemon may have died before it could say so: then the agent's own word counts.
    """
    deadline = time.monotonic() + timeout
    left = timeout
    while await ask.service.wait_committed(after, left):
        for stored in await ask.service.journal.read(after=after):
            after, entry = stored.seq, stored.entry
            is_its = entry.agent is not None and seat_name(entry.agent) == seat_name(agent)
            if orphan and is_its and _submits(entry, orphan):
                return True, "the agent took the prompt"
            if not is_its or entry.detail.get("message_id") != message_id:
                continue
            match event_key(entry.event):
                case "delivered":
                    return True, str(entry.detail.get("evidence", ""))
                case "notdelivered":
                    return False, str(entry.detail.get("reason", ""))
                case _:
                    continue
        if left <= 0:
            return None
        left = max(0.0, deadline - time.monotonic())
    return None


def _submits(entry: Entry, text: str) -> bool:
    """Whether this row is the agent's word that it took the text; both may have been cut."""
    if event_key(entry.event) != "hookseen" or entry.detail.get("kind") != "prompt-submit":
        return False
    told = str(entry.detail.get("text", ""))
    length = min(len(told), len(text.rstrip()), HEAD_COMPARED)
    return length > 0 and told[:length] == text[:length]


def _not_known(ask: Ask, message_id: str, timeout: float) -> Reply:
    words = f"no word of it after {ago(timeout + TYPING)}. Look: phoenixctl attach {ask.name} --read-only"
    return _sent(message_id, None, "", words, exits.TIMED_OUT)


def _sent(
    message_id: str, delivered: bool | None, evidence: str, message: str, code: int, *, kept: bool = False
) -> Reply:
    """The answer about a text. What is not known yet is asked for anew with the same key."""
    body = {"message_id": message_id, "delivered": delivered, "kept": kept, "evidence": evidence, "message": message}
    known = delivered is not None
    return Reply(body, said(message), code, 200 if known else 202, is_final=known)
