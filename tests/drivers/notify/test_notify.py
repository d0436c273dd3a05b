"""Alerts reach the configured routes, and nothing that a route does reaches the daemon."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.unheard import Unheard
from phoenixd.drivers.notify.command import RUN_ID, CommandRoute, without_secrets
from phoenixd.drivers.notify.notifier import Message, Notifier, Route, Settled
from phoenixd.drivers.notify.webhook import Endpoint, WebhookRoute
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import read_stat
from phoenixd.installed import job_runner
from phoenixd.runtime.tellings import Tellings
from tests.ending import A_WHILE
from tests.waiting import eventually

HOSTILE = "permission\n\x1b]0;title\x07 $(touch /tmp/x) `id` '\"; #(x) ghp_" + "a1" * 18
CLEAN = "permission $(touch /tmp/x) `id` '\"; #(x) [redacted]"


def an_alert(number: int = 1, text: str = "for you", agent: str = "builder") -> Alert:
    return Alert(agent, "permission", text, number, 1_800_000_000.0)


def writes(path: Path) -> list[str]:
    return [sys.executable, "-c", "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())", str(path)]


async def end_tree(run_id: str) -> None:
    await Processes().fence("#alert", 0, run_id, None)


@asynccontextmanager
async def serving(*routes: Route) -> AsyncIterator[Notifier]:
    notifier = Notifier(routes, lambda: 1_800_000_060.0)
    task = asyncio.create_task(notifier.run())
    yield notifier
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def lines_of(path: Path, count: int) -> list[dict[str, Any]]:
    await eventually(lambda: path.exists() and path.read_bytes().count(b"\n") >= count)
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_p84_the_command_gets_the_alert_as_json_and_nothing_as_an_argument(tmp_path: Path) -> None:
    async with serving(CommandRoute(writes(tmp_path / "out"), job_runner, end_tree, at_once=1)) as notifier:
        notifier.tell(an_alert(7, HOSTILE))
        notifier.tell(Reassure("builder", "permission", HOSTILE, 7, 1_800_000_000.0, "no longer waits: tool-end"))
        raised, over = await lines_of(tmp_path / "out", 2)
    assert raised == {
        "version": 1, "id": 7, "state": "raised", "agent": "builder", "kind": "permission", "text": CLEAN,
        "needs_you": True, "raised_at": "2027-01-15T08:00:00Z", "over_at": None, "why": "",
        "next": "phoenixctl attach builder",
    }  # fmt: skip
    assert (over["id"], over["state"], over["over_at"]) == (7, "over", "2027-01-15T08:01:00Z")


async def test_a_way_that_is_new_is_told_what_stands_and_no_other_way_is(tmp_path: Path) -> None:
    new = CommandRoute(writes(tmp_path / "new"), job_runner, end_tree, at_once=1)
    old = WebhookRoute(Endpoint("http://[::1]:9/"))
    async with serving(new, old) as notifier:
        assert set(notifier.ways) == {"command", "webhook"}
        notifier.tell_late("command", Unheard((an_alert(7), an_alert(9, HOSTILE))))
        first, second = await lines_of(tmp_path / "new", 2)
    assert (first["id"], first["state"], first["next"]) == (7, "raised", "phoenixctl attach builder")
    assert (second["id"], second["text"]) == (9, CLEAN)
    assert not old._waiting
    other = CommandRoute(writes(tmp_path / "other"), job_runner, end_tree)
    assert new.mark != other.mark


@pytest.mark.parametrize("escape", ["sleep 1000 & wait", "setsid sleep 1000 & wait", "(setsid sleep 1000 &) ; sleep 9"])
async def test_a_command_that_takes_too_long_ends_with_its_tree(tmp_path: Path, escape: str) -> None:
    found = ["sh", "-c", f"cat > {tmp_path}/in; echo ${RUN_ID} > {tmp_path}/run; {escape}"]
    ended: list[str] = []

    async def end_and_note(run_id: str) -> None:
        await end_tree(run_id)
        ended.append(run_id)

    async with serving(CommandRoute(found, job_runner, end_and_note, timeout=0.5)) as notifier:
        notifier.tell(an_alert())
        await eventually(lambda: ended)
    assert (tmp_path / "run").read_text().strip() == ended[0]
    assert carriers(ended[0]) == []


async def test_what_a_command_that_ended_by_itself_leaves_behind_lives_on(tmp_path: Path) -> None:
    """A script that begins a sound, or tries again later, is done for the daemon, and not for its operator."""
    script = f"cat > /dev/null; sleep 600 & echo $! > {tmp_path}/left; setsid sleep 600 & echo $! >> {tmp_path}/left"
    judged: list[tuple[str, str | None]] = []
    route = CommandRoute(["sh", "-c", script], job_runner, end_tree, judged=lambda *one: judged.append(one))
    async with serving(route) as notifier:
        notifier.tell(an_alert())
        await eventually(lambda: judged)
    left = [int(line) for line in (tmp_path / "left").read_text().split()]
    # The program may not have become `sleep` yet: to be there is what counts.
    living = [pid for pid in left if (stat := read_stat(pid)) is not None and stat.state not in "ZX"]
    for pid in living:
        os.kill(pid, signal.SIGKILL)
    assert judged == [("command", None)]
    assert living == left


async def test_a_command_whose_runner_is_killed_ends_with_its_tree_and_holds_up_nothing(tmp_path: Path) -> None:
    script = f"cat > /dev/null; sleep 600 & echo $PPID $$ $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pids; wait"
    judged: list[str | None] = []
    route = CommandRoute(["sh", "-c", script], job_runner, end_tree, judged=lambda _, problem: judged.append(problem))
    async with serving(route) as notifier:
        notifier.tell(an_alert())
        await eventually((tmp_path / "pids").exists)
        runner, *tree = (int(word) for word in (tmp_path / "pids").read_text().split())
        os.kill(runner, signal.SIGKILL)
        await eventually(lambda: judged)
    assert judged == ["sh: exit -9"]
    assert not [pid for pid in tree if (stat := read_stat(pid)) is not None and stat.state not in "ZX"]


def carriers(run_id: str) -> list[str]:
    """Living processes with that run id in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and run_id.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(entry)
        except OSError:
            continue
    return found


