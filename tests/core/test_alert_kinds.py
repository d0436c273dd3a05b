"""What is done with an alert hangs on its kind: who has to act, what is sent, and what no mute holds back."""

from __future__ import annotations

from phoenixd.core.alert_kinds import TABLE, ends, files, fleet, progress, questions, reporting, sessions, turns
from phoenixd.core.alert_kinds.kind import AlertKind

ROOMS = (questions, ends, turns, sessions, progress, reporting, files, fleet)


def those(**fields: object) -> set[str]:
    """The kinds of whose fields any is this."""
    return {kind.name for kind in TABLE if any(getattr(kind, name) == value for name, value in fields.items())}


def test_every_kind_stands_in_the_table_once() -> None:
    kinds: list[AlertKind] = [kind for room in ROOMS for kind in room.KINDS]
    assert list(TABLE) == kinds
    assert len({kind.name for kind in kinds}) == len(kinds)


def test_only_these_heal_by_themselves() -> None:
    assert those(needs_person=False) == {
        "unfenced", "hung", "overtime", "clock", "marker lost", "outage", "outage: ...", "breaker", "hooks refused",
        "name too long for a handoff", "slow disk", "stale loops", "terminal",
    }  # fmt: skip


def test_only_of_these_another_text_is_another_alert() -> None:
    assert those(is_question=True) == {
        "permission", "question", "plan", "dialog", "login", "billing", "failed turn", "too long", "answer cut",
        "cannot go on", "proposal", "case", "contradicted claim",
    }  # fmt: skip


def test_no_mute_holds_back_that_phoenixd_itself_cannot_do_its_work() -> None:
    assert those(is_ours=True) == {"link lost", "documents", "alerts not told"}


def test_of_these_no_agents_state_proves_the_end() -> None:
    """A watch outside tells of it, or the fleet's own rules do: so of all that is no agent's."""
    assert those(cure=None) == {
        "outage: ...", "degraded", "slow disk", "journal", "journal behind", "epoch", "alerts not told", "log",
        "terminal", "session in use elsewhere", "brief", "brief writer", "stale loops", "state", "phase limit",
        "documents",
    }  # fmt: skip
