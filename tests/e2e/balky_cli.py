"""A CLI that looks like Claude Code and whose terminal misbehaves, to see what becomes of texts that are sent to it.

    python balky_cli.py LOG SEED TRAIT...

LOG gets a JSON line for each prompt that it took ({"submitted": text}) and for each Enter that a dialog got
({"approved": ...}), and the count of what it did to the sender. Traits:

    swallows   3 of 10 Enters do nothing
    stale      after a change, frames of before are drawn again for up to a quarter of a second
    deaf       no Enter does anything
    stalls     now and then it reads nothing for up to two seconds
    asks       now and then a dialog takes the keyboard, which half of the time no hook tells of
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import socket
import sys
import time
import tty
from collections import Counter
from pathlib import Path

SWALLOWED = 0.3
PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"
DIALOG = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend"


class Cli:
    """The input line, the screen and the hooks."""

    def __init__(self, log: Path, dice: random.Random, traits: frozenset[str]) -> None:
        self.log, self.dice, self.traits = log, dice, traits
        self.line = ""
        self.dialog_until: float | None = None
        self.question: socket.socket | None = None
        self.frames: list[str] = []
        self.redraws: list[tuple[float, str]] = []
        self.did: Counter[str] = Counter()

    def has(self, trait: str, chance: float = 1.0) -> bool:
        return trait in self.traits and self.dice.random() < chance

    # --- the keyboard ---

    def take(self, typed: bytes) -> None:
        """One paste, or single keys."""
        if typed.startswith(PASTE):
            self._paste(typed[len(PASTE) : -len(PASTE_END)].decode())
            return
        for key in typed.decode(errors="replace"):
            self._key(key)

    def _paste(self, text: str) -> None:
        if self.dialog_until is None:
            self.line += text
        self.draw()
        if self.has("asks", 0.1):
            self._ask()

    def _key(self, key: str) -> None:
        if self.dialog_until is not None:
            if key == "\r":
                self.note(approved=self.line)
            return
        if key == "\r" and self.line:
            self._enter()
        elif key == "\x15":
            before, newline, last = self.line.rpartition("\n")
            self.line = "" if _is_placeholder(self.line) else before + newline if last else before
        elif key == "\x7f":
            self.line = self.line[:-1]
        elif key.isprintable():
            self.line += key
        self.draw()

    def _enter(self) -> None:
        if self.has("deaf") or self.has("swallows", SWALLOWED):
            self.did["swallowed"] += 1
        else:
            self._submit()

    def _submit(self) -> None:
        text, self.line = self.line, ""
        self.note(submitted=text)
        self._write_transcript(text)
        self.draw()
        self.tell("prompt-submit", prompt=text)
        if self.has("asks", 0.1):
            self._ask()
        else:
            self.tell("stop")

    def _ask(self) -> None:
        self.did["dialogs"] += 1
        self.dialog_until = time.monotonic() + self.dice.uniform(0.2, 0.8)
        if self.dice.random() < 0.5:
            # Held until it is answered; closing it says that somebody answered at the keyboard.
            self.question = self._post("permission-request", tool_name="Bash", tool_input={"command": "rm -rf ."})
        self.draw()

    def answered(self) -> None:
        """Somebody has answered the dialog elsewhere."""
        self.dialog_until = None
        if self.question is not None:
            self.question.close()
            self.question = None
            self.tell("tool-end", tool_name="Bash")
        self.tell("stop")
        self.draw()

    # --- the screen ---

    def frame(self) -> str:
        columns, rows = shutil.get_terminal_size()
        if self.dialog_until is not None:
            shown = [_rule(columns), *DIALOG.splitlines()]
        else:
            line = self.line
            if _is_placeholder(line):
                line = f"[Pasted text #1 +{line.count(chr(10))} lines]"
            wrapped = [
                part[at : at + columns - 4]
                for part in line.split("\n")
                for at in range(0, len(part) or 1, max(1, columns - 4))
            ]
            first, *more = wrapped
            shown = [_rule(columns), f"❯ {first}", *(f"  {one}" for one in more), _rule(columns), "  ? for shortcuts"]
        return "\r\n".join(one[:columns] for one in shown[-rows:])

    def draw(self) -> None:
        """Draw what is, after what was."""
        newest = self.frame()
        now = time.monotonic()
        self.redraws.clear()
        if self.frames and self.has("stale", 0.5):
            self.did["stale"] += 1
            at = now
            for _ in range(self.dice.randint(1, 3)):
                self.redraws.append((at, self.dice.choice(self.frames)))
                at += self.dice.uniform(0.02, 0.08)
            self.redraws.append((at, newest))
        else:
            self.redraws.append((now, newest))
        self.frames = [*self.frames[-3:], newest]
        self.redraw()

    def redraw(self) -> None:
        while self.redraws and self.redraws[0][0] <= time.monotonic():
            _, frame = self.redraws.pop(0)
            os.write(1, b"\x1b[H\x1b[2J" + frame.encode())

    def due(self) -> float | None:
        """Seconds until something is to be done unasked."""
        times = [at for at, _ in self.redraws[:1]]
        if self.dialog_until is not None:
            times.append(self.dialog_until)
        return max(0.0, min(times) - time.monotonic()) if times else None

    # --- others ---

    def _write_transcript(self, text: str) -> None:
        """As the CLI keeps it: without a message a session cannot be resumed."""
        project = "".join(one if one.isascii() and one.isalnum() else "-" for one in os.getcwd())
        transcript = Path.home() / ".claude/projects" / project / f"{os.environ['PHOENIX_SESSION_ID']}.jsonl"
        transcript.parent.mkdir(parents=True, exist_ok=True)
        with transcript.open("a") as lines:
            lines.write(json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n")

    def begin(self, source: str, prompt: str) -> None:
        """Report the session, and take the prompt that it was started with."""
        self.tell("session-start", source=source)
        if prompt:
            self.line = prompt
            self._submit()
        self.draw()

    def note(self, **what: str) -> None:
        with self.log.open("a") as lines:
            lines.write(json.dumps({**what, "did": self.did}) + "\n")

    def tell(self, kind: str, **fields: object) -> None:
        with self._post(kind, **fields) as hooks:
            if not hooks.recv(65536).startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"the hook {kind} was refused")

    def _post(self, kind: str, **fields: object) -> socket.socket:
        body = json.dumps({"session_id": os.environ["PHOENIX_SESSION_ID"], **fields}).encode()
        head = (
            f"POST /hook/{kind} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {os.environ['PHOENIX_TOKEN']}\r\nConnection: close\r\n\r\n"
        )
        hooks = socket.socket(socket.AF_UNIX)
        hooks.connect(os.environ["PHOENIX_HOOK_DIR"] + "/hook.sock")
        hooks.sendall(head.encode() + body)
        return hooks


def _rule(columns: int) -> str:
    return "─" * columns


def _is_placeholder(line: str) -> bool:
    return line.count("\n") > 5 or len(line) > 800


def _cut(typed: bytes) -> tuple[list[bytes], bytes]:
    """Whole pastes and keys, and what is not whole yet."""
    whole = []
    while typed:
        begin = typed.find(PASTE)
        if begin > 0:
            whole.append(typed[:begin])
            typed = typed[begin:]
        elif begin == 0:
            end = typed.find(PASTE_END)
            if end < 0:
                break
            whole.append(typed[: end + len(PASTE_END)])
            typed = typed[end + len(PASTE_END) :]
        elif typed.startswith(b"\x1b"):
            break
        else:
            whole.append(typed)
            typed = b""
    return whole, typed


def main() -> None:
    log, seed, *rest = sys.argv[1:]
    traits = frozenset(rest[: rest.index("--settings")] if "--settings" in rest else rest)
    cli = Cli(Path(log), random.Random(seed), traits)
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h")
    resized, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    cli.begin("resume" if "--resume" in rest else "startup", rest[-1] if "--" in rest else "")
    typed = b""
    while True:
        readable, _, _ = select.select([0, resized], [], [], cli.due())
        cli.redraw()
        if resized in readable:
            os.read(resized, 65536)
            cli.draw()
        if cli.dialog_until is not None and cli.dialog_until <= time.monotonic():
            cli.answered()
        if 0 not in readable:
            continue
        if cli.has("stalls", 0.05):
            cli.did["stalled"] += 1
            time.sleep(cli.dice.uniform(0, 2))
        chunk = os.read(0, 65536)
        if not chunk:
            return
        whole, typed = _cut(typed + chunk)
        for part in whole:
            cli.take(part)


if __name__ == "__main__":
    main()
