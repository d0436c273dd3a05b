"""One client of the control socket: who it is, whether there is a place for it, and that it speaks plainly.

It is bounded in times and buffers, and all clients together in number. A client takes a place when it connects, and
gives it up to a newcomer while it has nothing under way. A connection that closes has its place until it is closed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, cast

import h11
import structlog
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from phoenixd.api import short_way
from phoenixd.api.application import Api
from phoenixd.api.lineage import NO_DESCRIPTORS, Lack
from phoenixd.api.peers import Peer, identify
from phoenixd.api.places import AGENTS, EACH_AGENT, OPERATORS
from phoenixd.api.plain_http import PlainHttp
from phoenixd.api.problems import Problem
from phoenixd.api.proc import is_scarce
from phoenixd.api.responses import EXIT_HEADER, PROBLEM_TYPE, unexpected
from phoenixd.api.rights import no_descriptors

HEADER_LIMIT = 16 * 1024
HEADER_TIMEOUT = 10.0
WRITE_TIMEOUT = 30.0
UNKNOWN = "?"
NOT_YET_KNOWN = Peer(0, -1, frozenset(), None, "nobody has looked yet", Lack.GONE)

log = structlog.get_logger("phoenixd.api")


class Connection(H11Protocol):
    """One client. Knows its peer from the first moment, and is closed when it dawdles."""

    api: Api
    serials = itertools.count()
    header_timeout: float = HEADER_TIMEOUT
    write_timeout: float = WRITE_TIMEOUT

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._deadline: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._is_given_up = False
        self._has_spoken = False
        self._looking: asyncio.Task[None] | None = None
        self.serial = next(self.serials)
        self._enter()
        self.peer = NOT_YET_KNOWN
        super().connection_made(transport)
        try:
            self._let_in(transport)
        except OSError as error:
            # As where a link is lost, and whether its shim lives has to be looked up.
            self._refuse(no_descriptors(NO_DESCRIPTORS) if is_scarce(error) else _not_looked_up(error))
        except Exception as fault:
            # Unanswered it would be open for ever, and so would all that come after it.
            log.exception("caller_not_looked_up")
            self._refuse(_not_looked_up(fault))

    def _let_in(self, transport: asyncio.Transport) -> None:
        """Find out who it is, and whether there is a place for it."""
        service = self.api.service
        peer = identify(
            transport.get_extra_info("socket"), service.shim_pids(), service.agents_cgroup, service.agents_dir
        )
        self.peer = peer
        if _suspect(peer) is not None:
            self._leave()
        self.app_state = {**self.app_state, "peer": peer, "begun": self._leave}
        if peer.lack is Lack.NO_DESCRIPTORS:
            self._refuse(no_descriptors(peer.unknown))
            return
        if self._is_too_eager(peer):
            self._abort()
            return
        if not self._make_room(peer):
            self._refuse(Problem("busy", "too many connections are open", "close some, or try again in a moment"))
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._expect_nothing()
        self._cancel_stuck()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._looking is not None:
            return  # Nothing that comes after a look is answered.
        if _suspect(self.peer) is None and not self._is_busy():
            self._enter()
        if not self._has_spoken:
            self._has_spoken = True
            look = short_way.read(data)
            if look is not None:
                self._expect_nothing()
                self._looking = self.loop.create_task(self._look(look))
                self.tasks.add(self._looking)
                self._looking.add_done_callback(self.tasks.discard)
                return
            self.conn = PlainHttp(h11.SERVER, HEADER_LIMIT)
        super().data_received(data)
        if self._is_busy():
            self._expect_nothing()
        elif self._deadline is None:
            self._expect_headers()

    async def _look(self, look: short_way.Look) -> None:
        """Answer what came by the short way."""
        try:
            self._tell(await self.api.look(look, self.peer))
        except Exception as fault:
            self._tell(unexpected(fault))
            log.exception("look_failed", operation=look.operation.name)

    def _tell(self, answer: Response) -> None:
        if not self.transport.is_closing():
            self.transport.write(short_way.written(answer))
            self._close()
        self._leave()

    def shutdown(self) -> None:
        if self._looking is None:
            super().shutdown()

    def on_response_complete(self) -> None:
        self._leave()
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_busy():
            # The rest of a refused body, too, has to come within the time for the next request's headers.
            self._expect_nothing()
            self._deadline = self.loop.call_later(self.timeout_keep_alive, self._close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_stuck()
        self._stuck = self.loop.call_later(self.write_timeout, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_stuck()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, where an answer can still be said."""
        self._refuse(Problem("invalid", "this is not HTTP/1.1 as it is spoken here", "see /openapi.json"))

    def _is_busy(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        if self._looking is not None:
            return True
        return cycle is not None and not cycle.response_complete

    def _is_too_eager(self, peer: Peer) -> bool:
        """Whether an agent connects more often than there is any reason to."""
        suspect = _suspect(peer)
        return suspect is not None and not self.api.allowance.take(suspect, self.loop.time())

    def _make_room(self, peer: Peer) -> bool:
        """Whether this connection fits; the oldest one of the same kind that asks nothing gives way to it.

        One that was given up is a socket all the same until it is closed, and makes room for one other at most.
        """
        others = [cast(Connection, other) for other in self.connections if other is not self]
        if (suspect := _suspect(peer)) is not None:
            suspects = [name for other in others if (name := _suspect(other.peer)) is not None]
            return suspects.count(suspect) < EACH_AGENT and len(suspects) < AGENTS
        rest = [other for other in others if _suspect(other.peer) is None and not other._is_given_up]
        if len(rest) < OPERATORS:
            return True
        idle = [other for other in rest if not other._is_answered()]
        if not idle:
            return False
        min(idle, key=lambda other: other.serial)._abort()
        return True

    def _is_answered(self) -> bool:
        """Whether its question came whole, and its answer did not go out whole; who still speaks may begin again."""
        return self._is_busy() and not self.transport.is_closing() and self.conn.their_state is not h11.SEND_BODY

    def _refuse(self, problem: Problem) -> None:
        self._leave()
        self._expect_nothing()
        self._is_given_up = True
        can_speak = cast(Any, self.conn).our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if can_speak and not self._is_busy():
            body = json.dumps(problem.document()).encode() + b"\n"
            head = (
                f"HTTP/1.1 {problem.http_status} {problem.document()['title']}\r\ncontent-type: {PROBLEM_TYPE}\r\n"
                f"content-length: {len(body)}\r\n{EXIT_HEADER}: {problem.exit_code}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        if self.transport.get_write_buffer_size():
            self._abort()  # It has not read what it was told before: it will not read this.
        else:
            self.transport.close()

    def _enter(self) -> None:
        """Have agents wait with what they tell, until this one is answered."""
        if self.api.gate is not None:
            self.api.gate.enter(self)

    def _leave(self) -> None:
        if self.api.gate is not None:
            self.api.gate.leave(self)

    def _expect_headers(self) -> None:
        self._deadline = self.loop.call_later(self.header_timeout, self._close)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_stuck(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _close(self) -> None:
        """Close after what is written has gone out, but wait no longer than for any writing."""
        self.transport.close()
        if self._stuck is None and self.transport.get_write_buffer_size():
            self._stuck = self.loop.call_later(self.write_timeout, self._abort)

    def _abort(self) -> None:
        self._is_given_up = True
        self.transport.abort()


def _suspect(peer: Peer) -> str | None:
    """The agent that a peer belongs to; all those of whom nobody knows where they come from are one. None: neither."""
    return peer.agent if peer.agent is not None else UNKNOWN if peer.unknown else None


def _not_looked_up(fault: Exception) -> Problem:
    return Problem("failed", f"phoenixd failed to look who asks: {type(fault).__name__}", "phoenixctl doctor")
