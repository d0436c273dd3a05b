"""What an operator's words answer: each kind of question has its verbs, and none swallows another's (P14)."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
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
        (question(DATABASE), ["1, and files too"], ("1, and files too",)),
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
        (question({"question": "Which ports?"}), ["80,443"], ("80,443",)),
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
        (question(DATABASE), ["allow"], "a question and no permission", ""),
        (question(DATABASE), ["Approve"], "a question and no permission", ""),
        (question(DATABASE, CACHES), ["allow"], "a question and no permission", ""),
        (question(DATABASE), ["3"], "there is no option 3: it has 2, 1: SQLite, 2: Postgres", "--text 3"),
        (question(DATABASE), ["1,2"], "1,2 names several options, and one is to be chosen: 1: SQLite", "--text 1,2"),
        (question(DATABASE), [" 2 , 1 "], "2,1 names several options", "--text 2,1"),
        (question(DATABASE, CACHES), ["1,2", "1"], "1,2 names several options", ""),
        (question(DATABASE, CACHES), ["3", "1"], "there is no option 3", ""),
        (question(DATABASE), ["0"], "there is no option 0", "--text 0"),
        (question(CACHES), ["1,9"], "there is no option 9", "--text 1,9"),
        (question(NUMBERS), ["2"], "2 can mean two", "--text 2"),
        (
            question(DATABASE, CACHES),
            ["1"],
            "1 answer is missing, one for each question in order: Which caches?",
            "",
        ),
        (question(DATABASE), ["a", "b"], "1 question is asked, and 2 answers are given", ""),
        (question(DATABASE), ["  "], "an answer is empty", ""),
        (question(DATABASE), [], "an answer is missing", ""),
        (item("permission", "Bash", {"command": "x"}), ["2"], "a permission, which takes allow or deny", ""),
        (item("permission", "Bash", {"command": "x"}), ["approve"], "no answer to a permission", ""),
        (item("permission", "Bash", {"command": "x"}), ["deny"], "say why", 'deny "REASON"'),
        (item("permission", "Bash", {"command": "x"}), ["allow", "always"], "takes no words", ""),
        (item("permission", "Bash", {"command": "x"}), ["allow", "never"], "what refuses is deny", ""),
        (item("plan", "ExitPlanMode", {"plan": "x"}), ["deny not so"], "deny not so is no answer", 'deny "REASON"'),
        (item("plan", "ExitPlanMode", {"plan": "x"}), ["fine"], "to a plan, which takes approve or deny", ""),
    ],
)
def test_p14_what_is_no_answer_is_refused_with_what_to_type(
    asked: InboxItem, words: list[str], why: str, instead: str
) -> None:
    found = understand(asked, words)

    assert isinstance(found, Unclear)
    assert why in found.why
    assert found.instead == instead


@pytest.mark.parametrize("kind", ["permission", "plan", "proposal"])
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("dney", "deny"), ("dny", "deny"), ("Denied", "deny"), ("deney it breaks things", "deny"),
        ("alow", "allow"), ("allwo", "allow"), ("ALOW", "allow"),
        ("alow never", ""), ("disallow", ""), ("disapprove", ""), ("dont-allow", ""), ("allow-not", ""),
        ("'allow not'", ""),
        ("no", ""), ("yes", ""), ("y", ""), ("n", ""), ("ok", ""), ("2", ""), ("reject", ""), ("never", ""), ("''", ""),
        ("stop --text", ""), ("", ""),
    ],
)  # fmt: skip
def test_p14_no_remedy_of_a_refused_answer_holds_a_verdict_that_was_not_typed_or_nearly(
    kind: str, typed: str, meant: str
) -> None:
    words = [word for word in shlex.split(typed) if word != "--text"]
    asked = item(kind, "Bash", {"command": "x"})

    found = understand(asked, words, "--text" in typed)
    veiled = understand(replace(asked, veiled=True), words, "--text" in typed)

    assert isinstance(found, Unclear)
    assert found.remedy(7) == (
        {"deny": 'phoenixctl answer 7 deny "REASON"'}.get(meant) or f"phoenixctl answer 7 {meant}"
        if meant
        else "phoenixctl inbox 7"
    )
    assert 'deny "REASON"' in found.why or meant
    assert isinstance(veiled, Unclear)
    assert "allow" not in veiled.remedy(7) or kind == "proposal"


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
