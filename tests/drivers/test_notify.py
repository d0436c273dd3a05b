"""Alerts reach the configured command, and nothing that the command does reaches the daemon."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from phoenixd.drivers.notify import CommandNotifier
from tests.waiting import eventually

HOSTILE = "permission\n\x1b]0;title\x07 $(touch /tmp/x) `id` '\"; #(x)"


def writes(path: Path) -> list[str]:
    return [sys.executable, "-c", "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())", str(path)]


async def test_the_command_gets_the_alert_as_json_and_nothing_as_an_argument(tmp_path: Path) -> None:
    await CommandNotifier(writes(tmp_path / "out")).alert("builder", "waiting", HOSTILE)
    told = json.loads((tmp_path / "out").read_text())

    assert (told["agent"], told["kind"], told["text"]) == ("builder", "waiting", HOSTILE)


async def test_the_same_alert_is_not_sent_again_within_an_hour(tmp_path: Path) -> None:
    now = 0.0
    notifier = CommandNotifier(writes(tmp_path / "out"), monotonic=lambda: now)
    for at in (0.0, 10.0, 3599.0, 3601.0):
        now = at
        await notifier.alert("builder", "waiting", "for you")
    await notifier.alert("builder", "waiting", "for somebody else")

    assert len((tmp_path / "out").read_text().splitlines()) == 3


async def test_a_command_that_hangs_is_killed_with_its_group(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/child; wait"
    await CommandNotifier(["sh", "-c", script], timeout=0.5).alert("a", "k", "t")
    child = int((tmp_path / "child").read_text())

    def is_gone() -> bool:
        try:
            return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    await eventually(is_gone)


async def test_a_command_that_is_missing_or_fails_is_no_failure_of_ours() -> None:
    await CommandNotifier(["/nonexistent/command"]).alert("a", "k", "t")
    await CommandNotifier(["false"]).alert("a", "k", "t")
    await CommandNotifier().alert("a", "k", "t")


async def test_at_most_four_commands_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[bytes] = []
    most = 0

    async def run(self: CommandNotifier, message: bytes, agent: str, kind: str) -> None:
        nonlocal most
        running.append(message)
        most = max(most, len(running))
        for _ in range(10):
            await asyncio.sleep(0)
        running.remove(message)

    monkeypatch.setattr(CommandNotifier, "_run", run)
    notifier = CommandNotifier(["true"])
    await asyncio.gather(*(notifier.alert("a", "k", str(number)) for number in range(20)))

    assert most == 4
