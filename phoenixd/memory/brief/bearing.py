"""Whether the material bears a writer's claim out. A claim that nothing bears is an invention, or an injection.

What a person or the agent itself said may bear words; what a tool printed may come from anywhere (a web page, a
README, another agent), so it bears numbers and nothing else. What the agent quotes is not its own word either: an agent
that refuses an injected order tells of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from phoenixd.documents.brief.material import PLAN_TOOLS, BriefMaterial
from phoenixd.documents.conversation import Utterance
from phoenixd.documents.times import read_time, timestamp
from phoenixd.memory.brief.cues import listed
from phoenixd.memory.brief.words import (
    GRAVE,
    deeds,
    is_own_word,
    numbers,
    own_words,
    squeezed,
    stems,
    without_quotations,
)

WINDOW = 240
"""Characters around a number in which its name has to be found."""

LEAST_QUOTE, LEAST_WORDS = 8, 2
BORNE_BY_QUOTE, BORNE_BY_ALL = 0.6, 0.8
"""The share of a text's words that the quoted utterance has to hold; of all utterances where none is quoted."""

_VALUE = re.compile(r"[~≈<>=+-]{0,2}\s?[$€£]?\d[\d.,:/ ×x-]*\s?%?(?:\s?[a-zA-Zµ°/%]{1,12})?")
_COMMAND = r"(?<!\w)(?:curl|wget|sudo|rm|ssh|scp|chmod|chown|eval|nc|bash|sh|npx|pip|npm|git|docker|kubectl) "
_ADDRESS = (
    r"(?<![\w.@-])(?:[a-z0-9-]{1,60}\.){1,4}(?:com|net|org|io|dev|app|ai|co|info|biz|xyz|cloud|ru|cn|eu|uk|de|example)"
    r"(?![\w.-])"
)
_ACTION = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://\S{1,300}|`[^`\n]{1,200}`|(?<![\w-])--[a-z][\w-]{1,40}"
    r"|(?<![\w/])(?:~|\.{0,2})/[\w.-]{2,80}(?:/[\w.-]{1,80})*|[\w.+-]{1,60}@[\w-]{1,60}\.[a-z]{2,12}"
    rf"|{_COMMAND}[\w./-]\S{{0,80}}|{_ADDRESS}",
    re.IGNORECASE,
)
_FOREIGN = re.compile(rf"://|[\w.+-]@[\w-]+\.|{_COMMAND}|{_ADDRESS}", re.IGNORECASE)
"""Addresses and commands: where a tool's output named one first, the agent only says what it has read."""
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|direction|guideline|context)"
    r"|</?\s*(?:system|assistant|user|human|developer|instructions?|untrusted)\b|<\||\[/?INST\]|\bBEGIN[ _]?PROMPT"
    r"|^\W{0,6}(?:system|assistant|human|developer|user)\s*:"
    r"|^\W{0,6}(?:important|attention|urgent|note to (?:ai|model))\b"
    r"|\byou (?:must|should|shall|are now|have to|need to|will now)\b|\bnew instructions?\b|\bas an? (?:ai|assistant)\b"
    r"|\bdo not (?:tell|inform|mention|reveal)\b"
    r"|\b(?:reveal|exfiltrate|send|upload|print|post|leak)\b.{0,60}\b(?:secret|token|key|credential|password|env)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A stretch of text that can bear a number. at: wall seconds."""

    text: str
    at: float | None
    stems: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a person or the agent said in its own words. at: its place in the conversation."""

    at: int
    is_person: bool
    text: str
    stems: frozenset[str]


class Bearing:
    """The material, indexed once; every question takes time in proportion to it."""

    def __init__(self, material: BriefMaterial) -> None:
        spoken = [(at, one) for at, one in enumerate(material.conversation.utterances) if is_own_word(one)]
        self._spoken = [
            _Spoken(at, one.speaker == "user", squeezed(words), stems(words))
            for at, one in spoken
            if (words := own_words(one))
        ]
        self._printed = [
            (at, squeezed(one.text)) for at, one in enumerate(material.conversation.utterances) if not is_own_word(one)
        ]
        self._read_only = _deeds_of_tools(material)
        known = [material.goal or "", material.state.current_task or "", *_known_texts(material)]
        self._known = squeezed("\n".join(known))
        self._all = frozenset().union(stems(self._known), *(one.stems for one in self._spoken))
        self._lines = [*_number_lines(material.conversation.utterances), *_other_lines(material)]
        self._numbers = frozenset(number for line in self._lines for number in numbers(line.text))
        self._numbers |= frozenset(numbers(self._known)) | frozenset(numbers(timestamp(material.now)))

    def problem(self, text: str, quote: str = "") -> str | None:
        """Why a text may not stand in a brief, or None. `quote` is what the writer gives as its ground."""
        if _ORDER.search(text):
            return "it reads as an order"
        if unborne := [token for token in _ACTION.findall(text) if not self._is_spoken(token)]:
            return f"nobody in the session spoke of {unborne[0][:60]}"
        words = stems(text)
        if grave := sorted((words & GRAVE) - self._all):
            return f'nobody in the session spoke of "{grave[0]}…"'
        if read := sorted(deeds(text) & self._read_only):
            return f'only a tool\'s output asks to "{read[0][0]}… {read[0][1]}…"'
        if strange := [number for number in numbers(text) if number not in self._numbers and len(number) > 1]:
            return f"the number {strange[0][:20]} is nowhere in the material"
        if len(words) < LEAST_WORDS:
            return "it says too little"
        return None if self._bears(words, quote) else "the session does not bear it out"

    def bears_quote(self, quote: str, words: frozenset[str], share: float) -> bool:
        """Whether a person or the agent said `quote`, in an utterance with that share of `words`."""
        sought = squeezed(without_quotations(quote))
        if len(sought) < LEAST_QUOTE:
            return False
        return any(sought in one.text and _share(words, one.stems) >= share for one in self._spoken)

    def number_problem(self, name: str, value: str, after: float | None = None) -> str | None:
        """Why a number may not be taken over, or None. after: only what was said later than that bears it (wall)."""
        value = value.strip()
        if not _VALUE.fullmatch(value) or not re.fullmatch(r"[\w .()%/-]{1,48}", name) or _ORDER.search(name):
            return "it is no number with a name"
        sought = numbers(value)
        named = stems(name)
        for line in self._lines:
            if after is not None and (line.at is None or line.at <= after):
                continue
            if not named & line.stems:
                continue
            if all(number in numbers(line.text) for number in sought):
                return None
        return "nothing that was said or printed bears it out"

    def _is_spoken(self, token: str) -> bool:
        sought = squeezed(token.strip("`.,;:)"))
        if sought in self._known:
            return True
        told = [one for one in self._spoken if sought in one.text]
        if not _FOREIGN.search(token):
            return bool(told)
        printed = next((at for at, text in self._printed if sought in text), math.inf)
        return any(one.is_person or one.at < printed for one in told)

    def _bears(self, words: frozenset[str], quote: str) -> bool:
        if quote and self.bears_quote(quote, words, BORNE_BY_QUOTE):
            return True
        return _share(words, self._all) >= BORNE_BY_ALL


def _share(words: frozenset[str], found: frozenset[str]) -> float:
    return len(words & found) / len(words) if words else 0.0


def _deeds_of_tools(material: BriefMaterial) -> frozenset[tuple[str, str]]:
    """Deeds of which a tool's output spoke first, but for those that a person spoke of or the agent put on a list.

    An agent that is asked to do harm retells that in its own words; what it means to do stands on its lists.
    """
    printed: set[tuple[str, str]] = set()
    meant = {deed for text in (material.goal or "", *_known_texts(material)) for deed in deeds(text)}
    for utterance in material.conversation.utterances:
        if not is_own_word(utterance):
            printed |= deeds(utterance.text) - meant
        elif utterance.speaker == "user" or utterance.tool in PLAN_TOOLS:
            meant |= deeds(utterance.text)
        else:
            words = own_words(utterance)
            meant |= deeds(words) - printed
            meant |= {deed for text in listed(words) for deed in deeds(text)}
    return frozenset(printed - meant)


def _known_texts(material: BriefMaterial) -> Iterator[str]:
    yield from (f"{loop.id} {loop.text}" for loop in material.state.open_loops)
    yield from (item.reason for item in material.state.resolved)
    if material.git is not None:
        yield material.git.branch or ""
        yield from (commit.subject for commit in material.git.commits)


def _number_lines(utterances: Iterable[Utterance]) -> Iterator[_Line]:
    for utterance in utterances:
        at = read_time(utterance.at)
        for line in utterance.text.split("\n"):
            for begin in range(0, len(line), WINDOW // 2):
                window = line[begin : begin + WINDOW]
                if any(character.isdigit() for character in window):
                    yield _Line(window, at, stems(window))


def _other_lines(material: BriefMaterial) -> Iterator[_Line]:
    texts = [f"{name} {value}" for name, value in material.state.numbers.items()]
    if material.git is not None:
        texts += [commit.subject for commit in material.git.commits]
        texts += [f"changed files {material.git.changed}", f"untracked files {material.git.untracked}"]
    yield from (_Line(text, None, stems(text)) for text in texts)
