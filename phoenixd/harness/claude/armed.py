"""How Claude Code takes answers that stand ready. Measured with 2.1.197 and 2.1.330, posted and by program.

A turn whose Stop is blocked goes on with the reason; the next Stop says `stop_hook_active`. A denied call is not run,
and the model reads the reason as its result. A blocked PreCompact leaves the context as it is.
"""

from __future__ import annotations

from phoenixd.core.armed_answer import On
from phoenixd.harness.armed import ArmedBody


def armed(on: On, text: str) -> ArmedBody:
    """The answer in the CLI's words."""
    match on:
        case "stop":
            return ArmedBody("stop", {"decision": "block", "reason": text}, "Stop")
        case "tool":
            denial = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": text}
            return ArmedBody("tool-start", {"hookSpecificOutput": denial}, "PreToolUse")
        case "compaction":
            return ArmedBody("pre-compact", {"decision": "block", "reason": text}, "PreCompact")
