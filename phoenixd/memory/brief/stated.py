"""Numbers that a writer claims: kept where one line of the session has the value and its name.

What was said bears a number under the words that stand there. What a tool printed bears only what is known by its
format, under a name of ours: a figure in a file or on a web page may be of anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from phoenixd.documents.brief.answer import NumberClaim
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.times import read_time
from phoenixd.memory.brief.normal_form import normal_form
from phoenixd.memory.brief.printed import counts
from phoenixd.memory.brief.quotes import Session, is_own_word
from phoenixd.memory.brief.words import grams, located_numbers, numbers, shared

NAME_LIMIT = 48
MOST_LINES = 50
"""Lines that are looked at for one number."""
OF_A_WHOLE = "_done"
"""What a name of ours ends with that is of a part of a whole: tables_done = 14/19."""
CLOSE = 12
"""Characters between the numbers of one value, at most."""

_LETTER = r"[^\W\d_]"
_VALUE = re.compile(
    rf"[~≈<>=+-]{{0,2}}\s?[$€£¥]?\d[\d.,:/ ×x’'-]{{0,40}}\s?[%‰]?(?:\s?[°µ]?{_LETTER}{{1,12}}(?:/{_LETTER}{{1,12}})?)?"
)
_NAME = re.compile(r"[\w .()%/-]{1,48}")
_BETWEEN = frozenset(" .,:/×x’'-")
"""Characters that join the numbers of a value, whatever joins them in the session: 47 of 52 is 47/52."""
_TOKEN = re.compile(r"[\w%]+")


@dataclass(frozen=True, slots=True)
class Stated:
    """origin: "the agent", "the person", or "printed by" and the tool."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    at: float | None
    origin: str
    is_said: bool


class Numbers:
    """The lines of a session, and of what else is known, that have digits; the newest first."""

    def __init__(self, material: BriefMaterial, session: Session) -> None:
        self._session = session
        lines = [line for line in (*_other(material), *_said(session), *_printed(material)) if _digits(line.text)]
        lines.sort(key=lambda line: -1.0 if line.at is None else line.at, reverse=True)
        self._lines: dict[str, list[_Line]] = {}
        for line in lines:
            for number in dict.fromkeys(numbers(line.text)):
                if len(kept := self._lines.setdefault(number, [])) < MOST_LINES:
                    kept.append(line)

    def ground(self, claim: NumberClaim, quote: str, after: float | None) -> Stated | str:
        """What the session bears of a claim, or why nothing. after: only what was said later counts (wall)."""
        name, value = one_line(claim.name, NAME_LIMIT), one_line(claim.value, NAME_LIMIT)
        if not _VALUE.fullmatch(value) or not _NAME.fullmatch(name):
            return "it is no number with a name"
        if quote and not isinstance(found := self._session.find(quote), str):
            line = _Line(found.sentence, read_time(found.at), _who(is_person=found.is_person), is_said=True)
            return _stated(name, value, [line], after, is_quoted=True)
        sought = normal_form(quote)
        lines = self._lines.get(numbers(value)[0], ())
        if quote:
            lines = [line for line in lines if not line.is_said and sought in normal_form(line.text)]
        return _stated(name, value, lines, after, is_quoted=False)


def _stated(name: str, value: str, lines: Iterable[_Line], after: float | None, *, is_quoted: bool) -> Stated | str:
    for line in lines:
        if after is not None and (line.at is None or line.at <= after):
            continue
        if named := _borne(name, value, line, is_quoted=is_quoted):
            return Stated(named, value, line.origin)
    return "no line that was said has the number and its name; quote that line"


def _borne(name: str, value: str, line: _Line, *, is_quoted: bool) -> str | None:
    ours = [known for known, counted in counts(line.text).items() if value.replace(" ", "") in counted]
    named = grams(name.replace("_", " "))
    if name in ours:
        return name
    if line.is_said and _has_value(value, line.text) and (is_quoted or shared(named, grams(line.text))):
        return _name_in(name, value, line.text)
    return next((known for known in ours if shared(named, grams(known.replace("_", " ")))), None)


