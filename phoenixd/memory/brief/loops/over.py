"""Loops that say of something that it is asked, by the daemon's own word, after it was answered or withdrawn."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.brief.around import Around
from phoenixd.documents.loop_origin import extra, head_of, kind_of
from phoenixd.documents.state import OpenLoop, StateDocument
from phoenixd.memory.brief.loops import asked, inbox
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import source_in, source_of


def over(state: StateDocument, around: Around) -> frozenset[str]:
    """The ids of these loops; whether each is closed is for a reading of the session to say."""
    return frozenset(loop.id for loop in _of_the_daemon(state, around) if not _is_asked(loop, around))


def _of_the_daemon(state: StateDocument, around: Around) -> Iterator[OpenLoop]:
    mine = head_of(around.session)
    for loop in state.open_loops:
        kind, told = kind_of(loop), extra(loop, asked.TOLD)
        if kind == inbox.KIND and source_of(loop):
            yield loop
        elif kind == asked.KIND and (told == asked.IN_INBOX or (told == asked.BY_HOOK and source_in(loop, mine))):
            yield loop


def _is_asked(loop: OpenLoop, around: Around) -> bool:
    if kind_of(loop) == inbox.KIND:
        return source_of(loop) in {inbox.source(item) for item in around.inbox}
    return source_of(loop) in {asked.source(one.text) for one in around.asking} or any(
        normal(one.text) in normal(loop.text) for one in around.asking if normal(one.text)
    )
