"""What is taken out of an agent's words before anything is decided on them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core import background
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AnswerRequested, SendRequested
from phoenixd.core.events.runs import AgentExited, TreeGone
from phoenixd.core.hooks import Hook
from phoenixd.documents.hooks import hook_event, hook_of
from phoenixd.documents.redact import redact
from phoenixd.runtime.cleaning import cleaned, kept
from phoenixd.runtime.describe import describe_event
from tests.core.story import Story, claude

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 12


def question(text: str, **changes: Any) -> Hook:
    return hook_of("a", 1, "permission-request", **{"tool": "Bash", "text": text, "held": True, "seq": 1, **changes})


@pytest.mark.parametrize("text", [f"curl -H 'x-api-key: {SECRET}' https://example.org", f"TOKEN={SECRET} make"])
def test_promise_11_a_question_out_of_which_a_secret_was_taken_says_that_it_is_not_whole(text: str) -> None:
    """Else an agent could have something allowed that nobody has seen, by the shape of a secret."""
    found = cleaned(question(text), lambda agent, words: redact(words))

    assert isinstance(found, Hook)
    assert SECRET not in found.text
    assert found.veiled


def test_promise_11_a_question_without_secrets_is_whole() -> None:
    whole = question("npm test")

    assert cleaned(whole, lambda agent, words: redact(words)) == whole
    loose = cleaned(question(f"TOKEN={SECRET}", held=False), lambda agent, words: redact(words))
    assert isinstance(loose, Hook)
    assert not loose.veiled


def test_a_secret_that_lies_where_a_background_job_is_cut_is_taken_out_whole() -> None:
    command = f"{'x' * (background.LONGEST - 40)} TOKEN={SECRET} make"
    given = {"tool_name": "Bash", "tool_input": {"command": command, "run_in_background": True}}
    heard = cleaned(hook_event("a", 1, "tool-start", given), lambda agent, words: redact(words))
    story = Story(claude()).works()
    assert isinstance(heard, Hook)
    story.hook("tool-start", tool="Bash", jobs=heard.jobs)

    assert story.run.jobs
    assert SECRET[:16] not in str(story.run.jobs)


@pytest.mark.parametrize(
    "order",
    [
        SendRequested("a", "m", f"use TOKEN={SECRET}"),
        AnswerRequested("a", 1, words=("2", f"use TOKEN={SECRET}")),
        AnswerRequested("a", 1, reason=f"not with TOKEN={SECRET}"),
    ],
)
def test_what_an_operator_sends_or_answers_arrives_as_it_is_and_is_kept_without_secrets(order: Event) -> None:
    assert cleaned(order, lambda agent, words: redact(words)) is order
    _, detail = describe_event(order)
    found = kept(order, detail, lambda agent, words: redact(words))

    assert SECRET in str(detail)
    assert SECRET not in str(found)
    assert found.keys() == detail.keys()


def test_an_exit_record_beside_an_unproven_end_is_kept_as_plain_fields_without_secrets() -> None:
    """The agent may have written it, and what it says was killed are command lines."""
    record = AgentExited("a", 1, "r", 3, None, killed=(f"7 TOKEN={SECRET} make",))
    found = cleaned(TreeGone("a", 1, unproven=True, ended=record), lambda agent, words: redact(words))
    _, detail = describe_event(found)

    assert isinstance(found, TreeGone)
    assert SECRET not in str(found)
    assert (detail["ended"]["run_id"], detail["ended"]["code"]) == ("r", 3)
    assert json.loads(json.dumps(detail)) == detail
