"""`answer`: an operator's words to what an agent asks, and what became of them."""

from __future__ import annotations

import time

from phoenixd.api import exits, problems
from phoenixd.api.event_names import event_key
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.past import has_ended
from phoenixd.api.handlers.queries import find_item
from phoenixd.api.handlers.sending import typing_verdict
from phoenixd.api.problems import Problem
from phoenixd.api.times import ago
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.question import leftover
from phoenixd.core.question.call import ASKS, PLAN, PROPOSAL, QUESTION
from phoenixd.core.question.characters import visible
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.render import title
from phoenixd.core.question.reply import Said, understand
from phoenixd.core.seat.names import seat_name

MAX_WORDS = 1000
"""Characters of an answer, or of a reason, that are told."""


async def answer_item(ask: Ask) -> Reply:
    item = await _item(ask)
    words = _words(ask)
    if item.kind == QUESTION and not ask.arguments["answer"]:
        why = f"#{item.id} is a question and no permission: it takes an answer, and no verdict"
        raise Problem("invalid", why, f"phoenixctl answer {item.id}")
    if item.kind in ASKS and (item.hold or item.left):
        unclear = understand(item, words, bool(ask.arguments["text"]))
        if isinstance(unclear, Unclear):
            raise Problem("invalid", f"#{item.id}: {unclear.why}", unclear.remedy(item.id))
    newest = await ask.service.journal.read(newest=True, limit=1)
    after = newest[-1].seq if newest else 0
    shown = ask.arguments["text_hash"]
    event = AnswerRequested(
        item.agent,
        item.id,
        # Bound to the text as it stood when this request came, also where the caller named none.
        text_hash=str(shown) if shown is not None else item.text_hash,
        by=ask.caller.name,
        words=words,
        as_text=bool(ask.arguments["text"]),
    )
    refusal = await ask.service.order(event)
    if refusal is not None:
        raise problems.of_refusal(refusal)
    if item.kind == PROPOSAL:
        # It is phoenixd's own question: the order is the answer.
        return _reply(item, words, True, _done(ask, item, words))
    timeout = float(str(ask.arguments["timeout"]))
    if item.left:
        return await _told_later(ask, item, words, after, timeout)
    outcome = await _outcome(ask, item.agent, item.hold, after, timeout)
    if outcome is None:
        return _unknown(item, words, timeout)
    taken, why = outcome
    return _reply(item, words, True, _done(ask, item, words)) if taken else _lost(item, words, why)


async def _item(ask: Ask) -> InboxItem:
    """What is answered; raises Problem, of what has ended with whose word ended it, and how."""
    try:
        return find_item(ask)
    except Problem as problem:
        word = str(ask.arguments["id"])
        too_late = await has_ended(ask, int(word)) if problem.code == "not_found" and word.isdecimal() else None
        raise too_late or problem from None


def _words(ask: Ask) -> tuple[str, ...]:
    """What was said: as words, or as the verdict and reason of a permission."""
    words = tuple(str(word) for word in ask.arguments["answer"] or ())
    verdict, reason = ask.arguments["verdict"], str(ask.arguments["reason"]).strip()
    if not words and verdict is not None:
        words = (str(verdict), *([reason] if reason and verdict == "deny" else []))
    if not words:
        number = ask.arguments["id"]
        raise Problem("invalid", "an answer is missing", f"phoenixctl answer {number}")
    if any(len(word) > MAX_WORDS for word in words):
        raise Problem("invalid", f"an answer has at most {MAX_WORDS} characters", f"phoenixctl attach {_agent(ask)}")
    return words


def _agent(ask: Ask) -> str:
    return find_item(ask).agent


async def _told_later(ask: Ask, item: InboxItem, words: tuple[str, ...], after: int, timeout: float) -> Reply:
    """What an earlier run asked is answered by typing it, or with the next start."""
    now = next((one for one in _items(ask, item.agent) if one.id == item.id), None)
    if now is not None and not now.answering and now.answer:
        told = f"kept: {item.agent} is told it with its next start"
        return _reply(item, words, False, told, kept=True)
    message_id = now.answering if now is not None else ""
    # The agent's own word that it took the answer closes the question, so it counts here as well.
    text = leftover.words_of(now) if now is not None and now.answer else None
    verdict = await typing_verdict(ask, item.agent, message_id, after, timeout, text) if message_id else None
    if now is None or (verdict is not None and verdict[0]):
        return _reply(item, words, True, _done(ask, item, words))
    if verdict is None and message_id:
        return _unknown(item, words, timeout)
    why = verdict[1] if verdict is not None else "it could not be typed"
    is_open = any(one.id == item.id for one in _items(ask, item.agent))
    ended = await has_ended(ask, item.id) if not is_open else None
    return _lost(item, words, f"{why}; {ended.detail}" if ended is not None else why)


def _items(ask: Ask, name: str) -> tuple[InboxItem, ...]:
    agents = ask.service.fleet().agents.values()
    return tuple(item for agent in agents if seat_name(name) == seat_name(agent.name) for item in agent.items)


def _done(ask: Ask, item: InboxItem, words: tuple[str, ...]) -> str:
    if item.kind == QUESTION:
        understood = understand(item, words, bool(ask.arguments["text"]))
        told = understood.answers if isinstance(understood, Said) else words
        return f"{item.agent} was told: {'; '.join(visible(one)[:MAX_WORDS] for one in told)}"
    if item.kind == PROPOSAL:
        return f"proposal #{item.id} about {item.agent} was {'denied' if words[0].lower() == 'deny' else 'allowed'}"
    if words[0].lower() == "deny":
        return f"{item.agent} was denied: {title(item)}"
    how = "may go on as planned" if item.kind == PLAN else "was allowed, this once"
    return f"{item.agent} {how}: {title(item)}"


def _lost(item: InboxItem, words: tuple[str, ...], why: str) -> Reply:
    what = "answered" if item.kind == QUESTION else "denied" if words[0].lower() == "deny" else "allowed"
    told = f"NOT {what} by you: {why}. Look: phoenixctl attach {item.agent}"
    return _reply(item, words, False, told, code=exits.CONFLICT)


def _unknown(item: InboxItem, words: tuple[str, ...], timeout: float) -> Reply:
    told = f"after {ago(timeout)} nothing tells what became of it. Look: phoenixctl attach {item.agent}"
    return _reply(item, words, False, told, code=exits.TIMED_OUT, status=202)


def _reply(
    item: InboxItem,
    words: tuple[str, ...],
    taken: bool,
    told: str,
    *,
    kept: bool = False,
    code: int = exits.OK,
    status: int = 200,
) -> Reply:
    verdict = "answer" if item.kind == QUESTION else "deny" if words[0].lower() == "deny" else "allow"
    body = {
        "id": item.id,
        "agent": item.agent,
        "verdict": verdict,
        "answer": list(words),
        "taken": taken,
        "kept": kept,
        "message": told,
    }
    return Reply(body, said(told), code, status)


async def _outcome(ask: Ask, agent: str, hold: int, after: int, timeout: float) -> tuple[bool, str] | None:
    """Whether the agent took the answer, or why not, as soon as the journal says so."""
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0 and await ask.service.wait_committed(after, left):
        for stored in await ask.service.journal.read(after=after):
            after, entry = stored.seq, stored.entry
            is_its = entry.agent is not None and seat_name(entry.agent) == seat_name(agent)
            if is_its and event_key(entry.event) == "holdanswered" and entry.detail.get("hold") == hold:
                return bool(entry.detail.get("taken")), str(entry.detail.get("why", ""))
    return None
