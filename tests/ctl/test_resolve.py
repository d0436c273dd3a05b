"""`resolve` while no daemon runs: the log alone is written, and no daemon starts meanwhile (F-ST-10)."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api.problems import Problem
from phoenixd.ctl import resolve as verb
from phoenixd.ctl import unattended
from phoenixd.ctl.command_line import run
from phoenixd.drivers.files.lock import PASSING, DirectoryLock
from phoenixd.errors import UnsafeFile
from tests.ctl.conftest import Ctl
from tests.ctl.test_exit_codes import assert_refuses

LOOP = {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-11-15"}


@pytest.fixture
def state(runtime: Path, tmp_path: Path) -> Path:
    """A state directory of a daemon that has gone, which its runtime directory names."""
    state = tmp_path / "state"
    (state / "agents").mkdir(parents=True)
    (state / "phoenixd.lock").touch()
    (runtime / "state-dir").write_text(f"{state}\n")
    return state


def agent(state: Path, name: str, *ids: str, **more: Any) -> Path:
    directory = state / "agents" / name
    directory.mkdir()
    loops = [{**LOOP, "id": loop_id} for loop_id in ids]
    (directory / "state.json").write_text(json.dumps({"agent": name, "open_loops": loops, **more}))
    return directory


def lines(directory: Path) -> list[dict[str, Any]]:
    log = directory / "resolved.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def test_p26_p50_it_is_one_line_of_the_log_and_nothing_else(alone: Ctl, state: Path) -> None:
    docs = agent(state, "docs", "auth-flow", "other")
    before = (docs / "state.json").read_bytes()

    ran = await alone("resolve", "auth-flow", "tested\nwell, password=hunter2")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == ("resolved auth-flow of docs; phoenixd is down, and takes it into state.json when it starts\n")
    (line,) = lines(docs)
    assert (line["id"], line["domain"], line["reason"]) == ("auth-flow", "docs", "tested well, password=[redacted]")
    assert datetime.now(UTC) - datetime.fromisoformat(line["ts"]) < timedelta(minutes=5)
    assert (docs / "state.json").read_bytes() == before, "state.json is the daemon's"
    assert (docs / "resolved.jsonl").stat().st_mode & 0o077 == 0


async def test_p26_a_repeat_exits_0_and_writes_no_second_line(alone: Ctl, state: Path) -> None:
    docs = agent(state, "docs", "auth-flow")

    assert [(await alone("resolve", "auth-flow", "tested")).code for _ in range(3)] == [0, 0, 0]
    told = await alone("resolve", "auth-flow", "again", "--json")

    assert told.json == {
        "agent": "docs", "id": "auth-flow", "outcome": "already", "in_state": False,
        "message": "auth-flow of docs was resolved before",
    }  # fmt: skip
    assert len(lines(docs)) == 1


async def test_a_loop_that_was_opened_again_is_resolved_again(alone: Ctl, state: Path) -> None:
    """What session.json counts as taken over is over: the operator's newer word holds."""
    docs = agent(state, "docs", "auth-flow")
    log = b'{"id": "auth-flow", "reason": "once", "ts": "2026-11-20T10:00:00Z", "domain": "docs"}\n'
    (docs / "resolved.jsonl").write_bytes(log)
    (docs / "session.json").write_text(json.dumps({"documents": {"task": None, "resolved_bytes": len(log)}}))

    assert (await alone("resolve", "auth-flow", "twice")).code == 0
    assert [line["reason"] for line in lines(docs)] == ["once", "twice"]


def refused(state: Path, loop_id: str, reason: str = "tested", named: str | None = None, **env: str) -> Problem:
    """The refusal that a resolution meets, in this process: a hundred processes would prove no more."""
    with pytest.raises(Problem) as caught:
        unattended.resolve(state, loop_id, reason, named, env)
    return caught.value


