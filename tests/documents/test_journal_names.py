"""What the journal holds keeps its names: classes may be renamed, and an older row is read as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events import Event
from phoenixd.core.facts import Fact
from phoenixd.core.seat.state import Seat
from phoenixd.documents.codec import NEVER_STORED
from phoenixd.documents.journal_names import ACTION_NAMES, EVENT_NAMES

READ_BY_OLDER = {".last_exit.cause"}
"""Places where less may stand today than once did: documents/older.py reads what else stood there."""
MOVED = [
    (r"\.setbacks", ".limits.setbacks"),
    (r"\.state\[\w+\]\.activity\.parking", ".limits.parking"),
    (r"\.state\[parked\]\.(until_wall|kind|fresh)", r".limits.parking.\1"),
]
"""Places whose content stands elsewhere today: documents/older.py reads it there, as test_older.py shows."""
LEFT_OUT = {".armed[0].used_wall"}
"""Places that no version ever read: dropped as those of a newer version are, and nothing is lost by that."""
FROZEN = Path(__file__).with_name("stored_shape.txt")

EVENTS = """
agent_declared
agent_withdrawn
start_requested
stop_requested
restart_requested
send_requested
answer_requested
breaker_reset
breaker_edited
breaker_corrupt
agent_started
start_failed
agent_exited
agent_vanished
shim_lost
tree_gone
tree_lingers
hook_seen
evidence_seen
usage_seen
screen_seen
call_work_seen
keys_read
incident_recorded
run_adopted
run_missing
link_lost
hooks_refused
delivered
not_delivered
hold_answered
hold_released
work_measured
file_looked
measurement_lost
cleaned_up
directory_looked
attendance_seen
report_judged
trouble_seen
trouble_gone
state_edited
rebooted
terminal_seen
terminal_ended
limits_declared
tick
journal_behind
epoch_begun
recovery_confirmed
saving_halted
saving_resumed
armed_used
codes_planted
planting_failed
codes_seen
footer_seen
seed_read
check_requested
restoration_requested
handoff_requested
rollback_requested
handoff_acked
papers_updated
papers_failed
package_written
package_failed
package_checked
ack_file_seen
addendum_written
answer_cut
task_requested
task_cancel_requested
task_collected
undo_requested
mute_requested
unmute_requested
alert_acknowledged
alerts_told
ways_begun
anchor_seen
case_examined
failure_status_seen
"""
ACTIONS = """
take_session
look_for_file
look_for_directory
measure_work
spawn
terminate
kill
fence
deliver
look_at_screen
see_attendance
dismiss_dialog
look_at_call
clean_up
answer_hold
attend_hold
release_hold
record_incident
release
alert
reassure
observe_terminal
update_papers
write_package
check_package
record_sessions
write_addendum
arm
disarm
collect_task
plant_codes
read_seed
interrupt_turn
examine_case
"""
"""Every name that was ever written, in the order of its coming; a line is added, and none is changed."""


@pytest.mark.parametrize(
    ("kinds", "table", "ever"),
    [(Event, EVENT_NAMES, EVENTS), (Action, ACTION_NAMES, ACTIONS)],
    ids=["events", "actions"],
)
def test_every_class_has_its_row_and_every_name_is_one_that_was_written_before(
    kinds: Any, table: dict[type[Any], str], ever: str
) -> None:
    assert set(table) == set(get_args(kinds)), "each class has a row in documents/journal_names.py, and no other has"
    assert set(table.values()) == set(ever.split()), "a new name is added to the list in this file; none is taken out"


@pytest.mark.parametrize("kind", [Agent, Fact, StandingAlert, Seat], ids=["agent", "facts", "fleet alerts", "seats"])
def test_what_was_ever_stored_of_it_is_read_under_the_same_names(kind: Any) -> None:
    """Where this fails, an older journal would lose what stands there, or be refused: that needs a migration.

    A place that is new is added to the file by `python -m tests.documents.test_journal_names`.
    """
    today = dict(shape(kind))
    for place, accepted in frozen(kind).items():
        for then, now in MOVED:
            place = re.sub(f"^{then}", now, place)
        if place in LEFT_OUT:
            continue
        assert place in today, f"{place} was stored, and is not read any more"
        refused = {one for one in accepted - today[place] if not (one.startswith('"') and "str" in today[place])}
        if place in READ_BY_OLDER:
            continue
        assert not refused, f"{place} may hold {sorted(refused)}, which is refused now"


def test_every_place_that_is_stored_now_is_held_from_now_on() -> None:
    for kind in (Agent, Fact, StandingAlert, Seat):
        held = frozen(kind)
        new = sorted(place for place, accepted in shape(kind) if not accepted <= held.get(place, frozenset()))
        assert not new, "./dev python -m tests.documents.test_journal_names adds what is new"


def shape(hint: Any, place: str = "") -> Iterator[tuple[str, frozenset[str]]]:
    """Each place in the JSON of a value, and what may stand there: kinds of values, and the words of a choice."""
    accepted = set[str]()
    for member in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if is_dataclass(member):
            tag = get_type_hints(member).get("name")
            name = get_args(tag)[0] if get_origin(tag) is Literal else ""
            accepted.add("object")
            hints = get_type_hints(member)
            for field in fields(member):
                if field.name not in NEVER_STORED.get(member, ()):  # type: ignore[call-overload]
                    yield from shape(hints[field.name], f"{place}{f'[{name}]' if name else ''}.{field.name}")
        elif get_origin(member) in (tuple, frozenset):
            accepted.add("array")
            for number, item in enumerate(one for one in get_args(member) if one is not Ellipsis):
                yield from shape(item, f"{place}[{number}]")
        elif get_origin(member) is Literal:
            accepted.update(json.dumps(value) for value in get_args(member))
        elif issubclass(member, Enum):
            accepted.update(json.dumps(one.value) for one in member)
        else:
            accepted.add("null" if member is NoneType else member.__name__)
    if place:
        yield place, frozenset(accepted)


def frozen(kind: Any) -> dict[str, frozenset[str]]:
    """The places of this kind that were ever stored."""
    found = {}
    for line in FROZEN.read_text(encoding="utf-8").splitlines():
        name, place, *accepted = line.split(" ", 2)
        if name == title(kind):
            found[place] = frozenset(accepted[0].split(" | "))
    return found


def title(kind: Any) -> str:
    return {Agent: "agent", StandingAlert: "alert", Seat: "seat"}.get(kind, "fact")


if __name__ == "__main__":
    held = {
        (title(kind), place): frozenset(accepted) | (frozen(kind).get(place, frozenset()) if FROZEN.exists() else set())
        for kind in (Agent, Fact, StandingAlert, Seat)
        for place, accepted in {**(frozen(kind) if FROZEN.exists() else {}), **dict(shape(kind))}.items()
    }
    text = "".join(
        f"{name} {place} {' | '.join(sorted(accepted))}\n" for (name, place), accepted in sorted(held.items())
    )
    FROZEN.write_text(text, encoding="utf-8")