async def test_a_command_that_is_missing_or_fails_is_no_failure_of_ours(tmp_path: Path) -> None:
    for argv in (["/nonexistent/command"], ["false"], ["true"]):
        well = CommandRoute(writes(tmp_path / "out"), job_runner, end_tree)
        async with serving(CommandRoute(argv, job_runner, end_tree), well) as all_:
            all_.tell(an_alert())
            await lines_of(tmp_path / "out", 1)
            (tmp_path / "out").unlink()


async def test_at_most_four_commands_run_at_once_and_what_waits_is_bounded(tmp_path: Path) -> None:
    waits = f"while [ ! -e {tmp_path}/go ] && {A_WHILE}; do sleep 0.01; done"
    script = f"echo >> {tmp_path}/began; {waits}; cat >> {tmp_path}/out"
    async with serving(CommandRoute(["sh", "-c", script], job_runner, end_tree, timeout=60)) as notifier:
        await asyncio.sleep(0)
        for number in range(4):
            notifier.tell(an_alert(number))
        await lines_begun(tmp_path / "began", 4)
        for number in range(4, 304):
            notifier.tell(an_alert(number, agent=f"a{number}"))
        assert (tmp_path / "began").read_bytes().count(b"\n") == 4
        (tmp_path / "go").touch()
        told = await lines_of(tmp_path / "out", 104)
    ids = {one["id"] for one in told}
    assert {0, 1, 2, 3} | set(range(204, 304)) == ids, "the oldest that wait are given up, the newest are told"


async def test_p84_a_command_that_hangs_holds_up_no_other_also_where_none_waited_before(tmp_path: Path) -> None:
    """Once all but one of those who send slept on when an alert came, and each program waited for the one before."""
    waits = f"while [ ! -e {tmp_path}/go ] && {A_WHILE}; do sleep 0.01; done"
    script = f"if [ -e {tmp_path}/out ]; then echo >> {tmp_path}/began; {waits}; fi; cat >> {tmp_path}/out"
    async with serving(CommandRoute(["sh", "-c", script], job_runner, end_tree, timeout=90)) as notifier:
        notifier.tell(an_alert(1))
        await lines_of(tmp_path / "out", 1)
        for number in range(2, 6):
            notifier.tell(an_alert(number))
        await lines_begun(tmp_path / "began", 4)
        (tmp_path / "go").touch()
        told = await lines_of(tmp_path / "out", 5)
    assert {one["id"] for one in told} == {1, 2, 3, 4, 5}


