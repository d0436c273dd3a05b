"""What the newest usage costs, and a full read: against the last 64 KiB read raw, and json.loads over the lines.

`python -m tests.bench.transcripts [--megabytes N]`
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.documents.json_line import parse_line
from phoenixd.drivers.transcripts.tail import TranscriptTail, newest_usage
from phoenixd.harness.claude import transcript as claude_transcript
from tests.bench.arena import Figures
from tests.bench.scale import Scale
from tests.drivers.transcripts.reading import read_conversation, read_whole
from tests.transcripts.samples import answer, claude, hook_ran, prompt, tool_result, tool_use

MEGABYTE = 1 << 20
LAST = 64 << 10
LONG_LINE = 20 * MEGABYTE
WORDS = "the login page of a shop asks for a name and a word, then compares both with what the table says".split()


@dataclass(frozen=True, slots=True)
class Transcripts:
    """What one file cost."""

    megabytes: int
    raw: Figures
    """Milliseconds for its last 64 KiB, read raw: the reference of `ends`."""
    ends: dict[str, Figures]
    whole: dict[str, float]
    """Megabytes a second, by reader."""
    peak: int
    """MiB of resident memory that reading it whole took beyond what was there before."""


def measure(megabytes: int = 1000, samples: int = 50) -> Transcripts:
    with transcript(megabytes) as path:
        name, tail = str(path), TranscriptTail(str(path), claude_transcript)
        tail.facts()
        raw = timed(samples, lambda: read_raw(path))
        ends = {
            "newest usage": timed(samples, lambda: newest_usage(name, claude_transcript)),
            "newest facts, the first time": timed(samples, lambda: TranscriptTail(name, claude_transcript).facts()),
            "newest facts, nothing new": timed(samples, tail.facts),
            "newest facts, one more line": timed(samples, tail.facts, before=lambda: append(path, answer())),
            "the end of the conversation": timed(samples, lambda: read_conversation(name, claude_transcript)),
        }
        before = resident()
        read_whole(name, claude_transcript)
        peak = resident() - before
        whole = whole_reads(path, megabytes)
        append(path, tool_result("t-1", "x" * LONG_LINE))
        ends["newest usage, behind a line of 20 MB"] = timed(samples, lambda: newest_usage(name, claude_transcript))
        for _ in range(LONG_LINE // 4000):
            append(path, tool_result("t-1", "x" * 4000))
        ends["newest usage, behind 20 MB more of results"] = timed(
            samples, lambda: newest_usage(name, claude_transcript)
        )
    return Transcripts(megabytes, raw, ends, whole, peak)


def whole_reads(path: Path, megabytes: int) -> dict[str, float]:
    """All readers see the same file, which is in memory by then. Counted is the processor's time, the best of three."""
    readers: dict[str, Callable[[], object]] = {
        "our facts": lambda: read_whole(str(path), claude_transcript),
        "our parser": lambda: parse_over(path, parse_line),
        "json.loads": lambda: parse_over(path, json.loads),
    }
    rates = dict.fromkeys(readers, 0.0)
    for _ in range(3 if megabytes <= 200 else 1):
        for name, read in readers.items():
            began = time.process_time()
            read()
            rates[name] = max(rates[name], megabytes / (time.process_time() - began))
    return rates


@contextmanager
def transcript(megabytes: int) -> Iterator[Path]:
    """A long session as they are written: answers, tools with results of all lengths, hooks' attachments."""
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory:
        path = Path(directory) / "session.jsonl"
        block = a_stretch()
        with path.open("wb") as file:
            for _ in range(megabytes * MEGABYTE // len(block)):
                file.write(block)
        yield path


def a_stretch() -> bytes:
    """Some eight megabytes of turns."""
    chance = random.Random(3)
    lines: list[bytes] = []
    size, number = 0, 0
    while size < 8 * MEGABYTE:
        number += 1
        turn = [prompt(words(chance, 60))]
        for call in range(6):
            name = f"t-{number}-{call}"
            turn.append(tool_use(name, request=f"r-{number}-{call}", command=words(chance, 20)))
            turn += [hook_ran(name)] * 2
            text = words(chance, chance.choice((20, 200, 4000)))
            turn.append(tool_result(name, text, toolUseResult={"stdout": text, "stderr": ""}))
        turn += [answer(words(chance, 300), request=f"r-{number}"), claude("system", subtype="turn_duration")]
        lines += turn
        size += sum(map(len, turn))
    return b"".join(lines)


def words(chance: random.Random, number: int) -> str:
    return " ".join(chance.choices(WORDS, k=number))


def read_raw(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, LAST, max(0, os.fstat(descriptor).st_size - LAST))
    finally:
        os.close(descriptor)


def parse_over(path: Path, parse: Callable[[bytes], Any]) -> int:
    tokens = 0
    with path.open("rb") as file:
        for line in file:
            record = parse(line)
            if record["type"] == "assistant":
                tokens = record["message"]["usage"]["output_tokens"]
    return tokens


def append(path: Path, line: bytes) -> None:
    with path.open("ab") as file:
        file.write(line)


def timed(count: int, call: Callable[[], object], before: Callable[[], None] = lambda: None) -> Figures:
    samples = []
    for _ in range(count):
        before()
        samples.append(once(call))
    return Figures(samples)


def once(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def report(found: Transcripts) -> None:
    """Print the table."""
    print(f"\na transcript of {found.megabytes} MB: best, median / p99 in ms, ratio to its last 64 KiB read raw")
    print(f"{'last 64 KiB, read raw':44}{min(found.raw.samples):>8.2f}{found.raw.text():>18}")
    for name, figures in found.ends.items():
        print(f"{name:44}{min(figures.samples):>8.2f}{figures.text():>18}   {figures.median / found.raw.median:.1f} x")
    ours, parser, theirs = (found.whole[name] for name in ("our facts", "our parser", "json.loads"))
    print(f"read whole: {ours:.0f} MB a second of processor time, {ours / theirs:.2f} x json.loads over its lines, "
          f"{ours / parser:.2f} x the parser alone; {found.peak} MiB of memory")  # fmt: skip


def run(scale: Scale) -> bool:
    report(measure(100 if scale.quick else 1000))
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.transcripts", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=50)
    given = parser.parse_args(arguments)
    report(measure(given.megabytes, given.samples))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
