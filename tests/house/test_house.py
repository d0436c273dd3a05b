"""`./dev house`: the parts that the real step asks are those that the table names, and it prints what it saw."""

from __future__ import annotations

import pytest

from phoenixd.core import starts, step
from tests.house.__main__ import main, report
from tests.house.passage import EVENTS, passages
from tests.house.rooms import lengths, recipes

PAGE = """\
# A page

## Recipes

- **A new event**: its class in `phoenixd/core/events.py`, its row in `phoenixd/core/hearing.py`; the row again in
  `phoenixd/core/hearing.py`.
- **A config key**: `config/phoenixd.toml`.

## Words

- **No recipe**: `phoenixd/daemon.py`
"""


def test_what_the_step_asks_is_what_the_table_names() -> None:
    for what, one in passages().items():
        assert one.asked == one.named, what
        assert 1 < one.files <= one.changes < len(one.calls), what
    assert set(EVENTS) == {"hook", "death", "send", "Tick"}


def test_a_part_that_is_asked_and_not_named_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = step._decided

    code = compile(
        "def also_asks(before, found, parts, event, now):\n"
        "    starts.halt(before, found, type('Halt', (), {'why': 'x'}), now)\n"
        "    return there(before, found, parts, event, now)\n",
        step.__file__,
        "exec",
    )
    names = {**vars(step), "starts": starts, "there": there}
    exec(code, names)  # It stands where the table's own code stands.
    monkeypatch.setattr(step, "_decided", names["also_asks"])
    (told, *_) = report(passages(), "").wrong
    assert told.startswith("hook: asked parts.overhear, starts.halt, ")


def test_it_prints_every_kind_of_event_and_the_lengths_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{what}" in told for what in EVENTS)
    assert f"phoenixd: {lengths().files} files" in told


def test_recipes_are_read_from_the_page_and_each_file_counts_once() -> None:
    assert recipes(PAGE) == {
        "A new event": ("phoenixd/core/events.py", "phoenixd/core/hearing.py"),
        "A config key": ("config/phoenixd.toml",),
    }
    assert recipes("# A page\n") == {}


def test_a_recipe_that_names_too_many_files_is_told() -> None:
    page = "## Four recipes\n### A status field\n`a.py` `b.py` `c.py` `d.py`\n"
    assert report({}, page).wrong == (
        "docs/architecture.md: the recipe 'A status field' names 4 files, and 3 is the most",
    )
