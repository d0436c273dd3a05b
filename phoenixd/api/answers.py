"""`answer`: an operator's word to a permission dialog, and what became of it."""

from __future__ import annotations

import time

from phoenixd.api import exits, problems
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.history import event_key
from phoenixd.api.problems import Problem
from phoenixd.api.times import ago
from phoenixd.core.events import AnswerRequested


async def answer_item(ask: Ask) -> Reply:
    number, allow = int(str(ask.arguments["id"])), ask.arguments["verdict"] == "allow"
    items = {agent.item.id: agent.item for agent in ask.service.fleet().agents.values() if agent.item is not None}
    item = items.get(number)
    if item is None:
        raise Problem("not_found", f"nothing waits under #{number}: it was answered, or is gone", "phoenixctl inbox")
    if not allow and not str(ask.arguments["reason"]).strip():
        raise Problem("invalid", "say why: the agent is told the reason", f'phoenixctl answer {number} deny "REASON"')
    newest = await ask.service.journal.read(newest=True, limit=1)
    after = newest[-1].seq if newest else 0
    shown = ask.arguments["text_hash"]
    event = AnswerRequested(
        item.agent,
        number,
        allow,
        str(ask.arguments["reason"])[:1000],
        # Bound to the text as it stood when this request came, also where the caller named none.
        str(shown) if shown is not None else item.text_hash,
        ask.caller.name,
    )
    refusal = await ask.service.order(event)
    if refusal is not None:
        raise problems.of_refusal(refusal)
    timeout = float(str(ask.arguments["timeout"]))
    outcome = await _outcome(ask, item.agent, item.hold, after, timeout)
    body = {"id": number, "agent": item.agent, "verdict": "allow" if allow else "deny"}
    if outcome is None:
        words = f"after {ago(timeout)} nothing tells what became of it. Look: phoenixctl attach {item.agent}"
        return Reply({**body, "taken": False, "message": words}, said(words), exits.TIMED_OUT, 202)
    taken, why = outcome
    if taken:
        words = f"{item.agent} was {'allowed, this once' if allow else 'denied'}: {item.text}"
        return Reply({**body, "taken": True, "message": words}, said(words))
    words = f"NOT {'allowed' if allow else 'denied'} by you: {why}. Look: phoenixctl attach {item.agent}"
    return Reply({**body, "taken": False, "message": words}, said(words), exits.CONFLICT)


async def _outcome(ask: Ask, agent: str, hold: int, after: int, timeout: float) -> tuple[bool, str] | None:
    """Whether the agent took the answer, or why not, as soon as the journal says so."""
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0 and await ask.service.wait_committed(after, left):
        for stored in await ask.service.journal.read(after=after):
            after, entry = stored.seq, stored.entry
            if entry.agent == agent and event_key(entry.event) == "holdanswered" and entry.detail.get("hold") == hold:
                return bool(entry.detail.get("taken")), str(entry.detail.get("why", ""))
    return None
