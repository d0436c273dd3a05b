"""`python -m tests.core.ends [--read] [--readings FILE] [FILE]`: play cases of ends, and print what came out otherwise.

--read prints what was understood of each case, and plays none. --readings sets facts by hand, see reading.py.
"""

from __future__ import annotations

from dataclasses import fields

from tests.blind.frozen import Case, play
from tests.core.ends.playing import Answer, answer
from tests.core.ends.reading import Facts, facts_of
from tests.core.ends.verdict import EXITS, is_right, words


def said(case: Case, found: Answer) -> tuple[str, ...]:
    expected = case["expected"]
    return (
        f"  said: {expected['what']}; {expected['does']}   found: {words(found)}",
        f"  {found.reason}",
    )


def understood(case: Case) -> tuple[str, ...]:
    facts = facts_of(case)
    told = {one.name: getattr(facts, one.name) for one in fields(Facts)}
    found = {name: value for name, value in told.items() if value not in ("", (), None, False)}
    return (*(f"  {name}: {words}" for name, words in case["situation"].items()), f"  =  {found} \n")


play(EXITS, lambda case: answer(facts_of(case)), is_right, said, described=__doc__, read=understood)
