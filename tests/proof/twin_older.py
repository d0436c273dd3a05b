"""What the core says today in the words of a commit that had one class for all hooks, and sentences for facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phoenixd.core.alert_kinds import OUTAGE_OF
from phoenixd.core.hooks import HOOKS
from phoenixd.documents.hooks import MEANINGS

KINDS = {hook.__name__: kind for kind, hook in HOOKS.items()}
ADDED = {"Waiting": {"dialog"}, "StandingAlert": {"gist"}, "Alert": {"gist"}, "StartFailed": {"obstacle"}}
"""Fields that the older commit does not have, and says in other words."""


def is_older(tree: Path) -> bool:
    """Whether the package in this directory has one class for all hooks."""
    return not (tree / "phoenixd/core/hooks.py").exists()


def as_before(words: Any) -> Any:
    """The words of tests/proof/twin_words.py as that commit would have said them."""
    if isinstance(words, list):
        return [as_before(one) for one in words]
    if isinstance(words, dict):
        return {name: as_before(one) for name, one in words.items()}
    if not isinstance(words, tuple) or words[0] != "d":
        return words
    _, name, content = words
    said = {field: as_before(one) for field, one in content.items() if field not in ADDED.get(name, ())}
    if name in KINDS or name == "OtherHook":
        kind = KINDS.get(name) or said.get("word", "")
        return ("d", "HookSeen", {field: one for field, one in said.items() if field not in MEANINGS} | {"kind": kind})
    if name in ("LastExit", "AgentExited") and (note := said.pop("note", None)):
        said["cause"] = note
    if name in ("StandingAlert", "Alert") and str(said.get("kind", "")).startswith(OUTAGE_OF):
        said.pop("about", None)
    return ("d", name, said)
