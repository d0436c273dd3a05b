"""What is held of many transcripts: one that hangs while it is read holds up no other."""

from __future__ import annotations

import threading

from phoenixd.drivers.transcripts.held import Held

DEADLINE = 60.0


def test_a_thing_that_is_in_use_holds_up_its_own_alone() -> None:
    held: Held[str, list[str]] = Held(2)
    goes_on, other = threading.Event(), threading.Event()

    def use(key: str, is_in_use: threading.Event) -> None:
        with held.of(key, lambda thing: True, lambda: [key]):
            is_in_use.set()
            goes_on.wait(DEADLINE)

    hung = threading.Thread(target=use, args=("a", first := threading.Event()), daemon=True)
    hung.start()
    assert first.wait(DEADLINE)
    threading.Thread(target=use, args=("b", other), daemon=True).start()
    assert other.wait(DEADLINE), "another one waited for the one that hangs"

    again = threading.Thread(target=use, args=("a", second := threading.Event()), daemon=True)
    again.start()
    assert not second.is_set()
    goes_on.set()
    again.join(DEADLINE)
    assert second.is_set()


def test_those_used_last_are_held_and_one_that_does_not_fit_is_made_anew() -> None:
    held: Held[str, list[str]] = Held(2)
    for key in ("a", "b", "a", "c"):
        with held.of(key, lambda thing: True, list) as thing:
            thing.append(key)
    assert (list(held), "b" in held) == (["a", "c"], False)
    with held.of("a", lambda thing: True, list) as thing:
        assert thing == ["a", "a"]
    with held.of("a", lambda thing: False, list) as thing:
        assert thing == []
