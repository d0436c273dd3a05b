"""What is taken out of an agent's words before anything is decided on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import MISSING, asdict, fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from phoenixd.core import background
from phoenixd.core.behind.world import World
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import JournalBehind, LimitsDeclared, Rebooted
from phoenixd.core.events.orders import AgentDeclared, AnswerRequested, SendRequested
from phoenixd.core.events.resonance import AnchorSeen, CodesPlanted, CodesSeen, FooterSeen
from phoenixd.core.events.runs import AgentExited, NotDelivered, TreeGone
from phoenixd.core.events.tasks import TaskCollected, TaskRequested
from phoenixd.core.hooks import Hook, TurnFailed
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import Outcome
from phoenixd.documents.hooks import hook_event, hook_of
from phoenixd.documents.journal_names import event_name
from phoenixd.documents.redact import redact
from phoenixd.planting import Marker, Planting
from phoenixd.runtime.cleaning import MAX_FIELD, MEANT, ORDERED, WITHIN, WORDS, cleaned, kept
from phoenixd.runtime.describe import describe_event
from tests.core.story import Story, claude, spec
from tests.hiding import VALUE, hidings, shows

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
    arrived = cleaned(order, lambda agent, words: redact(words))
    # Of an answer it is known by that that it must not be kept until it is given.
    assert arrived == (replace(order, secret=True) if isinstance(order, AnswerRequested) else order)
    assert cleaned(harmless := AnswerRequested("a", 1, words=("2",)), lambda agent, words: redact(words)) is harmless
    _, detail = describe_event(order)
    found = kept(order, detail, lambda agent, words: redact(words))

    assert SECRET in str(detail)
    assert SECRET not in str(found)
    assert found.keys() == detail.keys()


def test_promise_11_a_secret_that_only_the_word_before_it_tells_is_not_kept() -> None:
    """An agent that does not quote an answer gives it word by word."""
    order = AnswerRequested("a", 1, words=("deny", "the", "password:", "hunter2hunter2"))
    arrived = cleaned(order, lambda agent, words: redact(words))
    assert arrived == replace(order, secret=True)
    _, detail = describe_event(order)
    found = kept(order, detail, lambda agent, words: redact(words))

    assert "hunter2" in str(detail)
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("shift", [8, 16, 40])
@pytest.mark.parametrize(
    "order",
    [
        lambda text: SendRequested("a", "m", text),
        lambda text: AnswerRequested("a", 1, reason=text),
        lambda text: TaskRequested(spec(), text, "ada"),
    ],
    ids=["a text", "a reason", "a task"],
)
def test_p79_a_secret_that_lies_where_the_journal_cuts_an_operators_words_is_taken_out_whole(
    order: Callable[[str], Event], shift: int
) -> None:
    before = "x" * (MAX_FIELD - shift - 1) + " "
    asked = order(f"{before}{SECRET} and more" + "y" * MAX_FIELD)
    _, detail = describe_event(asked)
    found = kept(asked, detail, lambda agent, words: redact(words))

    (words,) = [value for value in found.values() if isinstance(value, str) and value.startswith("xx")]
    assert len(words) <= MAX_FIELD
    assert SECRET[:8] not in words


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (CodesPlanted("a", 1, Planting(Marker("the tide", "7f3a9c"), ("00aa11",)), 5.0, "Ada"), {"persona": "Ada"}),
        (CodesSeen("a", 1, ("7f3a9c",), "a file", 5.0), {"where": "a file"}),
        (AnchorSeen("a", 1, "7f3a9c", 5.0), {}),
        (FooterSeen("a", 1, "7f3a9c", "builder", "Stable", 5.0), {"role": "builder", "state": "Stable"}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_seen_of_codes_is_kept_without_the_codes_alone(seen: Event, told: dict[str, str]) -> None:
    _, detail = describe_event(seen)

    assert detail == {"at": 5.0, **told}


def test_an_exit_record_beside_an_unproven_end_is_kept_as_plain_fields_without_secrets() -> None:
    """The agent may have written it, and what it says was killed are command lines."""
    record = AgentExited("a", 1, "r", 3, None, killed=(f"7 TOKEN={SECRET} make",))
    found = cleaned(TreeGone("a", 1, unproven=True, ended=record), lambda agent, words: redact(words))
    _, detail = describe_event(found)

    assert isinstance(found, TreeGone)
    assert SECRET not in str(found)
    assert (detail["ended"]["run_id"], detail["ended"]["code"]) == ("r", 3)
    assert json.loads(json.dumps(detail)) == detail


def failure(text: str) -> TurnFailed:
    return TurnFailed("a", 1, text=text, failure="other")


@pytest.mark.parametrize(
    "found_later",
    [
        AgentExited("a", 1, "r", 1, None, failed=failure(f"401: TOKEN={SECRET} is not valid")),
        TreeGone("a", 1, ended=AgentExited("a", 1, "r", 1, None, failed=failure(f"401: TOKEN={SECRET} is not valid"))),
        Rebooted("boot", (AgentExited("a", 1, "r", 1, None, failed=failure(f"401: TOKEN={SECRET} is not valid")),)),
        Rebooted("boot", (AgentExited("a", 1, "r", 1, None, killed=(f"7 TOKEN={SECRET} make",)),)),
    ],
    ids=["an end", "a tree that is gone", "a boot", "a record before a boot"],
)
def test_p79_what_had_failed_is_told_without_secrets_also_with_an_end_that_is_found_later(found_later: Event) -> None:
    assert SECRET in str(asdict(found_later))
    found = str(asdict(cleaned(found_later, lambda agent, words: redact(words))))

    assert SECRET not in found
    assert "401" in found or "7 " in found


def test_p79_an_event_within_an_event_is_cleaned_as_well() -> None:
    """A new field that holds one has to be put into that table."""
    every = tuple(dict.fromkeys(classes(Event)))
    for kind in every:
        hints = get_type_hints(kind)
        holds = {one.name for one in fields(kind) if any(inner in every for inner in classes(hints[one.name]))}
        assert holds == ({WITHIN[kind]} if kind in WITHIN else set()), kind.__name__


OURS = {
    "agent": "a name that was checked where it was declared",
    "by": "who asked, as the API knows him",
    "act": "drawn by the API",
    "run_id": "ours",
    "message_id": "ours",
    "id": "ours",
    "armed": "ours",
    "handoff": "ours",
    "boot_id": "the kernel's",
    "text_hash": "a hash",
    "package": "a hash",
    "fingerprint": "a hash",
    "source": "ours in EvidenceSeen; of hooks it is cleaned",
    "reader": "ours",
    "kind": "ours",
    "file": "ours",
    "record": "incident files are cleaned where they are made",
    "case": "ours",
    "evidence": "ours",
    "persona": "the marker's, which phoenixd mints",
    "rebuilt": "ours",
    "codes": "never told",
    "marker": "never told",
    "check": "compared, and never told",
    "where": "ours",
    "state": "one of three words",
    "lost": "ours",
    "shared": "names of agents",
    "word": "drawn by us; of hooks it is cleaned",
    "facts": "never told",
    "opening": "made of cleaned papers, for the successor alone",
    "previous": "ours",
    "session": "ours",
    "path": "ours",
    "occasion": "ours",
    "of": "a task's number",
    "contradicted": "cleaned where reports are judged, with the worker's secrets",
    "task": "a task's number",
    "key": "compared, and never told",
    "asked_by": "a name",
    "plan": "an id of a plan, checked by the API",
    "after": "numbers of tasks",
    "project": "a name, checked by the API",
    "phase": "a name, checked by the API",
    "place": "a directory that an operator declared",
    "directory": "the same",
    "remedy": "a command of ours, with a project and a directory that an operator declared",
    "workspace": "a directory that an operator declared",
    "missing": "cleaned where a package is held against its project",
    "missing_artifacts": "the same",
}
"""Fields that hold no agent's words, or never reach a face, with the reason."""
OF_THE_DAEMON = {
    ("AckFileSeen", "fault"),
    ("AckFileSeen", "mark"),
    ("AlertsTold", "alerts"),
    ("AlertsTold", "way"),
    ("AlertsTold", "why"),
    ("DirectoryLooked", "directory"),
    ("EpochBegun", "ended"),
    ("JournalBehind", "why"),
    ("SavingHalted", "why"),
    ("TroubleGone", "why"),
    ("UsageSeen", "session_id"),
    ("WaysBegun", "new"),
}
"""What the daemon says of itself; and a session's name that is compared, and not taken over."""


