"""Exact quotes: where a session says what somebody quotes from it, and the session's own words around that.

Texts are compared in a normal form that is the same whatever a CLI, a keyboard or a model made of blanks, quotation
marks, dashes, markdown, case and width. It holds for every script; no word of any language decides here.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from phoenixd.documents.brief.material import PLAN_TOOLS
from phoenixd.documents.conversation import Utterance
from phoenixd.documents.plain_text import clip
from phoenixd.memory.brief.normal_form import WALL, dense_before, folded, is_dense, letters, normal_form

LEAST, LEAST_DENSE, LEAST_PIECE = 12, 6, 3
"""Characters that a quote needs; where most are of a dense script, such as Chinese; and of each of its pieces."""

REPEATED, REPEATED_DENSE, REPEATED_WORDS = 24, 12, 3
"""Characters in a row, of that many words, by which what is said is known to be what a tool printed before."""

JOINTS = "-'’.,:/_‐‑"
"""Signs that part no clauses within a word or a number."""

SHOWN, MOST_PIECES = 200, 8

LEFT_OUT = 3
"""Letters of the one word that a quote may leave out where its clause begins, as an article: "not" may be before it."""

_SET_OFF = re.compile(r"^[ \t]*>[^\n]*$|^[ \t]*```[^\n]*\n.{0,20000}?^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_OMITTED = re.compile(r"[\[(]?(?:\u2026|\.{3,})[\])]?")
_SENTENCE_END = re.compile(r"[.!?\u2026]+[\"'”’»)\]*_`]*(?=\s|$)|[。！？｡]+[」』”’)）\"]*|\n")
_ITEM = re.compile(r"\s*(?:[-*+•>#]+|\d{1,3}[.)])\s+(?:\[[ xX~-]?\]\s*)?")


@dataclass(frozen=True, slots=True)
class Quotation:
    """What a session says at the place of a quote. said: the utterance's number; at: its time as it was recorded."""

    said: int
    is_person: bool
    at: str | None
    sentence: str
    """The session's own words around the quote, whole, on one line."""
    shown: str
    """The same, or as much of it as was quoted, within a limit."""
    wider: str
    """The same with the sentence before it, where there is room."""
    is_whole: bool = True
    """Whether it was quoted from where a clause begins to where one ends: what is left out of one may deny it."""
    line: str = ""
    """The line that it begins on, with what marks an item of a list."""


def is_own_word(utterance: Utterance) -> bool:
    """Whether a person or the agent itself says this; the list that an agent keeps of its work is its word."""
    return utterance.speaker != "tool" and (not utterance.tool or utterance.tool in PLAN_TOOLS)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end, by punctuation and line ends alone."""
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        yield begin, end.end()
        begin = end.end()
    if begin < len(text):
        yield begin, len(text)


@dataclass(frozen=True, slots=True)
class _Said:
    number: int
    utterance: Utterance
    form: str
    places: list[int]
    """For each character of the form, its place in the text."""


class Session:
    """The utterances of a session, made ready once, in time in proportion to their length."""

    def __init__(self, utterances: Sequence[Utterance]) -> None:
        self._utterances = utterances
        self._said: list[_Said] = []
        self._printed: dict[str, bool] = {}
        printed: list[str] = []
        for number, utterance in enumerate(utterances):
            if is_own_word(utterance):
                form, places = folded(_own(utterance.text))
                self._said.append(_Said(number, utterance, form, places))
            else:
                form = normal_form(utterance.text)
                printed.append(form)
            self._keep(form, is_printed=not is_own_word(utterance))
        self._all_printed = WALL.join(printed)

    @property
    def own_sentences(self) -> Iterator[tuple[Utterance, str]]:
        """Every sentence that a person or the agent said in its own words, oldest first."""
        for said in self._said:
            own = _own(said.utterance.text)
            yield from ((said.utterance, own[begin:end].strip(WALL)) for begin, end in sentences(own))

    def own_words(self, number: int) -> str:
        """What that utterance says, without what it quotes or shows."""
        return _own(self._utterances[number].text).replace(WALL, " ")

    def find(self, quote: str, limit: int | None = None) -> Quotation | str:
        """The newest place where a person or the agent says it in its own words; or why there is none."""
        pieces = _pieces(quote)
        length = sum(map(letters, pieces))
        least = LEAST_DENSE if is_dense("".join(pieces)) else LEAST
        if length < least:
            return f"the quote is too short: at least {least} letters of one sentence"
        if len(pieces) > MOST_PIECES or any(letters(piece) < LEAST_PIECE for piece in pieces):
            return f"the quote leaves out too much: quote one sentence letter by letter, as {_sample(pieces)}"
        is_repeated = False
        for said in reversed(self._said):
            if spans := _spans(said.form, pieces):
                begin, end = spans[0][0], spans[-1][1]
                if not self._is_printed(said, begin, end):
                    found = self._quotation(said, begin, end, limit or SHOWN)
                    return replace(found, is_whole=all(_is_whole(said, *span) for span in spans))
                is_repeated = True
        if is_repeated:
            return "what is quoted is a tool's output, which is only repeated there"
        if pieces[0] in self._all_printed:
            return "what is quoted is a tool's output; quote what the user or the assistant said"
        return "the quote does not stand in the session; copy it letter by letter from what the user or assistant said"

    def _keep(self, form: str, *, is_printed: bool) -> None:
        """Who said a run of characters first: what an agent said before a tool printed it is the agent's own."""
        for begin in range(len(form) - REPEATED + 1):
            self._printed.setdefault(form[begin : begin + REPEATED], is_printed)
        if (dense := dense_before(form)) is not None:
            for begin in range(len(form) - REPEATED_DENSE + 1):
                if 2 * (dense[begin + REPEATED_DENSE] - dense[begin]) > REPEATED_DENSE:
                    self._printed.setdefault(form[begin : begin + REPEATED_DENSE], is_printed)

    def is_printed(self, text: str) -> bool:
        """Whether the whole of a text stands in a tool's output."""
        return normal_form(text) in self._all_printed

    def _is_printed(self, said: _Said, begin: int, end: int) -> bool:
        return self._has_run(said, begin, end) or self._is_inside_run(said, begin, end)

    def _has_run(self, said: _Said, begin: int, end: int) -> bool:
        """Whether a run of it is a tool's words."""
        for length in (REPEATED, REPEATED_DENSE):
            for at in range(begin, end - length + 1):
                if self._printed.get(said.form[at : at + length]) and (
                    length == REPEATED_DENSE or _has_words(said, at, at + length)
                ):
                    return True
        return False

    def _is_inside_run(self, said: _Said, begin: int, end: int) -> bool:
        """Whether it is a part of such a run, and too short to be one itself."""
        return any(
            self._printed.get(said.form[at : at + length], False)
            for length in (REPEATED, REPEATED_DENSE)
            for at in range(max(0, end - length), begin + 1)
        )

    def _quotation(self, said: _Said, begin: int, end: int, limit: int) -> Quotation:
        text, first, last = said.utterance.text, said.places[begin], said.places[end - 1] + 1
        begun, ended, before = _around(_own(text), first, last)
        # A sentence that goes on in a tool's words is shown as far as it was quoted.
        if self._is_printed_part(said, begun, ended):
            begun, ended, before = first, last, first
        sentence = _on_one_line(text[begun:ended], first - begun)
        shown = sentence if len(sentence) <= limit else clip(" ".join(text[first:last].split()), limit)
        wider = _on_one_line(text[before:ended], first - before)
        if len(wider) > limit or self._is_printed_part(said, before, ended):
            wider = shown
        is_person = said.utterance.speaker == "user"
        line = text[text.rfind("\n", 0, first) + 1 :].partition("\n")[0]
        return Quotation(said.number, is_person, said.utterance.at, sentence, shown, wider, line=line)

    def _is_printed_part(self, said: _Said, first: int, last: int) -> bool:
        return self._has_run(said, bisect_left(said.places, first), bisect_left(said.places, last))


