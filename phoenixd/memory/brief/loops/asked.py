"""The question or permission that was open when the process ended."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.ledger_rows import AskedQuestion, digest
from phoenixd.documents.loop_origin import extra
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.alike import normal, same
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_in

KIND = "question"
TOLD, BY_HOOK, BY_TRANSCRIPT, IN_INBOX = "told", "hook", "transcript", "inbox"
"""The key of a loop that says who told of it newest. The daemon's own list of what is asked is complete; a ledger,
which may begin anew, is not. In the inbox stands what a run had asked that is over, whichever session goes on."""


def found(seen: Seen) -> Iterator[Found]:
    known: list[str] = []
    for asking in seen.around.asking:
        known.append(normal(asking.text))
        yield _found(asking.text, asking.options, asking.at, IN_INBOX if asking.left else BY_HOOK)
    for asked in _unanswered(seen):
        for question in asked.questions:
            # The hook that told of it has the same words, and often more of them.
            if not any(normal(question.text) in one or one in normal(question.text) for one in known if one):
                yield _found(question.text, question.options, asked.asked, BY_TRANSCRIPT)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    """What the transcript told is closed by what it tells of it, and by nothing where it tells nothing any more."""
    mine = source_in(loop, seen.session)
    if any(one.source == mine or same(one.text, loop.text) for one in found(seen)):
        return None
    if extra(loop, TOLD) == IN_INBOX:
        return "it was answered from the inbox, or is no longer asked"
    asked = [question for one in seen.ledger.questions.values() for question in one.questions]
    if mine:
        is_told = extra(loop, TOLD) == BY_HOOK or any(source(question.text) == mine for question in asked)
        return "it was answered, or the session went on without an answer" if is_told else None
    is_told = any(question.text and normal(question.text) in normal(loop.text) for question in asked)
    return "it was asked again, and is no longer open" if is_told else None


def _unanswered(seen: Seen) -> Iterator[AskedQuestion]:
    """Questions without an answer, after which nothing was said by the person, and no turn came to its end."""
    person = seen.ledger.speech.person
    for asked in seen.ledger.questions.values():
        went_on = person and asked.asked is not None and (person[-1].at or 0.0) > asked.asked and not person[-1].queued
        if asked.answers is None and not went_on and seen.turn_open is not False:
            yield asked


def _found(text: str, options: tuple[str, ...], at: float | None, told: str) -> Found:
    choices = f" ({' / '.join(options)})" if options else ""
    shown = f"Asked, not answered: {quoted(text + choices)}"
    return Found(KIND, source(text), shown, at, extras={TOLD: told})


def source(text: str) -> str:
    """What a question is as the source of its loop."""
    return f"question {digest(normal(text))[:8]}"