def classes(union: Any) -> Iterator[type[Any]]:
    for one in get_args(union):
        yield from classes(one) if get_args(one) else (one,)


def test_each_text_of_each_event_is_cleaned_or_known_to_be_no_agents() -> None:
    """A new field has to be put into one of these tables."""
    for kind in dict.fromkeys(classes(Event)):
        hints = get_type_hints(kind)
        words = {
            one.name for one in fields(kind) if "str" in str(hints[one.name]) and "Literal" not in str(hints[one.name])
        }
        known = {*WORDS.get(kind, ()), *ORDERED.get(kind, ()), *OURS}
        left = {(kind.__name__, name) for name in words - known}
        assert left <= OF_THE_DAEMON


@pytest.mark.parametrize("secret", [SECRET, VALUE])
@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.__name__)
def test_p79_no_text_of_an_agents_brings_a_secret_into_an_event(kind: type[Any], secret: str) -> None:
    hints = get_type_hints(kind)
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    bare = kind(**{name: "a" if hints[name] is str else () if "tuple" in str(hints[name]) else 0 for name in needed})
    for how, written in hidings(secret).items():
        said = {name: (written,) if "tuple" in str(hints[name]) else f"x {written} x" for name in WORDS[kind]}
        found = cleaned(replace(bare, **said), lambda agent, text: redact(text, (VALUE,)))
        for name in WORDS[kind]:
            value = getattr(found, name)
            assert shows(value if isinstance(value, str) else " ".join(value or ()), secret) == [], (how, name)
            assert (getattr(found, name) is None) == (name in MEANT), (how, name)


