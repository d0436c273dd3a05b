"""The list in its order: groups with what needs a person first, agents in each, and what stands folded as a count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from phoenixd.core.selection import Selector, Subject
from phoenixd.top.frames import Json
from phoenixd.top.model import Model
from phoenixd.top.spans import Style

Group = Literal["needs_you", "healing", "unknown", "working", "resting"]
ORDER: tuple[Group, ...] = ("needs_you", "healing", "unknown", "working", "resting")
FINE: tuple[Group, ...] = ("working", "resting")
"""Groups whose agents are counted where there is no room to list them."""
LEAST = 3
"""Lines that a group gets at least, where not all of it is listed; with fewer it is a heading alone."""
SIGNS: Mapping[str, str] = {"needs_you": "!", "healing": "~", "working": "*", "resting": ".", "unknown": "?"}
TITLES: Mapping[str, str] = {
    "needs_you": "NEEDS YOU",
    "healing": "HEALING",
    "unknown": "UNKNOWN",
    "working": "WORKING",
    "resting": "RESTING",
}
STYLES: Mapping[str, Style] = {
    "needs_you": "need",
    "healing": "heal",
    "working": "work",
    "resting": "rest",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One line of the list: a group's heading, an agent, an alert of no agent, or the count of a group's others."""

    kind: Literal["group", "agent", "alert", "more"]
    key: str
    group: Group
    count: int = 0
    """Of a heading: how many are in the group; else how many are not listed."""
    is_folded: bool = False


def group_of(row: Json) -> Group:
    """The group of a row; one that this version does not know is unknown."""
    found = row.get("group")
    return next((group for group in ORDER if group == found), "unknown")


def subject_of(row: Json) -> Subject:
    """What selectors read of a row."""
    words = tuple(dict.fromkeys(str(row[key]) for key in ("state", "activity", "group") if row.get(key)))
    labels = tuple(map(str, row.get("labels") or ()))
    needs = row.get("group") == "needs_you"
    return Subject(row["name"], row["kind"], row["harness"], words, needs, row.get("project"), labels)


def places(model: Model, chosen: Selector, folds: Mapping[str, bool], room: int, held: str = "") -> tuple[Place, ...]:
    """Every line of the list, from top to bottom. room: lines on the screen; folds: what a person has folded or opened.

    What is not fine is always listed. Of working and resting agents as many are listed as have room, the others are
    counted. Where the agent `held` were among these, its group stays open, so that nothing folds under the cursor.
    """
    members: dict[Group, list[Place]] = {group: [] for group in ORDER}
    takes_all = not chosen.terms
    if takes_all:
        for number, told in sorted(model.alerts.items()):
            if told.body.get("agent") is None:
                members["needs_you"].append(Place("alert", str(number), "needs_you"))
    rows = [told.body for told in model.agents.values() if takes_all or chosen.takes(subject_of(told.body))]
    for row in sorted(rows, key=lambda row: _order(row, model)):
        group = group_of(row)
        members[group].append(Place("agent", row["name"], group))
    left = room - sum(len(found) + 1 for group, found in members.items() if found and group not in FINE)
    left -= sum(1 for group in FINE if members[group])
    shown: list[Place] = []
    for group in ORDER:
        all_of = members[group]
        if not all_of:
            continue
        is_auto = group in FINE and group not in folds
        listed = all_of if not folds.get(group) else []
        if is_auto and len(all_of) > left:
            part = all_of[: left - 1] if left > LEAST else []
            listed = part if all(place.key != held for place in all_of[len(part) :]) else all_of
        left -= len(listed) if group in FINE else 0
        shown += [Place("group", group, group, len(all_of), not listed), *listed]
        if listed and len(listed) < len(all_of):
            shown.append(Place("more", group, group, len(all_of) - len(listed)))
            left = 0
    return tuple(shown)


def _order(row: Json, model: Model) -> tuple[bool, str, str]:
    """As `status` has it: the oldest first among what is not fine, and what was acknowledged after what was not; what
    is fine by name, so that rows do not jump."""
    is_fine = group_of(row) in FINE
    return not is_fine and model.is_acknowledged(row), "" if is_fine else str(row.get("since") or ""), row["name"]
