"""What an older journal says in another way than this version: read into today's fields, before it is decoded."""

from __future__ import annotations

from typing import Any, get_args

from phoenixd.core.alert_kinds import OUTAGE_OF
from phoenixd.core.behind.plan import BEHIND, DO
from phoenixd.core.causes import EndCause
from phoenixd.core.dialogs import DIALOG_WORDS

DIALOGS = {words: dialog for dialog, words in DIALOG_WORDS.items()}


def agent(data: dict[str, Any]) -> dict[str, Any]:
    """An agent as an older version saved it; what does not look like one goes through as it is."""
    if "item" in data and "items" not in data:
        # Before there could be several.
        data = {**data, "items": [data["item"]] if data["item"] is not None else []}
    end = data.get("last_exit")
    if isinstance(end, dict) and isinstance(end.get("cause"), str) and end["cause"] not in get_args(EndCause):
        # The words of a failed start stood for its cause, and so did whatever a shim said.
        cause = "not started" if end.get("ran") is False else "other"
        data = {**data, "last_exit": {**end, "cause": cause, "note": end["cause"]}}
    state = _object(data, "state")
    activity = _object(state, "activity")
    waiting = _object(activity, "waiting")
    if waiting.get("kind") == "dialog" and "dialog" not in waiting:
        # Which dialog it was, its words told.
        text = waiting.get("text")
        known = {**waiting, "dialog": DIALOGS.get(text, "") if isinstance(text, str) else ""}
        data = {**data, "state": {**state, "activity": {**activity, "waiting": known}}}
    return data if "limits" in data else {**data, "limits": _limits(data)}


def _limits(data: dict[str, Any]) -> dict[str, Any]:
    """What the agent waits out, which stood in its run's activity, or in its state where it was down."""
    state = _object(data, "state")
    parking = _object(state, "activity").get("parking")
    if state.get("name") == "parked" and "until_wall" in state:
        held = {name: state[name] for name in ("until_wall", "kind", "fresh") if name in state}
        parking = {"kind": "limit", "since": 0.0, "why": data.get("reason", ""), **held}
    return {"parking": parking, "setbacks": data.get("setbacks", 0)}


def _object(data: dict[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def alert(data: Any) -> Any:
    """A standing alert of the fleet as an older version saved it."""
    if not isinstance(data, dict):
        return data
    kind, text = data.get("kind"), data.get("text")
    if isinstance(kind, str) and kind.startswith(OUTAGE_OF) and not data.get("about"):
        return {**data, "about": [kind.removeprefix(OUTAGE_OF)]}
    if kind == BEHIND and isinstance(text, str) and "gist" not in data:
        return {**data, "gist": text.removesuffix(DO)}
    return data
