"""A request that an earlier session left is closed by what provably went on with it, and by nothing else."""

from __future__ import annotations

import pytest

from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.limits.state import ParkingKind
from tests.eval_brief.blind.session import Cli
from tests.memory.brief.loops.lives import CLIS, Life, adds, asks, ends, runs, says, unanswered

EXPORT, HEADER = "fix the export of the invoices", "make the header blue"
NOTICE = "phoenixd: task t3 (icons) is done: see /w/report.md"

each_cli = pytest.mark.parametrize("cli", CLIS)


def left(cli: Cli, **more: str) -> Life:
    """An agent whose first session was killed at work, and is not gone on with."""
    life = Life(cli, **more)
    first = life.session().process(asks(EXPORT), says("I look at it."), runs("ls src"))
    assert life.read(first) == [unanswered(EXPORT)]
    return life


@each_cli
def test_p24_going_on_with_what_a_person_asked_a_later_session_closes_no_earlier_request(cli: Cli) -> None:
    life = left(cli)
    second = life.session().process(asks(HEADER), says("I look at it."), runs("ls src"))
    life.read(second)
    second.process(life.go_on(HEADER), runs("ls src"), says("It is blue."), ends())

    assert life.read(second) == [unanswered(EXPORT)]


@each_cli
def test_p24_word_of_a_task_that_a_later_session_answered_closes_no_earlier_request(cli: Cli) -> None:
    life = left(cli)
    second = life.session().process(asks(HEADER), says("It is blue."), ends(), asks(NOTICE), says("Noted."), ends())

    assert life.read(second) == [unanswered(EXPORT)]


@each_cli
def test_p24_the_end_of_a_limit_that_a_later_request_met_closes_no_earlier_request(cli: Cli) -> None:
    life = left(cli)
    second = life.session().process(asks(HEADER), says("I look at it."), runs("ls src")).fails()
    life.read(second)
    second.process(asks(CONTINUE[ParkingKind.LIMIT]), runs("ls src"), says("It is blue."), ends())

    assert life.read(second) == [unanswered(EXPORT)]


@each_cli
def test_p24_a_fresh_session_that_goes_on_with_another_task_closes_no_earlier_request(cli: Cli) -> None:
    life = left(cli)
    second = life.session().process(asks(HEADER), says("I look at it."), runs("ls src"))
    life.read(second)
    third = life.session().process(life.go_on(HEADER, fresh=True), runs("ls src"), says("It is blue."), ends())

    assert life.read(third) == [unanswered(EXPORT)]


@each_cli
@pytest.mark.parametrize("by_order", [False, True])
def test_p24_a_fresh_session_that_was_told_to_go_on_with_it_and_ended_its_turn_closes_it(
    cli: Cli, by_order: bool
) -> None:
    life = left(cli)
    second = life.session().process(life.go_on(EXPORT, fresh=True, by_order=by_order), runs("ls src"))
    assert life.read(second) == [unanswered(EXPORT)]

    second.process(life.go_on(EXPORT), runs("ls src"), says("It is fixed."), ends())

    assert life.read(second) == []


@each_cli
def test_p24_a_resumed_session_that_was_told_to_go_on_and_ended_its_turn_closes_it(cli: Cli) -> None:
    life = left(cli)
    first = life.sessions[0].process(life.go_on(EXPORT), runs("ls src"))
    assert life.read(first) == [unanswered(EXPORT)]

    first.process(life.go_on(EXPORT), runs("ls src"), says("It is fixed."), ends())

    assert life.read(first) == []


@each_cli
def test_p24_words_of_the_operators_own_to_go_on_mean_what_was_asked_last(cli: Cli) -> None:
    life = left(cli, resume_prompt="Carry on.")
    second = life.session().process(asks(HEADER), says("I look at it."), runs("ls src"))
    life.read(second)
    third = life.session().process(life.go_on(None, fresh=True), runs("ls src"), says("It is blue."), ends())

    assert life.read(third) == [unanswered(EXPORT)]


@each_cli
def test_p24_what_was_asked_before_it_in_the_same_session_and_never_answered_is_in_doubt_then(cli: Cli) -> None:
    """The second prompt may have been "go on" in some language."""
    life = Life(cli)
    first = life.session().process(asks(EXPORT)).fails().process(asks(HEADER), says("I look."), runs("ls src"))
    assert life.read(first) == [unanswered(EXPORT), unanswered(HEADER)]
    second = life.session().process(life.go_on(HEADER, fresh=True), runs("ls src"), says("It is blue."), ends())

    assert life.read(second) == [f"{unanswered(EXPORT)}?"]
    assert life.read(second) == [f"{unanswered(EXPORT)}?"]


@each_cli
def test_p24_the_goal_alone_goes_on_with_no_request(cli: Cli) -> None:
    life = left(cli, resume_prompt="Carry on.")
    second = life.session().process(life.goal(), runs("ls src"))
    life.read(second)
    second.process(life.go_on(None), runs("ls src"), says("It is in order."), ends())

    assert life.read(second) == [unanswered(EXPORT)]


@each_cli
def test_p24_a_session_that_is_read_late_closes_no_request_that_was_made_after_it(cli: Cli) -> None:
    life = Life(cli)
    first = life.session().process(
        life.go_on(EXPORT), says("It is fixed."), ends(), asks(HEADER), says("Blue."), ends()
    )
    second = life.session().process(asks(HEADER), says("Again."), runs("ls src"))
    life.read(second)

    assert life.read(first) == [unanswered(HEADER)]


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_p24_a_request_that_was_asked_again_in_part_stays(cli: Cli) -> None:
    life = Life(cli)
    first = life.session().process(asks(EXPORT), says("I look."), runs("ls src"), adds("and the footer"), runs("ls"))
    assert life.read(first) == [unanswered(EXPORT, "and the footer")]
    second = life.session().process(asks("and the footer"), says("It is done."), ends())
    assert life.read(second) == [unanswered(EXPORT, "and the footer")]

    second.process(asks(EXPORT), says("It is fixed."), ends())

    assert life.read(second) == []


@each_cli
def test_p24_a_session_that_is_read_late_went_on_with_nothing_that_was_asked_after_it(cli: Cli) -> None:
    life = Life(cli)
    first = life.session().process(life.go_on(EXPORT), runs("ls"), says("It is fixed."), ends())
    second = life.session().process(asks(EXPORT), says("I look at it."), runs("ls src"))
    life.read(second)

    assert life.read(first) == [unanswered(EXPORT)]


@each_cli
def test_p24_a_task_that_begins_with_the_words_of_a_request_is_another_one(cli: Cli) -> None:
    life = left(cli)
    longer = f"{EXPORT} and of the receipts"
    second = life.session().process(life.go_on(longer, fresh=True), runs("ls src"), says("It is done."), ends())

    assert life.read(second) == [unanswered(EXPORT)]


@each_cli
def test_p24_a_long_request_is_known_again_in_the_words_to_go_on(cli: Cli) -> None:
    long = "fix the export of the invoices: " + ", ".join(f"column {number} is wrong" for number in range(60))
    life = Life(cli)
    life.read(life.session().process(asks(long), says("I look at it."), runs("ls src")))
    second = life.session().process(life.go_on(long, fresh=True), runs("ls src"), says("It is fixed."), ends())

    assert life.read(second) == []
