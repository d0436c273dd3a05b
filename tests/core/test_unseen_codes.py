"""Codes that the session may never have been given: not to know them is no loss (R45, X27)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import Alert
from phoenixd.core.events.resonance import AnchorSeen, CodesSeen
from phoenixd.core.resonance import restoring
from tests.core.resonating import ResonanceStory, resonant
from tests.journaled import dump_agent, load_agent


def story(*, given: bool, shows: bool, **rules: Any) -> ResonanceStory:
    """given: whether the hook program printed the codes; shows: whether the CLI writes down what it was given."""
    told = ResonanceStory(resonant(**{"interval_turns": 3, **rules}), shows=shows)
    told.start()
    if not given:
        told.memory = None
    return told.begins()


def turns(told: ResonanceStory, count: int) -> None:
    for _ in range(count):
        told.turn()


@pytest.mark.parametrize("mode", ["one_time", "classic"])
def test_codes_that_the_session_never_saw_are_no_loss_and_are_told_at_a_turns_end(mode: str) -> None:
    """The brief came too late for the hook program: it printed that, and no code."""
    told = story(given=False, shows=False, mode=mode)
    turns(told, 12)

    assert "lost" not in told.verdicts
    assert told.steps == []
    assert restoring.LOST not in [alert.kind for alert in told.of(Alert)]
    assert told.verdicts[0] == "unverifiable"
    assert (told.known.state, told.known.proven) == ("intact", True), "it was told them, and knows them"


def test_a_cli_that_shows_nothing_is_proven_by_its_first_right_answer() -> None:
    told = story(given=True, shows=False)
    assert (told.known.told, told.known.proven) == (True, False)
    turns(told, 3)
    assert (told.known.state, told.known.proven) == ("intact", True)

    told.memory = None
    turns(told, 5)
    assert "lost" in told.verdicts, "a front that is lost after that is found"


def test_where_the_transcript_shows_the_codes_a_loss_before_the_first_check_is_found() -> None:
    told = story(given=True, shows=True)
    told.memory = None
    turns(told, 4)

    assert told.verdicts[-1] == "lost"


def test_a_transcript_that_shows_other_codes_proves_nothing() -> None:
    told = story(given=False, shows=False)
    told.tell(AnchorSeen("a", told.run.incarnation, "0a0b0c", told.wall))
    assert not told.known.proven

    marker = told.plantings[-1].marker.code
    told.tell(AnchorSeen("a", told.run.incarnation + 1, marker, told.wall))
    assert not told.known.proven, "the words of another run"
    told.tell(AnchorSeen("a", told.run.incarnation, marker, told.wall))
    assert told.known.proven


def test_a_restored_session_that_was_not_told_its_codes_is_not_given_up() -> None:
    """The seven steps go on: it is told them at its first turn's end, and verified after that."""
    told = story(given=True, shows=True)
    told.memory = None
    turns(told, 4)
    told.shows = False
    assert told.known.is_restoring
    told.exited(signal=15)
    told.respawned()
    told.memory = None
    told.up()
    told.hook("prompt-submit", text="Go on.")
    told.ends_turn()
    turns(told, 4)

    assert told.known.state == "intact"
    assert told.steps[-1] == 6, "resume"


def test_what_is_proven_survives_the_journal() -> None:
    told = story(given=True, shows=True)

    known = load_agent(dump_agent(told.agent)).resonance
    assert known is not None
    assert known.proven


@pytest.mark.parametrize("stepped", [0.0, -3600.0])
def test_a_code_that_was_read_while_it_was_asked_for_is_no_proof_also_where_the_clock_was_set_back(
    stepped: float,
) -> None:
    told = story(given=True, shows=True)
    while told.ready is None:
        told.turn()
    told.hook("prompt-submit", text="Go on.")
    question = told.asked()
    assert question is not None
    read_at = told.wall + stepped / 2
    told.wall += stepped
    told.hook("stop", text=told.recited(question))
    proof = told.known.asked
    assert proof is not None
    told.tell(CodesSeen("a", told.run.incarnation, (proof.code,), "result", read_at))

    assert told.known.state == "unverifiable"
