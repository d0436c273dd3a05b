"""An operator's words read as a reply to what an item asks: each kind has its verbs, and none swallows another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.nearest import nearest
from phoenixd.core.question.call import ASKS, PLAN, PROPOSAL, QUESTION, call_of
from phoenixd.core.question.characters import visible
from phoenixd.core.question.choices import Question, Unclear, questions_of, read

DENY = 'deny "REASON"'


@dataclass(frozen=True, slots=True)
class Said:
    """What is to be told: allow or deny with a reason, or one answer for each question."""

    allow: bool
    reason: str = ""
    answers: tuple[str, ...] = ()


def understand(item: InboxItem, words: Sequence[str], as_text: bool = False) -> Said | Unclear:
    """Read words as the reply to this item; what the kind has no verb for is unclear, never guessed."""
    if item.kind == QUESTION:
        answers = read(asked_in(item), words, as_text)
        return answers if isinstance(answers, Unclear) else Said(True, answers=answers)
    if as_text:
        return Unclear(
            f"#{item.id} is a {item.kind} and no question: --text does not go with it; it takes {_verbs(item)}"
        )
    first, rest = (words[0].lower(), words[1:]) if words else ("", ())
    if first == "allow" or (first == "approve" and item.kind == PLAN):
        if rest:
            # They may say the contrary (allow never), so that nobody is told to allow by them.
            return Unclear(f"{first} takes no words, for nobody would read them; what refuses is {DENY}")
        return Said(True)
    if first == "deny":
        reason = " ".join(rest).strip()
        if item.kind == PROPOSAL:
            return Said(False, reason)
        return Said(False, reason) if reason else Unclear("say why: the agent is told the reason", DENY)
    if not first:
        return Unclear(f"an answer is missing: it takes {_verbs(item)}")
    why = f"{visible(words[0][:40])} is no answer to a {item.kind}, which takes {_verbs(item)}"
    return Unclear(why, _meant(item, first, alone=not rest))


def asked_in(item: InboxItem) -> tuple[Question, ...]:
    """The questions of an item. Where only its words are known, that is one question, which takes any text."""
    return questions_of(call_of(item)) or (Question(item.text),)


def limits(item: InboxItem) -> str:
    """Why it cannot be allowed from afar, in words; empty where it can."""
    if item.left or item.kind == PROPOSAL:
        return ""
    if item.answer_by == "command":
        return "no answer ends it: a command does"
    if item.kind not in ASKS:
        return "only its terminal has what it asks for"
    if not item.hold:
        return "its CLI takes no answer from here, or what it asks is too long to be shown"
    if item.veiled:
        return "secrets were taken out of what you were shown, so you have not seen all of it"
    if item.kind == QUESTION and not questions_of(call_of(item)):
        return "its questions have a form that is not known here"
    return ""


def is_reachable(item: InboxItem) -> bool:
    """Whether an answer from afar can do anything with it; what secrets were taken out of can still be denied."""
    return item.answer_by == "answer" and not (item.kind == QUESTION and limits(item))


def _verbs(item: InboxItem) -> str:
    """The words that answer it, for a person who has to choose one."""
    return DENY if limits(item) else f"{_allowance(item)} or {DENY}"


def _allowance(item: InboxItem) -> str:
    return "approve" if item.kind == PLAN else "allow"


def _meant(item: InboxItem, word: str, *, alone: bool) -> str:
    """The verdict that a mistyped word is like; nothing where it is like none, for nobody is told to allow what they
    did not. An allowance is one word that begins as it does: disallow is like allow, and means the contrary."""
    if word.split()[:1] == ["deny"]:
        return DENY
    known = ("deny", "allow", "approve") if item.kind == PLAN else ("deny", "allow")
    close = nearest(word, known)
    if close == "deny":
        return DENY
    is_slip = close is not None and alone and word[0] == close[0] and word.isalpha() and not limits(item)
    return close if close is not None and is_slip else ""