async def test_p84_the_end_of_an_alert_never_overtakes_its_beginning_where_several_commands_run(tmp_path: Path) -> None:
    waits = f"while [ ! -e {tmp_path}/go ] && {A_WHILE}; do sleep 0.01; done"
    slow = f'case $body in *\'"id": 7, "state": "raised"\'*) {waits};; esac'
    script = f"body=$(cat); {slow}; printf '%s\\n' \"$body\" >> {tmp_path}/out"
    async with serving(CommandRoute(["sh", "-c", script], job_runner, end_tree, timeout=90)) as notifier:
        notifier.tell(an_alert(1))
        await lines_of(tmp_path / "out", 1)
        notifier.tell(an_alert(7))
        notifier.tell(Reassure("builder", "permission", "for you", 7, 1_800_000_000.0, "answered"))
        for number in (8, 9):
            notifier.tell(an_alert(number))
        assert {one["id"] for one in await lines_of(tmp_path / "out", 3)} == {1, 8, 9}
        (tmp_path / "go").touch()
        told = await lines_of(tmp_path / "out", 5)
    assert [(one["id"], one["state"]) for one in told[3:]] == [(7, "raised"), (7, "over")]


async def lines_begun(path: Path, count: int) -> None:
    await eventually(lambda: path.exists() and path.read_bytes().count(b"\n") == count)


def test_the_command_gets_no_secret_of_the_daemon() -> None:
    environ = {
        "PATH": "/bin", "HOME": "/home/u", "ANTHROPIC_API_KEY": "sk-" + "ant-api03-" + "a1B2" * 12,
        "DB_PASSWORD": "hunter22", "COPY": "hunter22", "NOTIFY_SOCKET": "/run/x",
        "HTTPS_PROXY": "http://u:pa55word@proxy:80",
        "WATCHDOG_USEC": "1", "PHOENIX_TOKEN": "abc", "LANG": "C.UTF-8",
    }  # fmt: skip
    assert without_secrets(environ) == {"PATH": "/bin", "HOME": "/home/u", "LANG": "C.UTF-8"}


@dataclass
class Hook:
    """A web server on loopback that answers each request with the next of `answers`, and keeps what it was sent."""

    answers: list[bytes | None]
    requests: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/in?x=1"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Hook]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        self.requests.append(head + await reader.readexactly(length))
        answer = self.answers.pop(0) if self.answers else b"HTTP/1.1 204 No Content\r\n\r\n"
        if answer is None:
            await reader.read()  # Says nothing until the other side gives up.
        else:
            writer.write(answer)
        writer.close()


@dataclass
class Pauses:
    """Sleeps that take no time."""

    slept: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


async def test_p84_a_web_hook_gets_the_alert_with_the_credential_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("Bearer one\n")
    async with Hook([]).listening() as hook:
        (tmp_path / "url").write_text(f"{hook.url}\n")
        async with serving(WebhookRoute(Endpoint(tmp_path / "url", tmp_path / "token"))) as notifier:
            notifier.tell(an_alert(3))
            await eventually(lambda: hook.requests)
            (tmp_path / "token").write_text("Bearer two")
            notifier.tell(an_alert(4))
            await eventually(lambda: len(hook.requests) == 2)
    head, _, body = hook.requests[0].decode().partition("\r\n\r\n")
    assert head.startswith("POST /in?x=1 HTTP/1.1\r\n")
    assert "Authorization: Bearer one" in head
    assert json.loads(body)["id"] == 3
    assert b"Authorization: Bearer two" in hook.requests[1], "a rotated credential is taken up"


async def test_a_web_hook_that_is_down_is_tried_again_with_longer_pauses_and_then_given_up() -> None:
    pauses = Pauses()
    down = b"HTTP/1.1 503 Busy\r\n\r\n"
    async with Hook(
        [down, None, b"HTTP/1.1 429 Slow\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", *[down] * 4]
    ).listening() as hook:
        async with serving(WebhookRoute(Endpoint(hook.url), timeout=0.3, tries=4, sleep=pauses)) as notifier:
            notifier.tell(an_alert(1))
            await eventually(lambda: len(hook.requests) == 4)
            assert pauses.slept == [1.0, 2.0, 4.0]
            notifier.tell(an_alert(2))
            notifier.tell(an_alert(3))
            await eventually(lambda: len(hook.requests) == 9)
    told = [json.loads(request.partition(b"\r\n\r\n")[2])["id"] for request in hook.requests]
    assert told == [1, 1, 1, 1, 2, 2, 2, 2, 3]


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", b"HTTP/1.1 404 No\r\n\r\n", b"SSH-2.0-x\r\n", b"\r\n"],
)
async def test_a_redirect_is_not_followed_and_a_refusal_is_not_repeated(answer: bytes) -> None:
    async with Hook([]).listening() as other, Hook([]).listening() as hook:
        hook.answers = [answer.replace(b"{}", other.url.encode())]
        async with serving(WebhookRoute(Endpoint(hook.url))) as notifier:
            notifier.tell(an_alert(1))
            notifier.tell(an_alert(2))
            await eventually(lambda: len(hook.requests) == 2)
    assert other.requests == []


