"""Agents' directories as a hostile hand, a full disk or a power cut leaves them, and what must be left of each."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = (
    "state.json", "brief.md", "resolved.jsonl", "ops.jsonl", "session.json", "heartbeat.json", "exit.json",
    "brief.json", ".brief-switch.json", "session-start.1.json", "session-start.1.txt", "run.json",
    "ledger.json",
)  # fmt: skip
GOOD_NUMBERS = {"good": "1"}
GOOD = {"id": "good-one", "text": "the redirect is not tested", "added": "2026-11-15"}
OTHER = {"id": "good-two", "text": "the invoice rounds down", "added": "2026-11-18"}
CLOSED = {"id": "good-two", "reason": "fixed", "ts": "2026-11-20T10:00:00Z", "domain": "a"}
BAD_LOOPS: tuple[Any, ...] = (
    None, 7, True, [], {}, "", {"id": 5}, {"text": ["x"]}, {"id": None, "text": None}, [GOOD], {"added": "2026-11-15"},
)  # fmt: skip
BAD_LINES = (
    b"", b"{", b"null", b"[]", b'"good-one"', b'{"id": 7}', b'{"id": "nobody"}', b"\xff\xfe", b'{"id": ["good-one"]}',
    b'{"id": "good-one', b"[" * 5000, b'{"reason": "good-one"}',
)  # fmt: skip


@dataclass(frozen=True)
class Damage:
    """What was done, and which loops must be open after it: no more, no fewer."""

    done: tuple[str, ...]
    open: frozenset[str]


@dataclass
class Vandal:
    """Damages one directory in one of many ways, by dice."""

    directory: Path
    dice: random.Random
    done: list[str] = field(default_factory=list)

    def strike(self) -> Damage:
        """Put good records among bad ones, then break some of the files; state.json and brief.md never both."""
        open_loops = {"good-one", "good-two"}
        self._records()
        resolved = self.dice.random() < 0.5
        if resolved:
            self._resolve()
        broken = self.dice.sample(NAMES, self.dice.randint(0, len(NAMES)))
        if "state.json" in broken and "brief.md" in broken:
            broken.remove(self.dice.choice(["state.json", "brief.md"]))
        for name in broken:
            self._break(name)
        if resolved and self._is_on_record():
            open_loops.discard("good-two")
        return Damage(tuple(self.done), frozenset(open_loops))

    def _records(self) -> None:
        state = json.loads((self.directory / "state.json").read_bytes())
        loops = [GOOD, OTHER, *self.dice.sample(BAD_LOOPS, self.dice.randint(0, 3))]
        self.dice.shuffle(loops)
        state["open_loops"] = loops
        state["numbers"] = GOOD_NUMBERS | self.dice.choice([{}, {"bad": [1]}, {"bad": None}, {"bad": {"good": "1"}}])
        (self.directory / "state.json").write_text(json.dumps(state))

    def _resolve(self) -> None:
        lines = [json.dumps(CLOSED).encode(), *self.dice.sample(BAD_LINES, self.dice.randint(0, 4))]
        self.dice.shuffle(lines)
        with (self.directory / "resolved.jsonl").open("ab") as file:
            file.write(b"\n".join(lines) + b"\n")

    def _is_on_record(self) -> bool:
        """Whether the resolution still stands in a whole line of a file that may be read."""
        path = self.directory / "resolved.jsonl"
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 64 << 20:
            return False
        return json.dumps(CLOSED).encode() in path.read_bytes().split(b"\n")[:-1]

    def _break(self, name: str) -> None:
        path = self.directory / name
        content = path.read_bytes() if path.exists() else b""
        ways: dict[str, Callable[[Path, bytes], object]] = {
            "truncated": lambda path, content: path.write_bytes(
                content[: self.dice.randint(0, max(0, len(content) - 3))]
            ),
            "emptied": lambda path, content: path.write_bytes(b""),
            "zeroed": lambda path, content: path.write_bytes(bytes(len(content) or 512)),
            "noise": lambda path, content: path.write_bytes(self.dice.randbytes(2000)),
            "of another type": lambda path, content: path.write_bytes(self.dice.choice(BAD_LINES) or b"0"),
            "too deep": lambda path, content: path.write_bytes(b"[" * 100_000),
            "100 MB": lambda path, content: os.truncate(path, 100 << 20) if path.exists() else None,
            "a symlink": lambda path, content: self._instead(path, lambda: path.symlink_to("/etc/passwd")),
            "a symlink to nothing": lambda path, content: self._instead(path, lambda: path.symlink_to("nowhere")),
            "a FIFO": lambda path, content: self._instead(path, lambda: os.mkfifo(path)),
            "a directory": lambda path, content: self._instead(path, lambda: (path / "x").mkdir(parents=True)),
            "gone": lambda path, content: self._instead(path, lambda: None),
        }
        way = self.dice.choice(sorted(ways))
        # What lies about its size or kind is found out; a state that is cut to nothing but `{}` names no agent.
        ways[way](path, content)
        self.done.append(f"{name}: {way}")

    @staticmethod
    def _instead(path: Path, make: Callable[[], object]) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        make()
