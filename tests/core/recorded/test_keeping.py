"""What is recorded of stories: each has its test, comes back whole from its file, and a change of it is told."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.core.recorded.keeping import PLACE, Recorder, dump, load, news
from tests.core.recorded.rendering import clipped, value
from tests.core.story import EPOCH, Story, claude


@pytest.mark.parametrize("path", sorted(PLACE.glob("*.txt")), ids=lambda path: path.stem)
def test_each_recorded_story_has_its_test(path: Path) -> None:
    source = PLACE.parents[1].joinpath(f"{path.stem}.py").read_text(encoding="utf-8")
    stories = load(path)

    assert stories
    assert [name for name in stories if f"def {name.partition('[')[0].rpartition('::')[2]}(" not in source] == []


def test_stories_come_back_from_their_file(tmp_path: Path) -> None:
    stories = {"one": {0: "0 Begun()\n    a: begun\n    a.x: 1 -> 2", 3: "1 Tick()"}, "two": {12: "0 Tick()"}}

    dump(tmp_path / "told.txt", stories)

    assert load(tmp_path / "told.txt") == stories


def test_a_step_is_kept_where_it_says_something_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.core.recorded.keeping.PLACE", tmp_path)
    dump(tmp_path / "told.txt", {"one": {0: "0 Begun(agent='a')\n    a: begun, pid 7", 1: "1 Tick()"}})

    told = ["5 Begun(agent='b')\n    a: begun, pid 8", "6 Begun(agent='b')\n    a: refused", "7 Tick()", "8 Over()"]

    assert set(news(told)) == {1, 3}


def test_a_step_tells_the_event_and_what_came_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.listens(ModuleType("any"), monkeypatch)

    Story(claude()).start()

    lines = recorder.steps[-1].splitlines()
    assert lines[0] == "0 StartRequested(agent='a', by='operator')"
    assert "    a [story]: starting incarnation 1, fresh" in lines
    assert "    a.state: Stopped -> Starting" in lines
    assert "    a.desired: stopped -> running" in lines
    assert "    next: None -> 30" in lines
    assert "    a shows starting working hooks='none'" in lines
    assert any(line.startswith("        do Spawn(agent='a', incarnation=1, ") for line in lines)


def test_values_are_short_and_the_same_everywhere() -> None:
    assert value(EPOCH + 7.5) == "1800000000+7.5"
    assert value(frozenset({"b", "a"})) == "{'a', 'b'}"
    assert clipped("run 12345678-1234-4123-8123-123456789abc\nended") == "run 12345678\\nended"
    assert clipped("x" * 300) == f"{'x' * 100}... (300)"
