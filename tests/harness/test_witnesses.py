"""How a refused call reads in each CLI's transcript: it never ran."""

from __future__ import annotations

import pytest

from phoenixd.harness.witnesses import WITNESSES


@pytest.mark.parametrize(
    ("output", "is_refused"),
    [
        ("[Operation Cancelled] Reason: User denied execution.", True),
        ("[Operation Cancelled] Reason: User did not allow tool call", True),
        # It ran, and was broken off.
        ("[Operation Cancelled] Reason: User cancelled tool execution.", False),
        ("Output: [Operation Cancelled] Reason: User did not allow tool call", False),
    ],
)
def test_geminis_refusals_are_told_from_a_call_that_was_broken_off(output: str, is_refused: bool) -> None:
    assert WITNESSES["gemini"].is_refused(output) is is_refused
