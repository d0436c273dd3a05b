"""A flood of calls: what was over before it was heard of is heard once, and all else as it came."""

from __future__ import annotations

from typing import Any

from phoenixd.runtime.batches import FEW, condensed


def hook(kind: str, call: object, **payload: Any) -> dict[str, Any]:
    return {"event": "hook", "kind": kind, "payload": {"tool_use_id": call, "tool_name": "Bash", **payload}}


def calls(count: int) -> list[Any]:
    return [hook(kind, f"t{number}") for number in range(count) for kind in ("tool-start", "tool-end")]


def test_of_little_all_is_heard() -> None:
    few = calls(FEW // 2)

    assert condensed(few) == few


def test_of_calls_that_are_over_the_last_is_heard() -> None:
    assert condensed(calls(10)) == calls(10)[-2:]


def test_what_goes_on_fails_or_is_malformed_is_heard_in_its_place() -> None:
    kept = [
        hook("tool-start", "open"),
        hook("tool-end", "begun before"),
        hook("tool-start", "fails"),
        hook("tool-failure", "fails"),
        hook("tool-start", "leaves a job", tool_input={"run_in_background": True}),
        hook("tool-end", "leaves a job"),
        hook("tool-start", "ends with jobs"),
        hook("tool-end", "ends with jobs", jobs=["shell: make"]),
        hook("tool-start", 7),
        hook("tool-end", None),
        "nonsense",
        {"kind": "tool-start"},
    ]
    flood = calls(20)

    assert condensed([*flood[:20], *kept[:6], *flood[20:30], *kept[6:], *flood[30:]]) == [*kept, *flood[-2:]]


def test_calls_that_run_side_by_side_are_over_each_with_its_own_end() -> None:
    begun = [hook("tool-start", f"t{number}") for number in range(6)]
    ended = [hook("tool-end", f"t{number}") for number in (5, 0, 4, 1)]

    assert condensed([*begun, *ended]) == [begun[1], begun[2], begun[3], ended[-1]]


def test_a_call_that_is_told_twice_is_heard_to_end() -> None:
    """Two hook programs tell of one call: where its end went, it would be open for as long as a call may be."""
    twice = [hook("tool-start", "twice"), hook("tool-start", "twice"), hook("tool-end", "twice")]
    left = [
        hook("tool-start", "left", tool_input={"run_in_background": True}),
        hook("tool-start", "left"),
        hook("tool-end", "left"),
    ]

    assert condensed([*twice, *left, *calls(10)]) == [*twice, *left, *calls(10)[-2:]]


def test_a_subagents_calls_stand_for_none_of_the_agents_own() -> None:
    """A run proves its worth by its own calls, and its context grows by them."""
    own = calls(5)
    of_others = [hook(kind, f"s{n}", agent_id="sub") for n in range(5) for kind in ("tool-start", "tool-end")]

    assert condensed([*own, *of_others]) == [*own[-2:], *of_others[-2:]]
