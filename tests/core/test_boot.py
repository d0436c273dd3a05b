"""What is gone is known by boot: the host's, or the container's."""

from __future__ import annotations

import pytest

from phoenixd.core.boot import Boot, read_boot, why_gone

THEN = Boot("b", 4026531836, 12)


@pytest.mark.parametrize(
    ("known", "now", "answering", "gone"),
    [
        (None, THEN, (), False),  # A journal that was never told of a boot.
        (THEN, THEN, (), False),
        (THEN, Boot("c", 4026531836, 12), (), True),
        (THEN, Boot("c", 4026531836, 12), ("a",), True),  # Nobody of another boot can answer; what does is no shim.
        (THEN, Boot("b", 4026531999, 12), (), True),
        (THEN, Boot("b", 4026531836, 900), (), True),  # The next container got the number of the one before.
        (THEN, Boot("b", 4026531999, 900), ("a",), False),  # Somebody looks on from another container.
        (Boot("b"), THEN, (), False),  # An older journal knows the boot id alone.
        (Boot("b"), Boot("c", 1, 2), (), True),
        (THEN, Boot("b", 4026531836, 0), (), False),  # hidepid hides the first process now, and did not then.
        (Boot("b", 4026531836, 0), THEN, (), False),
    ],
)
def test_what_ran_is_known_gone_where_host_or_container_is_another(
    known: Boot | None, now: Boot, answering: tuple[str, ...], gone: bool
) -> None:
    assert bool(why_gone(known, now, answering)) is gone


@pytest.mark.parametrize("table", [None, "", "1", "1 x", "-1 2", "1 2 3", "\u0661 2"])
def test_what_a_journal_says_of_the_table_is_nothing_where_it_cannot_be_read(table: str | None) -> None:
    assert read_boot("b", table) == Boot("b")


def test_what_is_remembered_of_a_boot_comes_back_and_a_journal_without_one_has_none() -> None:
    assert read_boot(THEN.boot_id, THEN.table) == THEN
    assert read_boot(None, THEN.table) is None
