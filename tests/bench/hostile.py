"""What an agent's choice of words costs: reader, redactor and brief writer on 1, 2, 5 and 10 MB of each kind.

`python -m tests.bench.hostile [--megabytes N ...]`. Each figure is of a process of its own, whose memory it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from phoenixd.documents.brief.answer import BriefAnswer, LoopClaim
from phoenixd.documents.brief.material import BriefMaterial, bounded_conversation
from phoenixd.documents.brief.page import BriefFacts, render_brief, render_injection
from phoenixd.documents.plain_text import plain
from phoenixd.documents.redact import redact
from phoenixd.documents.state import StateDocument
from phoenixd.drivers.transcripts.tail import TranscriptTail, newest_usage
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.memory.brief.guard import accept
from phoenixd.memory.brief.printed import printed_numbers
from tests.bench.scale import Scale
from tests.drivers.transcripts.reading import read_conversation, read_whole
from tests.transcripts.samples import answer, prompt, tool_result

MEGABYTE = 1 << 20
SIZES = (1, 2, 5, 10)
ROOT = Path(__file__).parents[2]
NOW = 1_795_000_000.0

PIECES: dict[str, str] = {
    "almost tokens": "sk-ant-a ghp_a1 AKIA0 eyJ SG.a. xoxb- glpat-a token: bearer pass=a ://u:p -----BEGIN RSA ",
    "tokens": "sk-ant-api03-a1B2c3D4e5F6g7H8i9J0 password=hunter2 ghp_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 ",
    "key blocks without an end": "-----BEGIN RSA PRIVATE KEY-----\n-----END",
    "one endless word": "a1B2",
    "escape sequences": "\x1b[31;1m\x1b]0;title\x07\x1b[2J\x9b5n\u202e\u200b",
    "escape sequences without an end": "\x1b]0;\x1b[1;",
    "loops and numbers": "- [ ] TODO: still open: 47/52 tests passing, coverage 81.5 %. It is not tested yet.\n",
    "names of secrets": "key:key:token=auth_key=secret key=password:",
}
ONE_LINE = "a line of twice the size"


@dataclass(frozen=True, slots=True)
class Cost:
    milliseconds: float
    peak: float
    """MiB of resident memory beyond what the process held with the text in its hands."""


Costs = dict[tuple[str, str], dict[int, Cost]]


def text_of(kind: str, megabytes: int) -> str:
    piece = PIECES.get(kind, "x")
    return piece * (megabytes * MEGABYTE // len(piece.encode()))


def transcript_of(kind: str, megabytes: int, path: Path) -> None:
    """A session whose user, agent and tools say it in pieces of 64 KB; or a single line."""
    if kind == ONE_LINE:
        path.write_bytes(prompt("Go.") + answer() + tool_result("t-1", "x" * (2 * megabytes * MEGABYTE)))
        return
    words = text_of(kind, megabytes)
    makers = (prompt, answer, lambda text: tool_result("t-1", text))
    with path.open("wb") as file:
        for number, begin in enumerate(range(0, len(words), 65536)):
            file.write(makers[number % 3](words[begin : begin + 65536]))


def redacted(kind: str, megabytes: int) -> Callable[[], object]:
    words = text_of(kind, megabytes)
    return lambda: redact(plain(words))


def read(kind: str, megabytes: int) -> Callable[[], object]:
    path = _transcript(kind, megabytes)
    return lambda: (
        read_whole(path, claude_transcript),
        TranscriptTail(path, claude_transcript).facts(),
        newest_usage(path, claude_transcript),
        read_conversation(path, claude_transcript),
    )


def briefed(kind: str, megabytes: int) -> Callable[[], object]:
    path = _transcript(kind, megabytes)

    def brief() -> str:
        conversation = bounded_conversation(read_conversation(path, claude_transcript), 60_000, redact)
        material = BriefMaterial("a", NOW, StateDocument(agent="a"), conversation)
        last = conversation.utterances[-1].text if conversation.utterances else ""
        claims = [LoopClaim(text=f"It is {last[at : at + 300]}", quote=last[at : at + 300]) for at in (0, 60, 600)]
        answer = BriefAnswer(agent="a", summary=last[:600], open_loops=claims)
        printed_numbers(conversation.utterances, {}, {})
        accepted = accept(answer, material)
        facts = BriefFacts(accepted.state, NOW)
        return render_brief(facts) + render_injection(facts, "/brief.md")

    return brief


STAGES = {"redactor": redacted, "reader": read, "brief writer": briefed}


def measure(sizes: Iterable[int] = SIZES) -> Costs:
    """By stage and kind, then by megabytes."""
    found: Costs = {}
    for stage in STAGES:
        for kind in (*PIECES, *([ONE_LINE] if stage != "redactor" else [])):
            found[stage, kind] = {size: _in_a_process(stage, kind, size) for size in sizes}
    return found


def report(costs: Costs) -> None:
    """Print the table."""
    sizes = list(next(iter(costs.values())))
    print(
        "\nwhat agents may write: ms for each size, and how the cost of a megabyte grew from the first to the last; MiB"
    )
    print(f"{'':46}{''.join(f'{size:>7} MB' for size in sizes)}{'growth':>9}{'memory':>16}")
    for (stage, kind), row in costs.items():
        first, last = row[sizes[0]], row[sizes[-1]]
        growth = last.milliseconds / sizes[-1] / (first.milliseconds / sizes[0])
        times = "".join(f"{cost.milliseconds:>10.1f}" for cost in row.values())
        print(f"{stage + ': ' + kind:46}{times}{growth:>7.2f} x{first.peak:>8.1f}{last.peak:>8.1f}")


def _transcript(kind: str, megabytes: int) -> str:
    path = Path(tempfile.mkdtemp(prefix="phx-bench-")) / "session.jsonl"
    transcript_of(kind, megabytes, path)
    return str(path)


def _in_a_process(stage: str, kind: str, megabytes: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.hostile", "--one", stage, kind, str(megabytes)],
            cwd=ROOT, env={"TMPDIR": directory, "PATH": "/usr/bin:/bin"}, capture_output=True, check=True, timeout=600,
        )  # fmt: skip
    return Cost(**json.loads(done.stdout))


def _measure_one(stage: str, kind: str, megabytes: int) -> Cost:
    """The best of three."""
    work = STAGES[stage](kind, megabytes)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew.
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return Cost(min(times), max(0.0, _memory("VmHWM") - before))


def _memory(key: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def run(scale: Scale) -> bool:
    report(measure((1, 2) if scale.quick else SIZES))
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hostile", description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        stage, kind, size = given.one
        cost = _measure_one(stage, kind, int(size))
        print(json.dumps({"milliseconds": cost.milliseconds, "peak": cost.peak}))
        return 0
    report(measure(given.megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
