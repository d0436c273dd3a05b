"""The questions of a call with their options, and an operator's words read as answers to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phoenixd.core.question.call import Call
from phoenixd.core.question.characters import visible

NUMBERS = re.compile(r"\s*[0-9]+(?:\s*,\s*[0-9]+)+\s*,?\s*")
"""Words that are a choice of several options."""
LABEL = 40
"""Characters of an option's label that a refusal repeats."""


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    description: str = ""
    more: Mapping[str, Any] | None = None
    """Whatever else it holds."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. several: more than one option may be chosen."""

    text: str
    header: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False
    more: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why words are no answer, and what to type instead (after `phoenixctl answer ID`).

    People do what a remedy says, so it holds no verdict and no option that was not typed, or nearly typed.
    Where nothing else is left, `instead` is empty, and the remedy shows the item.
    """

    why: str
    instead: str = ""

    def remedy(self, item: int) -> str:
        """The whole command to type, about the item of this number."""
        return f"phoenixctl answer {item} {self.instead}" if self.instead else f"phoenixctl inbox {item}"


def questions_of(call: Call | None) -> tuple[Question, ...]:
    """The questions of a call, in order; empty where its input has another shape than is known."""
    listed = call.given.get("questions") if call is not None else None
    if not isinstance(listed, list) or not listed:
        return ()
    found = [_question(one) for one in listed]
    questions = tuple(one for one in found if one is not None)
    texts = {one.text for one in questions}
    # The answers go by the text of their question, so of two that are alike only one could be answered.
    return questions if len(texts) == len(listed) else ()


def read(questions: Sequence[Question], words: Sequence[str], as_text: bool) -> tuple[str, ...] | Unclear:
    """One answer for each question, in order: a number is an option, an exact label that option, all else is text."""
    if not words:
        return Unclear("an answer is missing", _instead(questions))
    if not as_text and (refused := next(filter(None, map(_no_permission, questions, words)), None)):
        return replace(refused, instead=_instead(questions))
    if len(words) > len(questions):
        why = f"{_count(len(questions), 'question')} asked, and {_count(len(words), 'answer')} given"
        return Unclear(f"{why}: put the words of one answer into quotes", _instead(questions))
    if len(words) < len(questions):
        missing = len(questions) - len(words)
        asks = "; ".join(visible(one.text) for one in questions[len(words) :])
        return Unclear(
            f"{_count(missing, 'answer')} missing, one for each question in order: {asks}", _instead(questions)
        )
    found: list[str] = []
    for question, word in zip(questions, words, strict=True):
        answer = word if as_text else _answer(question, word)
        if isinstance(answer, Unclear):
            # --text holds for all answers, so it repairs none of several.
            return answer if len(questions) == 1 else replace(answer, instead="")
        if not answer.strip():
            return Unclear("an answer is empty", _instead(questions))
        found.append(answer)
    return tuple(found)


def _answer(question: Question, word: str) -> str | Unclear:
    labels = [option.label for option in question.options]
    chosen = _option_named(question, word)
    if chosen is not None:
        return chosen
    if not question.several and question.options and (listed := NUMBERS.fullmatch(word)):
        typed = ",".join(listed[0].replace(",", " ").split())
        return Unclear(f"{typed} names several options, and one is to be chosen: {_named(question)}", f"--text {typed}")
    if question.several and "," in word:
        parts = [part.strip() for part in word.split(",") if part.strip()]
        each = [_option_named(question, part) for part in parts]
        unclear = next((one for one in each if isinstance(one, Unclear)), None)
        if unclear is not None:
            return replace(unclear, instead=f"--text {','.join(parts)}") if NUMBERS.fullmatch(word) else unclear
        found = dict.fromkeys(one for one in each if isinstance(one, str))
        if len(each) == sum(one is not None for one in each):
            together = ", ".join(found)
            if len(found) > 1 and together in labels:
                why = f"together they read as option {labels.index(together) + 1} does: {visible(together)}"
                return Unclear(why, '--text "TEXT"')
            return together
    return word


def _option_named(question: Question, word: str) -> str | Unclear | None:
    """The option that a word names by its number or its label, if the agent can tell it from the others."""
    labels = [option.label for option in question.options]
    chosen = _chosen(question, word)
    if chosen is None and word in labels:
        chosen = word
    if isinstance(chosen, str) and labels.count(chosen) > 1:
        alike = " and ".join(str(place) for place, label in enumerate(labels, 1) if label == chosen)
        why = f"options {alike} say the same, and the agent is told no more than that: {visible(chosen)}"
        return Unclear(why, '--text "TEXT"')
    return chosen


def _no_permission(question: Question, word: str) -> Unclear | None:
    """Why an allowance is none of the answers: the agent would read that nobody answered."""
    if word.strip().lower() not in ("allow", "approve") or word in (option.label for option in question.options):
        return None
    why = f"this is a question and no permission, and an allowance would leave it unanswered: {visible(question.text)}"
    return Unclear(f"{why} {_named(question)}".rstrip())


def _chosen(question: Question, word: str) -> str | Unclear | None:
    """The option that a number names; None where the word is no number."""
    if not (word.isascii() and word.isdigit()) or not question.options:
        return None
    labels, number = [option.label for option in question.options], int(word[:9])
    if 1 <= number <= len(labels):
        if word in labels and labels[number - 1] != word:
            says = f"{word} is what option {labels.index(word) + 1} says"
            other = f"option {number} is {visible(labels[number - 1])}, and {says}"
            return Unclear(f"{word} can mean two: {other}", f"--text {word}")
        return labels[number - 1]
    if word in labels:
        return word
    return Unclear(f"there is no option {word}: it has {len(labels)}, {_named(question)}", f"--text {word}")


def _instead(questions: Sequence[Question]) -> str:
    """How an answer is spelled; nothing where that would choose an option."""
    return "" if any(one.options for one in questions) else " ".join('"TEXT"' for _ in questions)


def _named(question: Question) -> str:
    """The options as they are chosen, each by its number; long ones are cut."""
    return ", ".join(f"{place}: {visible(one.label[:LABEL])}" for place, one in enumerate(question.options, 1))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{' is' if number == 1 else 's are'}"


def _question(given: Any) -> Question | None:
    if not isinstance(given, dict) or not isinstance(text := given.get("question"), str) or not text.strip():
        return None
    header, several, listed = given.get("header", ""), given.get("multiSelect", False), given.get("options", [])
    if not isinstance(header, str) or not isinstance(several, bool) or not isinstance(listed, list):
        return None
    options = [_option(one) for one in listed]
    if any(one is None for one in options):
        return None
    more = {key: value for key, value in given.items() if key not in ("question", "header", "multiSelect", "options")}
    return Question(text, header, tuple(one for one in options if one is not None), several, more or None)


def _option(given: Any) -> Option | None:
    if not isinstance(given, dict) or not isinstance(label := given.get("label"), str):
        return None
    description = given.get("description", "")
    more = {key: value for key, value in given.items() if key not in ("label", "description")}
    return Option(label, description, more or None) if isinstance(description, str) else None
