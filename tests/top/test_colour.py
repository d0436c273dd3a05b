"""With NO_COLOR no cell of any screen of any fleet has a colour; words and signs are the same (faces, check 12)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from phoenixd.top import app as shell
from phoenixd.top.app import Top
from phoenixd.top.first import Begun
from tests.api.fleets import NOW
from tests.top.fleets import AT, NAMES, model_of
from tests.top.test_view import SIZES

COLOURED = {name for name in NAMES if name not in ("empty", "one_idle", "all_stopped")}
"""Fleets in which something is at work, asks or is unknown; what rests is dim, and that is no colour."""


async def screens(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], set[str]]:
    """What stands on the list and on its pages at each size, and the colours of its cells."""
    monkeypatch.setattr(shell, "time", SimpleNamespace(monotonic=lambda: AT, time=lambda: NOW))
    app = Top([], begun=Begun(None, model=model_of(name), asked_at=AT))
    texts, colours = [], set()
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for key in ("", "?", "escape", "o", "escape"):
                if key:
                    await pilot.press(key)
                app.draw()
                await pilot.pause()
                for strip in app.screen._compositor.render_strips():
                    texts.append(strip.text)
                    found = [one.style for one in strip if one.style is not None]
                    colours |= {one.color.name for one in found if one.color is not None and not one.color.is_default}
                    colours |= {one.bgcolor.name for one in found if one.bgcolor and not one.bgcolor.is_default}
    return texts, colours


@pytest.mark.parametrize("name", NAMES)
async def test_without_colour_no_cell_of_any_fleet_has_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, found = await screens(name, monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    plain, none = await screens(name, monkeypatch)

    assert plain == coloured
    assert any("NEED" in text for text in plain)
    assert (bool(found), none) == (name in COLOURED, set())
