"""What a person asked for and what became of it, row by row, as each CLI writes it: lost work is the worst error."""

from __future__ import annotations

import pytest

from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.limits.state import ParkingKind
from phoenixd.documents.transcript import Prompted, Record
from tests.eval_brief.blind.patterns import BEGAN
from tests.eval_brief.blind.session import Cli
from tests.memory.brief.loops.lives import (
    CLIS,
    Life,
    adds,
    asks,
    compacts,
    denies,
    ends,
    questions,
    runs,
    says,
    unanswered,
)
from tests.memory.brief.loops.sessions import Story, settled, texts
from tests.transcripts.samples import HERE

EXPORT, HEADER, FOOTER = "fix the export of the invoices", "make the header blue", "translate the footer"

each_cli = pytest.mark.parametrize("cli", CLIS)


class TestNeverAnsweredByTheApi:
    """Network down, 5xx, a limit."""

    @each_cli
    def test_it_is_open(self, cli: Cli) -> None:
        life = Life(cli)

        assert life.read(life.session().process(asks(EXPORT)).fails()) == [unanswered(EXPORT)]

    @each_cli
    def test_so_is_each_of_two_in_a_row(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails().process(asks(HEADER)).fails()

        assert life.read(session) == [unanswered(EXPORT), unanswered(HEADER)]

    @each_cli
    def test_the_daemons_word_to_go_on_closes_the_one_that_was_asked_last(self, cli: Cli) -> None:
        """Where the agent stopped is that one; whether it did the other too is said in words alone."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails().process(asks(HEADER)).fails()
        life.read(session)
        session.process(asks(CONTINUE[ParkingKind.OVERLOAD]), runs("ls"), says("Both are done."), ends())

        assert life.read(session) == [f"{unanswered(EXPORT)}?"]

    @each_cli
    def test_another_prompt_that_was_answered_leaves_it_in_doubt(self, cli: Cli) -> None:
        """Perhaps it was "go on" in some language; perhaps it was something else."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails()
        life.read(session)
        session.process(asks(HEADER), runs("ls"), says("It is blue."), ends())

        assert life.read(session) == [f"{unanswered(EXPORT)}?"]
        assert life.read(session) == [f"{unanswered(EXPORT)}?"]
        assert life.proven == frozenset(), "a writer that quotes its end closes it"

    @each_cli
    def test_it_is_in_doubt_since_the_first_of_them_and_as_long_as_nothing_is_known_of_it(self, cli: Cli) -> None:
        """A writer that finds it open by a quote has the last word, and the ledger keeps only what was said last."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails()
        session.process(asks(HEADER), runs("ls"), says("It is blue."), ends())
        life.read(session)
        assert life.proven == frozenset()
        (since,) = (loop.model_extra for loop in life.state.open_loops)

        for number in range(70):
            session.process(asks(f"number {number}"), says("Done."), ends())
            if number in (0, 69):
                assert life.read(session) == [f"{unanswered(EXPORT)}?"]
                assert [loop.model_extra for loop in life.state.open_loops] == [since]

    @each_cli
    def test_also_where_nothing_was_read_in_between(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails()
        session.process(asks(HEADER), runs("ls"), says("It is blue."), ends())

        assert life.read(session) == [f"{unanswered(EXPORT)}?"]

    @each_cli
    def test_asked_again_and_answered_it_is_over(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails()
        life.read(session)
        session.process(asks(EXPORT), runs("ls"), says("It is fixed."), ends())

        assert life.read(session) == []

    @each_cli
    def test_word_of_a_task_that_was_answered_leaves_it_open(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT)).fails()
        life.read(session)
        session.process(asks("phoenixd: task t3 (icons) is done"), says("Noted."), ends())

        assert life.read(session) == [unanswered(EXPORT)]


class TestInterruptedByThePerson:
    @each_cli
    def test_it_is_open_as_long_as_the_person_asks_nothing_else(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls")).stopped()

        assert life.read(session) == [unanswered(EXPORT)]

    @each_cli
    def test_who_asks_something_else_then_has_seen_to_it(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls")).stopped()
        life.read(session)
        session.process(asks(HEADER), says("I look."), runs("ls"))

        assert life.read(session) == [unanswered(HEADER)]


class TestKilled:
    @each_cli
    def test_a_person_asks_something_else_in_the_resumed_session_that_is_killed_too(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"))
        life.read(session)
        session.process(life.go_on(EXPORT), runs("ls")).process(asks(HEADER), says("I look."), runs("ls"))

        assert life.read(session) == [unanswered(EXPORT), unanswered(HEADER)]

    @each_cli
    def test_a_person_asks_something_else_in_the_resumed_session_and_is_answered(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"))
        session.process(life.go_on(EXPORT), runs("ls")).process(asks(HEADER), says("It is blue."), ends())

        assert life.read(session) == [f"{unanswered(EXPORT)}?"]

    def test_of_a_living_gemini_cli_nothing_tells_whether_the_newest_turn_ended(self) -> None:
        life = Life("gemini")
        session = life.session().process(asks(EXPORT), says("I look at it."))
        assert life.read(session, lives=True) == []
        assert life.read(session) == [unanswered(EXPORT)]
        assert life.read(session, lives=True) == [unanswered(EXPORT)]

    def test_what_the_gemini_cli_writes_once_more_after_a_denial_is_asked_by_nobody(self) -> None:
        life = Life("gemini")
        done = [step for text in (HEADER, FOOTER) for step in (asks(text), says("Done."), ends())]
        session = life.session().process(*done, asks("remove it"), says("It goes."), denies("rm -rf old"))
        session.process(asks(EXPORT), says("I look."), runs("ls"))

        assert life.read(session) == [unanswered(EXPORT)]

    @each_cli
    def test_gone_on_with_to_its_end_it_is_over_though_the_agent_lives_on(self, cli: Cli) -> None:
        """The Gemini CLI writes no end of a turn: its hook tells."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"))
        life.read(session)
        asked_at = BEGAN + life.second
        session.process(life.go_on(EXPORT), runs("ls"), says("It is fixed."), ends())
        before, after = asked_at - 60, BEGAN + life.second

        assert life.read(session, lives=True, spoken_at=before) == ([unanswered(EXPORT)] if cli == "gemini" else [])
        assert life.read(session, lives=True, spoken_at=after) == []

    @each_cli
    def test_before_the_daemon_had_it_go_on(self, cli: Cli) -> None:
        """The Gemini CLI writes no end of a turn: the second prompt may have been typed in the middle of it."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"))
        session.process(asks(HEADER), says("I look."), runs("ls"))
        both = [unanswered(EXPORT, HEADER)] if cli == "gemini" else [unanswered(EXPORT), unanswered(HEADER)]

        assert life.read(session) == both

    @each_cli
    def test_to_go_on_with_what_was_asked_last_says_nothing_of_what_was_asked_before(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"))
        session.process(life.go_on(EXPORT), runs("ls")).process(asks(HEADER), runs("ls"))
        assert life.read(session) == [unanswered(EXPORT), unanswered(HEADER)]

        session.process(life.go_on(HEADER), runs("ls"), says("It is blue."), ends())

        assert life.read(session) == [f"{unanswered(EXPORT)}?"]

    @each_cli
    def test_right_after_the_agent_spoke(self, cli: Cli) -> None:
        """The Gemini CLI writes no end of a turn; that the session is told to go on says that there was none."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT), runs("ls"), says("I look at it now."))
        session.process(life.go_on(EXPORT))

        assert life.read(session) == [unanswered(EXPORT)]


