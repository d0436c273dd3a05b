"""The file that waits for the record of an end: an agent that meddles with it changes nothing of what is recorded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ending import A_WHILE
from tests.shim.pane import Daemon

SHIM = Path(__file__).parents[2] / "phoenixd/shim"
BESIDE = ".exit.json.spare"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "exit.json"
    path.write_text('{"old": true}')
    return path


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch, record: Path) -> Iterator[Any]:
    """The shim's modules know each other by bare names."""
    monkeypatch.syspath_prepend(str(SHIM))
    import spare  # type: ignore[import-not-found]

    yield spare.Spare(str(record))
    for name in ("spare", "records"):
        sys.modules.pop(name, None)


def test_it_takes_the_place_of_the_record_and_nothing_is_left_beside(spare: Any, record: Path) -> None:
    for number in range(3):
        spare.prepare()
        assert spare.write({"number": number})
        assert json.loads(record.read_text()) == {"number": number}
        spare.clear()
        assert os.listdir(record.parent) == ["exit.json"]


def test_without_a_record_to_replace_or_a_file_ready_there_is_nothing_to_gain(spare: Any, record: Path) -> None:
    assert not spare.write({"number": 1})
    record.unlink()
    spare.prepare()
    assert not spare.write({"number": 1})
    assert not record.exists()


def _replace(beside: Path) -> None:
    beside.unlink()
    beside.write_text('{"code": 0}')


def _link(beside: Path) -> None:
    beside.unlink()
    beside.symlink_to(beside.with_name("elsewhere"))


MEDDLING: dict[str, Callable[[Path], object]] = {
    "replaced": _replace,
    "a link": _link,
    "written": lambda beside: beside.write_text('{"code": 0}'),
    "named twice": lambda beside: os.link(beside, beside.with_name("twice")),
    "removed": Path.unlink,
}


@pytest.mark.parametrize("what", MEDDLING)
def test_one_that_was_meddled_with_is_not_used(spare: Any, record: Path, what: str) -> None:
    spare.prepare()
    MEDDLING[what](record.with_name(BESIDE))

    assert not spare.write({"number": 1})
    assert json.loads(record.read_text()) == {"old": True}
    spare.prepare()
    assert spare.write({"number": 2}), "the next one is ours again"


def test_an_agent_that_forges_it_is_recorded_as_it_ended(daemon: Daemon) -> None:
    daemon.run_to_end(["sh", "-c", "exit 3"])
    beside = daemon.pane.state / BESIDE
    forge = f"while [ ! -e {beside} ] && {A_WHILE}; do sleep 0.01; done; rm {beside}; echo '{{}}' > {beside}; exit 4"

    exited = daemon.run_to_end(["sh", "-c", forge])

    assert exited["code"] == 4
    assert daemon.pane.record("exit.json")["code"] == 4


def test_the_record_of_each_end_is_there_when_it_is_told(daemon: Daemon) -> None:
    for code in (3, 4, 5):
        exited = daemon.run_to_end(["sh", "-c", f"exit {code}"])
        found = daemon.pane.record("exit.json")
        assert (found["code"], found["run_id"]) == (code, exited["run_id"])
