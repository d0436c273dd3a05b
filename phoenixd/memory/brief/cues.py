"""The plain cues by which people and agents say what is open: lists, boxes, words with a colon, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phoenixd.documents.plain_text import one_line

TEXT_LIMIT = 200

_WORDS = (
    r"(?:todo|fixme|to do|still (?:open|to do|missing|failing)|remaining|open(?: loop| point| question)?|left to do"
    r"|not (?:yet )?done|next up|follow[- ]?up|known issue)s?"
)
_COLON = r"\s*(?::|\s[-–—]\s)\s*"
_CUE = re.compile(rf"{_WORDS}{_COLON}(.*)", re.IGNORECASE)
_CUE_WITHIN = re.compile(rf"[.!?]\s{{1,4}}{_WORDS}{_COLON}([^.!?\n]{{6,200}})", re.IGNORECASE)
_HEADING = re.compile(
    rf"(?:{_WORDS}|what(?:'s|’s| is) (?:left|missing|(?:still )?open)|next steps?|outstanding|caveats?"
    r"|known (?:gap|limitation)s?)(?: (?:to do|work|tasks?|items?|steps?|issues?|questions?|points?))?\s*:?",
    re.IGNORECASE,
)
"""What stands over a list of open loops, on a line of its own that is set apart."""
_SET_APART = re.compile(r"\s{0,3}(?:#{1,6} .*|\*\*.*\*\*:?|__.*__:?|.*:)\s*")
BULLET = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_BOX = re.compile(r"\[([ xX~-]?)\]\s*(.+)")
SENTENCE = re.compile(r"[^.!?\n]{8,240}")
_DONE_TO = r"(?:tested|covered|done|fixed|implemented|verified|migrated|documented|handled|measured|checked|reproduced)"
_OPEN_SENTENCE = re.compile(
    r"\b(?:not yet|hasn't been|haven't|has not been|have not"
    r"|still (?:fails?|failing|needs?|broken|missing|open|have to)"
    r"|remains? (?:to be|open|un)|(?:is|are) (?:still )?un(?:tested|finished|resolved|done|verified)"
    rf"|(?:is|are|was|were|be) not {_DONE_TO} ?(?:yet)?|(?:will need|needs) (?:to be|an?|some|more)\b"
    r"|(?:could not|couldn't|was unable to|were unable to) (?:be )?"
    r"(?:test|verify|check|reproduce|measure|run|fix|finish|reach|confirm)\w{0,3}"
    r"|left for (?:later|tomorrow)|don't forget to|remember to)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\W*(?:if|unless|once)\b|\b(?:what|which|why|how|should i|shall|do you|would you|if you|let me|i'll|i will"
    r"|you (?:have|can|could|may|might|will|need|want)|you'll|your)\b",
    re.IGNORECASE,
)
"""What is asked of, offered or explained to the reader is no loop."""


def cued(text: str) -> Iterator[tuple[str, bool]]:
    """What a text says is open, and whether it stands on a list or behind a cue, or is a sentence like any other."""
    listing = False
    for line in text.split("\n"):
        bullet = BULLET.fullmatch(line)
        words = (bullet[1] if bullet else line).strip().strip("#*_ ")
        if box := _BOX.fullmatch(words):
            if box[1] in ("", " ", "~"):
                yield box[2], True
            continue
        if _SET_APART.fullmatch(line) and _HEADING.fullmatch(words):
            listing = True
            continue
        cue = _CUE.match(words)
        if cue:
            listing = not cue[1].strip("*_ ")
            if not listing:
                yield cue[1].strip("*_ "), True
        elif listing and bullet:
            yield words, True
        else:
            listing = listing and not words
            yield from ((found, True) for found in _CUE_WITHIN.findall(words))
            yield from ((sentence, False) for sentence in _open_sentences(words))


def listed(text: str) -> Iterator[str]:
    """What of it stands on a list or behind a cue."""
    return (words for words, is_listed in cued(text) if is_listed)


def marked_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Boxes, ticked and not: their texts, and whether each is done."""
    for line in text.split("\n"):
        bullet = BULLET.fullmatch(line)
        if box := _BOX.fullmatch((bullet[1] if bullet else line).strip()):
            if text := one_line(box[2], TEXT_LIMIT):
                yield text, box[1] in ("x", "X", "-")


def _open_sentences(line: str) -> Iterator[str]:
    for sentence in SENTENCE.findall(line):
        if _OPEN_SENTENCE.search(sentence) and not _QUESTION.search(sentence):
            yield sentence.strip(" -–—*_`")
