"""The table of operations as a starlette application: who asks, may they, what do they want, and the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from phoenixd.api import arguments, idempotency, problems, rights
from phoenixd.api.chronicle import Chronicle
from phoenixd.api.exchange import Ask, Reply, here, width_in
from phoenixd.api.feed.live import Feed
from phoenixd.api.handlers import (
    acting,
    answers,
    briefs,
    clinic,
    commands,
    feeds,
    handoffs,
    log,
    loops,
    memory,
    past,
    phases,
    queries,
    quiet,
    recovering,
    resonance,
    sending,
    streams,
    tasks,
    tokens,
    undoing,
    waits,
)
from phoenixd.api.idempotency import IdempotentReplies
from phoenixd.api.operations import served
from phoenixd.api.operations.operation import Operation
from phoenixd.api.peers import Peer
from phoenixd.api.places import Allowance, Kind, Places
from phoenixd.api.problems import Problem
from phoenixd.api.responses import JSON_TYPE, description, of_foreign_problem, of_reply, of_unexpected, refusal
from phoenixd.api.rights import Caller, Doorkeeper
from phoenixd.api.service import Gate, Service
from phoenixd.api.short_way import Look
from phoenixd.api.waiting import Unfinished
from phoenixd.errors import PhoenixdError

BODY_TIMEOUT = 15.0
MAX_PARAMETERS = 32
GONE = 499
STREAM_TYPE = "text/event-stream"
ROOMS = (
    feeds,
    queries,
    waits,
    commands,
    sending,
    acting,
    undoing,
    log,
    answers,
    loops,
    briefs,
    recovering,
    tokens,
    handoffs,
    phases,
    tasks,
    clinic,
    resonance,
    memory,
    quiet,
    past,
)
LONG_LOOKS = frozenset({"doctor"})
"""Looks that ask every CLI and the terminal server, and are given up with their caller."""
HANDLERS: dict[str, Callable[[Ask], Coroutine[None, None, Reply]]] = {
    name: handler
    for module in ROOMS
    for name, handler in vars(module).items()
    # What a module only imports may bear an operation's name, and answers for none.
    if name in {operation.name for operation in served()} and handler.__module__ == module.__name__
}


@dataclass(slots=True)
class Api:
    """Everything that answers requests. `closing` is set when streams have to end."""

    service: Service
    doorkeeper: Doorkeeper
    chronicle: Chronicle = field(init=False)
    feed: Feed = field(init=False)
    replies: IdempotentReplies = field(default_factory=IdempotentReplies)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    body_timeout: float = BODY_TIMEOUT
    allowance: Allowance = field(default_factory=Allowance)
    beat: float = streams.BEAT
    places: Places = field(default_factory=Places)
    unfinished: Unfinished = field(default_factory=Unfinished)
    gate: Gate | None = None

    def __post_init__(self) -> None:
        self.chronicle = Chronicle(self.service.journal)
        self.feed = Feed(self.service)

    def application(self) -> Starlette:
        """A route for each operation that has a path."""
        application = Starlette(
            routes=[
                Route(str(operation.path), self._endpoint(operation), methods=[operation.method], name=operation.name)
                for operation in served()
            ],
            exception_handlers={HTTPException: of_foreign_problem, 500: of_unexpected},
        )
        application.router.redirect_slashes = False
        return application

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                query, as_text = request.scope["query_string"], _wants_text(request, operation)
                return await self._told(self._answer(operation, request), query, as_text=as_text)
            except ClientDisconnect:
                return Response(status_code=GONE)

        return endpoint

    async def look(self, look: Look, peer: Peer) -> Response:
        """What a look is answered that came by the short way."""
        return await self._told(self._seen(look, peer), look.query, as_text=True)

    async def _seen(self, look: Look, peer: Peer) -> Response:
        operation = look.operation
        caller = self._let_in(operation, peer, look.authorization, None)
        given = arguments.from_query(operation, _pairs(look.query))
        ask = Ask(self.service, self.chronicle, caller, given, feed=self.feed, wants_text=True)
        return of_reply(await _handle(operation, ask), ask, as_text=True)

    async def _told(self, answering: Coroutine[None, None, Response], query: bytes, *, as_text: bool) -> Response:
        """The answer, or why there is none, in the columns that the query names: it may be what is wrong otherwise."""
        try:
            return await answering
        except Problem as refused:
            problem = refused
        except PhoenixdError as error:
            problem = problems.of_error(error)
        except asyncio.CancelledError:
            if not self.closing.is_set():
                raise
            problem = Problem(
                "busy", "phoenixd ends, and did not finish this", "ask again once it answers: phoenixctl status"
            )
        return refusal(problem, problem.text(here(width_in(query), self.service.now())) if as_text else None)

    def _let_in(self, operation: Operation, peer: Peer, authorization: str | None, name: str | None) -> Caller:
        caller = self.doorkeeper.caller(peer, authorization)
        if caller.agent is not None and not self.allowance.take(caller.agent, asyncio.get_running_loop().time()):
            raise Problem("busy", f"agent {caller.agent} asks too much", "wait a second between two questions")
        rights.check(caller, operation, name)
        return caller

    async def _answer(self, operation: Operation, request: Request) -> Response:
        name = request.path_params.get("name")
        caller = self._let_in(operation, request.state.peer, request.headers.get("authorization"), name)
        given = arguments.from_path(operation, request.path_params)
        # Not request.url, which is put together from the Host header, and that may be anything.
        given |= arguments.from_query(operation, _pairs(request.scope["query_string"]))
        body = await self._body(operation, request)
        if operation.at("body"):
            given |= arguments.from_body(operation, body)
        elif body.strip() not in (b"", b"{}"):
            raise Problem("invalid", f"{operation.name} takes no body", "leave the body out")
        key = request.headers.get("idempotency-key")
        ask = Ask(
            self.service,
            self.chronicle,
            caller,
            given,
            key,
            self.feed,
            request.headers.get("if-none-match"),
            _wants_text(request, operation),
            partial(self.replies.once, caller),
        )
        if operation.name == "openapi":
            told = await asyncio.to_thread(description, self.service.facts().version)
            return Response(told, 200, media_type=JSON_TYPE)
        if operation.stream and STREAM_TYPE in request.headers.get("accept", ""):
            return await self._stream(operation, ask, request)
        with self.places.take(_kind(operation, ask)):
            handling: Coroutine[None, None, Reply]
            if key is not None and operation.method == "POST":
                idempotency.check(key)
                query = idempotency.shown_in_any_way(request.scope["query_string"])
                sends = operation.name == "send_text"
                # For how long a text is waited for makes it no other text.
                what = str(given["text"]).encode("utf-8", "surrogatepass") if sends else body
                asked = (operation.name.encode(), request.scope["path"].encode(), query, what)
                handling = self.replies.once(
                    caller, key, asked, lambda: _handle(operation, ask), apart=operation.name == "act",
                    another=idempotency.another_text(key) if sends else None,
                )  # fmt: skip
            else:
                handling = _handle(operation, ask)
            if operation.method == "POST":
                handling = self.unfinished.within(operation, ask, request.headers.get("prefer"), handling)
            # A look is over in a moment: there is no waiting to be given up where the caller goes meanwhile.
            is_look = operation.method == "GET" and not operation.lasts and operation.name not in LONG_LOOKS
            reply = await (handling if is_look else _unless_gone(request, handling))
        return of_reply(reply, ask, as_text=_wants_text(request, operation))

    async def _stream(self, operation: Operation, ask: Ask, request: Request) -> Response:
        self.places.check("stream")
        if operation.name == "read_pane":
            frames = await streams.pane(ask, self.closing)
        elif operation.name == "read_log":
            frames = await log.follow(ask, request.headers.get("last-event-id"), self.closing)
        elif operation.name == "follow_feed":
            frames = await streams.feed(ask, request.headers.get("last-event-id"), self.closing, self.beat)
        else:
            frames = await streams.events(ask, request.headers.get("last-event-id"), self.closing, self.beat)
        # What follows has no end, and agents need not wait for it.
        request.state.begun()
        return _Stream(self.places, frames)

    async def _body(self, operation: Operation, request: Request) -> bytes:
        """The body within the operation's bound; refused before it is read where its length is announced."""
        limit = operation.body_limit
        announced = request.headers.get("content-length", "0")
        too_large = Problem(
            "too_large", f"the body is larger than {limit} bytes", "send less, or a file's path instead"
        )
        if len(announced) > 15 or int(announced) > limit:
            raise too_large
        received = bytearray()
        try:
            async with asyncio.timeout(self.body_timeout):
                async for chunk in request.stream():
                    received += chunk
                    if len(received) > limit:
                        raise too_large
        except TimeoutError:
            raise Problem("timed_out", "the body did not come in time", "send it in one go") from None
        return bytes(received)