def _pieces(quote: str) -> list[str]:
    found = (normal_form(piece.replace(WALL, "")).strip(".,;:!?。、·") for piece in _OMITTED.split(quote))
    return [piece for piece in found if piece]


def _spans(form: str, pieces: list[str]) -> list[tuple[int, int]]:
    """Where the pieces stand in this order, with no wall between them; empty where they do not."""
    spans: list[tuple[int, int]] = []
    for piece in pieces:
        end = spans[-1][1] if spans else 0
        at = form.find(piece, end)
        if at < 0 or (spans and WALL in form[end:at]):
            return []
        spans.append((at, at + len(piece)))
    return spans


def _is_whole(said: _Said, begin: int, end: int) -> bool:
    text, first, last = said.utterance.text, said.places[begin], said.places[end - 1] + 1
    own = _own(text)
    begun, ended, _ = _around(own, first, last)
    before, after = text[begun:first], text[last:ended]
    left_out = before
    for at in range(len(before) - 1, -1, -1):
        if _parts_clauses(before, at):
            left_out = before[at + 1 :]
            break
    is_article = left_out[-1:].isspace() and len(left_out.split()) == 1 and letters(left_out.strip()) <= LEFT_OUT
    begins = not left_out.strip() or (is_article and not is_dense(left_out))
    rest = after.lstrip()
    return begins and (not rest or _parts_clauses(after, len(after) - len(rest)))


def _parts_clauses(text: str, at: int) -> bool:
    """Whether a sign stands there that a clause may begin after or end before; none that joins a word or a number."""
    if unicodedata.category(text[at])[0] not in "PS":
        return False
    beside = text[at - 1 : at] if at else " ", text[at + 1 : at + 2] or " "
    return not (text[at] in JOINTS and all(one.isalnum() for one in beside))


def _around(text: str, first: int, last: int) -> tuple[int, int, int]:
    """Where the sentence, or sentences, that a stretch stands in begin and end; and where the one before begins."""
    begin, end, before = first, last, first
    for left, right in sentences(text):
        if left <= first < right:
            begin = left
        if left < last <= right:
            end = right
            break
        if right <= first and text[left:right].strip():
            before = left
    walls = text.rfind(WALL, 0, first) + 1, text.find(WALL, last)
    begin = max(begin, walls[0])
    return begin, end if walls[1] < 0 else min(end, walls[1]), max(min(before, begin), walls[0])


def _on_one_line(words: str, quoted: int) -> str:
    """Without the mark of a list's item before it, unless that was quoted."""
    item = _ITEM.match(words)
    return " ".join(words[item.end() if item and item.end() <= quoted else 0 :].split())


def _own(text: str) -> str:
    """A text of the same length, with walls in the place of blocks of code and of lines that are marked as quoted."""
    return _SET_OFF.sub(lambda found: WALL * len(found[0]), text)


def _has_words(said: _Said, begin: int, end: int) -> bool:
    """A path or an address is one word however long it is: to name what a tool printed is not to repeat it."""
    return len(said.utterance.text[said.places[begin] : said.places[end - 1] + 1].split()) >= REPEATED_WORDS


def _sample(pieces: list[str]) -> str:
    return repr(max(pieces, key=len)[:20])