async def test_a_server_that_talks_without_end_neither_holds_nor_fills_the_daemon() -> None:
    pauses = Pauses()
    async with Hook([b"x" * 1_000_000, b"HTTP/1.1 200 OK\r\n\r\n"]).listening() as hook:
        async with serving(WebhookRoute(Endpoint(hook.url), sleep=pauses)) as notifier:
            notifier.tell(an_alert(1))
            await eventually(lambda: len(hook.requests) == 2)


@pytest.mark.parametrize(
    "content", ["", "file:///etc/passwd", "http://127.0.0.1:1/\tx y", "gopher://h/", "http://[::1", "http://h:99999/"]
)
async def test_an_address_that_is_none_is_logged_and_nothing_else(tmp_path: Path, content: str) -> None:
    (tmp_path / "url").write_text(content)
    pauses = Pauses()
    async with serving(
        WebhookRoute(Endpoint(tmp_path / "url"), tries=2, sleep=pauses),
        WebhookRoute(Endpoint(tmp_path / "missing"), tries=2, sleep=pauses),
        CommandRoute(writes(tmp_path / "out"), job_runner, end_tree),
    ) as notifier:
        notifier.tell(an_alert(1))
        await lines_of(tmp_path / "out", 1)


@dataclass
class Told:
    """A route that keeps what it is offered."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    name: str = "told"
    mark: str = ""
    fails: bool = False
    is_at_rest: bool = True
    settled: Settled = lambda message, problem: None

    def offer(self, message: Message) -> None:
        self.messages.append(json.loads(message.body))

    async def run(self) -> None: ...


def test_an_agent_that_asks_without_end_does_not_drown_what_others_have_to_say() -> None:
    route, now = Told(), [1_800_000_000.0]
    notifier = Notifier([route], lambda: now[0])
    for number in range(1, 1001):
        notifier.tell(an_alert(number, f"question {number}"))
        notifier.tell(Reassure("builder", "permission", f"question {number}", number, now[0], "answered"))
    raised = [one for one in route.messages if one["state"] == "raised"]
    assert [one["id"] for one in raised] == list(range(1, 21))
    assert [one["text"].endswith("see phoenixctl inbox)") for one in raised] == [False] * 19 + [True]
    assert len(route.messages) == 40, "and the end of each that was sent"
    notifier.tell(Alert("other", "quarantined", "crashed", 2001, now[0]))
    notifier.tell(Alert(None, "degraded", "the disk is full", 2002, now[0]))
    assert [one["id"] for one in route.messages[40:]] == [2001, 2002]
    now[0] += 200
    notifier.tell(an_alert(2003))
    assert route.messages[-1]["id"] == 2003


def test_what_a_mute_holds_back_is_sent_nowhere_and_takes_no_place_of_what_is() -> None:
    route = Told()
    notifier = Notifier([route], lambda: 1_800_000_000.0)
    for number in range(1, 100):
        notifier.tell(replace(an_alert(number), held=True))
        notifier.tell(Reassure("builder", "permission", "for you", number, 1_800_000_000.0, "answered", held=True))
    notifier.tell(an_alert(100))
    assert [(one["id"], one["state"]) for one in route.messages] == [(100, "raised")]


async def test_p84_of_each_alert_it_is_heard_by_which_way_it_was_told_or_not_and_of_what_is_told_late_as_well(
    tmp_path: Path,
) -> None:
    heard: list[tuple[str, tuple[tuple[str | None, int], ...], str | None]] = []
    way = CommandRoute(["sh", "-c", f"[ ! -e {tmp_path}/fails ]"], job_runner, end_tree, at_once=1)
    async with serving(way) as notifier:
        notifier.hear = lambda *one: heard.append(one)
        notifier.tell(an_alert(1))
        notifier.tell(Reassure("builder", "permission", "for you", 1, 1_800_000_000.0, "answered"))
        await eventually(lambda: len(heard) == 2)
        assert heard == [("command", (("builder", 1),), None), ("command", (), None)], "an end tells no alert"
        assert (set(notifier.offered("command")), notifier.is_at_rest("command")) == (set(), True)

        (tmp_path / "fails").touch()
        notifier.tell(an_alert(2))
        assert (set(notifier.offered("command")), notifier.is_at_rest("command")) == ({2}, False)
        await eventually(lambda: len(heard) == 3)
        assert heard[2] == ("command", (("builder", 2),), "exit 1")
        assert not notifier.offered("command"), "it can be offered again"

        (tmp_path / "fails").unlink()
        notifier.tell_late("command", Unheard((an_alert(2), an_alert(3)), (("other", 4), (None, 5))))
        assert set(notifier.offered("command")) == {2, 3, 4, 5}
        await eventually(lambda: len(heard) == 5)
        assert heard[3:] == [
            ("command", (("builder", 2),), None),
            ("command", (("builder", 3), ("other", 4), (None, 5)), None),
        ]


def test_what_a_way_is_not_to_tell_is_said_with_the_reason() -> None:
    left: list[tuple[str, tuple[tuple[str | None, int], ...], str]] = []
    notifier = Notifier([Told(), Told(name="broken", fails=True)], lambda: 1_800_000_000.0)
    notifier.leave_out = lambda *one: left.append(one)
    notifier.tell(an_alert(1))
    notifier.tell(Alert(None, NOT_TOLD, "alerts are not told by the broken", 23, 1_800_000_000.0))
    assert left == [("broken", ((None, 23),), "it is about that very way")]


def test_what_is_held_back_because_its_agent_raises_many_can_be_told_one_by_one_while_it_stands() -> None:
    now = [1_800_000_000.0]
    notifier = Notifier([Told()], lambda: now[0])
    for number in range(1, 24):
        notifier.tell(an_alert(number))
    assert set(notifier.offered("told")) == set(range(1, 24)), "what is held back is told by nobody meanwhile"
    assert not notifier.let_go()
    notifier.tell(Reassure("builder", "permission", "for you", 21, now[0], "answered"))
    for free in (22, 23):
        now[0] += 181
        assert notifier.let_go()
        assert not notifier.let_go()
        assert free not in notifier.offered("told"), "the oldest that stands goes first"


def test_what_is_given_up_because_too_many_wait_can_be_told_later() -> None:
    heard: list[int] = []
    route = CommandRoute(["true"], job_runner, end_tree)
    notifier = Notifier([route], lambda: 1_800_000_000.0)
    notifier.hear = lambda way, tells, problem: heard.extend(number for _, number in tells if problem)
    for number in range(103):
        notifier.tell(an_alert(number, agent=f"a{number}"))
    assert heard == [0, 1, 2]
    assert set(notifier.offered("command")) == set(range(3, 103))


async def test_p84_a_way_that_fails_for_good_is_told_of_and_not_by_itself(tmp_path: Path) -> None:
    told: list[TroubleSeen | TroubleGone] = []
    tellings, out, tell = Tellings(told.append), tmp_path / "out", tmp_path / "tell"
    broken = CommandRoute([str(tell)], job_runner, end_tree, judged=tellings.hear)
    well = CommandRoute(writes(out), job_runner, end_tree, at_once=1)
    async with serving(broken, well) as notifier:
        notifier.tell(an_alert(1))
        notifier.tell(an_alert(2))
        await eventually(lambda: told)
        await lines_of(out, 2)
        assert [(one.agent, one.kind) for one in told] == [(None, NOT_TOLD)], "the same again is no news"
        assert isinstance(told[0], TroubleSeen)
        assert (
            told[0].text == f"alerts are not told by the command ({tell}: it did not start: No such file or directory)"
        )

        tell.write_text(f"#!/bin/sh\ncat >> {tmp_path}/late\n")
        tell.chmod(0o755)
        notifier.tell(Alert(None, NOT_TOLD, told[0].text, 3, 1_800_000_000.0))
        await lines_of(out, 3)
        notifier.tell(an_alert(4))
        (late,) = await lines_of(tmp_path / "late", 1)
        assert late["id"] == 4, "a way is not told that it is none"
        await eventually(lambda: len(told) == 2)
        assert isinstance(told[1], TroubleGone)
        notifier.tell(Reassure(None, NOT_TOLD, "", 3, 1_800_000_000.0, "an alert was told by the command"))
        notifier.tell(an_alert(5))
        assert [one["id"] for one in await lines_of(tmp_path / "late", 2)] == [4, 5]
        assert [one["id"] for one in await lines_of(out, 6)][2:] == [3, 4, 3, 5]


def test_an_alert_of_a_way_that_is_configured_no_more_is_over() -> None:
    told: list[TroubleSeen | TroubleGone] = []
    Tellings(told.append).begin(())
    assert [type(one) for one in told] == [TroubleGone]
    Tellings(told.append).begin(("a way",))
    assert len(told) == 1