@pytest.mark.parametrize(
    "loop_id", ["auth-flo", "Auth-Flo", "../../state.json", "a\nb", "\x1b]0;x\x07", "x" * 5000, "auth-flo "]
)
def test_p26_an_unknown_id_exits_4_and_nothing_is_written(state: Path, loop_id: str) -> None:
    docs = agent(state, "docs", "auth-flow")

    problem = refused(state, loop_id)

    assert problem.exit_code == 4
    assert problem.detail.isprintable()
    assert len(problem.detail) < 200
    if loop_id.lower().startswith("auth"):
        assert "near it: auth-flow" in problem.detail
    assert sorted(path.name for path in docs.iterdir()) == ["state.json"]


@pytest.mark.parametrize("typed", ["Auth-Flow", "auth-flow ", "Auth Flow"])
def test_p26_an_id_is_known_as_an_operator_wrote_it(state: Path, typed: str) -> None:
    docs = agent(state, "docs", "auth-flow")

    unattended.resolve(state, typed, "tested", None, {})

    assert [line["id"] for line in lines(docs)] == ["auth-flow"]


async def test_p26_a_refusal_is_told_as_the_daemon_would(alone: Ctl, state: Path) -> None:
    agent(state, "docs", "auth-flow")

    ran = await alone("resolve", "auth-flo\x1b[2J", "tested")

    assert_refuses(ran, 4)
    assert ran.err.startswith("no agent has an open loop 'auth-flo'; near it: auth-flow\ndo: phoenixctl")


def test_several_owners_are_listed_and_agent_says_which(state: Path) -> None:
    docs, shop = (agent(state, name, "auth-flow") for name in ("docs", "shop"))

    problem = refused(state, "auth-flow")
    assert (problem.exit_code, "docs, shop" in problem.detail) == (6, True)
    assert refused(state, "auth-flow", named="nobody").exit_code == 4
    unattended.resolve(state, "auth-flow", "tested", "shop", {})
    assert (len(lines(docs)), len(lines(shop))) == (0, 1)


async def test_p27_in_a_pane_neither_path_nor_name_is_needed(alone: Ctl, state: Path) -> None:
    docs, shop = (agent(state, name, "auth-flow") for name in ("docs", "shop"))
    pane = {"PHOENIX_AGENT": "docs", "PHOENIX_STATE_DIR": os.fspath(docs)}

    assert (await alone("resolve", "auth-flow", "tested", **pane)).code == 0
    assert (len(lines(docs)), len(lines(shop))) == (1, 0)
    assert refused(state, "auth-flow", named="shop", **pane).exit_code == 5


def test_a_secret_of_the_panes_own_environment_reaches_no_file(state: Path) -> None:
    docs = agent(state, "docs", "auth-flow")

    unattended.resolve(state, "auth-flow", "with correct horse it works", None, {"SHOP_TOKEN": "correct horse"})

    assert lines(docs)[0]["reason"] == "with [redacted] it works"


@pytest.mark.parametrize(
    ("content", "code"),
    [('{"agent": "docs"', 1), ("[]", 1), ('{"agent": "shop"}', 1), ('{"agent":"docs","version":3,"open_loops":[]}', 4)],
)
def test_a_state_that_cannot_be_relied_on_is_left_to_the_daemon(state: Path, content: str, code: int) -> None:
    docs = agent(state, "docs")
    (docs / "state.json").write_text(content)

    assert refused(state, "auth-flow").exit_code == code
    assert lines(docs) == []


def test_f_st_11_a_newer_state_is_not_promised_a_change(state: Path) -> None:
    docs = agent(state, "docs", "auth-flow", version=3)

    assert refused(state, "auth-flow").exit_code == 6
    assert lines(docs) == []


