"""An agent that floods its hooks fills neither the journal nor the queue, and what it last did is never lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.events import Event
from phoenixd.core.hooks import EVIDENCE, HOOKS, Hook
from phoenixd.core.moment import Moment
from phoenixd.documents.hooks import hook_of
from phoenixd.runtime.throttle import BURST, REFILL, HookThrottle

HOUR = 3600.0


@dataclass
class Flow:
    """A throttle over time that a test lets pass; `told` is what came through."""

    at: float = 0.0
    burst: float = BURST
    told: list[Hook] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    calls: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    seq: int = 0

    def __post_init__(self) -> None:
        self.throttle = HookThrottle(self, self.later, self.tell, self.burst)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.calls.append((self.at + seconds, call))

    def now(self) -> Moment:
        return Moment(self.at, self.at)

    async def sleep_until(self, at: float) -> None: ...

    def tell(self, event: Event, saved: Callable[[], None] | None) -> None:
        assert isinstance(event, Hook)
        self.told.append(event)
        if saved is not None:
            saved()

    def hook(self, kind: str, agent: str = "a") -> None:
        evidence = issubclass(HOOKS[kind], EVIDENCE)
        self.seq += not evidence
        seq = 0 if evidence else self.seq
        self.throttle.offer(hook_of(agent, 1, kind, seq=seq), None if evidence else lambda: self.saved.append(seq))

    def pass_by(self, seconds: float) -> None:
        until = self.at + seconds
        while due := sorted((call for call in self.calls if call[0] <= until), key=lambda call: call[0])[:1]:
            self.calls.remove(due[0])
            self.at = max(self.at, due[0][0])
            due[0][1]()
        self.at = until


def rows(flow: Flow) -> list[Hook]:
    return [event for event in flow.told if event.seq]


def test_ordinary_hooks_pass_at_once() -> None:
    flow = Flow()
    for _ in range(600):
        for kind in ("prompt-submit", "tool-start", "tool-end", "stop"):
            flow.hook(kind)
        flow.pass_by(4)
    assert len(flow.told) == 2400
    assert not any(event.more for event in flow.told)


def test_38_000_notifications_are_some_hundred_rows_that_say_how_many_they_were() -> None:
    """F-SY-10."""
    flow = Flow()
    for _ in range(38_000):
        flow.hook("notification")
        flow.pass_by(0.01)
    flow.pass_by(10)
    assert len(rows(flow)) <= BURST + 390 * REFILL + 2
    assert sum(1 + event.more for event in rows(flow)) == 38_000
    assert flow.saved[-1] == 38_000, "the last acknowledgement holds for all"


def test_a_flood_of_one_kind_does_not_hide_prompt_question_and_stop() -> None:
    flow = Flow()
    for _ in range(1000):
        flow.hook("notification")
    for kind in ("prompt-submit", "permission-request", "tool-end", "stop"):
        flow.hook(kind)
    flow.pass_by(5)
    last = [event.kind for event in flow.told][-5:]
    assert last == ["notification", "prompt-submit", "permission-request", "tool-end", "stop"]


def test_what_waits_goes_before_the_end_of_the_run() -> None:
    flow = Flow()
    for _ in range(1000):
        flow.hook("prompt-submit")
    flow.hook("stop")
    flow.throttle.flush("a")
    assert flow.told[-1].kind == "stop"


def test_one_agents_flood_costs_another_nothing() -> None:
    """F-SY-10."""
    flow = Flow()
    for _ in range(1000):
        flow.hook("notification", "bad")
    flow.hook("stop", "good")
    assert flow.told[-1].agent == "good"


@given(st.lists(st.tuples(st.sampled_from(["prompt-submit", "stop", "notification", "tool-end"]), st.floats(0, 3))))
def test_the_last_of_each_kind_comes_through_in_order_and_is_never_acknowledged_too_early(
    script: list[tuple[str, float]],
) -> None:
    flow = Flow(burst=3)
    sent: list[str] = []
    for kind, pause in script * 3:
        flow.hook(kind)
        sent.append(kind)
        flow.pass_by(pause)
    flow.pass_by(HOUR)
    assert flow.saved == sorted(flow.saved)
    assert flow.seq in (0, *flow.saved)
    for kind in set(sent):
        assert kind in {event.kind for event in flow.told}
    newest = {kind: position for position, kind in enumerate(sent)}
    told = {event.kind: position for position, event in enumerate(flow.told)}
    assert sorted(newest, key=newest.__getitem__) == sorted(told, key=told.__getitem__)
    assert sum(1 + event.more for event in rows(flow)) == flow.seq


def test_what_came_after_an_end_had_passed_on_the_rest_waits_until_its_own_turn() -> None:
    flow = Flow(burst=1.0)
    for kind in ("prompt-submit", "notification"):
        flow.hook(kind)
    flow.throttle.flush("a")
    flow.hook("stop")
    flow.pass_by(1.9)
    assert [event.kind for event in flow.told] == ["prompt-submit", "notification"], "two were more than one a second"
    flow.pass_by(0.2)
    assert [event.kind for event in flow.told] == ["prompt-submit", "notification", "stop"]


def test_nothing_is_kept_of_one_that_was_removed_in_a_flood_and_what_waited_comes_through() -> None:
    flow = Flow(burst=2)
    for _ in range(5):
        flow.hook("prompt-submit")
    flow.throttle.forget("a")
    flow.pass_by(HOUR)

    assert flow.saved == [1, 2, 5]
    assert not flow.throttle._buckets


def test_one_that_is_declared_anew_under_the_name_of_one_that_was_removed_in_a_flood_is_bounded_as_any() -> None:
    flow = Flow(burst=2)
    for _ in range(5):
        flow.hook("prompt-submit")
    flow.throttle.forget("a")
    flow.hook("prompt-submit")
    flow.pass_by(60)
    for _ in range(100):
        flow.hook("prompt-submit")

    assert flow.saved == [1, 2, 6, 7, 8]