def _name_in(name: str, value: str, line: str) -> str:
    """The name, where the line has each word of it; else those words of it that the line has; else the words beside.

    A name is a key that the next session reads: none of its words is the writer's own.
    """
    if (noun := name.removesuffix(OF_A_WHOLE)) != name and "/" in value and noun.casefold() in _words(line):
        return name
    wanted = grams(name.replace("_", " "))
    words = [word for word in _TOKEN.findall(line) if not _digits(word) or word.casefold() in wanted]
    borne = [word for word in words if shared(grams(word), wanted)]
    if wanted and all(shared({one}, grams(line)) for one in wanted) and _is_all_told(name, line):
        return name
    if borne:
        return one_line(" ".join(dict.fromkeys(borne)), NAME_LIMIT)
    at = unicodedata.normalize("NFKC", line).find(numbers(value)[0])
    beside = [word for word in _TOKEN.findall(line[: max(0, at)])[-3:] if not _digits(word)]
    return one_line(" ".join(beside or [word for word in words if len(word) > 2][:3]), NAME_LIMIT)


def _is_all_told(name: str, line: str) -> bool:
    """Whether its short words stand there as well: no gram is made of those."""
    told = _words(line)
    return all(word in told for word in _TOKEN.findall(name.casefold().replace("_", " ")) if not grams(word))


def _words(line: str) -> set[str]:
    return set(_TOKEN.findall(line.casefold()))


def _has_value(value: str, line: str) -> bool:
    """Whether a line has the value's numbers, in this order with none between them, and its unit."""
    plain = unicodedata.normalize("NFKC", value)
    wanted = numbers(plain)
    # Some languages say of 52 tests 47.
    is_part = len(wanted) == 2 and "/" in plain and float(_dotted(wanted[0])) <= float(_dotted(wanted[1]))
    runs = _runs(line, len(wanted))
    if wanted not in runs and not (is_part and wanted[::-1] in runs):
        return False
    told = unicodedata.normalize("NFKC", line).casefold()
    inner = plain.strip().casefold()
    begin = inner.find(wanted[0][0])
    units = [word for word in re.findall(rf"{_LETTER}+", inner[begin:]) if word != "x"]
    signs = [one for one in inner if not one.isalnum() and one not in _BETWEEN] + list(inner[:begin].strip())
    return all(word in told for word in units) and all(sign in told for sign in signs)


def _runs(line: str, size: int) -> list[list[str]]:
    """Numbers of a line that stand close to each other, `size` at a time."""
    found = list(located_numbers(line))
    close = [
        found[at : at + size]
        for at in range(len(found) - size + 1)
        if all(right[1] - left[2] <= CLOSE for left, right in pairwise(found[at : at + size]))
    ]
    return [[number for number, _, _ in run] for run in close]


def _dotted(number: str) -> str:
    return number.replace(",", ".").replace(".", "", max(0, number.count(".") + number.count(",") - 1))


def _said(session: Session) -> Iterator[_Line]:
    for utterance, sentence in session.own_sentences:
        yield _Line(sentence, read_time(utterance.at), _who(is_person=utterance.speaker == "user"), is_said=True)


def _printed(material: BriefMaterial) -> Iterator[_Line]:
    for utterance in material.conversation.utterances:
        if not is_own_word(utterance):
            at = read_time(utterance.at)
            origin = f"printed by {one_line(utterance.tool, 32) or 'a tool'}"
            yield from (_Line(line, at, origin, is_said=False) for line in utterance.text.split("\n"))


def _other(material: BriefMaterial) -> Iterator[_Line]:
    yield from (
        _Line(f"{name.replace('_', ' ')} {value}", None, "known before", is_said=True)
        for name, value in material.state.numbers.items()
    )
    if material.git is not None:
        yield from (_Line(commit.subject, None, "a commit", is_said=True) for commit in material.git.commits)


def _who(*, is_person: bool) -> str:
    return "the person" if is_person else "the agent"


def _digits(text: str) -> bool:
    return any(character.isdigit() for character in text)
