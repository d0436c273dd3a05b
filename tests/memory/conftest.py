"""A room for each test, the same as where runs are started, and in it a desk or a seat in mid-handoff."""

from __future__ import annotations

import pytest

from tests.memory.desk import Desk, Scripted
from tests.memory.handing_over import Scene
from tests.start.conftest import room as room
from tests.start.places import Room


@pytest.fixture
def desk(room: Room) -> Desk:
    made = Desk(room, Scripted())
    made.restarted()
    return made


@pytest.fixture
def scene(room: Room) -> Scene:
    return Scene(room)
