"""Whether a quote is the ground of what is claimed on it: that something is open, was said, or is done.

It is found by what the texts have in common, in any language. The claim's own words are never shown; they are looked at
so that a quote of another matter is not taken for its ground.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.normal_form import is_dense, normal_form
from phoenixd.memory.brief.quotes import Quotation, Session, is_own_word
from phoenixd.memory.brief.words import LONG_WORD, Forms, common, grams, share_of, shared, weight

RESTATED = 0.8
"""The share of a sentence's words that a loop's text has where it only says again what is open."""
CLOSES, RELATED = 6, 4
"""What a sentence must share with a loop that it closes, and a claim with its ground."""
TELLING = 4
"""Words of a sentence that is shown without the one before it: one of fewer speaks of "it"."""
SHARE = 0.2
"""How much of a claim must stand in the utterance that is its ground."""
DENSE = 4
"""Characters of a dense script that make a text one of it, whatever names and commands it holds besides."""

_PART = re.compile(r"[^\s,;()\[\]{}<>|\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+")
_ENDS = ".,:;!?…。，、！？*_`'\"“”‘’„«»「」『』()-–—"
_JOINT = re.compile(r"[^\W_][^\w\s’'\u2010-\u2015-]+[^\W_]|^[^\w\s]*[$/~@=-]{1,2}\w{2,}|_")
_MIXED = re.compile(r"(?=.*\d)(?=.*[^\W\d_]).{6,}")
_QUESTION = "?？؟;"
OPEN_MARKS = ("[ ]", "\u2610", "\u274c", "\u274e", "\u2717", "\u2718", "\u23f3", "\u231b", "\U0001f6a7", "\u26d4")
DONE_MARKS = ("[x]", "[X]", "\u2611", "\u2705", "\u2713", "\u2714")
"""Signs by which people and agents of every language mark a line as open or as done: boxes, crosses, hourglasses."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    said: int
    is_person: bool
    grams: frozenset[str]


class Grounds:
    """A session with what was known before it, indexed once."""

    def __init__(self, material: BriefMaterial) -> None:
        utterances = material.conversation.utterances
        self.session = Session(utterances)
        numbers = {id(one): number for number, one in enumerate(utterances)}
        self._sentences = [
            _Sentence(numbers[id(utterance)], utterance.speaker == "user", grams(text))
            for utterance, text in self.session.own_sentences
        ]
        self._common = common(sentence.grams for sentence in self._sentences)
        self._loops = {loop.id: self._rare(f"{loop.id} {loop.text}") for loop in material.state.open_loops}
        done = (one.text for one in utterances if is_own_word(one) or one.speaker != "tool")
        self._said = "\n".join(normal_form(text) for text in (*done, *_known(material)))

    def ground(self, text: str, quote: str, limit: int | None = None) -> Quotation | str:
        """The quotation that a claim in the writer's own words stands on, or why there is none."""
        found = self.session.find(quote or text, limit)
        if isinstance(found, str) or not quote or normal_form(quote) == normal_form(text):
            return found
        if self.session.is_printed(text):
            return "the claim is what a tool printed"
        if (strange := next(self._unsaid(text), None)) is not None:
            return f"nobody in the session spoke of {strange[:60]}"
        if self._is_of(text, found.sentence):
            return found if len(self._rare(found.sentence)) >= TELLING else replace(found, shown=found.wider)
        if self._is_of(text, self.session.own_words(found.said)):
            return replace(found, shown=found.wider)
        return "the quote speaks of something else; quote the sentence that says it"

    def closing(self, quote: str, loop: OpenLoop) -> Quotation | str:
        """The quotation by which a loop is closed, or why it is not."""
        found = self.session.find(quote)
        if isinstance(found, str):
            return found
        if not found.is_whole:
            return "the quote leaves out a part of its clause, which may deny it; quote the clause from its beginning"
        if any(mark in found.line for mark in OPEN_MARKS) and not any(mark in found.line for mark in DONE_MARKS):
            return "the quote stands on a line that is marked as open"
        told = grams(found.sentence)
        forms = Forms(told)
        weights = {name: weight(forms.among(rare)) for name, rare in self._loops.items()}
        mine, most = weights.get(loop.id, 0), max(weights.values(), default=0)
        if mine < CLOSES:
            return "the quote does not speak of this loop; quote the sentence that names it and says that it is done"
        if mine < most:
            other = next(name for name, told in weights.items() if told == most)
            return f"the quote speaks of `{other}` rather"
        if found.sentence.rstrip(_ENDS.replace("?", "").replace("？", ""))[-1:] in _QUESTION:
            return "the quote is a question"
        if share_of(told, grams(loop.text)) >= RESTATED:
            return "the quote says what is open, and not that it is done"
        if (own := self.session.find(loop.text)) and isinstance(own, Quotation) and own.said >= found.said:
            return "it was said to be open later than that"
        if self._is_spoken_of_later(found, self._loops[loop.id], mine):
            return "a person spoke of it later; quote the newest word on it"
        return found

    def _is_spoken_of_later(self, found: Quotation, rare: frozenset[str], shared_by: int) -> bool:
        forms = Forms(rare)
        return any(
            one.is_person and one.said > found.said and 2 * weight(forms.among(one.grams)) > shared_by
            for one in self._sentences
        )

    def _rare(self, text: str) -> frozenset[str]:
        return grams(text) - self._common

    def _is_of(self, text: str, words: str) -> bool:
        """Whether they have telling words in common. A claim in another script than the session's can have none."""
        rare = self._rare(text)
        # The quote is the claim's own: the same number in both is no chance.
        both = weight(shared(rare, grams(words)), LONG_WORD)
        if both >= RELATED and both >= SHARE * weight(rare, LONG_WORD):
            return True
        ours, theirs = script(text), script(words)
        return ours != theirs and bool(ours) and bool(theirs)

    def _unsaid(self, text: str) -> Iterator[str]:
        """Commands, addresses, names of code and keys that nobody spoke of: a claim that has one is an invention."""
        for part in _PART.findall(unicodedata.normalize("NFKC", text)):
            word = part.strip(_ENDS)
            is_name = part.startswith("--") or _JOINT.search(word) or _MIXED.fullmatch(word)
            if is_name and normal_form(word) not in self._said:
                yield word


def _known(material: BriefMaterial) -> Iterator[str]:
    yield from (material.goal or "", material.state.current_task or "")
    yield from (f"{loop.id} {loop.text}" for loop in material.state.open_loops)
    yield from (item.reason for item in material.state.resolved)
    if material.git is not None:
        yield material.git.branch or ""
        yield from (commit.subject for commit in material.git.commits)


def script(text: str) -> str:
    """The script of most of its letters, as Unicode names it; scripts that are written together are one."""
    if len([one for one in text if is_dense(one)]) >= DENSE:
        return "dense"
    count: dict[str, int] = {}
    for character in text:
        if character.isalpha():
            name = _script_of(character)
            count[name] = count.get(name, 0) + 1
    return max(count, key=lambda name: count[name], default="")


@cache
def _script_of(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]
