"""How Codex takes answers that stand ready: from the hook program. Measured with 0.169.0.

A turn whose Stop is blocked goes on with the reason. `Interrupt`, which is told as a stop too, is a person's, and is
never answered. No answer keeps it from compacting.
"""

from __future__ import annotations

from phoenixd.core.armed_answer import On
from phoenixd.harness.armed import ArmedBody


def armed(on: On, text: str) -> ArmedBody | None:
    """The answer in the CLI's words; None where it takes none."""
    match on:
        case "stop":
            return ArmedBody("stop", {"decision": "block", "reason": text}, "Stop")
        case "tool":
            denial = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": text}
            return ArmedBody("tool-start", {"hookSpecificOutput": denial}, "PreToolUse")
        case "compaction":
            return None
