"""The turns of a session as its ledger has them: what a person or the daemon said in each, and how it ended."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from phoenixd.documents.ledger_rows import Words
from phoenixd.documents.transcript import Ending
from phoenixd.memory.brief.loops.seen import Seen


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt, and what was said in the middle of its turn.

    ended None: it did not, or not yet. is_unclear: nothing tells whether it did.
    """

    words: tuple[Words, ...]
    ended: Ending | None
    is_unclear: bool = False

    @property
    def prompt(self) -> Words:
        return self.words[0]


def turns_of(seen: Seen) -> list[Turn]:
    """Oldest first, as far as the ledger keeps what was said."""
    person = seen.ledger.speech.person
    parts: list[list[Words]] = []
    done: set[str] = set()
    for words in person:
        is_again = words.turn is None and words.text in done and not seen.around.typed(words)
        if is_again and words is not person[-1]:
            # One CLI writes a conversation once more, without its ends, after something was denied.
            continue
        if words.turn == "done":
            done.add(words.text)
        if parts and _is_of_the_turn(words, parts[-1], seen):
            parts[-1].append(words)
        else:
            parts.append([words])
    turns = [Turn(tuple(one), one[-1].turn) for one in parts]
    if seen.ledger.writes_no_ends:
        # That a turn ended is concluded from the next prompt: not where that has the session go on with it.
        for at, (turn, after) in enumerate(itertools.pairwise(turns)):
            if turn.ended == "done" and seen.around.goes_on(after.prompt):
                turns[at] = replace(turn, ended=None)
    if turns and turns[-1].ended is None and seen.turn_open is not True:
        is_done = is_over(seen) or _is_told_over(turns[-1], seen)
        turns[-1] = replace(turns[-1], ended="done" if is_done else None, is_unclear=not is_done)
    return turns


def _is_of_the_turn(words: Words, turn: list[Words], seen: Seen) -> bool:
    """Whether something was said in the middle of a turn."""
    if words.queued:
        return words.turn == turn[-1].turn
    if not seen.ledger.writes_no_ends or turn[-1].turn is not None:
        return False
    # No end stands between the two, and no word of ours that a process began anew.
    return not seen.around.typed(turn[0]) and not seen.around.typed(words)


def _is_told_over(turn: Turn, seen: Seen) -> bool:
    """Whether a hook told of the end of a turn that its CLI writes down for nobody."""
    said, spoken = turn.words[-1].at, seen.around.spoken_at
    is_unknown = seen.ledger.ending is None and seen.turn_open is None
    return is_unknown and said is not None and spoken is not None and spoken > said


def is_over(seen: Seen) -> bool:
    """Whether the newest turn ended, and ended well."""
    ending = seen.ledger.ending
    if ending is not None:
        return ending.how == "done"
    return seen.turn_open is False
