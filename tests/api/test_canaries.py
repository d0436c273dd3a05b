"""P79: what an agent says by hooks, evidence and its end leaves on no face with a secret, neither in JSON nor as text.

Where texts enter: each field of each event, tests/runtime/test_cleaning.py; files, tests/memory/test_secrets.py and
tests/api/test_phases.py; what is seen beside events, tests/runtime/test_sights.py; transcripts and screens, below.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.api.feed.following import Follower
from phoenixd.api.feed.live import Feed
from phoenixd.core.events.evidence import ScreenSeen, UsageSeen
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.runs import AgentExited, HooksRefused, StartFailed
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.incident import screen_lines
from phoenixd.documents.log_lines import Reading
from phoenixd.documents.redact import redact
from phoenixd.documents.transcript import Piece, Said
from phoenixd.runtime.cleaning import cleaned
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.hiding import KEY, VALUE, hidings, shows

WAYS = (
    "as it is", "zero width space between all letters", "colour in the middle", "escape alone between all letters",
    "private use between all letters", "variation selector in the middle", "nul between all letters",
)  # fmt: skip
FACES = (
    "/v1/agents", "/v1/events?all=true", "/v1/inbox", "/v1/since", "/v1/stream", "/v1/clinic", "/v1/resonance",
    "/v1/tasks", "/v1/tokens", "/v1/recover",
)  # fmt: skip
OF_ONE = ("", "/explain", "/lives", "/breaker", "/resonance")


def clean(agent: str | None, text: str) -> str:
    return redact(text, (VALUE,))


def say_everything(daemon: FakeDaemon, name: str, written: str) -> None:
    """All that an agent can have said, by every way of events."""
    said, number = f"I use {written} now", daemon.state.agents[name].incarnation

    def hook(kind: str, **payload: Any) -> None:
        daemon.happen(cleaned(hook_event(name, number, kind, payload), clean))

    hook("session-start", session_id=f"s {written}", source=said, model=said, cwd=f"/{written}")
    daemon.happen(cleaned(UsageSeen(name, number, None, 5, "status line", None, "", said, said), clean))
    hook("prompt-submit", prompt=said)
    call = {"tool_name": f"Bash {written}", "tool_use_id": written}
    hook("tool-start", **call, tool_input={"command": said, "run_in_background": True})
    hook("permission-request", **call, tool_input={"command": said})
    hook("notification", message=said, notification_type="permission_prompt")
    hook(
        "permission-request", **call, tool_input={"command": said}, held=True, asked=json.dumps({"input": {"x": said}})
    )
    hook("tool-failure", **call, error=said)
    hook("stop-failure", error="authentication_failed", error_details=said)
    hook("stop-failure", error=written, last_assistant_message=said)
    hook("what-is-this", message=said)
    hook("session-end", reason=written)
    daemon.happen(cleaned(ScreenSeen(name, number, said), clean))
    daemon.happen(cleaned(HooksRefused(name, number, 3, 3, said), clean))
    daemon.happen(cleaned(TroubleSeen(name, "documents", said), clean))


@pytest.mark.parametrize("secret", [KEY, VALUE])
async def test_p79_what_agents_say_stands_on_no_face_with_a_secret(live: Live, daemon: FakeDaemon, secret: str) -> None:
    written = {f"a{number}": hidings(secret)[way] for number, way in enumerate(WAYS)}
    for name in written:
        daemon.declare(name, harness="claude")
    for name, text in written.items():
        say_everything(daemon, name, text)
    for name, text in written.items():
        run = daemon.state.agents[name].run
        assert run is not None
        ended = AgentExited(name, run.incarnation, run.run_id, 3, None, "other", (f"7 {text}",), note=text)
        daemon.happen(cleaned(ended, clean))
        again = daemon.state.agents[name].incarnation
        daemon.happen(cleaned(StartFailed(name, again, 1, f"it said {text}"), clean))
    faces = [*FACES, *(f"/v1/agents/{name}{rest}" for name in written for rest in OF_ONE)]
    faces += [f"/v1/inbox/{item.id}" for agent in daemon.state.agents.values() for item in agent.items]
    answers = []
    for face in faces:
        told = await live.ask("GET", face)
        page = await live.ask("GET", face, text=True)
        answers.append(page.text)
        assert told.status < 500, face
        assert shows(json.dumps(told.json, ensure_ascii=False), secret) == [], face
        assert shows(page.text, secret) == [], face
    assert sum("redacted" in answer for answer in answers) > len(answers) / 3, "the canaries came that far"


async def test_p79_the_feed_tells_no_secret(daemon: FakeDaemon) -> None:
    feed = Feed(daemon)
    follower = Follower(feed, daemon)
    await follower.begin(None)
    for number, way in enumerate(WAYS):
        daemon.declare(f"a{number}", harness="claude")
        say_everything(daemon, f"a{number}", hidings(VALUE)[way])
    frames = await follower._next()
    told = [
        json.loads(line.removeprefix("data: ")) for text in frames for line in text.splitlines() if "data: " in line
    ]
    assert {text.split("event: ")[1].split("\n")[0] for text in frames} >= {"agent", "item", "note"}
    for one in told:
        assert shows(json.dumps(one, ensure_ascii=False), VALUE) == []


@pytest.mark.parametrize("secret", [KEY, VALUE])
def test_p79_transcripts_and_screens_are_told_without_secrets(secret: str) -> None:
    for how, written in hidings(secret).items():
        pieces = (
            Piece("user", f"use {written}"),
            Piece("assistant", f"I use {written}"),
            Piece("assistant", json.dumps({"command": f"echo {written}"}), tool=f"Bash {written}", call="1"),
            Piece("tool", f"it is {written}", call="1", failed=True),
        )
        lines = Reading("a", lambda text: clean("a", text)).lines([Said(pieces)])
        assert len(lines) == len(pieces)
        for line in lines:
            assert shows(f"{line.tool} {line.text}", secret) == [], (how, line.kind)
        for shown in screen_lines(f"$ echo {written}\n{written}\n", lambda text: clean("a", text)):
            assert shows(shown, secret) == [], how
