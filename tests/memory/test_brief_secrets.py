"""P79: no secret reaches a writer, a brief, or a file that is written on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Utterance
from phoenixd.drivers.files import plain as plain_files
from tests.memory.desk import LOOP, Desk, Scripted, place, says
from tests.start.places import Room


async def test_p79_no_secret_reaches_writer_or_brief(tmp_path: Path) -> None:
    secret = "an unremarkable value"
    desk = Desk(Room(tmp_path, {"MY_TOKEN": secret}), Scripted())
    desk.restarted()
    desk.talk = (Utterance("assistant", f"The login uses {secret} and sk-ant-api03-abcdefghijklmnopqrstuvwx123456."),)
    desk.writer.answers = [says(summary=f"The login uses {secret}")]

    await desk.room.papers.briefing.generate(desk.agent())

    told = desk.writer.asked[0][0].conversation.utterances[0].text
    assert told == "The login uses [redacted] and [redacted]."
    for path in desk.room.state.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize("secret", ["an unremarkable value", "sk-ant-api03-abcdefghijklmnopqrstuvwx123456"])
async def test_p79_a_secret_that_an_agent_writes_into_its_state_reaches_no_writer_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    desk = Desk(Room(tmp_path, {"MY_TOKEN": "an unremarkable value"}), Scripted())
    agent = desk.agent()
    desk.restarted()
    await desk.room.papers.publish(agent, [])
    written: list[tuple[str, bytes]] = []
    replace_file, replace_unchanged = plain_files.replace, plain_files.replace_unchanged

    def replaced(path: Any, data: bytes, *given: Any, **named: Any) -> None:
        written.append((Path(path).name, data))
        replace_file(path, data, *given, **named)

    def replaced_unchanged(path: Any, data: bytes, *given: Any, **named: Any) -> bool:
        written.append((Path(path).name, data))
        return replace_unchanged(path, data, *given, **named)

    monkeypatch.setattr(plain_files, "replace", replaced)
    monkeypatch.setattr(plain_files, "replace_unchanged", replaced_unchanged)

    def by_the_agent(number: int) -> None:
        loops = [LOOP, {**LOOP, "id": f"loop-{number}", "text": f"Log in by {secret}", "why": [secret]}]
        place(
            desk.room, open_loops=loops, numbers={"port": f"{secret} {number}", f"of {secret}": "1", "n": f"{number}"}
        )

    def meanwhile(material: BriefMaterial) -> str:
        by_the_agent(2)
        return says(open_loops=[{"id": "auth-flow", "text": "x"}])(material)

    by_the_agent(1)
    desk.writer.answers = [meanwhile]
    await desk.room.papers.briefing.generate(agent)

    material = desk.writer.asked[0][0]
    assert {loop.text for loop in material.state.open_loops} == {LOOP["text"], "Log in by [redacted]"}
    assert secret not in repr(material)
    assert {"brief.json", ".brief-switch.json", "brief.md", "state.json"} <= {name for name, _ in written}
    assert [name for name, data in written if secret.encode() in data] == []
    assert desk.room.document()["numbers"]["n"] == "2", "what it wrote meanwhile is taken over"
    for path in desk.room.state.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path.name
