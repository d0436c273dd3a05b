"""Evidence goes to the daemon in batches, and nothing is lost or overtaken by it (promises 1 and 10)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shim.pane import Pane
from tests.shim.posting import Poster
from tests.shim.test_pure import load

outbox = load("outbox")
LIMIT = 1000

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("evidence"), st.integers(0, LIMIT - 100)),
        st.tuples(st.just("evidence"), st.just(0)),
        st.tuples(st.just("tell"), st.just(0)),
        st.tuples(st.just("spool"), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 15)),
    ),
    max_size=300,
)


class Line:
    """An outbox with its spool, pumped as the link does; what the daemon hears, packet by packet, and when."""

    def __init__(self, *, takes_batches: bool = True) -> None:
        self.box = outbox.Outbox(LIMIT)
        self.box.greet([], 0, takes_batches=takes_batches)
        self.now = 100.0
        self.is_blocked = False
        self.spool: list[tuple[int, bytes]] = []
        self.last_seq = 0
        self.told: list[int] = []
        self.packets: list[tuple[float, list[int]]] = []
        self._numbers = 0

    def do(self, operation: str, amount: int) -> None:
        if operation == "wait":
            self.wait(amount / 100)
            return
        self._numbers += 1
        packet = json.dumps({"n": self._numbers, "x": "x" * amount}).encode()
        self.told.append(self._numbers)
        if operation == "evidence":
            if not self.box.has_room(packet):
                self.box.hurry()
                self.pump()
            self.box.add_evidence(packet, self.last_seq, begins_call=False)
        elif operation == "tell":
            self.box.tell(packet, self.last_seq)
        else:
            self.last_seq += 1
            self.spool.append((self.last_seq, packet))
        self.pump()

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        due = self.box.due()
        if due is not None and due <= until:
            self.now = max(self.now, due)
            self.pump()
        self.now = until

    def pump(self) -> None:
        while not self.is_blocked:
            sending = self.box.following(self.now, self.spool[0][0] if self.spool else None)
            if sending is None:
                return
            packet = sending.packet if sending.packet is not None else self.spool.pop(0)[1]
            assert len(packet) <= LIMIT
            content = json.loads(packet)
            assert content.get("event", "hooks") == "hooks"
            self.packets.append((self.now, [one["n"] for one in content.get("batch", [content])]))
            self.box.sent(sending, self.now)

    @property
    def heard(self) -> list[int]:
        return [number for _, numbers in self.packets for number in numbers]


@given(OPERATIONS)
def test_all_is_heard_in_order_and_what_is_no_evidence_at_once(operations: list[tuple[str, int]]) -> None:
    line = Line()
    for operation, amount in operations:
        line.do(operation, amount)
        if operation in ("tell", "spool"):
            assert line.heard == line.told
        assert line.heard == line.told[: len(line.heard)]
    line.wait(outbox.INTERVAL)
    assert line.heard == line.told
    assert all(len(numbers) <= outbox.MOST for _, numbers in line.packets)


@given(st.lists(st.tuples(st.just("evidence"), st.just(0)) | st.tuples(st.just("wait"), st.integers(0, 15))))
def test_evidence_waits_a_tenth_of_a_second_at_most_and_goes_no_oftener(operations: list[tuple[str, int]]) -> None:
    line, told_at = Line(), dict[int, float]()
    for operation, amount in operations:
        line.do(operation, amount)
        if operation == "evidence":
            told_at[line.told[-1]] = line.now
    line.wait(outbox.INTERVAL)
    for at, numbers in line.packets:
        assert all(at - told_at[number] <= outbox.INTERVAL + 1e-9 for number in numbers)
    pairs = zip(line.packets, line.packets[1:], strict=False)
    # LIMIT bytes are full before 64 are.
    fullest = max((len(numbers) for _, numbers in line.packets), default=0)
    assert all(
        later[0] - earlier[0] >= outbox.INTERVAL - 1e-9 or len(later[1]) >= fullest > 1 for earlier, later in pairs
    )


@given(OPERATIONS, st.data())
def test_a_daemon_that_does_not_read_loses_only_the_oldest_evidence(
    operations: list[tuple[str, int]], data: st.DataObject
) -> None:
    line, evidence = Line(), set[int]()
    for operation, amount in operations:
        line.is_blocked = data.draw(st.booleans())
        line.do(operation, amount)
        if operation == "evidence":
            evidence.add(line.told[-1])
    line.is_blocked = False
    line.pump()
    line.wait(outbox.INTERVAL)
    assert line.heard == sorted(line.heard)
    assert set(line.told) - set(line.heard) <= evidence
    assert not evidence or max(evidence) in line.heard


@given(OPERATIONS)
def test_an_older_daemon_hears_one_at_a_time_and_at_once(operations: list[tuple[str, int]]) -> None:
    line = Line(takes_batches=False)
    for operation, amount in operations:
        line.do(operation, amount)
        assert line.heard == line.told
    assert all(len(numbers) == 1 for _, numbers in line.packets)


def test_the_first_evidence_of_a_run_waits_for_nothing() -> None:
    line = Line()
    line.do("evidence", 0)
    line.do("evidence", 0)
    assert line.heard == [1]
    line.do("tell", 0)
    line.box.hurry()
    line.do("evidence", 0)
    assert line.heard == [1, 2, 3, 4]


def test_a_daemon_that_comes_back_hears_the_newest_evidence_after_its_hello() -> None:
    line = Line()
    line.is_blocked = True
    for _ in range(3):
        line.do("evidence", 0)
    line.box.part()
    line.box.greet([b'{"n":0}'], line.last_seq, takes_batches=True)
    line.is_blocked = False
    line.pump()
    assert line.heard == [0, 3]


def receive_evidence(daemon: Any, until: str) -> tuple[list[Any], int]:
    """All evidence up to the lifecycle event of that kind, and how many packets it came in."""
    heard, packets = [], 0
    while True:
        event = daemon.receive()
        if event["event"] == "hooks":
            heard += event["batch"]
            packets += 1
        elif event["event"] == "hook" and event["seq"]:
            assert event["kind"] == until
            return heard, packets
        elif event["event"] == "hook":
            heard.append(event)
            packets += 1


@pytest.mark.parametrize("batches", [True, False])
def test_promise_10_a_swarm_of_hooks_comes_whole_and_in_order(pane: Pane, batches: bool) -> None:
    daemon = pane.connect()
    daemon.send(op="hello", protocol=1, version="0.1.0", **({"batches": True} if batches else {}))
    daemon.expect("hello")
    daemon.start(["sleep", "1000"])
    with Poster(pane, daemon.events[0]["hook_port"]) as poster:
        for number in range(50):
            for kind in ("tool-start", "tool-end"):
                assert poster.post(kind, {"tool_name": "Bash", "tool_use_id": str(number)}) == 200
        assert poster.post("stop", {}) == 200
    heard, packets = receive_evidence(daemon, "stop")
    told = [(kind, str(number)) for number in range(50) for kind in ("tool-start", "tool-end")]
    assert [(one["kind"], one["payload"]["tool_use_id"]) for one in heard] == told
    assert all(one["event"] == "hook" and one["seq"] == 0 for one in heard)
    assert (packets < len(heard)) is batches
    assert all("ticks" in one for one in heard if one["kind"] == "tool-start")
