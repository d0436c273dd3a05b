"""What the core says today in the words of a commit that kept what an agent waits out in its state, in two ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LIVE = frozenset({"Starting", "Running", "Stopping"})
DOWN = ("kind", "until_wall", "fresh")
KIND = ("e", "ParkingKind", "limit")


def is_older(tree: Path) -> bool:
    """Whether the package in this directory knows two ways of being parked."""
    return not (tree / "phoenixd/core/limits/state.py").exists()


def as_before(words: Any) -> Any:
    """The words of tests/proof/twin_words.py as that commit would have said them."""
    if isinstance(words, list):
        return [as_before(one) for one in words]
    if isinstance(words, dict):
        return {name: as_before(one) for name, one in words.items()}
    if not isinstance(words, tuple) or words[0] != "d":
        return words
    _, name, content = words
    if name != "Agent":
        return ("d", name, {field: as_before(one) for field, one in content.items()})
    said = {field: as_before(one) for field, one in content.items() if field != "limits"}
    limits = content.get("limits", ("d", "Limits", {}))[2]
    if "setbacks" in limits:
        said["setbacks"] = limits["setbacks"]
    if "parking" in limits:
        said["state"] = _with(said["state"], limits["parking"][2])
    return _sorted("Agent", said)


def _with(state: Any, parking: dict[str, Any]) -> Any:
    _, name, content = state
    if name == "Parked":
        down = {field: one for field, one in parking.items() if field in DOWN and one != KIND}
        return _sorted(name, {**content, **down})
    assert name in LIVE, f"{name} waits for nothing"
    _, activity, held = content["activity"]
    return _sorted(name, {**content, "activity": _sorted(activity, {**held, "parking": ("d", "Parking", parking)})})


def _sorted(name: str, said: dict[str, Any]) -> Any:
    return ("d", name, dict(sorted(said.items())))
