"""What a turn's reading costs for the brief: a ledger that goes on from its kept place, in a short and a long session.

`python -m tests.bench.ledger [--megabytes N]`
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.documents.kept_ledger import KeptLedger, read_kept, render_kept
from phoenixd.documents.redact import redact
from phoenixd.drivers.files import plain
from phoenixd.drivers.transcripts.ledger import LedgerTail
from phoenixd.drivers.transcripts.talk import TalkTail
from phoenixd.harness.claude import transcript as claude_transcript
from tests.bench.arena import Figures
from tests.bench.scale import Scale
from tests.bench.transcripts import MEGABYTE, a_stretch, append, resident, transcript
from tests.transcripts.samples import answer, claude, prompt, tool_result, tool_use

TASKS = 200
AIM = 20.0
"""Milliseconds of processor time a turn."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the ledger of one transcript cost, in processor time."""

    megabytes: int
    first: float
    """Seconds for the first reading, whole."""
    longest: float
    """Seconds for its longest slice."""
    turn: Figures
    """Milliseconds for a turn's reading: what is new, and the kept file."""
    restarted: float
    """Milliseconds for a daemon that has the kept file alone."""
    conversation: Figures
    """Milliseconds for the end of the conversation, beside it."""
    size: int
    """Bytes of the kept file."""
    peak: int
    """MiB of memory beyond what was there before."""


def measure(megabytes: int, turns: int = 100) -> Reading:
    with transcript(megabytes) as path:
        if path.stat().st_size == 0:
            append(path, a_stretch()[: megabytes * MEGABYTE].rpartition(b"\n")[0] + b"\n")
        for number in range(TASKS):
            append(path, task(number))
        before, slices = resident(), []
        tail = LedgerTail(str(path), claude_transcript)
        more = True
        while more:
            began = time.process_time()
            more = tail.read_slice()
            slices.append(time.process_time() - began)
        peak = resident() - before
        kept_file = path.with_name("ledger.json")
        known: dict[str, str] = {}

        def clean(text: str) -> str:
            if text not in known:
                known[text] = redact(text)
            return known[text]

        def turn() -> KeptLedger:
            while tail.read_slice():
                pass
            kept = tail.kept(clean)
            plain.replace(kept_file, render_kept(kept))
            return kept

        kept, number = turn(), TASKS

        def work() -> None:
            nonlocal number
            number += 1
            append(path, task(number) + ran(number) + prompt(f"Go on {number}.") + answer(f"It is done {number}."))

        figures = processor(turns, turn, work)
        assert turn().ledger.runs != kept.ledger.runs
        talk = TalkTail(str(path), claude_transcript)
        talk.conversation()
        conversation = processor(turns, talk.conversation, work)
        turn()
        content = kept_file.read_bytes()
        began = time.process_time()
        again = LedgerTail.going_on(str(path), claude_transcript, read_kept(content))
        while again.read_slice():
            pass
        restarted = (time.process_time() - began) * 1000
    return Reading(megabytes, sum(slices), max(slices), figures, restarted, conversation, len(content), peak)


def task(number: int) -> bytes:
    """A task is opened, and every other one closed."""
    call, name = f"n-{number}", f"{number}"
    made = {"task": {"id": name, "subject": f"Fix the failure number {number} of the login page"}}
    opened = tool_use(call, "TaskCreate", subject=made["task"]["subject"]) + tool_result(call, toolUseResult=made)
    done = {"success": True, "taskId": name, "statusChange": {"from": "pending", "to": "completed"}}
    closed = tool_use(f"d-{call}", "TaskUpdate", taskId=name, status="completed")
    closed += tool_result(f"d-{call}", toolUseResult=done)
    return opened + (closed if number % 2 else b"")


def ran(number: int) -> bytes:
    call = f"r-{number}"
    return tool_use(call, command=f"npm test -- --run {number % 7}") + tool_result(
        call, "ok", toolUseResult={"stdout": "ok " * 500, "stderr": "", "interrupted": False}
    ) + claude("system", subtype="turn_duration")  # fmt: skip


def processor(count: int, call: Callable[[], object], before: Callable[[], None]) -> Figures:
    samples = []
    for _ in range(count):
        before()
        began = time.process_time()
        call()
        samples.append((time.process_time() - began) * 1000)
    return Figures(samples)


def report(found: Reading) -> None:
    """Print the figures of one transcript."""
    print(f"\na transcript of {found.megabytes} MB: milliseconds of processor time, median / p99")
    print(f"{'a turn: what is new is heard, and kept':44}{found.turn.text():>18}   aim {AIM:.0f}")
    print(f"{'the end of the conversation, beside it':44}{found.conversation.text():>18}")
    print(f"{'a new daemon, from the kept file':44}{found.restarted:>18.1f}")
    print(f"the first reading: {found.first:.2f} s in all, its longest slice {found.longest * 1000:.0f} ms, "
          f"{found.peak} MiB of memory; {found.size} bytes are kept")  # fmt: skip


def run(scale: Scale) -> bool:
    for megabytes in (1, 100 if scale.quick else 1000):
        report(measure(megabytes))
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ledger", description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 1000])
    given = parser.parse_args(arguments)
    for megabytes in given.megabytes:
        report(measure(megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
