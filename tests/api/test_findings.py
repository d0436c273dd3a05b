"""What `doctor` and `config check` print: the same of several agents once, the worst last, and both kinds counted."""

from __future__ import annotations

import dataclasses
from datetime import UTC

import pytest

from phoenixd.api.finding import Finding
from phoenixd.api.pages.findings import NAMES_SHOWN, alike, doctor, problems
from phoenixd.api.pages.layout import UNCUT, Page, page_columns
from phoenixd.config.problems import Problem

HERE = Page(0.0, page_columns(UNCUT), UTC)
EIGHT = [f"a{number}" for number in range(1, 9)]
WHO = "8 agents (a1, a2, a3, a4, a5, a6, a7, a8)"


def of_each(title: str, detail: str = "", remedy: str = "install it", together: str = "") -> list[Finding]:
    return [
        Finding("warning", title.format(name), detail.format(name), remedy.format(name), name, together)
        for name in EIGHT
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (of_each("{}: no login is to be found"), [f"~ {WHO}: no login is to be found", "    do: install it"]),
        (
            of_each("{} is quarantined", "5 crashes", "phoenixctl explain {}"),
            [f"~ {WHO}: each is quarantined: 5 crashes", "    do: phoenixctl explain a1; and so for each of them"],
        ),
        (
            of_each("configuration", "c.toml:7: agent.{}.cwd: others work there", "look", "they work in /srv"),
            [f"~ {WHO}: configuration: they work in /srv", "    do: look"],
        ),
        (of_each("{}: no login")[:1], ["~ a1: no login", "    do: install it"]),
        (
            [*of_each("{}: x")[:1], *of_each("{}: y")[:1]],
            ["~ a1: x", "    do: install it", "~ a1: y", "    do: install it"],
        ),
    ],
)
def test_a_finding_of_several_agents_is_told_once(found: list[Finding], said: list[str]) -> None:
    lines = doctor(found, HERE).splitlines()

    assert lines[2 : 2 + len(said)] == said
    assert lines[2 + len(said)] == ""


def test_what_differs_is_not_told_as_one() -> None:
    found = of_each("{}: its command is not found", "nosuch")
    found[3] = dataclasses.replace(found[3], detail="other")

    lines = [line for line in doctor(found, HERE).splitlines() if line.startswith("~")]

    assert lines == [
        "~ 7 agents (a1, a2, a3, a5, a6, a7, a8): its command is not found: nosuch",
        "~ a4: its command is not found: other",
    ]


def test_an_agent_whose_name_is_an_everyday_word_is_told_by_its_own_words() -> None:
    found = [Finding("warning", f"{name}: no login", "a login of its own", "x", name) for name in ("login", "docs")]

    assert "~ login: no login: a login of its own" in doctor(found, HERE)


def test_doctor_ends_with_the_worst_and_counts_both_kinds() -> None:
    found = [Finding("problem", "disk full", remedy="df -h"), Finding("ok", "tmux"), *of_each("{}: no login")]

    lines = doctor(found, HERE).splitlines()

    assert lines[0] == "9 of 10 checks need attention."
    assert lines[-4:] == ["! disk full", "    do: df -h", "", lines[-1]]
    assert lines[-1] == "1 problem, 8 warnings, told in 2 places; 1 check is well; see: phoenixctl doctor --all"


def of_config(name: str, line: int, message: str, **keys: str) -> Problem:
    return Problem(message, f"agent.{name}.cwd", "c.toml", line, "warning", name, together=keys.get("together", ""))


def test_a_warning_of_the_configuration_is_told_once_and_errors_come_last() -> None:
    wrong = Problem("unknown key", "fish", "c.toml", 99)
    shared = [
        of_config(name, 5 * at, f"{name}'s neighbours", together="they work in /srv") for at, name in enumerate(EIGHT)
    ]
    missing = [of_config(name, 1 + 5 * at, "/x is no directory now") for at, name in enumerate(EIGHT[:2])]

    assert problems([wrong, *shared, *missing]) == [
        f"warning: c.toml:0 and 7 places more: {WHO}: cwd: they work in /srv",
        "warning: c.toml:1 and 1 place more: 2 agents (a1, a2): cwd: /x is no directory now",
        "error: c.toml:99: fish: unknown key",
    ]
    assert problems(shared[:1]) == ["warning: c.toml:0: agent.a1.cwd: a1's neighbours"], "one is told whole"


def test_of_many_agents_some_are_named_and_the_others_counted() -> None:
    many = [of_config(f"a{number}", number, "no directory") for number in range(300)]

    (told,) = problems(many)

    assert f"300 agents (a0, a1, a2, a3, a4, a5, a6, a7 and {300 - NAMES_SHOWN} more)" in told


def test_alike_keeps_the_order_and_loses_nothing() -> None:
    assert alike(["b1", "a1", "b2", "c1"], lambda word: word[0]) == [["b1", "b2"], ["a1"], ["c1"]]


def test_no_finding_moves_the_cursor_of_who_reads_it() -> None:
    told = doctor([Finding("problem", "a: \x1b[31mfull", "/srv/\x1b[2J", "df -h /srv/\x1b]0;mine\x07\u202e")], HERE)
    assert told.replace("\n", "").isprintable()
