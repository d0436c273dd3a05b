"""An agent that dies in each of its runs, and before that does what it is told to: nothing, a turn, or work.

python mortal_agent.py nothing|turn|work
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


def report(kind: str, **payload: Any) -> None:
    told = {"session_id": os.environ["PHOENIX_SESSION_ID"], **payload}
    subprocess.run([os.environ["PHOENIX_HOOK"], kind], input=json.dumps(told).encode(), check=True)


def main() -> None:
    report("session-start", source="resume")
    report("prompt-submit", prompt="go on")
    is_up = os.path.exists(sys.argv[1])
    if sys.argv[1] == "turn" or is_up:
        report("tool-end", tool_name="Bash", tool_use_id="t")
        report("stop")
    if sys.argv[1] == "work":
        Path("work.txt").write_text(os.environ["PHOENIX_RUN_ID"])
    if is_up:
        signal.pause()
    sys.exit(1)


if __name__ == "__main__":
    main()
