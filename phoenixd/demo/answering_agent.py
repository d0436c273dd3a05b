"""The demo's second agent: it takes a turn for each line that is typed, and answers what phoenixd asks of a model.

It quotes the package of a handoff, and recites the codes that stand at the front of its context. `forget`, typed into
its terminal, drops that front, as a chat API does in silence: it goes on as if nothing were missing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGE = re.compile(r"^Handoff package: (\S+)$", re.MULTILINE)
CODES = re.compile(r"\b([0-9]{1,3}): ([0-9a-f]{6})\b")
ASKED = re.compile(r"recite resonance code number ([0-9]{1,3}) ")


def report(event: str, *options: str, **facts: Any) -> str:
    """Tell phoenixd by its hook program; returns what that prints."""
    told = json.dumps({"session_id": os.environ["PHOENIX_SESSION_ID"], **facts})
    hook = [os.environ["PHOENIX_HOOK"], event, *options]
    return subprocess.run(hook, input=told, text=True, stdout=subprocess.PIPE, check=False).stdout


def codes_in(context: str) -> dict[str, str]:
    """The codes that a context shows, by number."""
    line = next((one for one in context.splitlines() if one.startswith("Resonance codes: ")), "")
    return dict(CODES.findall(line))


def quoted(package: Path) -> str:
    """What a successor says to prove that it has read its package."""
    told = json.loads(package.read_text())
    state = told["projectState"]
    proof = {
        "package": told["hash"],
        "word": told["word"],
        "phase": told.get("currentPhase") or "none",
        "step": state["currentStep"],
        "pending": len(state["pendingTasks"]),
    }
    plan = told.get("planFiles", {}).get(told.get("currentPhase"))
    tasks = re.findall(r"^#+ (Task .*)$", Path(plan).read_text(), re.MULTILINE) if plan else []
    return "HANDOFF-ACK " + json.dumps(proof | ({"plan": tasks[-1]} if tasks else {}))


def turn(prompt: str, codes: dict[str, str]) -> dict[str, str]:
    """Take one turn, and answer what holds up its end; returns the codes that are known then."""
    report("prompt-submit", prompt=prompt)
    codes = {} if prompt == "forget" else codes
    package = PACKAGE.search(prompt)
    said = quoted(Path(package[1])) if package else f"Done: {prompt}"
    again: dict[str, bool] = {}
    while True:
        print(said, flush=True)
        printed = report("stop", last_assistant_message=said, **again)
        answer = json.loads(printed) if printed.strip() else {}
        if answer.get("decision") != "block":
            return codes
        again = {"stop_hook_active": True}
        asked = ASKED.search(answer["reason"])
        codes = codes if asked else codes_in(answer["reason"]) or codes
        said = codes.get(asked[1], "I cannot see that.") if asked else "noted"


def main() -> None:
    """Begin, take up what it is told first, and then what is typed."""
    codes = codes_in(report("session-start", "--text", source="startup"))
    if len(sys.argv) > 1 and sys.argv[1]:
        codes = turn(sys.argv[1], codes)
    for line in sys.stdin:
        if line.strip():
            codes = turn(line.strip(), codes)


if __name__ == "__main__":
    main()
