"""Texts on their way into input lines, against a terminal that is out for a false Enter (F-TMUX-9, F-PROC-28)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.moment import Moment
from phoenixd.core.typing.before import hear_drawing
from phoenixd.core.typing.clearing import TAKEN_OUT, TAKEN_OUT_LATER
from phoenixd.core.typing.delivery import (
    DRAWN_WITHIN,
    FREE_WITHIN,
    LONGEST,
    Delivery,
    Drawing,
    Freeing,
    begin,
    begin_again,
)
from phoenixd.core.typing.lines import can_show, which
from phoenixd.core.typing.machine import HEARS, hear
from phoenixd.core.typing.orders import ClearLine, Done, Look, Paste, PressEnter
from phoenixd.core.typing.outcomes import TAKEN
from phoenixd.core.typing.people import was_touched
from phoenixd.core.typing.seen import Begun, Pasted, Screen, Sight
from tests.core.hostile_terminal import EPOCH, FATES, DaemonDied, Fate, Terminal, calm, deliver

TEXT = "go on\nwith it"
SLOWEST = 3.0


def played(fate: Fate, *, is_seen: bool = True, has_hooks: bool = True) -> tuple[Terminal, Delivery, Done]:
    terminal = Terminal(TEXT, fate, is_seen)
    delivery, done = deliver(begin(TEXT, 0.0, is_seen=is_seen, has_hooks=has_hooks), terminal)
    return terminal, delivery, done


@given(fate=FATES)
def test_f_tmux_9_no_dialog_is_ever_answered(fate: Fate) -> None:
    terminal, _, _ = played(fate)

    assert terminal.approved == 0


@given(fate=FATES, has_hooks=st.booleans())
def test_f_proc_28_a_persons_half_written_line_is_neither_sent_nor_cleared(fate: Fate, has_hooks: bool) -> None:
    terminal, _, _ = played(fate, has_hooks=has_hooks)

    assert (terminal.sent_of_a_person, terminal.cleared_of_a_person) == (0, 0)


@given(fate=FATES, is_seen=st.booleans(), has_hooks=st.booleans())
def test_enter_is_ordered_only_after_a_look_that_speaks_for_it(fate: Fate, is_seen: bool, has_hooks: bool) -> None:
    terminal, _, _ = played(fate, is_seen=is_seen, has_hooks=has_hooks)

    for key in terminal.keys:
        if not isinstance(key.order, PressEnter):
            continue
        assert key.last.screen is not None
        assert key.last.screen.dialog is None
        assert not key.asked, "a hook had told of a dialog"
        assert not key.submitted, "a hook had told that the text was taken"
        assert not key.touched, "a person was at the keyboard"
        assert not is_seen or (key.line and key.last.screen.line == key.line), "the text was not seen to stand there"


@given(fate=FATES, is_seen=st.booleans(), has_hooks=st.booleans())
def test_a_text_is_pasted_once_and_taken_once(fate: Fate, is_seen: bool, has_hooks: bool) -> None:
    terminal, _, _ = played(fate, is_seen=is_seen, has_hooks=has_hooks)

    orders = [type(key.order) for key in terminal.keys]
    entered = [key.at for key in terminal.keys if isinstance(key.order, PressEnter)]
    assert orders.count(Paste) <= 1
    assert sum(took.count(TEXT) for took in terminal.took) <= 1
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(entered))
    assert len(entered) <= 7


@given(fate=FATES, is_seen=st.booleans(), has_hooks=st.booleans())
def test_there_is_always_a_verdict_before_the_deadline(fate: Fate, is_seen: bool, has_hooks: bool) -> None:
    terminal, delivery, done = played(fate, is_seen=is_seen, has_hooks=has_hooks)

    assert done.why
    assert terminal.at <= LONGEST + SLOWEST + fate.lag
    assert hear(delivery, Begun(), Moment(terminal.at, 0.0)).order == done, "and it stays what it is"


@given(fate=FATES)
def test_the_verdict_is_true(fate: Fate) -> None:
    terminal, _, done = played(calm(fate))

    if done.verdict == "delivered":
        assert terminal.took.count(TEXT) == 1
    if done.verdict == "not delivered" and not terminal.is_over:
        assert "us" not in terminal.submitted_by


@given(fate=FATES, second=FATES)
def test_what_an_earlier_text_left_is_cleared_and_never_a_persons_line(fate: Fate, second: Fate) -> None:
    terminal, first, _ = played(fate)
    later = [(terminal.at + when, kind) for when, kind in second.events]
    again = Terminal("second", replace(second, events=tuple(later)), at=terminal.at, lines=list(terminal.lines))

    deliver(begin("second", again.at, left=first.left), again)

    assert (again.approved, again.sent_of_a_person, again.cleared_of_a_person) == (0, 0, 0)
    assert not any(TEXT in took for took, by in zip(again.took, again.submitted_by, strict=True) if by == "us")


@given(fate=FATES, dies_at=st.integers(0, 60), down=st.sampled_from((0.0, 0.1, 5.0)))
def test_after_the_daemons_death_no_enter_is_pressed_and_no_half_line_stays(
    fate: Fate, dies_at: int, down: float
) -> None:
    terminal = Terminal(TEXT, fate)
    try:
        deliver(begin(TEXT, 0.0), terminal, dies_at)
    except DaemonDied:
        terminal.pass_time(terminal.at + down)
    before = terminal.enters

    _, done = deliver(begin_again(("another", TEXT), terminal.at, EPOCH + terminal.at), terminal)

    assert terminal.enters == before
    assert (terminal.approved, terminal.sent_of_a_person, terminal.cleared_of_a_person) == (0, 0, 0)
    if done.verdict == "delivered":
        assert terminal.took.count(TEXT) == 1
    if done.verdict == "not delivered":
        assert TEXT not in terminal.took or "a person" in terminal.submitted_by
    if not any(kind in ("dialog shown", "dialog told", "moves", "types", "wipes", "ends") for _, kind in fate.events):
        assert TEXT not in terminal.lines


def test_what_a_killed_daemon_left_in_the_input_line_is_taken_out_and_told() -> None:
    terminal = Terminal(TEXT, Fate(swallowed=(True,) * 9))
    with pytest.raises(DaemonDied):
        deliver(begin(TEXT, 0.0), terminal, dies_at=20)
    assert terminal.lines == [TEXT]

    delivery, done = deliver(begin_again(("another", TEXT), terminal.at, EPOCH + terminal.at), terminal)

    assert (done.verdict, done.why, delivery.text) == ("not delivered", TAKEN_OUT_LATER, TEXT)
    assert terminal.lines == []


def test_what_the_shim_kept_of_a_killed_daemons_text_is_its_receipt() -> None:
    terminal = Terminal(TEXT, Fate(hooks=(3.0,)))
    with pytest.raises(DaemonDied):
        deliver(begin(TEXT, 0.0), terminal, dies_at=12)
    terminal.pass_time(terminal.at + 5.0)

    delivery, done = deliver(begin_again((TEXT,), terminal.at, EPOCH + terminal.at), terminal)

    assert (done.verdict, delivery.text, terminal.took) == ("delivered", TEXT, [TEXT])


@pytest.mark.parametrize("lines", [[], ["HALF A THOUGHT"]])
def test_the_receipt_of_a_killed_daemons_text_is_waited_for_whatever_stands_there_by_then(lines: list[str]) -> None:
    terminal = Terminal(TEXT, Fate(hooks=(3.0,)))
    with pytest.raises(DaemonDied):
        deliver(begin(TEXT, 0.0), terminal, dies_at=12)
    assert terminal.took == [TEXT]
    terminal.lines += lines

    delivery, done = deliver(begin_again((TEXT,), terminal.at, EPOCH + terminal.at), terminal)

    assert (done.verdict, delivery.text, terminal.took) == ("delivered", TEXT, [TEXT])
    assert (terminal.sent_of_a_person, terminal.cleared_of_a_person) == (0, 0)


def test_a_daemon_that_was_long_in_beginning_still_takes_out_what_the_earlier_one_left() -> None:
    """It hears hooks from its first moment on, and looks once it has begun everything."""
    terminal = Terminal(TEXT, Fate(), at=100.0, lines=[TEXT])

    delivery, done = deliver(begin_again((TEXT,), 0.0, EPOCH), terminal)

    assert (done.verdict, done.why, delivery.text) == ("not delivered", TAKEN_OUT_LATER, TEXT)
    assert terminal.lines == []


def test_a_person_who_types_in_a_small_window_is_waited_for() -> None:
    """Where nobody types the text could not be read there, and that is told at once."""
    delivery, _, _ = hear(begin(TEXT, 0.0), Begun(), Moment(0.0, EPOCH))
    small = Sight(Screen(""), typed=EPOCH, small="its window is too small")

    waiting, order, _ = hear(delivery, small, Moment(0.1, EPOCH + 0.1))
    assert isinstance(order, Look)
    _, order, _ = hear(waiting, replace(small, typed=None, small=""), Moment(1.0, EPOCH + 1.0))
    assert isinstance(order, Paste)
    _, order, _ = hear(waiting, replace(small, typed=EPOCH - 60), Moment(1.0, EPOCH + 1.0))
    assert order == Done("not delivered", "its window is too small")


def test_f_hb_4_a_key_from_before_the_clock_was_set_back_is_nobody_who_types() -> None:
    """Who left a terminal open and went would keep every text from its agent until the clock had caught up."""
    left_open = Sight(Screen(""), typed=EPOCH + 3600.0)
    delivery, _, _ = hear(begin(TEXT, 0.0), Begun(), Moment(0.0, EPOCH))

    delivery, order, _ = hear(delivery, left_open, Moment(0.1, EPOCH + 0.1))
    assert isinstance(order, Paste)
    delivery, _, _ = hear(delivery, Pasted(TEXT), Moment(0.2, EPOCH + 0.2))
    stands = replace(left_open, screen=Screen("go on with it"))
    delivery, _, _ = hear(delivery, stands, Moment(0.3, EPOCH + 0.3))
    _, order, _ = hear(delivery, stands, Moment(0.9, EPOCH + 0.9))

    assert isinstance(order, PressEnter)
    assert not was_touched(EPOCH + 3600.0, EPOCH), "nobody sits there who would see a dialog"


def test_a_text_is_not_typed_to_one_that_met_a_limit_since_it_was_sent() -> None:
    """It would be lost to the same limit."""
    delivery, _, _ = hear(begin(TEXT, 0.0), Begun(), Moment(0.0, EPOCH))
    free = Sight(Screen(""), parked="until the reset time that was named")

    _, order, _ = hear(delivery, free, Moment(0.1, EPOCH + 0.1))
    assert order == Done("not delivered", "it was parked meanwhile: until the reset time that was named")
    _, order, _ = hear(delivery, replace(free, parked=""), Moment(0.1, EPOCH + 0.1))
    assert isinstance(order, Paste)


def test_a_text_that_is_taken_is_delivered_with_one_enter() -> None:
    terminal, delivery, done = played(Fate())

    assert (done.verdict, done.why, terminal.enters) == ("delivered", TAKEN, 1)
    assert delivery.left == ()


def test_what_nothing_takes_is_taken_out_again() -> None:
    terminal, delivery, done = played(Fate(swallowed=(True,) * 9))

    assert (done.verdict, done.why) == ("not delivered", TAKEN_OUT)
    assert (terminal.lines, delivery.left) == ([], ())
    assert [key for key in terminal.keys if isinstance(key.order, ClearLine)]


@pytest.mark.parametrize("hooks", [(), (30.0,)])
def test_of_a_text_that_left_the_line_without_a_word_nothing_is_claimed(hooks: tuple[float, ...]) -> None:
    _, _, done = played(Fate(hooks=hooks))

    assert done.verdict == "unknown"


def test_a_hook_of_the_same_words_before_enter_proves_nothing() -> None:
    """An earlier text with the same words may have been taken just now, and its hook be late."""
    late = Terminal(TEXT, Fate(swallowed=(True,) * 9, events=((0.2, "hook again"),)))
    late.took.append(TEXT)

    _, done = deliver(begin(TEXT, 0.0), late)

    assert done.verdict == "not delivered"


def test_f_proc_28_a_person_who_came_while_an_earlier_text_was_cleared_keeps_the_line() -> None:
    """The look is so slow that the person has come and gone when it shows."""
    terminal = Terminal("second", Fate(events=((0.5, "types"),), slow=(0.0, 3.0)), lines=[TEXT])

    _, done = deliver(begin("second", 0.0, left=(TEXT,)), terminal)

    assert (terminal.cleared_of_a_person, done.verdict) == (0, "not delivered")
    assert terminal.lines == [TEXT, "HALF A THOUGHT "]


def test_every_step_that_waits_for_a_look_has_a_rule() -> None:
    assert all(rule.__doc__ for rule in HEARS.values())


@pytest.mark.parametrize(
    ("line", "text", "is_ours"),
    [
        ("go on", "go on", True),
        ("go", "go on", True),
        ("on", "go on", True),
        ("go on, please", "go on", False),
        ("[Pasted text #1 +9 lines]", "one\ntwo", True),
        ("[Pasted Content 4989 chars]", "x" * 4989, True),
        ("[Pasted text #1 +9 lines]", "go on", False),
        ("[Pasted text #1 +9 lines] please", "one\ntwo", False),
    ],
)
def test_what_stands_in_an_input_line_is_known_for_ours_only_where_nothing_was_added(
    line: str, text: str, is_ours: bool
) -> None:
    assert (which(line, ("", text)) == text) == is_ours


@pytest.mark.parametrize(
    ("line", "text", "is_command", "can"),
    [
        ("/compact <what to keep>", "/compact", True, True),
        ("go on <what to keep>", "go on", False, False),
        ("na\u00efve \u6c49 \U0001f642 ok", "nai\u0308ve \u6c49 \U0001f642\ufe0f ok", False, True),
        ("\u6c49\u5b57 \U0001f642 ok", "\u6c49\u5b57 \U0001f642\ufe0f ok", False, True),
        ("the end of one [...Truncated text #1 +30 lines...] the other", "a\n" * 40, False, True),
        ("what somebody else wrote", "go on", False, False),
        ("\u6c49\u5b57", "go on", False, False),
        ("\u6c49\u5b57", "go on: \u5b57\u6bcd", False, True),
        ("\u6c49\u5b57", "\U0001f642", False, True),
    ],
)
def test_enter_goes_on_a_line_that_can_show_the_text(line: str, text: str, is_command: bool, can: bool) -> None:
    assert can_show(line, text, is_command=is_command) is can


@pytest.mark.parametrize(
    ("before", "frame", "at", "is_drawn"),
    [
        ("Hello", "Hello", 1.0, True),
        ("Hello", "Hello\n>", 1.0, False),
        ("", "Hello", 1.0, False),
        ("", "", 1.0, False),
        (" \n", " \n", 1.0, False),
        ("Hello", "Hello\n>", DRAWN_WITHIN, True),
        ("", "", DRAWN_WITHIN, True),
    ],
)
def test_a_screen_is_drawn_once_it_shows_something_that_stands_still_and_is_not_waited_for_for_ever(
    before: str, frame: str, at: float, is_drawn: bool
) -> None:
    delivery = begin(TEXT, 0.0, is_opening=True)
    assert isinstance(delivery.step, Drawing)
    sight = Sight(Screen(None, frame=frame))
    outcome = hear_drawing(delivery, replace(delivery.step, frame=before), sight, Moment(at, at))
    assert isinstance(outcome.delivery.step, Freeing) is is_drawn


FIXED = {
    "calm": Fate(),
    "a hook that comes late": Fate(hooks=(3.0,)),
    "no hook": Fate(hooks=()),
    "two hooks": Fate(hooks=(0.05, 4.0)),
    "the first Enter is lost": Fate(swallowed=(True,)),
    "each Enter is lost": Fate(swallowed=(True,) * 8),
    "each Enter is lost and a person types": Fate(events=((6.0, "types"),), swallowed=(True,) * 8),
    "the paste is lost": Fate(loses_paste=True),
    "a placeholder": Fate(placeholder=True, lag=0.2),
    "a slow screen": Fate(slow=(3.0, 0.2), lag=0.28),
    "a dialog before": Fate(events=((0.0, "dialog shown"),)),
    "a dialog after the paste": Fate(events=((0.15, "dialog shown"),)),
    "a hook of a dialog after the paste": Fate(events=((0.15, "dialog told"),), swallowed=(True,)),
    "a person types before": Fate(events=((0.0, "types"), (4.0, "wipes"))),
    "a person types before and stays": Fate(events=((0.0, "types"), (1.0, "moves"), (30.0, "types"))),
    "a person types into it": Fate(events=((0.2, "types"),), slow=(0.2,), swallowed=(True, True)),
    "a person sends it": Fate(events=((0.35, "submits"),), swallowed=(True,)),
    "a person wipes it": Fate(events=((0.35, "wipes"),), swallowed=(True,)),
    "a hook of another text": Fate(events=((0.3, "foreign hook"),), swallowed=(True,)),
    "a hook that is told again": Fate(events=((2.0, "hook again"),), hooks=()),
    "the run ends": Fate(events=((0.15, "ends"),)),
    "the run ends after Enter": Fate(events=((2.0, "ends"),), hooks=()),
}
GIVEN = {
    "": {}, "on a screen that nobody can read": {"is_seen": False}, "for a program without hooks": {"has_hooks": False},
    "as a command": {"is_command": True}, "while its screen is drawn": {"is_opening": True},
    "until it is too late": {"too_late": 2.0}, "over what an earlier text left": {"left": ("go on",)},
}  # fmt: skip


@pytest.mark.parametrize("fate", FIXED)
@pytest.mark.parametrize("given", GIVEN)
def test_f_tmux_9_a_text_is_typed_step_by_step_as_it_was(fate: str, given: str) -> None:
    """Recorded, some of them: see tests/core/recorded."""
    terminal = Terminal(TEXT, FIXED[fate], GIVEN[given].get("is_seen", True))

    deliver(begin(TEXT, 0.0, **GIVEN[given]), terminal)

    assert not terminal.is_seen or terminal.approved == terminal.sent_of_a_person == terminal.cleared_of_a_person == 0


def test_what_is_not_said_of_a_text_is_that_its_run_has_hooks_and_an_input_line_that_is_seen() -> None:
    """It is no command, no prompt of a run that begins, never too late, and nothing was left in the line before it."""
    assert begin("go on", 5.0) == Delivery("go on", 5.0, 5.0 + LONGEST, Freeing(5.0 + FREE_WITHIN))
    assert begin("go on", 5.0, is_opening=True).step == Drawing(5.0 + DRAWN_WITHIN)
    said = begin("/clear", 5.0, is_command=True, is_seen=False, has_hooks=False, too_late=9.0, left=("x",))
    assert said == Delivery("/clear", 5.0, 5.0 + LONGEST, said.step, True, False, False, 9.0, ("x",))
