"""What came back of an order or a question, and what the person is told of it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from phoenixd.api import exits
from phoenixd.top import pages
from phoenixd.top.effects import Fetch, question
from phoenixd.top.face import Face, Order, Page, Prompt
from phoenixd.top.frames import Json
from phoenixd.top.words import Clock

CLOSED = "the list of what waited"
NO_ANSWER = "phoenixd does not answer; whether it was done is not known: look at the row"
TITLES = {
    "screen": "the terminal of",
    "explain": "why:",
    "log": "what it said and did:",
    "lives": "the runs of",
    "closed": "what waited, and how it ended",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the daemon said. exit: the exit code that phoenixctl would have had; body: JSON, or None for a text."""

    exit: int
    body: Any
    text: str = ""


def ordered(face: Face, order: Order, answer: Answer | None) -> Face:
    """The face after an order; an order that was only looked at becomes a question."""
    if answer is None:
        return face.says(f"{order.verb}: {NO_ANSWER}")
    body = answer.body if isinstance(answer.body, dict) else {}
    if "detail" in body:
        return face.says(f"{order.verb}: {_refusal(face, body)}")
    if order.given.get("dry_run"):
        return _looked(face, order, body)
    agents = body.get("agents")
    if isinstance(agents, list):
        return _each(face, order, agents)
    return face.says(str(body.get("message") or f"{order.verb}: done"))


def fetched(face: Face, fetch: Fetch, answer: Answer | None, clock: Clock) -> Face:
    """The face with the page that was asked for."""
    what = f"{fetch.kind} of {fetch.name}" if fetch.name else CLOSED
    if answer is None:
        return face.says(f"{what}: phoenixd does not answer")
    body = answer.body if isinstance(answer.body, dict) else {}
    if "detail" in body:
        return face.says(f"{what}: {_refusal(face, body)}")
    if face.prompt is not None:
        return face.says(f"{what} came while you typed: ask again")
    lines = _lines(fetch, answer, body, clock)
    page = Page(fetch.kind, f"{TITLES[fetch.kind]} {fetch.name}".rstrip(), fetch.name, lines)
    # What is new in a log, and on a terminal, stands at the end.
    page = replace(page, top=len(lines)) if fetch.kind in ("log", "screen") else page
    return replace(face, page=page, message="", seen=None)


def _refusal(face: Face, body: Json) -> str:
    return f"{body['detail']}. do: {face.reaching(str(body.get('remedy', '')))}"


def _lines(fetch: Fetch, answer: Answer, body: Json, clock: Clock) -> tuple[str, ...]:
    match fetch.kind:
        case "lives":
            return pages.lives(body, clock)
        case "screen":
            text = str(body.get("text", ""))
            return tuple(text.split("\n")) if text.strip() else ("The terminal shows nothing.",)
        case _:
            return tuple(answer.text.rstrip("\n").split("\n"))


def _looked(face: Face, order: Order, body: Json) -> Face:
    """What undo would take back, as a question; a person who does something else meanwhile is not asked."""
    if face.prompt is not None or face.page is not None:
        return face.says(f"{order.verb}: press it again from the list")
    found = body.get("agents") or []
    names = tuple(str(one["name"]) for one in found)
    what = ", ".join(dict.fromkeys(str(one["message"]) for one in found))
    # The act that was looked at is what is taken back, whatever was done since.
    which = {"act": body["act"]} if body.get("act") else {"select": " ".join(names)}
    real = replace(order, given={**which, "expect": list(names)}, names=names)
    return replace(face, prompt=Prompt("confirm", question(f"undo ({what}):", names), order=real), message="")


def _each(face: Face, order: Order, agents: list[Json]) -> Face:
    """One result in a line, more of them on a page where one is none that was hoped for."""
    lines = [_result(face, one) for one in agents]
    failed = [one for one in agents if one["exit"] != exits.OK]
    if len(agents) == 1:
        return face.says(lines[0])
    if not failed:
        return replace(face, marks=face.marks - set(order.names)).says(
            f"{order.verb}: {len(agents)} of {len(agents)} done"
        )
    told = f"{order.verb}: {len(agents) - len(failed)} of {len(agents)} done"
    if face.prompt is not None or face.page is not None:
        return face.says(told)
    return replace(face, page=Page("results", told, lines=tuple(lines)), seen=None).says(told)


def _result(face: Face, one: Json) -> str:
    remedy = f". do: {face.reaching(str(one['remedy']))}" if one["exit"] != exits.OK and one.get("remedy") else ""
    return f"{one['name']}: {str(one['message']).removeprefix(str(one['name']) + ' ')}{remedy}"


def read(status: int, exit_code: int, media_type: str, received: bytes) -> Answer:
    """An answer as it came; a body that says to be JSON and is none is a refusal without words."""
    text = received.decode("utf-8", "replace")
    if "json" not in media_type:
        return Answer(exit_code, None, text)
    try:
        return Answer(exit_code, json.loads(text))
    except ValueError:
        return Answer(exit_code or exits.FAILED, {"detail": f"an answer that cannot be read ({status})"})
