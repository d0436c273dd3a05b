"""What orchestrators and developers are told of their part (E71, E72)."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from phoenixd import roles
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.grammar import parse
from phoenixd.documents.project import layout


@pytest.mark.parametrize("role", get_args(roles.Role))
def test_x1_a_role_tells_no_share_of_a_context(role: roles.Role) -> None:
    text = roles.text(role)

    assert "%" not in text
    assert not re.search(r"per ?cent|tokens?\b|context window", text, re.IGNORECASE)


def test_e71_the_orchestrators_role_has_handoff_phases_and_its_commands_can_be_typed() -> None:
    text = roles.text("orchestrator")

    assert "successor" in text
    for words in re.findall(r"`phoenixctl ([^`]+)`", text):
        assert words.split()[0] in PASSED_ON or parse(words.split())


def test_e13_the_orchestrators_role_says_where_its_notes_for_good_may_stand_as_the_pages_do() -> None:
    text = roles.text("orchestrator")

    assert layout.SESSIONS in text
    assert f"`{layout.MEMORY}/`" in text
    assert "write notes alone" in text


def test_e72_the_developers_role_has_an_end_and_a_place_for_results() -> None:
    text = roles.text("developer")

    assert "$PHOENIX_OUT" in text
    assert "one task" in text
    assert "Write nothing below `.claude/`" in text
