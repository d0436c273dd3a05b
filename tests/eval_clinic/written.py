"""Writes what a room has seen as a record, in made-up names."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.eval_clinic import lines, normal
from tests.eval_clinic.normal import Names
from tests.eval_clinic.room import Room


def write(room: Room, directory: Path, told: Mapping[str, Any]) -> None:
    """The record, as it is now."""
    names = _names(room)
    ended = json.loads(room.status.read_text()) if room.lived is not None else None
    lived = time.time() - room.began if room.lived is None else room.lived
    record = {
        **told,
        "harness": room.harness,
        "version": room.version,
        "kind": room.kind,
        "mode": room.mode,
        "argv": room.argv,
        "lived_s": round(lived, 1),
        "exit": ended,
        "asked_to_end": room.asked_to_end,
        "limits": room.limits,
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "record.json").write_text(_pretty(normal.trimmed(record), names))
    for name, text in (room.kept or files(room)).items():
        if text.strip():
            (directory / name).write_text(normal.renamed(text, names))


def files(room: Room) -> dict[str, str]:
    out, err = (_read(room.root / name) if room.kind == "headless" else "" for name in ("stdout", "stderr"))
    return {
        "hooks.jsonl": "".join(f"{json.dumps(normal.trimmed(hook), ensure_ascii=False)}\n" for hook in room.hooks()),
        "transcript.jsonl": normal.trimmed_lines(room.transcript()),
        "screen.txt": re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in room.screen().splitlines())),
        "stdout.txt": normal.trimmed_lines(out) if out.startswith("{") else normal.shortened(out, normal.TEXT),
        "stderr.txt": normal.shortened(err, normal.TEXT),
    }


def _names(room: Room) -> Names:
    root = os.path.realpath(room.root)
    vendor = lines.VENDORS[room.harness]
    return (
        (str(room.binary), f"/usr/local/bin/{room.harness}"),
        (str(room.cache), "/usr/local/lib"),
        (f"{root}/home", "/home/dev"), (f"{root}/hook", "/usr/local/bin/hook"), (f"{root}/shop", "/work/shop"),
        (f"{root}/tmp", "/tmp"), (root, "/work"), (re.sub(r"[^A-Za-z0-9]", "-", root) + "-shop", "-work-shop"),
        (f"http://127.0.0.1:{room.stub.port}", vendor), (f"127.0.0.1:{room.stub.port}", vendor.partition("//")[2]),
        (str(Path.home()), "/home/dev"), *[(host, "workstation") for host in [socket.gethostname()] if len(host) > 3],
    )  # fmt: skip


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _pretty(value: object, names: Names) -> str:
    return normal.renamed(json.dumps(value, indent=1, ensure_ascii=False), names) + "\n"
