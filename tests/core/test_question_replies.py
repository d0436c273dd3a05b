"""What an operator's words answer: each kind of question has its verbs, and none swallows another's (P14)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.reply import Said, limits, understand

DATABASE = {
    "question": "Which database?",
    "header": "DB",
    "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}],
    "multiSelect": False,
}
CACHES = {
    "question": "Which caches?",
    "header": "Cache",
    "options": [{"label": "Redis"}, {"label": "Memcached"}, {"label": "on disk, slow"}],
    "multiSelect": True,
}
NUMBERS = {"question": "How many?", "options": [{"label": "2"}, {"label": "3"}, {"label": "many"}]}
ALLOW = {"question": "What then?", "options": [{"label": "deny"}, {"label": "allow"}]}


def item(kind: str, tool: str, given: dict[str, Any], **more: Any) -> InboxItem:
    text = f"{tool} {json.dumps(given)}"
    return InboxItem(7, "a", 1, kind, text, "hash", 0.0, "answer", **{"hold": 3, "tool": tool, "whole": True, **more})


def question(*questions: dict[str, Any], **more: Any) -> InboxItem:
    return item("question", "AskUserQuestion", {"questions": list(questions)}, **more)


@pytest.mark.parametrize(
    ("asked", "words", "answers"),
    [
        (question(DATABASE), ["2"], ("Postgres",)),
        (question(DATABASE), ["SQLite"], ("SQLite",)),
        (question(DATABASE), ["sqlite"], ("sqlite",)),
        (question(DATABASE), ["neither: use files"], ("neither: use files",)),
        (question(DATABASE), ["1,2"], ("1,2",)),
        (question(DATABASE), ["deny"], ("deny",)),
        (question(CACHES), ["1,3"], ("Redis, on disk, slow",)),
        (question(CACHES), ["Memcached, 1"], ("Memcached, Redis",)),
        (question(CACHES), ["2"], ("Memcached",)),
        # Of a form that is not known it is one question, and no list of numbers answers it.
        (question(), [","], (",",)),
        (question(CACHES), ["on disk, slow"], ("on disk, slow",)),
        (question(CACHES), ["1, and another"], ("1, and another",)),
        (question(DATABASE, CACHES), ["1", "1,2"], ("SQLite", "Redis, Memcached")),
        (question(ALLOW), ["allow"], ("allow",)),
        (question(NUMBERS), ["many"], ("many",)),
        (question({"question": "Why?"}), ["3"], ("3",)),
    ],
)
def test_p14_a_number_is_an_option_an_exact_label_too_and_all_else_is_text(
    asked: InboxItem, words: list[str], answers: tuple[str, ...]
) -> None:
    assert understand(asked, words) == Said(True, answers=answers)


@pytest.mark.parametrize("word", ["2", "SQLite", "allow", "9", "1,2"])
def test_p14_text_forces_text(word: str) -> None:
    assert understand(question(DATABASE), [word], as_text=True) == Said(True, answers=(word,))
    assert understand(question(CACHES), [word], as_text=True) == Said(True, answers=(word,))


@pytest.mark.parametrize(
    ("asked", "words", "why", "instead"),
    [
        (question(DATABASE), ["allow"], "a question and no permission", "1"),
        (question(DATABASE), ["Approve"], "a question and no permission", "1"),
        (question(DATABASE, CACHES), ["allow"], "a question and no permission", "1 1"),
        (question(DATABASE), ["3"], "there is no option 3: it has 2", "--text 3"),
        (question(DATABASE), ["0"], "there is no option 0", "--text 0"),
        (question(CACHES), ["1,9"], "there is no option 9", "--text 9"),
        (question(NUMBERS), ["2"], "2 can mean two", "--text 2"),
        (
            question(DATABASE, CACHES),
            ["1"],
            "1 answer is missing, one for each question in order: Which caches?",
            "1 1",
        ),
        (question(DATABASE), ["a", "b"], "1 question is asked, and 2 answers are given", "1"),
        (question(DATABASE), ["  "], "an answer is empty", "1"),
        (question(DATABASE), [], "an answer is missing", "1"),
        (item("permission", "Bash", {"command": "x"}), ["2"], "2 is no answer to a permission", "allow"),
        (item("permission", "Bash", {"command": "x"}), ["approve"], "no answer to a permission", "allow"),
        (item("permission", "Bash", {"command": "x"}), ["deny"], "say why", 'deny "REASON"'),
        (item("permission", "Bash", {"command": "x"}), ["allow", "always"], "takes no words", "allow"),
        (item("plan", "ExitPlanMode", {"plan": "x"}), ["deny not so"], "deny not so is no answer", 'deny "REASON"'),
        (item("plan", "ExitPlanMode", {"plan": "x"}), ["fine"], "fine is no answer to a plan", "approve"),
    ],
)
def test_p14_what_is_no_answer_is_refused_with_what_to_type(
    asked: InboxItem, words: list[str], why: str, instead: str
) -> None:
    found = understand(asked, words)

    assert isinstance(found, Unclear)
    assert why in found.why
    assert found.instead == instead


def test_p14_a_plan_is_approved_or_denied_with_words() -> None:
    plan = item("plan", "ExitPlanMode", {"plan": "# Ship"})

    assert understand(plan, ["approve"]) == understand(plan, ["allow"]) == Said(True)
    assert understand(plan, ["deny", "split", "step 2"]) == Said(False, "split step 2")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (question(DATABASE), ""),
        (question(DATABASE, veiled=True), "secrets were taken out"),
        (question(DATABASE, hold=0), "no answer from here"),
        (question(DATABASE, DATABASE), "a form that is not known"),
        (question({"question": 3}), "a form that is not known"),
        (item("dialog", "", {}), "only its terminal"),
    ],
)
def test_p15_only_what_was_shown_whole_is_answered_from_afar(asked: InboxItem, why: str) -> None:
    assert bool(limits(asked)) is bool(why)
    assert why in limits(asked)