class TestTypedWhileATurnRan:
    @pytest.mark.parametrize("cli", ["claude", "codex"])
    def test_what_was_read_belongs_to_the_turn(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), runs("ls"), adds(FOOTER), runs("ls"))
        assert life.read(session) == [unanswered(EXPORT, FOOTER)]

        session.process(life.go_on(EXPORT), runs("ls"), says("Both are done."), ends())

        assert life.read(session) == []

    @pytest.mark.parametrize("cli", ["claude", "codex"])
    def test_what_was_read_in_a_turn_that_goes_on_belongs_to_what_that_goes_on_with(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), runs("ls"))
        session.process(life.go_on(EXPORT), runs("ls"), adds(FOOTER), runs("ls"))

        assert life.read(session) == [unanswered(EXPORT, FOOTER)]

    def test_what_was_read_as_the_turn_ended_is_a_request_of_its_own(self) -> None:
        story = Story().asked("do x").turn_ended()
        story.hear(Prompted("and y", story.at, queued=True))
        story.ledger.hear(Record("assistant", story.at))

        assert texts(settled(story)) == [unanswered("and y")]

    def test_the_gemini_cli_has_it_as_the_next_prompt_once_the_turn_is_over(self) -> None:
        life = Life("gemini")
        session = life.session().process(asks(EXPORT), runs("ls"), says("It is fixed."), asks(FOOTER), runs("ls"))

        assert life.read(session) == [unanswered(FOOTER)]

    def test_what_was_not_read_waits_through_a_restart_and_what_is_typed_and_read_there(self) -> None:
        """Claude Code alone keeps what waits in a file, and does not write which of it it has read."""
        life = Life("claude")
        session = life.session().process(asks(EXPORT), runs("ls"), adds(FOOTER, is_read=False))
        waits = f'Asked while a turn was going on, and not read: "{FOOTER}"'
        assert life.read(session) == [unanswered(EXPORT), waits]
        session.process(life.go_on(EXPORT), runs("ls"), adds(HEADER), runs("ls"), says("It is fixed."), ends())

        assert life.read(session) == [waits]

    def test_it_is_over_once_it_was_asked_in_the_open(self) -> None:
        life = Life("claude")
        session = life.session().process(asks(EXPORT), runs("ls"), adds(FOOTER, is_read=False))
        life.read(session)
        session.process(life.go_on(EXPORT), runs("ls"), says("Fixed."), ends(), asks(FOOTER), says("Done."), ends())

        assert life.read(session) == []


