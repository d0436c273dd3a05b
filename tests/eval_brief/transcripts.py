"""Sessions as each CLI would have written them down, and read back as the daemon reads them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.harness import HARNESSES
from tests.drivers.transcripts.reading import read_conversation
from tests.eval_brief.sessions import Session
from tests.transcripts import samples


def read_back(session: Session, cli: str) -> Conversation:
    """The session as it comes out of that CLI's transcript."""
    with tempfile.NamedTemporaryFile(prefix="phoenixd-eval-") as file:
        for number, utterance in enumerate(session.said):
            file.writelines(WRITTEN[cli](number, utterance))
        file.flush()
        found = read_conversation(file.name, HARNESSES[cli].transcript_form)
    assert found is not None
    return found


def _claude(number: int, said: Utterance) -> Iterator[bytes]:
    call, request = f"call-{number}", f"r-{number}"
    if said.speaker == "tool":
        yield samples.tool_use(call, said.tool, request)
        yield samples.tool_result(call, said.text, timestamp=said.at)
    elif said.tool:
        yield samples.tool_use(call, said.tool, request, **json.loads(said.text))
    elif said.speaker == "user":
        yield samples.prompt(said.text, timestamp=said.at)
    else:
        yield samples.answer(said.text, request, timestamp=said.at)


def _codex(number: int, said: Utterance) -> Iterator[bytes]:
    call = f"call-{number}"

    def item(kind: str, **more: Any) -> bytes:
        return _line(timestamp=said.at, type="response_item", payload={"type": kind, **more})

    if said.speaker == "tool" or said.tool:
        given = "{}" if said.speaker == "tool" else said.text
        yield item("function_call", name=said.tool, arguments=given, call_id=call)
    if said.speaker == "tool":
        yield item("function_call_output", call_id=call, output=said.text)
    elif said.speaker == "user":
        yield _line(timestamp=said.at, type="event_msg", payload={"type": "user_message", "message": said.text})
    elif not said.tool:
        yield item("message", role="assistant", content=[{"type": "output_text", "text": said.text}])


def _gemini(number: int, said: Utterance) -> Iterator[bytes]:
    call = f"call-{number}"
    record: dict[str, Any] = {"id": f"record-{number}", "timestamp": said.at, "type": "gemini"}
    if said.speaker == "user":
        yield _line(**{**record, "type": "user", "content": [{"text": said.text}]})
    elif said.speaker == "assistant" and not said.tool:
        yield _line(**record, content=said.text)
    else:
        came_back = said.speaker == "tool"
        answer = {"functionResponse": {"id": call, "name": said.tool, "response": {"output": said.text}}}
        yield _line(
            **record, content="",
            toolCalls=[{
                "id": call, "name": said.tool, "args": {} if came_back else json.loads(said.text),
                "status": "success" if came_back else "executing", "result": [answer] if came_back else [],
            }],
        )  # fmt: skip


def _line(**record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


WRITTEN: Mapping[str, Callable[[int, Utterance], Iterator[bytes]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
}
