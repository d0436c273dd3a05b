"""What shims are told: each order is a message on a link that stands, and nothing is waited for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import structlog

from phoenixd.drivers.shims.link import Link
from phoenixd.drivers.shims.peer import Linked, Peer
from phoenixd.errors import ShimFailed, ShimGone
from phoenixd.ports.shims import ShimHello
from phoenixd.remedies import anew

ARMING = 2
"""The first protocol whose shims take answers beforehand."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")

log = structlog.get_logger()


class Orders:
    """The half of the links that speaks. Each names the agent whose shim is told; raises ShimFailed and ShimGone."""

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol
        self._peers: dict[str, Peer] = {}
        self._linked = Linked()

    def start(self, agent: str, order: str, incarnation: int, run_id: str) -> None:
        self._send(agent, {"op": "start", "order": order, "incarnation": incarnation, "run_id": run_id})

    def terminate(self, agent: str, incarnation: int) -> None:
        self._send(agent, {"op": "terminate", "incarnation": incarnation})

    def kill(self, agent: str, incarnation: int) -> None:
        self._send(agent, {"op": "kill", "incarnation": incarnation})

    def acknowledge(self, agent: str, seq: int) -> None:
        """Tell the shim that its events up to `seq` are journaled; without a link it will send them again.

        One packet tells all that was acknowledged in a turn of the loop: an agent decides how many events there are.
        """
        peer = self._peers.get(agent)
        if peer is None or peer.link is None:
            return
        if peer.acknowledged == 0:
            asyncio.get_running_loop().call_soon(self._send_acknowledgement, peer)
        peer.acknowledged = max(peer.acknowledged, seq)

    def _send_acknowledgement(self, peer: Peer) -> None:
        seq, peer.acknowledged = peer.acknowledged, 0
        try:
            self._send(peer.agent, {"op": "ack", "seq": seq})
        except ShimFailed as failure:
            log.info("not_acknowledged", agent=peer.agent, seq=seq, reason=failure.message)

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        self._send(agent, {"op": "answer", "incarnation": incarnation, "seq": hold, "body": body})

    def arm(self, agent: str, incarnation: int, answer: Mapping[str, object]) -> None:
        """Tell the shim an answer beforehand. An older shim is not told: it would take it for nonsense."""
        hello = self._peer(agent).hello
        if hello is not None and hello.protocol < ARMING:
            raise ShimFailed(
                f"{agent}'s shim speaks protocol {hello.protocol}, which knows no armed answers",
                remedy="phoenixctl down --agents",
            )
        self._send(agent, {"op": "arm", "incarnation": incarnation, **answer})

    def disarm(self, agent: str, incarnation: int, id: str) -> None:
        self._send(agent, {"op": "disarm", "incarnation": incarnation, "id": id})

    def note_use(self, agent: str, id: str, uses: int) -> None:
        """Tell the shim how many uses are journaled; one that misses it says them again."""
        try:
            self._send(agent, {"op": "armed_noted", "id": id, "uses": uses})
        except ShimFailed as failure:
            log.info("use_not_noted", agent=agent, id=id, reason=failure.message)

    def tell_epoch_at_once(self, number: int, unwanted: Collection[str]) -> None:
        """Tell what epoch has become durable to the shims of agents that were just stopped or removed, and to one more.

        From then on a state directory in which these are wanted is known for an old one. One shim is enough for that;
        the one more is for shims that leave with their agent.
        """
        others = (peer for agent, peer in self._peers.items() if agent not in unwanted and _hearing(peer) is not None)
        stopped = (self._peers[agent] for agent in unwanted if agent in self._peers)
        for peer in (*stopped, *islice(others, 1)):
            self._tell_epoch(peer, number)

    def tell_epoch(self, number: int) -> None:
        """Tell every shim that is linked what epoch has become durable; who misses it is told the next one."""
        for peer in tuple(self._peers.values()):
            self._tell_epoch(peer, number)

    def _tell_epoch(self, peer: Peer, number: int) -> None:
        link = _hearing(peer)
        if link is None:
            return
        try:
            link.send({"op": "epoch", "epoch": number})
        except ShimFailed as failure:
            log.info("epoch_not_told", agent=peer.agent, reason=failure.message)

    def swept(self, agent: str, run_ids: Sequence[str]) -> None:
        """Tell the shim that these ended runs were swept for; one that misses it says them again."""
        try:
            self._send(agent, {"op": "swept", "run_ids": list(run_ids)})
        except ShimFailed as failure:
            log.info("sweep_not_told", agent=agent, reason=failure.message)

    def quit(self, agent: str) -> None:
        """Have the shim leave; the end of its link is then no news."""
        self._send(agent, {"op": "quit"})
        self._peer(agent).is_leaving = True

    def _peer(self, agent: str) -> Peer:
        if not NAME.fullmatch(agent):
            raise ShimFailed(f"no agent's name: {agent!r:.50}")
        return self._peers.setdefault(agent, Peer(agent, self._linked))

    def _send(self, agent: str, message: dict[str, Any]) -> None:
        peer = self._peer(agent)
        if peer.link is None or peer.hello is None:
            raise ShimGone(f"there is no link to {agent}'s shim")
        if self._is_too_old(peer.hello):
            raise ShimFailed(
                f"{agent}'s shim speaks protocol {peer.hello.protocol}, this daemon {self._protocol}",
                remedy=anew(agents=True),
            )
        peer.link.send(message)

    def _is_too_old(self, hello: ShimHello) -> bool:
        return hello.protocol < self._protocol - 1


def _hearing(peer: Peer) -> Link | None:
    """The link by which it can be told of epochs; an older shim would take one for nonsense."""
    return peer.link if peer.hello is not None and peer.hello.knows_epochs else None
