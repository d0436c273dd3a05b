"""What is known from words alone is doubtful once a later session speaks of it; no word says which way."""

from __future__ import annotations

import pytest

from phoenixd.documents.deeds import Spoke
from phoenixd.documents.state import UNCONFIRMED, OpenLoop
from phoenixd.documents.times import utc_date
from phoenixd.memory.brief.closing import settle
from phoenixd.memory.brief.known_loops import unmarked
from tests.memory.brief.loops.sessions import NOW, Story, empty

SPANS = "error spans are off by one after a tab"
COREDNS = "CoreDNS 偶发 2 秒延迟，怀疑 ndots"


def said(text: str, kind: str = "said", session: str = "0aaaaaaa") -> OpenLoop:
    return OpenLoop.model_validate(
        {"id": "l", "text": text, "added": "2026-11-10", "kind": kind, "source": f"{session}: said", "seen": 1}
    )


def talked(*lines: tuple[str, str], ended: bool = True) -> Story:
    story = Story(number=2)
    for who, text in lines:
        if who == "person":
            story.asked(text)
        else:
            story.hear(Spoke(text, at=story.at, is_final=True))
    return story.turn_ended() if ended else story


def mark(loop: OpenLoop, story: Story) -> str | None:
    found = next(one for one in settle(empty(loop), story.seen()).state.open_loops if one.id == loop.id)
    given = (found.model_extra or {}).get(UNCONFIRMED)
    return given if given is None else str(given)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SPANS, ("person", "the spans in the error output look wrong when the line has a tab, is that us?")),
        (SPANS, ("agent", "Fixed: the error spans are right again.")),
        (COREDNS, ("person", "继续。对了coredns那个慢的，你顺便看一眼是不是ndots")),
        ("Umlaute im Buchungstext kommen kaputt an", ("agent", "Umlaute: der Buchungstext ist jetzt cp1252.")),
    ],
    ids=["asked", "told", "chinese", "german"],
)
def test_p24_a_loop_of_words_that_a_later_session_speaks_of_is_unconfirmed_and_stays(
    text: str, line: tuple[str, str]
) -> None:
    assert mark(said(text), talked(("person", "Good morning."), line)) == utc_date(NOW).isoformat()


@pytest.mark.parametrize(
    ("text", "story"),
    [
        (SPANS, talked(("person", "Release notes, please."), ("agent", "They are written."))),
        (SPANS, talked(("person", "the error spans after a tab, please"), ended=False)),
        (SPANS, talked(("person", "Go on."), ("agent", f"The brief has this open: {SPANS}. I begin with the build."))),
        ("the 12 tests of part 7", talked(("person", "12 files and 7 tests are new"))),
        ("Rotate the webhook secret", talked(("person", "the secret is in the vault"))),
    ],
    ids=["another matter", "the turn goes on", "read out", "small numbers", "one word"],
)
def test_a_loop_that_nobody_speaks_of_in_a_turn_that_ended_is_not_doubted(text: str, story: Story) -> None:
    assert mark(said(text), story) is None


def test_the_daemons_own_prompt_speaks_of_nothing() -> None:
    seen = talked(("person", SPANS)).seen(is_ours=lambda text: True)

    assert settle(empty(said(SPANS)), seen).state.open_loops == (said(SPANS).model_copy(),)


@pytest.mark.parametrize("loop", [said(SPANS, session="11111111"), said(SPANS, kind="check"), said(SPANS, kind="")])
def test_only_a_loop_of_words_of_an_earlier_session_is_doubted(loop: OpenLoop) -> None:
    assert mark(loop, talked(("person", "What about the error spans after a tab?"))) is None


def test_what_a_writer_confirms_stands_until_it_is_spoken_of_again() -> None:
    story = talked(("person", "What about the error spans after a tab?"))
    doubted = settle(empty(said(SPANS)), story.seen()).state.open_loops[0]
    confirmed = unmarked(doubted, {"l"})

    assert mark(confirmed, story) is None
    story.asked("And the error spans?").turn_ended()
    assert mark(confirmed, story) == utc_date(NOW).isoformat()


def test_a_clock_that_ran_ahead_keeps_no_later_word_from_being_heard() -> None:
    story = Story(number=2, at=NOW + 86_400).asked("What about the error spans after a tab?").turn_ended()
    confirmed = unmarked(settle(empty(said(SPANS)), story.seen()).state.open_loops[0], {"l"})

    assert (confirmed.model_extra or {})["doubted"] <= "2026-11-21T10:40:00Z"
