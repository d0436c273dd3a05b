"""docs/how-to/get-told.md as it is written: an alert reaches log, events, status, inbox and the operator's program."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.log_file import LARGEST
from tests.ending import A_WHILE
from tests.hung_disk import hung_mount

PAGE = (Path(__file__).parents[2] / "docs/how-to/get-told.md").read_text(encoding="utf-8")


def commands(after: str) -> list[list[str]]:
    """The phoenixctl lines of the first block of code behind some words of the page."""
    block = re.search(r"```\n(.*?)```", PAGE.partition(after)[2], re.DOTALL)
    assert block is not None
    return [shlex.split(line, comments=True)[1:] for line in block[1].splitlines()]


def set_up(stage: Stage) -> Path:
    """The page's program and configuration, in this stage's own places."""
    program = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    table = re.search(r"```toml\n(\[alerts\]\ncommand.*?)```", PAGE, re.DOTALL)
    assert program is not None
    assert table is not None
    tell = stage.root / "tell-me"
    tell.write_text(program[1])
    tell.chmod(0o700)
    place = stage.root / "config" / "phoenixd"
    place.mkdir(parents=True)
    (place / "phoenixd.toml").write_text(table[1].replace("/usr/local/bin/tell-me", str(tell)))
    stage.environ = {**stage.environ, "HOME": str(stage.root)}
    return stage.root / "alerts.jsonl"


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_p84_an_alert_reaches_every_place_that_the_page_names_and_is_over_when_the_agent_goes(stage: Stage) -> None:
    alerts = set_up(stage)
    stage.up()
    add, start, status, inbox, remove = commands("Try it with")
    stage.ask(*add, "--cwd", "/") if "--cwd" in add else stage.ask(add[0], add[1], "--cwd", "/", *add[2:])
    assert stage.ctl(*start).returncode == 1
    # Without a wait: so it is pasted.
    assert stage.ask(*status).startswith("1 needs you.")
    assert "quarantined" in stage.ask(*inbox)
    stage.until("it is told", lambda: len(told(alerts)) == 1)
    # A daemon that dies before it has noted that tells it again.
    stage.until("that is noted", lambda: "quarantined was told by the command" in stage.ask("events", "--all"))
    stage.kill()
    stage.up()
    assert [one["kind"] for one in stage.row("broken")["alerts"]] == ["quarantined"]
    stage.ask(*remove)
    stage.until("the end is told", lambda: len(told(alerts)) == 2)
    raised, over = told(alerts)
    assert (raised["agent"], raised["kind"], raised["state"], over["state"]) == (
        "broken",
        "quarantined",
        "raised",
        "over",
    )
    assert raised["id"] == over["id"]
    assert "/nonexistent/program" in raised["text"]
    for words in commands("four places"):
        assert stage.ctl(*words).returncode == 0
    events = stage.ask("events")
    assert events.count("alert raised: quarantined") == events.count("alert over: quarantined") == 1
    assert '"event": "alert"' in stage.log.read_text()


def test_f_st_13_a_log_that_cannot_be_begun_anew_is_told_with_what_helps_and_that_it_is_well_again(
    stage: Stage,
) -> None:
    stage.log.with_name("phoenixd.log.1").mkdir(0o700)
    with stage.log.open("wb") as log:
        log.truncate(LARGEST)
    stage.up()

    def alerts() -> list[str]:
        return [one["text"] for one in json.loads(stage.ask("inbox", "--json"))["alerts"] if one["kind"] == "log"]

    stage.until("it is told", lambda: bool(alerts()))
    (told,) = alerts()
    assert stage.log.stat().st_size > LARGEST
    assert told.startswith(f"{stage.log} cannot be begun anew (Is a directory): mv ")
    assert "cannot be begun anew" in stage.ask("inbox")
    subprocess.run(shlex.split(told.partition("): ")[2]), check=True)
    stage.until("it is over", lambda: not alerts())
    assert stage.log.stat().st_size < LARGEST


def test_p84_a_program_that_is_configured_anew_is_told_once_what_stands(stage: Stage) -> None:
    stage.up()
    stage.ask("add", "broken", "--cwd", "/", "--", "/nonexistent/program")
    stage.ask("start", "broken")
    stage.until("it stands", lambda: [one["kind"] for one in stage.row("broken")["alerts"]] == ["quarantined"])
    alerts = set_up(stage)
    for _ in range(2):
        stage.kill()
        stage.up()
        stage.until("it is told", lambda: len(told(alerts)) == 1)
        # A daemon that dies before leaves it to the next one, which tells it again.
        stage.until("that is noted", lambda: "quarantined was told by the command" in stage.ask("events", "--all"))
    stage.ask("remove", "broken")
    stage.until("the end is told", lambda: len(told(alerts)) == 2)
    raised, over = told(alerts)
    assert (raised["agent"], raised["kind"], raised["state"]) == ("broken", "quarantined", "raised")
    assert (over["id"], over["state"]) == (raised["id"], "over")


BALKS = """#!/bin/sh
if [ -e {0}/balks ]; then
    touch {0}/began
    {1}
    exit 1
