"""A daemon that arms what a prompt says, for no verb does that: parts of the core arm, and a test has none of them.

A prompt with `ARM {...}` in it arms that answer for half an hour; run as `python -m tests.e2e.arming`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

from phoenixd.core import armed, hearing
from phoenixd.core.agent import Agent
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.hooks import PromptSubmitted
from phoenixd.core.moment import Moment
from phoenixd.daemon import main
from phoenixd.demo.stage import Stage

TOLD = re.compile(r"ARM (\{[^{}]*\})")
HALF_AN_HOUR = 1800.0


def arm(id: str, on: str, text: str, **more: Any) -> str:
    """What a prompt says to have an answer armed."""
    return f"ARM {json.dumps({'id': id, 'on': on, 'text': text, 'purpose': 'freeze', **more})}"


def hear(agent: Agent, event: PromptSubmitted, seen: Seen, now: Moment) -> Decision:
    decision = seen.decision
    for told in TOLD.findall(event.text):
        said = json.loads(told)
        said["tools"] = tuple(said.get("tools", ()))
        decision = armed.arm(decision, ArmedAnswer(until=now.at + HALF_AN_HOUR, **said), now)
    return decision


def listen() -> None:
    """Put the part at the end of the agent's own in the row of prompts."""
    row = hearing.TABLE[PromptSubmitted]
    hearing.TABLE[PromptSubmitted] = tuple((*one, hear) if isinstance(one, tuple) else one for one in row)


class ArmingStage(Stage):
    """A stage whose daemon is that one."""

    def up(self, *, wait: bool = True) -> None:
        private = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        places = ["--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with os.fdopen(private, "ab") as log:
            self.process = self.popen(
                [sys.executable, "-m", "tests.e2e.arming", *places],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=self.environ,
            )  # fmt: skip
        if wait:
            self.until("the daemon answers", self.answers)

    def marks(self, agent: str) -> list[str]:
        """For which hooks its shim has an answer."""
        found = (self.runtime / "agents" / agent).glob("armed.*")
        return sorted(path.name.partition(".")[2] for path in found)

    def until_armed(self, agent: str, mark: str) -> None:
        self.until(f"{agent}'s shim has {mark}, not {self.marks(agent)}", lambda: mark in self.marks(agent), 60)


if __name__ == "__main__":
    listen()
    sys.exit(main())
