"""Whether an acknowledgement proves that a successor has loaded what it was handed (E46, F-HO-10). Pure."""

from __future__ import annotations

import json
import re

from phoenixd.core.handoff.state import Handoff, Step

MARK = re.compile(r"HANDOFF-ACK[ \t]*(\{[^\n]{1,4000}\})[\s`.]*\Z")
"""An acknowledgement at the end of an answer, for successors that may run no command."""

Quoted = tuple[tuple[str, str], ...]


def refusal(handoff: Handoff, generation: int, package: str, word: str, facts: Quoted) -> str | None:
    """Why an acknowledgement is not believed; None where it is."""
    if handoff.step is not Step.AWAIT_ACK or not handoff.made:
        return f"handoff {handoff.id} waits for no acknowledgement: its step is {handoff.step.value}"
    if generation != handoff.successor:
        return f"generation {generation} is not the successor: generation {handoff.successor} is"
    if not _is_same(package, handoff.package):
        return "its package hash is not that of the package that was written"
    if not _is_same(word, handoff.word):
        return "its word is not the one that stands in the package"
    given = dict(facts)
    for name, answer in handoff.facts:
        if name not in given:
            return f"it does not say {name}"
        if _plain(given[name]) != _plain(answer):
            return f"what it says of {name} is not what stands there"
    return None


def in_last_words(text: str) -> tuple[str, str, Quoted] | None:
    """Package hash, word and facts of an acknowledgement in which an answer ends; None where it ends otherwise."""
    found = MARK.search(text.rstrip())
    if found is None:
        return None
    try:
        said = json.loads(found[1])
    except (ValueError, RecursionError):
        return None
    return read(said) if isinstance(said, dict) else None


def read(said: dict[str, object]) -> tuple[str, str, Quoted]:
    """An acknowledgement's JSON: {"package": ..., "word": ..., NAME: ...}; what is no text or number is left out."""
    texts = {key: str(value) for key, value in said.items() if isinstance(value, str | int) and len(key) <= 100}
    return texts.pop("package", ""), texts.pop("word", ""), tuple(sorted(texts.items()))


def _is_same(given: str, known: str) -> bool:
    return bool(known) and given.strip() == known


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
