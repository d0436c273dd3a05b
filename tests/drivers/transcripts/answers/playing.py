"""A session's files are written as a case has them, before and after the answer, and read as the daemon reads them.

Written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import anyio

from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.ports.evidence import AnswerGiven
from tests.blind.frozen import Case, Corpus, wall_of
from tests.core.story import Story, claude
from tests.drivers.transcripts.answers.missed import MISSED

ANSWERS = Corpus(Path(__file__).parent, "answers-open.json", "answers-held.json", MISSED)

AGENT = Story(claude()).agent
VERDICTS = {True: "counted", False: "not counted", None: "unknown"}


def is_right(case: Case, found: str) -> bool:
    return found in (case["expected"], *case["also_accept"])


def answer(case: Case) -> str:
    with tempfile.TemporaryDirectory() as room:
        return anyio.run(_answer, case, Path(room))


async def _answer(case: Case, room: Path) -> str:
    session, side = room / "s.jsonl", room / "s" / "subagents" / "agent-1.jsonl"
    _write(session, case["before"])
    if case["side_before"]:
        _write(side, case["side_before"])
    files, said = TranscriptFiles(lambda agent: str(session)), case["answer"]
    given = AnswerGiven(
        said["verdict"] == "allow", said["mark"], await files.ends(AGENT), wall_of(said["given_at"]), said["call"]
    )
    _write(session, case["after"])
    if case["side_after"]:
        _write(side, case["side_after"])
    return VERDICTS[await files.answer_counted(AGENT, given)]


def _write(path: Path, lines: list[object]) -> None:
    """A text is a line that is not whole yet, and stands as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines)