class TestCompacted:
    @each_cli
    def test_in_the_middle_of_its_turn_it_is_open_until_that_ends(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), says("I look."), runs("ls"), compacts(), runs("ls"))
        assert life.read(session) == [unanswered(EXPORT)]

        session.process(life.go_on(EXPORT), runs("ls"), says("It is fixed."), ends())

        assert life.read(session) == []

    def test_a_compaction_that_codex_writes_as_a_turn_ends_no_request(self) -> None:
        """Recorded: a turn was stopped, then the person had the session compacted."""
        lines = (HERE / "codex-session.jsonl").read_bytes().splitlines(keepends=True)
        at = next(number for number, line in enumerate(lines) if b'"compacted"' in line)
        end = next(number for number in range(at, len(lines)) if b'"task_complete"' in lines[number])
        life = Life("codex")
        session = life.session()
        session.content, session.session_id = b"".join(lines[: end + 1]), "s-1"

        assert len(life.read(session)) == 1


class TestAnsweredByAQuestion:
    @each_cli
    def test_the_clis_own_question_keeps_it_open(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(EXPORT), runs("ls"), questions("Which store shall I take?"))
        assert unanswered(EXPORT) in life.read(session)

        session.process(life.go_on(EXPORT), runs("ls"), says("It is fixed."), ends())

        assert life.read(session) == []

    @each_cli
    def test_a_question_in_words_ends_its_turn_as_any_answer(self, cli: Cli) -> None:
        """No word decides: many a finished answer ends in an offer. The last words of the session show it."""
        life = Life(cli)
        session = life.session().process(asks(EXPORT), runs("ls"), says("Which store shall I take?"), ends())

        assert life.read(session) == []


class TestInTwoPrompts:
    @pytest.mark.parametrize("cli", ["claude", "codex"])
    def test_both_parts_are_told_in_the_order_in_which_they_were_asked(self, cli: Cli) -> None:
        life = Life(cli)
        parts = [FOOTER, HEADER, "and the icons", "and the fonts"]
        steps = [step for text in parts for step in (adds(text), runs("ls"))]
        session = life.session().process(asks(EXPORT), runs("ls"), *steps)

        assert life.read(session) == [unanswered(EXPORT, *parts)]

        session.process(life.go_on(EXPORT), runs("ls"), adds("one"), runs("ls"), adds("two"), runs("ls"))

        assert life.read(session) == [f"{unanswered(EXPORT, *parts)}, and 2 more"]


class TestTakenBack:
    @each_cli
    def test_while_it_was_stopped_it_is_over(self, cli: Cli) -> None:
        life = Life(cli)
        session = life.session().process(asks(FOOTER), says("I look."), runs("ls")).stopped()
        life.read(session)
        session.process(asks("forget the footer"), says("As you like."), ends())

        assert life.read(session) == []

    @each_cli
    def test_in_a_later_session_it_is_in_doubt(self, cli: Cli) -> None:
        life = Life(cli)
        life.read(life.session().process(asks("translate the footer of the storefront"), says("I look."), runs("ls")))
        second = life.session()
        second.process(
            asks("forget the footer of the storefront"), says("As you like."), ends(), asks("bye"), says("Bye."), ends()
        )

        assert life.read(second) == [f"{unanswered('translate the footer of the storefront')}?"]
