"""`./dev proof twin` in small: it agrees with itself, and names the first event that another core decides otherwise."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.core.events import Event
from tests.core.test_determinism import events_of
from tests.proof.twin import ROOT, Differs, compare, main
from tests.proof.twin_words import Vocabulary, differences, plain

LATE = """
_there = next_deadline


def next_deadline(fleet, now):
    due = _there(fleet, now)
    return due + 1 if due is not None and any(one.state.name == "backing_off" for one in fleet.agents.values()) else due
"""


def test_a_core_agrees_with_itself_over_faults_orders_and_restarts() -> None:
    met = compare(ROOT, 1500, "agrees").met
    assert {"AgentExited", "AgentStarted", "Tick"} <= set(met.events)
    assert {"running", "backing_off"} <= set(met.states)


def test_the_first_event_that_another_core_decides_otherwise_is_printed_and_can_be_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "phoenixd", tmp_path / "phoenixd")
    with (tmp_path / "phoenixd" / "core" / "deadlines.py").open("a") as file:
        file.write(LATE)
    with pytest.raises(Differs) as found:
        compare(tmp_path, 1500, "planted")
    first = str(found.value).splitlines()[0]
    run = first.split()[1].rstrip(",")
    assert main(["--tree", str(tmp_path), "--events", "1500", "--run", run]) == 1
    told = capsys.readouterr().out
    assert first.split(" at ")[0].split(":")[0] in told, "the same event of the same run"
    assert "next deadline: here" in told


@settings(deadline=None)
@given(st.one_of(*[events_of(kind) for kind in get_args(Event)]))
def test_every_event_can_be_said_in_words_and_read_back(event: Any) -> None:
    assert VOCABULARY.value(plain(event)) == event


VOCABULARY = Vocabulary("phoenixd.core")


def test_a_new_field_says_nothing_until_it_differs_from_its_default_and_what_is_derived_never_says_anything() -> None:
    before = plain(Old("a"))
    assert before == plain(OfToday("a")) == plain(OfToday("a", derived=7))
    (said,) = differences(plain(OfToday("a", added=2)), before)
    assert said == ":Old.added: here 2, before None"


@dataclass(frozen=True)
class Old:
    name: str


@dataclass(frozen=True)
class OfToday:
    name: str
    added: int = 1
    derived: int = field(default=0, compare=False)


OfToday.__name__ = "Old"