fi
cat >> {0}/alerts.jsonl
"""
"""A program that tells, but for as long as a file is there."""


def balking(stage: Stage, how: str) -> Path:
    """A program that tells nothing yet, and where it tells once it does. how: the words by which it does not."""
    alerts = set_up(stage)
    (stage.root / "tell-me").write_text(BALKS.format(stage.root, how.format(stage.root, A_WHILE)))
    (stage.root / "balks").touch()
    with (stage.root / "config/phoenixd/phoenixd.toml").open("a") as file:
        file.write('timeout = "5m"\n')
    return alerts


HANGS = "while [ -e {0}/balks ] && {1}; do sleep 0.01; done"
FAILS = ":"


def begin_to_tell(stage: Stage) -> None:
    stage.declare("broken", '[agent.broken]\nargv = ["/nonexistent/program"]\ncwd = "/"\n')
    stage.up()
    stage.until("its program is asked", (stage.root / "began").exists)


@pytest.mark.parametrize("how", [HANGS, FAILS], ids=["hangs", "fails"])
def test_p84_an_alert_that_its_way_has_not_told_when_the_daemon_is_killed_is_told_by_the_next_one_once(
    stage: Stage, how: str
) -> None:
    alerts = balking(stage, how)
    begin_to_tell(stage)
    if how == FAILS:
        stage.until("it is not told", lambda: '"alert_not_told"' in stage.log.read_text())
    stage.kill()
    (stage.root / "balks").unlink()
    stage.up()
    stage.until("it is told", lambda: '"kind": "quarantined"' in "".join(map(json.dumps, told(alerts))))
    stage.until("that is noted", lambda: "quarantined was told by the command" in stage.ask("events", "--all"))

    stage.kill()
    stage.up()
    stage.ask("remove", "broken")
    stage.until("the end is told", lambda: [one["state"] for one in of(alerts, "quarantined")][-1] == "over")
    raised, over = of(alerts, "quarantined")
    assert (raised["agent"], raised["state"], over["state"]) == ("broken", "raised", "over")
    assert raised["id"] == over["id"]


@contextmanager
def web_hook(root: Path) -> Iterator[str]:
    """A server on loopback that gives no answer while a file is there, and keeps what it was told once it is gone."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if (root / "balks").exists():
                (root / "began").touch()
                ended.wait()
                return
            with (root / "alerts.jsonl").open("ab") as file:
                file.write(body)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    ended = Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        ended.set()
        server.shutdown()


