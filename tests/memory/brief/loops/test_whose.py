"""Whose a loop is, which session's, and how many there was no room for."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.documents.brief.around import Around
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.page import BriefFacts, recover_state, render_brief
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.deeds import PromptQueued, TaskRow
from phoenixd.documents.loop_origin import SESSION_KINDS, kind_of
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.state import UNCONFIRMED, OpenLoop, ResolvedLoop, StateDocument, resolve_loop
from phoenixd.documents.times import timestamp, utc_date
from phoenixd.memory.brief.closing import MOST_OF_KIND, UNSEEN, settle
from phoenixd.memory.brief.known_loops import is_operators, texts_of
from phoenixd.memory.brief.loops import KINDS
from phoenixd.memory.brief.loops.seen import Seen
from tests.memory.brief.loops.sessions import GO_ON, NOW, Story, empty, settled, tasks, texts


def later(number: int = 2) -> Story:
    return Story("22222222", number, at=NOW - 1800)


def many(count: int, *, first: int = 1, story: Story | None = None) -> Story:
    rows = [TaskRow(str(number), f"Task number {number} of it", "open") for number in range(first, first + count)]
    # The last of them came later: what is newest is kept.
    return (story or Story()).listed(*rows[:-1]).listed(*rows)


def told_numbers(state: StateDocument) -> list[str]:
    return [text for text in texts(state) if text.startswith("and ")]


def loop(**keys: Any) -> OpenLoop:
    return OpenLoop.model_validate(
        {"id": "renew", "text": "Renew the certificate of the shop", "added": "2026-11-01", **keys}
    )


@pytest.mark.parametrize(
    "keys",
    [
        {"source": "Jira OPS-12"},
        {"kind": "bug", "source": "Jira OPS-12"},
        {"kind": "check", "source": "OPS-12: the build"},
        {"kind": "tasks"},
        {"kind": "bug", "source": "0199a213: task 3"},
        {"kind": "tasks", "source": ["0199a213: task 3"]},
    ],
)
def test_an_operators_loop_with_keys_of_its_own_is_touched_by_no_reading(keys: dict[str, Any]) -> None:
    own = loop(**keys)
    story = Story().ran("git commit -m 'Renew the certificate of the shop'")
    story.listed(*tasks((own.text, "done")))

    assert is_operators(own)
    assert settled(story, empty(own)).resolved == ()
    assert settled(story, empty(own)).state.open_loops == (own,)
    crowd = tuple(own.model_copy(update={"id": f"own-{number}"}) for number in range(MOST_OF_KIND + 10))
    assert settled(Story(), empty(*crowd)).state.open_loops == crowd


def test_the_kinds_that_sessions_leave_are_those_that_are_found() -> None:
    assert frozenset(KINDS) == SESSION_KINDS
    assert kind_of(loop(source="session")) == "said"


class TestNumbers:
    def reading(
        self, state: StateDocument, story: Story, told: dict[str, str]
    ) -> tuple[StateDocument, dict[str, str], tuple[tuple[str, str], ...]]:
        gone = {name: text for name, text in told.items() if state.loop(name) is None}
        done = settle(state, story.seen(), (), gone)
        return done.state, texts_of(told, state, done.state), done.resolved

    def test_what_there_is_no_room_for_was_taken_out_by_nobody(self) -> None:
        state, told = empty(), dict[str, str]()
        for count in (MOST_OF_KIND, MOST_OF_KIND + 1, MOST_OF_KIND + 1, MOST_OF_KIND + 1):
            state, told, resolved = self.reading(state, many(count), told)
            assert resolved == ()
        assert told_numbers(state) == ["and 1 more of the kind tasks"]

        story = many(MOST_OF_KIND + 1)
        state, told, _ = self.reading(state, story, told)
        rest = [TaskRow(str(n), f"Task number {n} of it", "open" if n < 5 else "done") for n in range(1, 32)]
        state, told, _ = self.reading(state, story.listed(*rest), told)
        assert sorted(texts(state)) == [f"Task number {n} of it" for n in range(1, 5)]

    def test_what_a_person_takes_out_beside_it_is_on_record(self) -> None:
        state, told, _ = self.reading(empty(), many(MOST_OF_KIND + 1), {})
        gone, *rest = state.open_loops

        state, told, resolved = self.reading(state.model_copy(update={"open_loops": tuple(rest)}), many(31), told)

        assert resolved == ((gone.id, "a person took it out of state.json"),)

    def test_the_number_outlives_its_session(self) -> None:
        state = settled(many(50)).state
        assert told_numbers(state) == ["and 20 more of the kind tasks"]
        for number in range(2, 5):
            state = settled(later(number), state).state
            assert told_numbers(state) == ["and 20 more of the kind tasks"]
            assert len(state.open_loops) == MOST_OF_KIND + 1

    def test_numbers_of_two_sessions_are_added_up_and_each_counts_its_own_anew(self) -> None:
        state = settled(many(50)).state
        story = many(10, first=100, story=later())
        for _ in range(3):
            state = settled(story, state).state
        # Ten of the first session made room for the second's.
        assert told_numbers(state) == ["and 30 more of the kind tasks"]
        for _ in range(2):
            state = settled(many(35), state).state
        assert len(told_numbers(state)) == 1
        assert settled(many(35), state).state == state

    def test_a_number_is_resolved_by_hand_and_is_unconfirmed_as_any_loop_is(self) -> None:
        state = settled(many(50)).state
        by_hand = resolve_loop(state, "tasks-more", "dropped", utc_date(NOW))
        assert by_hand is not None
        assert told_numbers(settled(later(), by_hand).state) == []

        for number in range(2, UNSEEN + 2):
            state = settled(Story(f"{number:08}", number), state).state
        assert (state.open_loops[-1].model_extra or {})[UNCONFIRMED] == utc_date(NOW).isoformat()

    @pytest.mark.parametrize("odd", [None, "x", {"11111111": -3, "a": True}, {"earlier": 10**30}, ["x"]])
    def test_a_number_of_any_hand_is_read(self, odd: object) -> None:
        state = settled(many(50)).state
        edited = state.open_loops[-1].model_dump() | {"counts": odd}
        state = state.model_copy(update={"open_loops": (*state.open_loops[:-1], OpenLoop.model_validate(edited))})

        once = settled(later(), state).state

        assert settled(later(), once).state == once


class TestIdentity:
    def seen(self, session: str, *rows: TaskRow) -> Seen:
        story = Story(session, at=NOW - 60).listed(*rows)
        return Seen.of(
            BriefMaterial(
                "a", NOW, StateDocument(agent="a"), Conversation(session, (), is_whole=True), ledger=story.ledger,
                around=Around(session=session, number=1),
            )
        )  # fmt: skip

    def test_sessions_whose_ids_are_made_of_the_time_are_two(self) -> None:
        one, other = "0199a213-81c0-7800-8aa1-bbab2a035a53", "0199a213-f1ff-7000-9999-000000000000"
        before = settle(empty(), self.seen(one, TaskRow(None, "Write the parser", "open"))).state

        after = settle(before, self.seen(other, TaskRow(None, "Look around", "open")))

        assert after.resolved == ()
        assert texts(after) == ["Write the parser", "Look around"]

    def test_a_loop_with_its_session_as_it_was_named_before_is_known(self) -> None:
        session = "5e551011-2222-4333-8444-555555555555"
        old = loop(kind="tasks", source="5e551011: task 1", seen=1)

        done = settle(empty(old), self.seen(session, TaskRow("1", "In other words", "done")))

        assert done.resolved == (("renew", "the task list says that it is done"),)

    def test_tasks_that_begin_alike_or_are_signs_are_two(self) -> None:
        begins = "Update the integration tests of the payment service for the new customer API: "
        rows = tuple(TaskRow(None, text, "open") for text in (f"{begins}happy", f"{begins}error", "🚀", "✅"))

        state = settled(Story().listed(*rows)).state

        assert texts(state) == [row.text for row in rows]
        assert settled(Story().listed(*rows), state).state == state

    def test_p78_a_recovered_loop_of_a_session_is_closed_by_its_kind(self) -> None:
        story = Story().listed(*tasks(("Write the 'parser'", "open"))).ran("pytest", 1)
        page = render_brief(BriefFacts(settled(story).state, NOW))

        recovered = recover_state(page, "a")
        again = settled(story, recovered).state
        done = settled(story.listed(*tasks(("Write the 'parser'", "done"))).ran("pytest"), recovered)

        assert [one.id for one in again.open_loops] == [one.id for one in recovered.open_loops]
        assert len(done.resolved) == 2
        assert texts(done) == []


def test_a_queued_request_is_not_closed_by_a_turn_that_was_told_to_go_on() -> None:
    story = Story().asked("Refactor the parser").hear(PromptQueued("Rotate the signing keys", False, NOW - 3000))
    before = settled(story).state
    went_on = later().asked("go on").turn_ended()
    done = settled(went_on, before, **GO_ON)
    read = settled(went_on.asked("Rotate the signing keys").turn_ended(), done.state)

    assert len(texts(before)) == 2
    assert texts(done) == ['Asked while a turn was going on, and not read: "Rotate the signing keys"']
    assert texts(read) == []


class TestClosingsOfTheFuture:
    def test_a_line_of_a_clock_that_ran_ahead_suppresses_no_later_failure(self) -> None:
        story = Story().ran("pytest", 1)
        made = [Resolution("check-pytest", "by hand", timestamp(NOW + 300 * 86_400), "a")]
        item = ResolvedLoop(id="check-pytest", reason="by hand", resolved_date="2027-09-17")
        state = settle(empty().model_copy(update={"resolved": (item,)}), story.seen(), made).state
        assert state.open_loops == (), "what it closed stays closed"

        story.at = NOW + 60
        story.ran("pytest", 1)
        seen = story.seen()
        again = settle(state, Seen(seen.ledger, None, seen.around, NOW + 120, seen.today, seen.session), made).state

        assert texts(again) == ["`pytest` failed with exit code 1"]

    def test_a_line_of_the_future_was_written_before_those_that_follow_it(self) -> None:
        story = Story().ran("pytest", 1)
        made = [
            Resolution("check-pytest", "by hand", timestamp(NOW + 300 * 86_400), "a"),
            Resolution("else", "by hand", timestamp(NOW - 7200), "a"),
        ]

        assert texts(settle(empty(), story.seen(), made).state) == ["`pytest` failed with exit code 1"]

    def test_a_failure_later_on_the_day_of_its_closing_is_open_though_the_log_is_gone(self) -> None:
        story = Story().ran("pytest", 1)
        state = settled(story).state
        state = settled(story.ran("pytest"), state).state
        assert state.open_loops == ()

        story.at = NOW + 60
        seen = story.ran("pytest", 1).seen()
        again = settle(state, Seen(seen.ledger, None, seen.around, NOW + 120, seen.today, seen.session)).state

        assert texts(again) == ["`pytest` failed with exit code 1"]