class _Stream(StreamingResponse):
    """Frames for as long as somebody reads them; a place is held until then."""

    def __init__(self, places: Places, frames: AsyncIterator[str]) -> None:
        super().__init__(frames, media_type=STREAM_TYPE, headers={"cache-control": "no-store"})
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._places.take("stream"):
                await super().__call__(scope, receive, send)
        except Problem as refused:
            await refusal(refused)(scope, receive, send)


def _kind(operation: Operation, ask: Ask) -> Kind | None:
    """Whether its answer may take minutes; not of what brings something to rest, which is never put off."""
    return "wait" if operation.lasts and ask.arguments.get("wait", True) else None


async def _handle(operation: Operation, ask: Ask) -> Reply:
    return await HANDLERS[operation.name](ask)


async def _unless_gone(request: Request, handling: Awaitable[Reply]) -> Reply:
    """The reply. Raises ClientDisconnect when the caller has gone: the daemon does not wait for a caller that left."""
    work = asyncio.ensure_future(handling)
    gone = asyncio.ensure_future(_gone(request))
    try:
        done, _ = await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if work in done:
            return work.result()
        raise ClientDisconnect
    finally:
        for task in (work, gone):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise Problem("invalid", f"more than {MAX_PARAMETERS} parameters", "see /openapi.json") from None


def _wants_text(request: Request, operation: Operation) -> bool:
    return operation.text and "text/plain" in request.headers.get("accept", "")
