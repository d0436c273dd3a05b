"""How a page ends: its commands stay whole, also where the path of a socket leaves them no room beside their words."""

from __future__ import annotations

from itertools import pairwise

import pytest

from phoenixd.api.pages.layout import Page, columns, side_by_side

LONG = "/srv/agents/of-an-operator-who-likes-long-names/state/phoenixd/run/api.sock"
NAMED = f"phoenixctl --socket {LONG}"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("each event: phoenixctl events --since last", ["each event:", f"  {NAMED} events --since last"]),
        (
            "No agents yet. Try: phoenixctl demo, or phoenixctl run NAME -- claude",
            ["No agents yet. Try:", "  phoenixctl demo", "or", f"  {NAMED} run NAME -- claude"],
        ),
        (
            "why: phoenixctl explain a; again: phoenixctl start a",
            ["why:", f"  {NAMED} explain a", "again:", f"  {NAMED} start a"],
        ),
        (
            "do it: phoenixctl down; phoenixctl up",
            ["do it:", f"  {NAMED} down", "  phoenixctl up"],
        ),
        (
            "do it: phoenixctl add a -- b && phoenixctl start a",
            ["do it:", f"  {NAMED} add a -- b && {NAMED} start a"],
        ),
        ("nothing to do", ["nothing to do"]),
    ],
)
def test_a_command_that_has_no_room_beside_its_words_stands_on_a_line_of_its_own(words: str, lines: list[str]) -> None:
    assert Page(0.0, 80, socket=LONG).ending(words).split("\n") == lines


def test_where_there_is_room_it_is_one_line() -> None:
    words = "why: phoenixctl explain a; again: phoenixctl start a"
    assert Page(0.0, 80).ending(words) == words
    assert Page(0.0, 200, socket=LONG).ending("see: phoenixctl status") == f"see: {NAMED} status"
    assert Page(0.0, 80, socket=LONG).reaching(words).count("\n") == 0


def test_words_that_are_too_long_for_a_line_are_wrapped_and_commands_are_not() -> None:
    words = f"{'a word ' * 20}: phoenixctl status"
    lines = Page(0.0, 40, socket=LONG).ending(words).split("\n")
    assert all(columns(line) <= 40 for line in lines[:-1])
    assert lines[-1] == f"  {NAMED} status"


def test_of_two_hints_that_have_no_room_the_first_is_kept_whole() -> None:
    here = Page(0.0, 80, socket=LONG)
    lines = side_by_side("next: phoenixctl wait a", "why: phoenixctl explain a", here).split("\n")
    assert lines == ["next:", f"  {NAMED} wait a"]
    assert all(one != other for one, other in pairwise(lines))
    assert side_by_side("next: phoenixctl wait a", "why: x", Page(0.0, 80)) == "next: phoenixctl wait a     why: x"
