"""An agent of the open contract that knows what stands at the front of its context, until it is made to forget.

It is told its front at the session's start, and new codes at a turn's end. FORGETS in its directory: the front is
dropped, once, and the agent goes on as if nothing were missing. NEVER there: it knows no code. Each line that is typed
is a turn.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from phoenixd.demo.answering_agent import ASKED, codes_in, report


def turn(prompt: str, codes: dict[str, str]) -> dict[str, str]:
    """One turn, and what is asked at its end; returns the codes that are known then."""
    report("prompt-submit", prompt=prompt)
    last = f"Done: {prompt}"
    while True:
        printed = report("stop", last_assistant_message=last)
        answer: dict[str, Any] = json.loads(printed) if printed.strip() else {}
        if answer.get("decision") != "block":
            return codes
        if Path("FORGETS").exists():
            Path("FORGETS").unlink()
            codes = {}
        reason = str(answer["reason"])
        with Path("asked").open("a") as file:
            file.write(reason + "\n---\n")
        asked = ASKED.search(reason)
        if asked is None:
            codes, last = codes_in(reason) or codes, "noted"
        else:
            last = "I cannot see it." if Path("NEVER").exists() else codes.get(asked[1], "I cannot see it.")


def main() -> None:
    front = report("session-start", "--text", source="startup")
    Path(f"told-{os.environ['PHOENIX_INCARNATION']}").write_text(front)
    codes = codes_in(front)
    if len(sys.argv) > 1 and sys.argv[1]:
        Path(f"prompted-{os.environ['PHOENIX_INCARNATION']}").write_text(sys.argv[1])
        codes = turn(sys.argv[1], codes)
    for line in sys.stdin:
        if line.strip():
            codes = turn(line.strip(), codes)


if __name__ == "__main__":
    main()
