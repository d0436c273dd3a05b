"""The end of what was said: oldest first, within its budget, long results cut in the middle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.conversation_end import COST_OF_ONE, ConversationEnd, cut_in_the_middle
from phoenixd.documents.transcript import Piece, Said


def gathered(*lines: Said, budget: int = 10_000, beginning: bool = True) -> tuple[list[tuple[str, str, str]], bool]:
    end = ConversationEnd(budget)
    for line in reversed(lines):
        if not end.add(line):
            break
    conversation = end.conversation("s", beginning)
    return [(one.speaker, one.tool, one.text) for one in conversation.utterances], conversation.is_whole


def said(*pieces: Piece, key: str | None = None) -> Said:
    return Said(pieces, key)


def test_a_result_is_given_the_name_of_its_tool() -> None:
    use = said(Piece("assistant", "I run it."), Piece("assistant", "{}", tool="Bash", call="t-1"))
    result = said(Piece("tool", "49 failures", call="t-1"))

    told, whole = gathered(said(Piece("user", "Go.")), use, result)

    assert told == [
        ("user", "", "Go."),
        ("assistant", "", "I run it."),
        ("assistant", "Bash", "{}"),
        ("tool", "Bash", "49 failures"),
    ]
    assert whole


def test_what_does_not_fit_is_left_out_at_the_beginning_and_told() -> None:
    told, whole = gathered(*(said(Piece("user", str(n) * 100)) for n in range(9)), budget=3 * (100 + COST_OF_ONE))

    assert [text[0] for _, _, text in told] == ["6", "7", "8"]
    assert not whole


def test_a_line_that_is_said_anew_counts_once() -> None:
    told, _ = gathered(said(Piece("assistant", "half"), key="7"), said(Piece("assistant", "half and half"), key="7"))

    assert told == [("assistant", "", "half and half")]


def test_f_br_6_a_long_result_keeps_its_beginning_and_its_end() -> None:
    told, whole = gathered(said(Piece("tool", "begin" + "x" * 100_000 + "end")), budget=50_000)

    text = told[0][2]
    assert text.startswith("begin")
    assert text.endswith("end")
    assert "99008 characters left out" in text
    assert len(text) <= 1000
    assert whole, "nothing before it was left out"


@given(st.text(max_size=3000), st.integers(60, 2000))
def test_cutting_keeps_the_limit_and_both_ends(text: str, limit: int) -> None:
    cut = cut_in_the_middle(text, limit)

    assert len(cut) <= limit
    assert cut == text if len(text) <= limit else text.startswith(cut[:3]) and text[-1] == cut[-1]


@given(st.lists(st.tuples(st.sampled_from(("user", "assistant", "tool")), st.text(max_size=500)), max_size=60))
def test_the_budget_holds_whatever_was_said(lines: list[tuple[str, str]]) -> None:
    told, whole = gathered(*(said(Piece(speaker, text)) for speaker, text in lines), budget=4000)  # type: ignore[arg-type]

    assert sum(len(text) + COST_OF_ONE for _, _, text in told) <= 4000
    assert len(told) == len(lines) or not whole
    assert [text[:20] for _, _, text in told] == [text[:20] for _, text in lines[len(lines) - len(told) :]]
