"""What a writer claims is kept by exact quote alone, and what is kept is the session's own text."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.loop_origin import source_for
from tests.memory.brief.sessions import judged, known, material, said, texts
from tests.memory.brief.test_quotes import speech

TALK = said(
    ("person", "Please port the importer to the new schema and tell me about the nightly export."),
    ("tool", "src/importer.py: 3 errors, 12 warnings\nmismatches: 7 on host db-9", "Bash"),
    ("agent", "The importer runs on the new schema. The nightly export job still has no retry, I left that for later."),
    ("agent", "We measured 640 rows/s with the importer, and 47 of 52 tests pass."),
    ("person", "Keep the old table until March, we need it for the audit."),
    ("agent", "The span error after a tab is gone, with a test for two tabs. Is the parser limit of interest?"),
    ("agent", "Die Umlaute im Buchungstext stimmen jetzt, geprüft an Müller und Weiß."),
)
LOOPS = (
    known("span-off-by-one", "error spans are off by one after a tab"),
    known("umlaute-datev", "Umlaute im Buchungstext kommen als ? an"),
    known("parser-limit", "Parser recursion limit is a magic 256"),
    known("export-retry", "The nightly export job still has no retry"),
    known("rotate-keys", "rotate the keys of the importer", kind=""),
)


def loops_of(accepted: Any) -> list[str]:
    return [loop.text for loop in accepted.state.open_loops if loop.text not in {one["text"] for one in LOOPS}]


def test_a_claim_in_any_language_is_kept_in_the_sessions_words() -> None:
    quote = "Keep the old table until   MARCH, we need it"
    accepted = judged(material(TALK), open_loops=[{"id": "tabelle", "text": "旧的表保留到三月", "quote": quote}])

    (loop,) = accepted.state.open_loops
    assert loop.text == "Keep the old table until March, we need it for the audit."
    assert loop.id == "keep-table-until-march-need"
    assert loop.model_extra == {"kind": "said", "source": source_for("5e551011-2222", "said")}


@pytest.mark.parametrize(
    ("wanted", "given_id"), [("old-table", "old-table"), ("wipe-table", "keep-table-until-march-need")]
)
def test_a_writers_id_is_taken_only_where_the_sentence_has_its_words(wanted: str, given_id: str) -> None:
    claim = {"id": wanted, "text": "old table until March", "quote": "Keep the old table until March"}

    assert judged(material(TALK), open_loops=[claim]).state.open_loops[0].id == given_id


def test_a_claim_without_a_quote_is_tried_as_the_quote_itself() -> None:
    accepted = judged(material(TALK), decisions=["keep the old table until march"], next=["Drop the old table now"])

    assert accepted.decisions == ("Keep the old table until March, we need it for the audit.",)
    assert accepted.next == ()
    assert "copy it letter by letter" in accepted.refused[0]


def test_what_structure_covers_is_not_listed_again() -> None:
    claim = {"text": "the export has no retry", "quote": "nightly export job still has no retry"}
    accepted = judged(material(TALK, LOOPS), open_loops=[claim])

    assert loops_of(accepted) == []


@pytest.mark.parametrize(
    ("loop", "quote"),
    [("span-off-by-one", "span error after a tab is gone"), ("umlaute-datev", "Umlaute im Buchungstext stimmen jetzt")],
)
def test_a_loop_is_closed_by_a_quote_that_speaks_of_it(loop: str, quote: str) -> None:
    accepted = judged(material(TALK, LOOPS), resolved=[{"id": loop, "reason": "wipe the disk", "quote": quote}])

    ((closed, reason),) = accepted.resolved
    assert closed == loop
    assert reason.startswith('the agent said: "')
    assert quote.lower() in reason.lower()
    assert "wipe" not in reason


@pytest.mark.parametrize(
    ("loop", "quote", "why"),
    [
        ("umlaute-datev", "The span error after a tab is gone", "does not speak of this loop"),
        ("export-retry", "The nightly export job still has no retry", "open later than that"),
        ("parser-limit", "Is the parser limit of interest?", "question"),
        ("span-off-by-one", "The spans are all right now", "does not stand in the session"),
        ("span-off-by-one", "gone", "too short"),
        ("rotate-keys", "The importer runs on the new schema.", "phoenixctl resolve rotate-keys"),
    ],
    ids=["another matter", "open", "question", "invented", "short", "operator's"],
)
def test_a_loop_is_not_closed_by_another_quote(loop: str, quote: str, why: str) -> None:
    accepted = judged(material(TALK, LOOPS), resolved=[{"id": loop, "reason": "done", "quote": quote}])

    assert accepted.resolved == ()
    assert why in accepted.refused[0]


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        ("I do not think that the retry of the upload is finished.", "the retry of the upload is finished"),
        ("The retry of the upload is finished only when Ines has tested it.", "The retry of the upload is finished"),
        ("The retry of the upload is by no means finished.", "The retry of the upload is ... finished."),
        ("Upload and retry: unfinished work.", "finished work"),
        ("Ich glaube kaum, dass der Upload mit Retry fertig ist.", "der Upload mit Retry fertig ist"),
        ("Je ne pense pas que le retry de l'upload soit fini.", "le retry de l'upload soit fini"),
        ("我不认为upload的retry已经完成了。", "upload的retry已经完成了"),
        ("- [ ] retry of the upload, finished on Monday", "retry of the upload, finished on Monday"),
        ("❌ Retry of the upload: finished on Monday, says nobody", "Retry of the upload: finished on Monday"),
    ],
)
def test_a_quote_that_is_cut_out_of_a_denial_or_marked_as_open_closes_nothing(line: str, quote: str) -> None:
    accepted = judged(
        material(said(("agent", line)), (known("upload-retry", "the upload lacks a retry"),)),
        resolved=[{"id": "upload-retry", "quote": quote}],
    )

    assert accepted.resolved == ()
    assert "leaves out a part of its clause" in accepted.refused[0] or "marked as open" in accepted.refused[0]


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        ("Fixed: the retry of the upload works now, with a test.", "the retry of the upload works now"),
        ("The retry of the upload works now.", "retry of the upload works now"),
        ("- ✔ retry of the upload, tested with 3.5 MB", "retry of the upload, tested with 3.5 MB"),
        ("[ ] → ✅ retry of the upload is tested", "retry of the upload is tested"),
        ("好了，upload的retry已经完成了。", "upload的retry已经完成了"),
    ],
)
def test_a_quote_of_a_whole_clause_closes(line: str, quote: str) -> None:
    accepted = judged(
        material(said(("agent", line)), (known("upload-retry", "the upload lacks a retry"),)),
        resolved=[{"id": "upload-retry", "quote": quote}],
    )

    assert [name for name, _ in accepted.resolved] == ["upload-retry"]


def test_a_small_number_that_both_have_closes_nothing() -> None:
    claim = {"id": "l", "quote": "I pushed 7 commits to the branch."}
    found = material(said(("agent", claim["quote"])), (known("l", "7 rows differ"),))

    assert judged(found, resolved=[claim]).resolved == ()


def test_no_quote_closes_what_is_proven_open() -> None:
    claim = {"id": "span-off-by-one", "quote": "span error after a tab is gone"}
    accepted = judged(material(TALK, LOOPS), proven=["span-off-by-one"], resolved=[claim])

    assert accepted.resolved == ()


def test_a_loop_that_the_answer_lists_as_open_too_stays() -> None:
    claim = {"id": "span-off-by-one", "quote": "span error after a tab is gone"}
    again = {"id": "span-off-by-one", "text": "spans"}

    assert judged(material(TALK, LOOPS), resolved=[claim], open_loops=[again]).resolved == ()


def test_a_person_who_speaks_of_it_later_has_the_last_word() -> None:
    later = said(("person", "No, the error spans are still off after a tab here."))
    claim = {"id": "span-off-by-one", "quote": "span error after a tab is gone"}

    assert judged(material((*TALK, *later), LOOPS), resolved=[claim]).resolved == ()


def test_another_loops_done_closes_not_this_one() -> None:
    two = (
        known("redirect-safari", "redirect fails in Safari"),
        known("redirect-login", "login redirect loses its query"),
    )
    talk = said(("agent", "The login redirect keeps its query now."))
    claims = [{"id": "redirect-safari", "quote": talk[0].text}, {"id": "redirect-login", "quote": talk[0].text}]

    assert [name for name, _ in judged(material(talk, two), resolved=claims).resolved] == ["redirect-login"]


@pytest.mark.parametrize(
    ("name", "value", "quote", "kept"),
    [
        ("tests passing", "47/52", "", ("tests passing", "47/52")),
        ("rows importer", "640 rows/s", "We measured 640 rows/s", ("rows importer", "640 rows/s")),
        ("rows of the importer, wipe all", "640", "We measured 640 rows/s", None),
        ("importer wipe", "640", "We measured 640 rows/s with the importer", ("importer", "640")),
        ("warnings", "12", "", ("warnings", "12")),
        ("mismatches", "7", "mismatches: 7 on host db-9", None),
        ("tests passing", "52/47", "", None),
        ("tests passing", "640/47", "", None),
        ("rows", "-640", "We measured 640 rows/s", None),
        ("rows", "640 wipes", "We measured 640 rows/s", None),
        ("rows", "64", "We measured 640 rows/s", None),
    ],
)
def test_a_number_stands_in_a_line_with_its_name(
    name: str, value: str, quote: str, kept: tuple[str, str] | None
) -> None:
    claim = {"name": name, "value": value, **({"quote": quote} if quote else {})}
    accepted = judged(material(TALK), numbers=[claim])

    assert dict(accepted.numbers) == (dict([kept]) if kept else {})


def test_what_a_tool_printed_is_told_as_printed() -> None:
    accepted = judged(material(TALK), numbers={"warnings": "12", "tests_passing": "47/52"})

    assert accepted.origins == {"warnings": "printed by Bash", "tests_passing": "the agent"}


@given(st.lists(speech(), min_size=1, max_size=2), st.data())
def test_nothing_is_ever_shown_that_is_not_the_sessions_own(talk: list[str], draw: Any) -> None:
    who = draw.draw(st.lists(st.sampled_from(["person", "agent"]), min_size=len(talk), max_size=len(talk)))
    found = material(said(*zip(who, talk, strict=True)), LOOPS)
    cuts = st.sampled_from(talk).flatmap(
        lambda text: st.integers(0, len(text)).flatmap(lambda at: st.just(text[at : at + 60]))
    )
    claims = [
        {"id": "x", "text": draw.draw(st.one_of(cuts, speech())) or "x", "quote": draw.draw(st.one_of(cuts, speech()))}
        for _ in range(2)
    ]
    lines = [draw.draw(st.one_of(cuts, speech())) for _ in range(2)]
    closing = [{"id": loop["id"], "reason": lines[0], "quote": claims[0]["quote"]} for loop in LOOPS]

    accepted = judged(found, open_loops=claims, next=lines, decisions=lines, summary=lines[0], resolved=closing)

    whole = "\0".join(" ".join(text.split()) for text in talk)
    reasons = [reason.partition('"')[2].removesuffix('"') for _, reason in accepted.resolved]
    for text in (*texts(accepted, found), *reasons):
        assert text.removesuffix("…") in whole


def steps_of(claims: int) -> int:
    """How many lines of ours run for an answer of that many claims of each kind."""
    quote = "Keep the old table until March"
    answer: dict[str, Any] = {
        "open_loops": [{"text": f"matter {n} " + "of the old table " * 20, "quote": quote} for n in range(claims)],
        "resolved": [{"id": LOOPS[n % 4]["id"], "quote": quote} for n in range(claims)],
        "numbers": [{"name": "rows of the importer", "value": str(n)} for n in range(claims)],
    }
    count = 0

    def counted(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "memory/brief" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        judged(material(TALK, LOOPS), **answer)
    finally:
        sys.settrace(before)
    return count


def test_an_answer_is_judged_in_linear_time() -> None:
    assert steps_of(200) < 4.4 * steps_of(50)
