"""The Quick Start of the Phoenix Protocol, byte for byte: the state.json of its first step, the hook of its second."""

from __future__ import annotations

STATE = """\
{
  "agent": "myagent",
  "status": "working",
  "current_task": "Implementing feature X",
  "last_active": "2026-02-17T02:00:00Z",
  "open_loops": [
    {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-02-15"}
  ],
  "resolved": [],
  "numbers": {"tests_passing": "47/52"}
}
"""

START_HOOK = """\
if jq -e '.status == "working"' state.json > /dev/null 2>&1; then
    echo "RECOVERY DETECTED - Last task: $(jq -r '.current_task' state.json)"
    echo "Open loops: $(jq '.open_loops | length' state.json)"
fi
"""