def test_a_session_and_a_directory_keep_their_names() -> None:
    started = hook_of("a", 1, "session-start", session_id="99999999-2222-4333-8444-000000000001", cwd="/srv/shop")
    assert cleaned(started, lambda agent, text: redact(text, (VALUE,))) is started


def test_the_journal_keeps_of_each_text_so_much_and_leaves_out_what_is_empty() -> None:
    _, detail = describe_event(NotDelivered("a", 3, "m1", "x" * (MAX_FIELD + 1)))

    assert detail == {"message_id": "m1", "reason": "x" * MAX_FIELD}


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (AgentDeclared(claude("a"), start=True), {"harness": "claude", "kind": "resident", "start": True}),
        (LimitsDeclared(FleetLimits(max_starting=3)), {"max_starting": 3}),
        (
            Rebooted("b2", (AgentExited("a", 3, "r", 0, None), AgentExited("b", 1, "r", 1, None))),
            {"boot_id": "b2", "ended": ["a #3", "b #1"]},
        ),
        (JournalBehind("it was put back", World("b2", 5, 7)), {"why": "it was put back", "journal": 5, "world": 7}),
        (
            TaskCollected("t1", 2, Outcome("done", report="/r.md")),
            {
                "task": "t1", "run": 2, "stop": "done", "words": "", "report": "/r.md", "outputs": 0, "refused": 0,
                "problem": "", "judged": None, "seal": "",
            },
        ),
        (
            TaskRequested(claude("a"), "x" * (MAX_FIELD + 1), project="shop", plan="2", after=("t1",), writes=False),
            {
                "asked_by": "", "by": "operator", "project": "shop", "plan": "2", "phase": "", "after": ("t1",),
                "writes": False, "harness": "claude", "prompt": "x" * MAX_FIELD,
            },
        ),
    ],
)  # fmt: skip
def test_events_that_hold_much_are_kept_in_short(event: Event, told: dict[str, Any]) -> None:
    assert describe_event(event) == (event_name(event), told)
