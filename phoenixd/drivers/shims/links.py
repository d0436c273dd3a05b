"""The links to the shims: who is there, and what they say. Whether a shim lives is not known here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog

from phoenixd import __version__
from phoenixd.drivers.shims.link import Link, credentials, dial
from phoenixd.drivers.shims.orders import Orders
from phoenixd.drivers.shims.peer import Linked, Peer
from phoenixd.drivers.shims.reading import Reading
from phoenixd.drivers.shims.wire import Malformed, parse_hello, parse_run
from phoenixd.errors import ShimFailed, ShimGone
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage

PROTOCOL = 2
HELLO_TIMEOUT = 2.0
MOST_EARLY = 16
"""Questions that a shim may tell again before its hello."""
LOOKED_THROUGH = 4
"""Packets of a link that is held back behind which its end is looked for, where it is asked who is at that end."""
LONG, LONGEST_PAUSE = 1.0, 5.0
FIRST_PATIENCE, FIRST_PAUSE, LONGEST_FIRST_PAUSE = 5.0, 0.005, 0.1
"""Seconds for which a shim that lives and does not listen is waited for at first, and between two tries."""
ABILITIES = {"held_again": True, "batches": True, "sweeps": True}
"""What an older daemon cannot: hear of open questions anew, hear batches of evidence, sweep for strays."""

log = structlog.get_logger()


class SeqpacketShims(Orders):
    """Connections to `RUNTIME_DIR/agents/<name>/link.sock`; implements ports.ShimLinks.

    A link that closes is opened again as long as its shim lives: at once at first, then with pauses that double, and
    the sink gets the new `hello`: what happened in between is in it. Where that takes some time the sink gets
    `link_lost` with a reason; that is no death. lives: whether a shim does, or, where none has said hello yet, whether
    one is expected.
    """

    def __init__(
        self,
        runtime_dir: Path,
        sink: Callable[[ShimMessage], None] = lambda message: None,
        *,
        protocol: int = PROTOCOL,
        hello_timeout: float = HELLO_TIMEOUT,
        is_of_a_run: Callable[[int], bool] = lambda pid: False,
        owner: str = "",
        lives: Callable[[str, ProcessIdentity | None], bool] = lambda agent, shim: True,
        is_there: Callable[[str], bool] = lambda agent: False,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        """owner: the id of the state directory whose daemon this is; a shim that knows another one refuses.

        is_there: whether a shim of the agent seems to live that has never been linked to. It may raise OSError.
        """
        super().__init__(protocol)
        self._runtime_dir = runtime_dir
        self._sink = sink
        self._hello_timeout = hello_timeout
        self._is_of_a_run = is_of_a_run
        self._owner = {"owner": owner} if owner else {}
        self._lives = lives
        self._is_there = is_there
        self._longest_pause = longest_pause
        self._reading = Reading()
        self._reconnecting: set[asyncio.Task[None]] = set()

    def speak_to(self, sink: Callable[[ShimMessage], None]) -> None:
        """Tell `sink` what shims say, from now on; to be called before the first link."""
        self._sink = sink

    def hold_back(self, held: bool) -> None:
        """Leave what the shims say with them, or read on: first the links that had to wait, in the order in which they
        had something to say, a packet of each, until they are held back again. One that has yet to greet is read."""
        self._reading.hold(held)

    def pause(self, paused: bool) -> None:
        """The same for the moment in which an operator is answered, whatever else holds them back."""
        self._reading.pause(paused)

    def read_each(self) -> None:
        """Have a packet of each link that waits read, although they are held back."""
        asyncio.get_running_loop().call_soon(self._reading.read_each)

    async def connect(self, agent: str) -> ShimHello | None:
        """Return the hello of the agent's shim with its run and exit as they are now, None when nobody listens.

        A process that an agent started is nobody: it may have put its own socket in the place of its shim's. A shim
        whose socket somebody removed listens again soon, and is waited for once: without it a living run seems lost.
        Raises ShimFailed when somebody listens who is not a shim of this agent that this daemon can speak to; ShimGone
        when it closes the link before it has said hello, as one does that goes.
        """
        peer = self._peer(agent)
        async with peer.opening:
            for _ in range(LOOKED_THROUGH if self._reading.is_left and peer.link is not None else 0):
                # Else it is read only later that nobody is at its end any more.
                if peer.link is not None:
                    peer.link.read()
            if peer.link is not None and peer.hello is not None:
                return peer.hello
            return await self._open(peer) or await self._first_word(peer)

    def linked(self, agent: str) -> ShimHello | None:
        """The hello of the agent's shim as it is now; None where there is no link to it."""
        peer = self._peers.get(agent)
        return peer.hello if peer is not None and peer.link is not None else None

    def take_up(self, agent: str, reason: str) -> None:
        """Go on trying to reach a shim that could not be connected to, as after a loss."""
        peer = self._peer(agent)
        if peer.link is None:
            self._reopen_soon(peer, reason)

    def shim_of(self, agent: str) -> ProcessIdentity | None:
        """The shim that last said hello; whether it still lives is for the process table to say."""
        peer = self._peers.get(agent)
        return None if peer is None else peer.shim

    def living(self) -> dict[str, ProcessIdentity]:
        """The shims to which there is a link, by agent."""
        return dict(self._linked.shims)

    @property
    def linked_to(self) -> Linked:
        """The same as it is kept: it changes with the links."""
        return self._linked

    def close(self) -> None:
        """Drop all links. The shims go on, and wait for the next daemon."""
        for task in self._reconnecting:
            task.cancel()
        for peer in self._peers.values():
            if peer.link is not None:
                peer.link.close()
                peer.link = None
        self._peers.clear()
        self._reading.close()

    async def _first_word(self, peer: Peer) -> ShimHello | None:
        """Wait for a shim that lives, was never heard by this daemon, and does not listen."""
        now = asyncio.get_running_loop().time
        until, pause, hello = now() + FIRST_PATIENCE, FIRST_PAUSE, None
        try:
            while peer.shim is None and not peer.is_waited_for and hello is None and self._is_there(peer.agent):
                peer.is_waited_for = now() >= until
                await asyncio.sleep(pause)
                pause = min(LONGEST_FIRST_PAUSE, pause * 1.5)
                hello = await self._open(peer)
        except OSError as error:
            raise ShimFailed(f"whether {peer.agent}'s shim lives cannot be told: {error.strerror}") from error
        return hello

    async def _open(self, peer: Peer) -> ShimHello | None:
        path = self._runtime_dir / "agents" / peer.agent / "link.sock"
        try:
            connection = dial(path)
        except OSError as error:
            raise ShimFailed(f"{peer.agent}'s shim cannot be reached: {error.strerror}") from error
        if connection is None:
            return None
        greeting: asyncio.Future[ShimHello] = asyncio.get_running_loop().create_future()
        early: list[ShimMessage] = []
        pid, _ = credentials(connection)
        try:
            is_of_a_run = self._is_of_a_run(pid)
        except OSError as error:
            connection.close()
            raise ShimFailed(f"who serves {peer.agent}'s shim's socket cannot be told: {error.strerror}") from error
        if is_of_a_run:
            connection.close()
            log.warning("impostor_at_link", agent=peer.agent, pid=pid)
            return None
        link = Link(
            peer.agent,
            connection,
            on_message=lambda message: self._received(peer, link, greeting, early, message),
            on_close=lambda reason: self._closed(peer, greeting, reason, ShimGone if link.has_ended else ShimFailed),
        )
        peer.link, peer.hello, peer.is_leaving = link, None, False
        try:
            if link.peer_uid != os.geteuid():
                raise ShimFailed(f"{path} is served by uid {link.peer_uid}, not by a shim of ours")
            hello = {"op": "hello", "protocol": self._protocol, "version": __version__}
            link.send({**hello, **ABILITIES, **self._owner})
            async with asyncio.timeout(self._hello_timeout):
                return await greeting
        except TimeoutError as error:
            # A restart would need an answer, too: the next start makes another shim once this one is gone.
            remedy = f"kill -9 {link.peer_pid}"
            raise ShimFailed(f"{peer.agent}'s shim does not answer; if it stays so: {remedy}", remedy) from error
        finally:
            if peer.hello is None:
                link.close()
                peer.link = None
            greeting.cancel()

    def _received(
        self,
        peer: Peer,
        link: Link,
        greeting: asyncio.Future[ShimHello],
        early: list[ShimMessage],
        message: ShimMessage,
    ) -> None:
        """early: what the shim tells again before its hello; it is passed on once it is known whose shim that is."""
        try:
            if peer.hello is None:
                if _is_told_again(message) and len(early) < MOST_EARLY:
                    early.append(message)
                    return
                peer.hello = self._verified(peer, link, message)
                peer.shim = peer.hello.shim
                peer.opened_at = asyncio.get_running_loop().time()
                greeting.set_result(peer.hello)
                peer.greeting = message
                link.read_in_turn(self._reading)
                for one in early:
                    self._sink(one)
                return
            peer.hello = _updated(peer.hello, message)
        except (Malformed, ShimFailed) as error:
            link.close()
            self._closed(peer, greeting, str(error))
            return
        self._sink(message)

    def _verified(self, peer: Peer, link: Link, message: ShimMessage) -> ShimHello:
        """Hold a hello against what the kernel says about the peer; raises Malformed and ShimFailed."""
        if message.event == "error":
            raise ShimFailed(f"{peer.agent}'s shim says: {message.body.get('message')!s:.300}")
        if message.event != "hello":
            raise ShimFailed(f"{peer.agent}'s shim said {message.event!r:.30} before hello")
        hello = parse_hello(message.body)
        if hello.agent != peer.agent or hello.shim.pid != link.peer_pid:
            raise ShimFailed(
                f"the socket of {peer.agent}'s shim is served by pid {link.peer_pid}, "
                f"which says that it is pid {hello.shim.pid} of {hello.agent!r:.40}"
            )
        if hello.protocol > self._protocol:
            raise ShimFailed(
                f"{peer.agent}'s shim speaks protocol {hello.protocol}, this daemon {self._protocol}",
                remedy="install the newer phoenixd again, or restart the agent from it first",
            )
        return hello

    def _closed(
        self, peer: Peer, greeting: asyncio.Future[ShimHello], reason: str, kind: type[ShimFailed] = ShimFailed
    ) -> None:
        if not greeting.done():
            greeting.set_exception(kind(f"{peer.agent}'s shim was not accepted: {reason}"))
            return
        peer.link = peer.hello = None
        if peer.is_leaving:
            self._peers.pop(peer.agent, None)
            return
        self._reopen_soon(peer, reason)

    def _reopen_soon(self, peer: Peer, reason: str) -> None:
        if peer.is_reopening:
            return
        peer.is_reopening = True
        task = asyncio.get_running_loop().create_task(self._reopen(peer, reason), name=f"link of {peer.agent}")
        self._reconnecting.add(task)
        task.add_done_callback(self._reconnecting.discard)

    async def _reopen(self, peer: Peer, reason: str) -> None:
        """Try until there is a link, or no shim to link to; tell the sink where that takes some time."""
        is_told, is_up, lost = False, False, peer.shim
        while not is_up:
            pause = peer.pause(asyncio.get_running_loop().time(), self._longest_pause)
            if not is_told and pause >= LONG:
                is_told = True
                self._sink(ShimMessage(peer.agent, "link_lost", {"reason": reason}))
            await asyncio.sleep(pause)
            async with peer.opening:
                if peer.link is None:
                    lost = peer.shim
                try:
                    if not self._lives(peer.agent, lost):
                        break
                    failure = await self._try(peer)
                except OSError as error:
                    failure = f"whether it lives cannot be told: {error.strerror}"
                # It may have been lost again before anybody looked.
                is_up = peer.link is not None
            # A shim that dies closes its link a moment before it is seen to be gone.
            if not is_up and not is_told and pause:
                is_told = True
                self._sink(ShimMessage(peer.agent, "link_lost", {"reason": f"{reason}; {failure}"}))
        peer.is_reopening = False
        # Another shim that was started meanwhile may have yet to be told its run: its starter compares both.
        if is_up and peer.greeting is not None and lost in (None, peer.shim):
            self._sink(peer.greeting)

    async def _try(self, peer: Peer) -> str:
        """Open a link unless there is one; why that failed, if it did."""
        if peer.link is not None:
            return ""
        try:
            return "" if await self._open(peer) else "nobody listens on its socket"
        except ShimFailed as error:
            return error.message


def _is_told_again(message: ShimMessage) -> bool:
    return message.event == "hook" and message.body.get("again") is True


def _updated(hello: ShimHello, message: ShimMessage) -> ShimHello:
    """The hello as the shim would say it now."""
    match message.event:
        case "started":
            return replace(hello, run=parse_run(message.body))
        case "exited":
            return replace(hello, run=None, exit=message.body)
        case _:
            return hello
