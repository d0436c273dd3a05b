"""A recorded transcript without what is the machine's, and without what repeats: what a sample keeps."""

from __future__ import annotations

import json
import re
from typing import Any

LONG = 3000
_PER_TURN = frozenset({"world_state", "turn_context", "token_usage_record", "api-request", "api-request-blob",
                       "api-request-shape"})  # fmt: skip
_LISTINGS = frozenset({"agent_listing_delta", "skill_listing", "prompt_snapshot"})
_EVENTS = frozenset({"thread_settings_applied", "token_count"})


def neutral(text: str, home: str, workspace: str) -> str:
    """Paths and ports replaced, long texts cut, and of lines that repeat without news the first alone."""
    for found, instead in ((home, "/home/user"), (workspace, "/home/user/shop")):
        text = text.replace(found, instead)
        text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", found), instead.replace("/", "-"))
    text = re.sub(r"/tmp/claude-\d+/", "/tmp/claude-1000/", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:40001", text)
    text = re.sub(r"Linux \d+\.\d+[^\"\\ ]*", "Linux 6.1.0", text)
    kept, seen = [], set()
    for line in map(json.loads, text.splitlines()):
        name = _repeats(line)
        if name is not None and name in seen:
            continue
        seen.add(name)
        for call in line.get("toolCalls", []):
            call.pop("resultDisplay", None)
        short = json.dumps(_cut(line), ensure_ascii=False, separators=(",", ":"))
        if len(short) > LONG:
            short = json.dumps(_few(_cut(line)), ensure_ascii=False, separators=(",", ":"))
        kept.append(short)
    return "\n".join(kept) + "\n"


def _repeats(line: dict[str, Any]) -> str | None:
    """What a line is known by where one of its kind is enough; None for all others."""
    attached, payload = line.get("attachment", {}), line.get("payload", {})
    if attached.get("type") == "hook_success":
        return f"hook {attached['hookName'].split(':')[0]}"
    for kind, wanted in (
        (attached.get("type"), _LISTINGS),
        (line.get("type"), _PER_TURN),
        (payload.get("type"), _EVENTS),
    ):
        if kind in wanted:
            return str(kind)
    if payload.get("role") == "developer":
        return "developer"
    return "touched" if set(line) == {"$set"} and set(line["$set"]) == {"lastUpdated"} else None


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 300 else f"{value[:300]}..."
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list) else value


def _few(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _few(one) for key, one in value.items()}
    return [_few(one) for one in value[:2]] if isinstance(value, list) else value
