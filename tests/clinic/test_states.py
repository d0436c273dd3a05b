"""healthy, injured, clinic, and healthy again or abandoned: the table, the diagram, and the runs (C31)."""

from __future__ import annotations

import pytest

from phoenixd.clinic import recovery
from phoenixd.clinic.states import BEGINS, ENDS, TRANSITIONS, State, Turn, after
from tests.architecture.generated import run_states
from tests.clinic.agents import Script, Watched, http, says


def test_c31_every_state_is_reached_and_left_or_an_end() -> None:
    reached, waits = {BEGINS}, [BEGINS]
    while waits:
        state = waits.pop()
        for (before, _), then in TRANSITIONS.items():
            if before is state and then not in reached:
                reached.add(then)
                waits.append(then)

    assert reached == set(State)
    assert {before for before, _ in TRANSITIONS} | set(ENDS) == set(State)
    assert State.ABANDONED not in {before for before, _ in TRANSITIONS}


def test_there_is_no_way_past_the_clinic() -> None:
    with pytest.raises(KeyError):
        after(State.INJURED, Turn.TREATED)
    assert [before for before, turn in TRANSITIONS if turn is Turn.GIVEN_UP] == [State.CLINIC]


def test_c31_the_diagram_holds_each_way_once() -> None:
    drawn = run_states()

    for (before, turn), then in TRANSITIONS.items():
        assert drawn.count(f"  {before} --> {then}: {turn}\n") == 1


async def test_c31_a_run_that_is_healed_and_one_that_is_given_up_go_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    way: list[State] = []

    def noted(state: State, turn: Turn) -> State:
        way.append(after(state, turn))
        return way[-1]

    monkeypatch.setattr(recovery, "after", noted)
    await recovery.recoverable_run(Script([http(500), says("fine")]).agent(), "hello", config=Watched().config())
    assert way == [State.INJURED, State.CLINIC, State.HEALTHY]

    way.clear()
    with pytest.raises(Exception, match="401"):
        await recovery.recoverable_run(Script([http(401)]).agent(), "hello", config=Watched().config())
    assert way == [State.INJURED, State.CLINIC, State.ABANDONED]
