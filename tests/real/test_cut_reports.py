"""The real CLIs as writers of a report that is cut: with the seal none of it is taken for whole (issue 13)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.core.briefing import Choice
from phoenixd.core.rules import WriterKind
from phoenixd.documents.seal import END_KEY, HEAD_KEY
from phoenixd.memory.brief.writing import Outcome, write_brief
from tests.e2e.census import survivors
from tests.real.test_cli_writers import PINNED, SAID, Room, material
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import HALVES, Fault, Step, Stop

pytestmark = pytest.mark.real_claude

LOOP = {"id": "canary", "text": "look after the canary", "quote": SAID}
GOES_ON = "Resume directly"


def answer(request: RecordedRequest) -> str:
    """What a model writes that does as it is asked: of the seal it was given the halves alone."""
    head, end = ("".join(halves) for halves in HALVES.findall(request.whole_text)[-2:])
    goes_on = GOES_ON in request.text
    assert goes_on or head not in request.whole_text
    return json.dumps({HEAD_KEY: head, "agent": "a", "resolved": [], "open_loops": [LOOP], END_KEY: end})


class Cutting(Room):
    """A room whose vendor cuts answers: in their middle, as often as it is told to."""

    def __init__(self, harness: str, pin: str | None, root: Path) -> None:
        super().__init__(harness, pin, root)
        self.cuts = 0
        self.stop: Stop | None = None
        self.fault: Fault | None = None
        self.goes_on = True

    def _reply(self, request: RecordedRequest) -> Step:
        if not HALVES.search(request.whole_text):
            return Step(text="-")
        text = answer(request)
        if GOES_ON in request.text and self.goes_on:
            return Step(text=text[len(text) // 2 :])
        if self.cuts == 0:
            return Step(text=text)
        self.cuts -= 1
        return Step(text=text[: len(text) // 2], stop=self.stop, fault=self.fault)


@pytest.fixture
def room(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Cutting]:
    harness, pin = request.param
    made = Cutting(harness, pin, short_tmp)
    with made.stub:
        yield made
    assert survivors(short_tmp) == {}


async def report(room: Cutting) -> Outcome:
    choice, writers = Choice(WriterKind.AUTO), {WriterKind.AUTO: room.writer}
    return await write_brief(room.agent, material(), choice, writers, {}, secrets.token_hex)


IDS = ["-".join(one) for one in PINNED]


@pytest.mark.proof
@pytest.mark.parametrize("room", PINNED, indirect=True, ids=IDS)
async def test_a_whole_report_is_taken(room: Cutting) -> None:
    outcome = await report(room)

    assert (outcome.writer, outcome.note) == (WriterKind.AUTO, "")
    assert [loop.id for loop in outcome.accepted.state.open_loops] == ["canary"]


@pytest.mark.parametrize(
    ("room", "stop", "fault", "told"),
    [
        # It goes on by itself, and prints the last part as the result of a success: the front is lost.
        pytest.param(PINNED[0], "output_limit", None, "is missing", id="claude: the output limit once"),
        # Exit 0, "success", and null for a stop_reason.
        pytest.param(
            PINNED[0], None, "end_after_block", "is missing", marks=pytest.mark.proof,
            id="claude: the stream ends after a block",
        ),
        pytest.param(
            PINNED[2], "output_limit", None, "Incomplete response returned", marks=pytest.mark.proof,
            id="codex: the output limit",
        ),
        # Exit 0, and no trace of it: the seal alone tells.
        pytest.param(PINNED[3], "output_limit", None, "is missing", id="gemini: the output limit"),
        pytest.param(
            PINNED[3], None, "end_mid_block", "without a finish reason", marks=pytest.mark.proof,
            id="gemini: the stream ends",
        ),
    ],
    indirect=["room"],
)  # fmt: skip
async def test_a_report_that_was_cut_each_time_is_not_taken(
    room: Cutting, stop: Stop | None, fault: Fault | None, told: str
) -> None:
    room.cuts, room.stop, room.fault = 99, stop, fault
    # Claude Code asks for the rest of an answer that met the limit, and gets it.
    room.goes_on = room.harness == "claude" and stop is not None

    outcome = await report(room)

    assert outcome.writer is WriterKind.DETERMINISTIC
    assert told in outcome.note
    assert outcome.accepted.state.open_loops == ()


@pytest.mark.proof
@pytest.mark.parametrize("room", [PINNED[0], PINNED[3]], indirect=True, ids=["claude", "gemini"])
async def test_a_report_that_was_cut_once_is_asked_for_again(room: Cutting) -> None:
    room.cuts, room.stop = 1, "output_limit"

    outcome = await report(room)

    assert (outcome.writer, outcome.note) == (WriterKind.AUTO, "")
    assert [loop.id for loop in outcome.accepted.state.open_loops] == ["canary"]
