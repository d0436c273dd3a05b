"""A room for each test, the same as where runs are started, and a desk in it."""

from __future__ import annotations

import pytest

from tests.memory.desk import Desk, Scripted
from tests.start.conftest import room as room
from tests.start.places import Room


@pytest.fixture
def desk(room: Room) -> Desk:
    made = Desk(room, Scripted())
    made.restarted()
    return made
