"""What goes of earlier sessions' papers, and what never does."""

from __future__ import annotations

from phoenixd.documents.project.keeping import SessionFound, left_open, superfluous

WHOLE = frozenset({"session.json", "handoff-package.json", "handoff-addendum.json", "init-prompt.md"})


def session(number: int, status: str = "shutdown", names: frozenset[str] = WHOLE) -> SessionFound:
    return SessionFound(f"orchestrator-{number:02}", status, names)


def root(number: int) -> str:
    return f".claude/orchestrators/orchestrator-{number:02}"


def test_the_newest_stay_and_of_the_others_package_and_record_go() -> None:
    gone = superfluous([session(one) for one in (3, 1, 2, 4)], 3, frozenset())
    assert gone == tuple(
        f"{root(1)}/{name}"
        for name in ("handoff-package.json", "handoff-addendum.json", "init-prompt.md", "session.json")
    )


def test_e82_memory_and_what_a_person_laid_there_stay_and_so_does_the_record_that_says_whose_it_is() -> None:
    for own in ("memory", "notes.txt", "handoff-ack.json"):
        gone = superfluous([session(1, names=WHOLE | {own}), session(2)], 1, frozenset())
        assert f"{root(1)}/session.json" not in gone
        assert not any(own in path for path in gone)
        assert f"{root(1)}/handoff-package.json" in gone


def test_who_runs_or_is_of_this_handoff_keeps_all() -> None:
    found = [session(1, "running"), session(2, "handoff_pending"), session(3), session(4), session(5)]
    assert superfluous(found, 1, frozenset({"orchestrator-03"})) == tuple(
        f"{root(4)}/{name}"
        for name in ("handoff-package.json", "handoff-addendum.json", "init-prompt.md", "session.json")
    )
    assert superfluous(found, 5, frozenset()) == ()


def test_which_are_the_newest_is_said_by_their_records_and_not_by_their_ids() -> None:
    first = SessionFound("orchestrator-zz", "shutdown", WHOLE, created=100.0)
    second = SessionFound("orchestrator-aa", "shutdown", WHOLE, created=200.0)
    gone = superfluous([first, second], 1, frozenset())
    assert {path.split("/")[2] for path in gone} == {"orchestrator-zz"}


def test_a_record_that_no_handoff_came_to_close_is_known_as_over_and_others_are_left_alone() -> None:
    def of(agent: str, number: int, status: str = "running") -> SessionFound:
        return SessionFound(f"orchestrator-{number}", status, WHOLE, agent=agent)

    known = [
        of("o", 1), of("o-g2", 2, "handoff_pending"), of("o-g3", 3), of("o-g2", 4, "shutdown"), of("other", 5),
        of("other-g2", 6), of("", 7),
    ]  # fmt: skip
    assert left_open(known, "o", frozenset({"orchestrator-3"})) == ("orchestrator-1", "orchestrator-2")
