"""Answers and refusals as HTTP responses: text for people, JSON for programs, and the exit code of phoenixctl."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from phoenixd.api import problems
from phoenixd.api.exchange import Ask, Reply, here
from phoenixd.api.problems import Problem

PROBLEM_TYPE = "application/problem+json"
JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain; charset=utf-8"
EXIT_HEADER = "phoenix-exit"


def of_reply(reply: Reply, ask: Ask, *, as_text: bool) -> Response:
    """What a handler replied to a request."""
    background = _Afterwards(reply.afterwards) if reply.afterwards is not None else None
    if as_text:
        text = reply.text(here(ask.arguments, ask.service.now()))
        response = Response(text, reply.status, media_type=TEXT_TYPE)
    elif reply.etag is not None and reply.etag in _etags(ask.known):
        response = Response(status_code=304)
    else:
        response = _json(reply.body() if callable(reply.body) else reply.body, reply.status)
    response.headers[EXIT_HEADER] = str(reply.exit)
    if reply.etag is not None and not as_text:
        response.headers["etag"] = reply.etag
    response.background = background  # type: ignore[assignment]
    return response


@functools.cache
def description(version: str) -> bytes:
    """The description of the whole API, made once; a tenth of a second, and so for a thread."""
    # All schemas come with it, for a question that hardly anybody asks.
    from phoenixd.api import openapi

    # In pieces: json.dumps would hold the interpreter, and with it the loop, until all of it is text.
    return f"{''.join(json.JSONEncoder().iterencode(openapi.document(version)))}\n".encode()


def refusal(problem: Problem, text: str | None = None) -> Response:
    """Why a request is not done: as JSON, or as this text."""
    if text is not None:
        response = Response(text, problem.http_status, media_type=TEXT_TYPE)
    else:
        response = _json(problem.document(), problem.http_status, PROBLEM_TYPE)
    response.headers[EXIT_HEADER] = str(problem.exit_code)
    if problem.code in ("too_large", "timed_out"):
        response.headers["connection"] = "close"
    return response


async def of_foreign_problem(_: Request, error: Exception) -> Response:
    """starlette's own refusals (no such path, method) in our form."""
    assert isinstance(error, HTTPException)
    code: problems.Code = "not_found" if error.status_code == 404 else "invalid"
    told = refusal(Problem(code, f"no such operation: {error.detail}", "see /openapi.json", error.status_code))
    told.headers.update(error.headers or {})
    return told


async def of_unexpected(_: Request, error: Exception) -> Response:
    """`unexpected`, as starlette calls it."""
    return unexpected(error)


def unexpected(error: Exception) -> Response:
    """What is said of a bug of ours. The traceback goes to the log, the caller gets its kind."""
    return refusal(Problem("failed", f"phoenixd failed on this request: {type(error).__name__}", "phoenixctl doctor"))


def _etags(known: str | None) -> list[str]:
    return [one.strip() for one in known.split(",")] if known is not None else []


@dataclass(frozen=True, slots=True)
class _Afterwards:
    act: Callable[[], None]

    async def __call__(self) -> None:
        self.act()


def _json(body: dict[str, object], status: int = 200, media_type: str = JSON_TYPE) -> Response:
    # Escaped to ASCII: no character of an agent's can mean anything to a terminal that shows it.
    return Response(json.dumps(body) + "\n", status, media_type=media_type)
