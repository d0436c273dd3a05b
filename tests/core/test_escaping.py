"""Escape for one order: pressed at most once, only on what it is meant for, and always with a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.moment import Moment
from phoenixd.core.typing.escaping import (
    DIALOG_GONE,
    ENDED,
    ENDS_WITHIN,
    GOES_ON,
    LOOKED_IDLE,
    MEANS_MORE,
    NO_TURN,
    SAID_NO,
    STANDS,
    Look,
    Looked,
    Pressed,
    PressEscape,
    Seen,
    Unreachable,
    Verdict,
    begin,
    hear,
)
from phoenixd.core.typing.outcomes import RUN_OVER

OFFER = "offer of another renderer"
SLOW = 3.0
Event = tuple[float, str]


@dataclass(frozen=True)
class World:
    """dialog: what Escape is to say no to; None where a turn is to end. shows: what the screen shows at first.

    events: when, and what: the screen shows something else; "hook: ..." tells of the turn's end, or asks; the run ends.
    reacts: what the screen shows after Escape, each with its seconds. slow: how long each look takes. dismisses:
    whether Escape says no and does no more. fails_at: the order that fails.
    """

    dialog: str | None = None
    shows: str = "working"
    events: tuple[Event, ...] = ()
    reacts: tuple[Event, ...] = ()
    slow: tuple[float, ...] = (0.0,)
    dismisses: bool = True
    fails_at: int | None = None


@dataclass
class Screen:
    """What is so at an instant, and what Escape was pressed on."""

    world: World
    at: float = 0.0
    shows: str = ""
    turn_open: bool = True
    is_over: bool = False
    pressed_on: list[tuple[str, bool, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shows = self.world.shows
        self.coming = sorted(self.world.events)

    def pass_time(self, until: float) -> None:
        while self.coming and self.coming[0][0] <= until:
            _, what = self.coming.pop(0)
            match what:
                case "hook: the turn ends" | "hook: it asks":
                    self.turn_open = False
                case "the run ends":
                    self.is_over = True
                case _:
                    self.shows = what
        self.at = max(self.at, until)

    def press(self) -> None:
        self.pressed_on.append((self.shows, self.turn_open, self.is_over))
        self.coming = sorted((*self.coming, *((self.at + later, what) for later, what in self.world.reacts)))


SHOWN = st.sampled_from(("working", "working", "idle", "unknown", "renderer", "renderer", "permission", "question"))
WHAT = SHOWN | st.sampled_from(("hook: the turn ends", "hook: it asks", "the run ends"))
TIMES = st.one_of(st.floats(0, 3), st.floats(0, 40)).map(lambda at: round(at, 3))
WORLDS = st.builds(
    World,
    dialog=st.sampled_from((None, OFFER)),
    shows=SHOWN,
    events=st.lists(st.tuples(TIMES, WHAT), max_size=5).map(tuple),
    reacts=st.lists(st.tuples(TIMES, SHOWN), max_size=4).map(tuple),
    slow=st.lists(st.sampled_from((0.0, 0.05, SLOW)), min_size=1, max_size=5).map(tuple),
    dismisses=st.booleans(),
    fails_at=st.none() | st.integers(0, 12),
)


@dataclass
class Played:
    verdict: Verdict
    screen: Screen
    orders: list[Look | PressEscape]


def played(world: World) -> Played:
    screen, orders = Screen(world), list[Look | PressEscape]()
    escaping, order, _ = begin(world.dialog, Moment(0.0, 0.0))
    while not isinstance(order, Verdict):
        assert len(orders) < 1000, f"no verdict at {screen.at:.1f} s"
        seen: Seen
        if isinstance(order, Look):
            screen.pass_time(max(screen.at, order.at) + world.slow[len(orders) % len(world.slow)])
            seen = Looked(screen.shows, world.dismisses, screen.is_over, screen.turn_open)
        else:
            screen.press()
            seen = Pressed()
        if len(orders) == world.fails_at:
            seen = Unreachable("tmux did not answer")
        orders.append(order)
        escaping, order, reason = hear(escaping, seen, Moment(screen.at, screen.at))
        assert reason
    with pytest.raises(ValueError, match="the verdict is out"):
        hear(escaping, Pressed(), Moment(screen.at, screen.at))
    return Played(order, screen, orders)


@given(world=WORLDS)
def test_escape_goes_to_the_dialog_that_was_judged_and_to_no_other(world: World) -> None:
    for shows, turn_open, is_over in played(world).screen.pressed_on:
        assert not is_over
        if world.dialog is not None:
            assert (SCREEN_DIALOGS.get(shows), world.dismisses) == (world.dialog, True)
        else:
            assert shows not in SCREEN_DIALOGS, "it would be an answer"
            assert (turn_open, shows in ("working", "idle")) == (True, True)


@given(world=WORLDS)
def test_escape_is_pressed_at_most_once_for_one_order(world: World) -> None:
    found = played(world)

    assert len(found.screen.pressed_on) <= 1
    assert found.verdict.pressed == bool(found.screen.pressed_on)
    if found.screen.pressed_on:
        assert isinstance(found.orders[0], Look)
        assert isinstance(found.orders[1], PressEscape), "the look that spoke for it is the one right before"


@given(world=WORLDS)
def test_there_is_always_a_verdict_and_only_what_a_look_found_is_told(world: World) -> None:
    found = played(world)

    assert found.verdict.why
    assert found.screen.at <= ENDS_WITHIN + 3 * SLOW + 1.0
    if found.screen.is_over or world.fails_at == len(found.orders) - 1:
        assert not found.verdict.shows
    if world.dialog is not None:
        assert SCREEN_DIALOGS.get(found.verdict.shows) in (None, world.dialog), "of others each look tells"
    if found.verdict.shows:
        assert found.verdict.shows == found.screen.shows


@pytest.mark.parametrize(
    ("world", "verdict"),
    [
        (World(OFFER, "renderer"), Verdict(True, STANDS, "renderer")),
        (World(OFFER, "renderer", reacts=((4.0, "idle"),)), Verdict(True, SAID_NO)),
        (World(OFFER, "renderer", reacts=((0.0, "trust"),)), Verdict(True, SAID_NO)),
        (World(OFFER, "renderer", dismisses=False), Verdict(False, MEANS_MORE, "renderer")),
        (World(OFFER, "idle"), Verdict(False, DIALOG_GONE)),
        (World(OFFER, "permission"), Verdict(False, DIALOG_GONE)),
        (World(OFFER, "renderer", events=((0.5, "idle"),), slow=(1.0,)), Verdict(False, DIALOG_GONE)),
        (World(OFFER, "renderer", events=((0.0, "the run ends"),)), Verdict(False, RUN_OVER)),
        (World(OFFER, "renderer", fails_at=0), Verdict(False, "tmux did not answer")),
        (World(OFFER, "renderer", fails_at=1), Verdict(True, "tmux did not answer")),
        (World(shows="working", reacts=((0.0, "idle"),)), Verdict(True, ENDED, "idle")),
        (World(shows="working", reacts=((1.0, "permission"),)), Verdict(True, ENDED, "permission")),
        (World(shows="working"), Verdict(True, GOES_ON, "working")),
        (World(shows="working", reacts=((1.0, "the run ends"),)), Verdict(True, RUN_OVER)),
        (World(shows="working", events=((0.0, "hook: it asks"),)), Verdict(False, NO_TURN)),
        (World(shows="idle", events=((0.0, "hook: the turn ends"),)), Verdict(False, NO_TURN)),
        (World(shows="idle"), Verdict(True, LOOKED_IDLE)),
    ],
)
def test_what_becomes_of_escape(world: World, verdict: Verdict) -> None:
    assert played(world).verdict == verdict


def test_a_late_frame_of_before_is_not_the_end_of_a_turn() -> None:
    """One look finds an idle screen, and the next ones find work again."""
    world = World(reacts=((0.2, "idle"), (0.4, "working"), (5.0, "idle")))

    found = played(world)

    assert (found.verdict, found.screen.at > 5.0) == (Verdict(True, ENDED, "idle"), True)


def test_what_was_not_asked_for_is_refused() -> None:
    escaping = begin(OFFER, Moment(0.0, 0.0)).escaping

    with pytest.raises(ValueError, match="was not asked for"):
        hear(escaping, Pressed(), Moment(0.0, 0.0))