def test_p84_an_alert_that_a_web_hook_has_not_answered_when_the_daemon_is_killed_is_told_by_the_next_one_once(
    stage: Stage,
) -> None:
    alerts = balking(stage, HANGS)
    with web_hook(stage.root) as url:
        table = f'[alerts]\nwebhook = "{url}"\ntimeout = "5m"\n'
        (stage.root / "config/phoenixd/phoenixd.toml").write_text(table)
        begin_to_tell(stage)
        stage.kill()
        (stage.root / "balks").unlink()
        stage.up()
        stage.until("that is noted", lambda: "quarantined was told by the webhook" in stage.ask("events", "--all"))
        stage.kill()
        stage.up()
        stage.ask("remove", "broken")
        stage.until("the end is told", lambda: [one["state"] for one in of(alerts, "quarantined")][-1] == "over")
        assert [one["state"] for one in of(alerts, "quarantined")] == ["raised", "over"]


def of(alerts: Path, kind: str) -> list[dict[str, Any]]:
    return [one for one in told(alerts) if one["kind"] == kind]


def test_p84_an_alert_that_is_over_when_its_way_can_tell_it_at_last_is_not_told_as_if_it_stood(stage: Stage) -> None:
    alerts = balking(stage, HANGS)
    begin_to_tell(stage)
    stage.kill()
    (stage.root / "balks").unlink()
    stage.declare("broken", '[agent.broken]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    stage.until("it is over", lambda: not stage.row("broken")["alerts"])
    stage.declare("later", '[agent.later]\nargv = ["/nonexistent/program"]\ncwd = "/"\n')
    stage.ask("apply")
    stage.until("the next one is told", lambda: "later" in [one["agent"] for one in told(alerts)])
    assert [one for one in told(alerts) if (one["agent"], one["state"]) == ("broken", "raised")] == []


def test_p84_with_the_journal_lost_as_well_the_way_tells_that_once_and_goes_on(stage: Stage) -> None:
    alerts = balking(stage, HANGS)
    begin_to_tell(stage)
    stage.kill()
    (stage.root / "balks").unlink()
    for file in stage.state.glob("journal.sqlite3*"):
        file.unlink()
    for _ in range(2):
        stage.up()
        stage.until("it is told", lambda: len(of(alerts, "journal behind")) == 1)
        stage.until("that is noted", lambda: "journal behind was told by the command" in stage.ask("events", "--all"))
        stage.kill()
    stage.up()
    stage.declare("later", '[agent.later]\nargv = ["/nonexistent/program"]\ncwd = "/"\n')
    stage.ask("apply")
    stage.until("the next one is told", lambda: "later" in [one["agent"] for one in told(alerts)])
    assert len(of(alerts, "journal behind")) == 1


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ('command = ["{0}/tell"]', "it took longer than 1 s"),
        ('webhook = {{ file = "{0}/hook" }}', "{0}/hook gave no answer in 1 s"),
        (
            'webhook = "http://127.0.0.1:9/"\nwebhook_authorization = {{ file = "{0}/key" }}',
            "{0}/key gave no answer in 1 s",
        ),
    ],
    ids=["program", "address", "authorization"],
)
def test_p84_a_way_on_a_mount_that_does_not_answer_is_told_of_and_holds_up_no_daemon(
    stage: Stage, table: str, why: str
) -> None:
    """All of the daemon waited for that mount, for ever."""
    place = stage.root / "config" / "phoenixd"
    place.mkdir(parents=True)
    with hung_mount(stage.root / "dead") as dead:
        (place / "phoenixd.toml").write_text(f'[alerts]\n{table.format(dead)}\ntimeout = "1s"\ntries = 1\n')
        stage.declare("broken", '[agent.broken]\nargv = ["/nonexistent/program"]\ncwd = "/"\n')
        stage.declare("works", '[agent.works]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
        stage.up()

        def told() -> list[str]:
            alerts = json.loads(stage.ask("inbox", "--json"))["alerts"]
            return [one["text"] for one in alerts if one["kind"] == "alerts not told"]

        stage.until("it is told", lambda: bool(told()))
        assert why.format(dead) in told()[0]
        stage.ask("restart", "works")
        stage.until_running("works", 2)
