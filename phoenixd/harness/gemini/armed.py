"""How the Gemini CLI takes answers that stand ready: from the hook program. Measured with 0.61.0.

An AfterAgent that is denied goes on with the reason, once; a BeforeTool that is denied tells the model the reason.
PreCompress says nothing of when it compacts, and is not asked for.
"""

from __future__ import annotations

from phoenixd.core.armed_answer import On
from phoenixd.harness.armed import ArmedBody


def armed(on: On, text: str) -> ArmedBody | None:
    """The answer in the CLI's words; None where it takes none."""
    denial: dict[str, object] = {"decision": "deny", "reason": text}
    match on:
        case "stop":
            return ArmedBody("stop", denial, "AfterAgent", words="prompt_response")
        case "tool":
            return ArmedBody("tool-start", denial, "BeforeTool")
        case "compaction":
            return None
