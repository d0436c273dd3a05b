"""An action that comes to nothing has an outcome wherever somebody waits for one, and names what it is about."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

import pytest

from phoenixd.core import actions
from phoenixd.core.actions import Action
from phoenixd.core.events import Event
from phoenixd.runtime.lanes import came_to_nothing

WHY = "its driver failed"
OUTCOMES = {
    "Spawn": "StartFailed", "Deliver": "NotDelivered", "LookForFile": "FileLooked", "AnswerHold": "HoldAnswered",
    "LookForDirectory": "DirectoryLooked",
    "MeasureWork": "WorkMeasured", "SeeAttendance": "AttendanceSeen", "UpdatePapers": "PapersFailed",
    "PlantCodes": "PlantingFailed", "WritePackage": "PackageFailed", "WriteAddendum": "AddendumWritten",
    "ExamineCase": "CaseExamined", "CheckPackage": "PackageChecked",
}  # fmt: skip
KINDS = {kind.__name__: kind for kind in get_args(Action)}
ABOUT = {"agent": "shop", "incarnation": 7, "hold": 3, "number": 4, "turn": 5, "handoff": "h1", "message_id": "m1",
         "case": "c1", "at_end": True, "item": 9}  # fmt: skip


def an_action(kind: type[Any]) -> Any:
    hints = get_type_hints(kind, vars(actions))
    needed = [one for one in fields(kind) if one.name in ABOUT or (one.default is one.default_factory is MISSING)]
    return kind(**{one.name: ABOUT.get(one.name, () if "tuple" in str(hints[one.name]) else None) for one in needed})


@pytest.mark.parametrize("name", sorted(KINDS))
def test_an_action_that_came_to_nothing_is_told_to_who_waits_for_it(name: str) -> None:
    found: Event | None = came_to_nothing(an_action(KINDS[name]), WHY)

    assert (type(found).__name__ if found is not None else None) == OUTCOMES.get(name)
    if found is not None:
        told = {one.name: getattr(found, one.name) for one in fields(found)}
        shared = told.keys() & ABOUT.keys() & {one.name for one in fields(KINDS[name])}
        assert {about: told[about] for about in shared} == {about: ABOUT[about] for about in shared}
        assert "agent" in shared


def test_an_answer_that_could_not_be_given_leaves_its_question_held() -> None:
    found = came_to_nothing(an_action(KINDS["AnswerHold"]), WHY)

    assert (found.taken, found.why, found.still_held) == (False, WHY, True)  # type: ignore[union-attr]


def test_a_file_that_could_not_be_looked_for_is_neither_there_nor_missing() -> None:
    found = came_to_nothing(an_action(KINDS["LookForFile"]), WHY)

    assert found.exists is None  # type: ignore[union-attr]


def test_a_start_whose_driver_failed_is_nobodys_fault() -> None:
    found = came_to_nothing(an_action(KINDS["Spawn"]), WHY)

    assert (found.code, found.message) == (0, WHY)  # type: ignore[union-attr]
