"""What `memory list` prints."""

from __future__ import annotations

from typing import Any

from phoenixd.api.pages.layout import SET_IN, Page, clean, page, wrap

HASH_SHOWN = 12


def listed(body: dict[str, Any], here: Page) -> str:
    """The project's own memory files, then what projects share, each with its source."""
    lines = [*wrap(clean(f"{body['project']} in {body['workspace']}"), here.width, SET_IN), ""]
    for one in body["files"]:
        told = (
            f"{one['sha256'][:HASH_SHOWN]}{', shared' if one['shared'] else ''}" if one["sha256"] else "cannot be read"
        )
        lines += wrap(clean(f"{one['path']} ({told})"), here.width, SET_IN)
    if not body["files"]:
        lines.append("It has no memory files.")
    if body["shared"]:
        taken = "its packages list them" if body["takes_shared"] else "its packages do not list them"
        lines += ["", f"Shared by projects; {taken}:"]
    for one in body["shared"]:
        words = f"{one['name']}: of {one['project']}, {one['at']}, {one['session_id']}"
        lines += wrap(clean(words), here.width, SET_IN)
    return page([*lines, "", here.ending("share one: phoenixctl memory share PATH")])