@pytest.mark.parametrize("kind", ["symlink", "fifo", "directory"])
def test_what_stands_in_the_place_of_the_log_is_not_written(state: Path, tmp_path: Path, kind: str) -> None:
    docs = agent(state, "docs", "auth-flow")
    log, victim = docs / "resolved.jsonl", tmp_path / "victim"
    victim.write_text("mine\n")
    if kind == "symlink":
        log.symlink_to(victim)
    elif kind == "fifo":
        os.mkfifo(log)
    else:
        log.mkdir()

    with pytest.raises(UnsafeFile):
        unattended.resolve(state, "auth-flow", "tested", None, {})
    assert victim.read_text() == "mine\n"


async def test_a_reason_too_long_or_empty_is_a_wrong_use(alone: Ctl, state: Path) -> None:
    docs = agent(state, "docs", "auth-flow")

    assert_refuses(await alone("resolve", "auth-flow", "x" * 70_000), 2)
    assert refused(state, "auth-flow", " \x1b[2J").exit_code == 2
    assert lines(docs) == []


async def test_p77_several_at_once_wait_for_each_other_and_lose_nothing(alone: Ctl, state: Path) -> None:
    docs = agent(state, "docs", *(f"loop-{number}" for number in range(6)))

    ran = await asyncio.gather(*(alone("resolve", f"loop-{number % 6}", "done") for number in range(8)))

    assert [one.code for one in ran] == [0] * 8, [one.err for one in ran if one.code]
    assert sorted(line["id"] for line in lines(docs)) == sorted(f"loop-{number}" for number in range(6))


def test_a_daemon_that_starts_meanwhile_is_told_to_wait(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(state, "docs", "auth-flow")
    held: list[str] = []
    monkeypatch.setattr(unattended, "append", lambda path, line: held.append((state / "phoenixd.lock").read_text()))

    unattended.resolve(state, "auth-flow", "tested", None, {})

    assert held == [f"{os.getpid()}{PASSING}\n"]


def test_a_daemon_that_holds_the_directory_and_does_not_answer_is_not_written_around(
    state: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = agent(state, "docs", "auth-flow")
    monkeypatch.setattr(verb, "PATIENCE", 0.3)
    monkeypatch.setattr(verb, "SILENCE", 0.0)

    with (state / "phoenixd.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(["--socket", os.fspath(runtime / "api.sock"), "resolve", "auth-flow", "tested"]) == 7

    told = capsys.readouterr().err
    assert told.count("does not answer yet") == 1
    assert f"holds {state / 'phoenixd.lock'}" in told
    assert lines(docs) == []


def test_promise_9_the_directory_is_held_also_where_its_lock_file_is_another_one(
    state: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = agent(state, "docs", "auth-flow")
    monkeypatch.setattr(verb, "PATIENCE", 0.3)

    with DirectoryLock(state):
        (state / "phoenixd.lock").unlink()
        (state / "phoenixd.lock").touch()
        assert run(["--socket", os.fspath(runtime / "api.sock"), "resolve", "auth-flow", "tested"]) == 7

    assert f"holds {state}" in capsys.readouterr().err
    assert lines(docs) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: needs root")
async def test_root_leaves_nothing_that_the_daemons_user_cannot_read(
    alone: Ctl, runtime: Path, short_tmp: Path
) -> None:
    short_tmp.chmod(0o755)
    state = short_tmp / "state"
    (state / "agents").mkdir(parents=True)
    (state / "phoenixd.lock").touch()
    (runtime / "state-dir").write_text(f"{state}\n")
    docs = agent(state, "docs", "auth-flow")
    subprocess.run(["chown", "-R", "nobody", state, runtime / "state-dir"], check=True)

    assert (await alone("resolve", "auth-flow", "tested")).code == 0
    assert (docs / "resolved.jsonl").stat().st_uid == docs.stat().st_uid


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: needs root")
async def test_a_pointer_to_somebody_elses_directory_is_not_followed(alone: Ctl, state: Path, runtime: Path) -> None:
    docs = agent(state, "docs", "auth-flow")
    subprocess.run(["chown", "nobody", runtime / "state-dir"], check=True)

    assert_refuses(await alone("resolve", "auth-flow", "tested"), 7)
    assert lines(docs) == []
