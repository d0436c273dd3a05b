"""What `phase list` and `phase check` print."""

from __future__ import annotations

from collections import Counter
from typing import Any

from phoenixd.api.pages.layout import SET_IN, Page, clip, name_column, pad, page, wrap

SIGNS = {"completed": ".", "in_progress": "*", "blocked": "!", "unknown": "?", "not_started": " "}
NAME_COLUMNS = 26


def listed(body: dict[str, Any], here: Page) -> str:
    """Phases in their order, each with its tasks counted; the current one is named."""
    current = body["current_phase"] or "none"
    lines = [*wrap(f"{body['project']} in {body['workspace']}; current phase: {current}", here.width, SET_IN), ""]
    columns = name_column([one["phase"] for one in body["phases"]], here, NAME_COLUMNS)
    for one in body["phases"]:
        tasks = Counter(task.get("status", "pending") for task in (one["plan"] or {}).get("tasks", ()))
        counted = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in sorted(tasks.items()))
        told = one["problem"] or f"{counted or 'no task'}; {one['lines']} lines"
        lead = f"{here.sign(SIGNS[one['status']]) if one['status'] != 'not_started' else ' '} "
        lines.append(f"{lead}{pad(one['phase'], columns)} {clip(told, max(20, here.width - columns - 3))}")
    return page([*lines, "", here.ending("what is wrong with it: phoenixctl phase check")])


def checked(body: dict[str, Any], here: Page) -> str:
    """Each finding with its remedy."""
    if not body["findings"]:
        return page(wrap(f"{body['project']} in {body['workspace']} is in order.", here.width, SET_IN))
    lines: list[str] = []
    for one in body["findings"]:
        sign = here.sign("!" if one["level"] == "problem" else "?")
        line = f", line {one['line']}" if one["line"] else ""
        first, *more = wrap(f"{one['path']}{line}: {one['what']}", here.width - 2, SET_IN)
        lines += [f"{sign} {first}", *(f"{SET_IN}{words}" for words in more)]
        lines += [here.reaching(f"{SET_IN}do: {' '.join(one['remedy'].split())}")]
    return page(lines)
