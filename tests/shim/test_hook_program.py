"""phoenix-hook: always 0, always silent, never waiting; and the shim's side of it, which believes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phoenixd.drivers.processes.proc import read_stat
from tests.shim.pane import DEADLINE, Daemon, Pane
from tests.waiting import eventually_sync


def hook(
    library: Path, environment: dict[str, str], *arguments: str, stdin: bytes | int = b"{}"
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook program; it must come back by itself within the deadline."""
    command = [str(library / "phoenix-hook"), *arguments]
    limits: dict[str, Any] = {"capture_output": True, "timeout": DEADLINE, "check": False}
    if isinstance(stdin, bytes):
        return subprocess.run(command, env=environment, input=stdin, **limits)
    return subprocess.run(command, env=environment, stdin=stdin, **limits)


def environment_of(daemon: Daemon) -> dict[str, str]:
    """What the agent's own hooks would have."""
    order = daemon.pane.order(["sleep", "1000"])
    daemon.give(order)
    daemon.expect("started")
    environment: dict[str, str] = order["env"]
    return environment


SILENT = (0, b"", b"")


def result(run: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    return run.returncode, run.stdout, run.stderr


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stop", "stop"),
        ("Stop", "stop"),
        ("PreToolUse", "tool-start"),
        ("tool-end", "tool-end"),
        ("PostCompact", "compacted"),
    ],
)
def test_an_event_arrives_with_its_input(daemon: Daemon, library: Path, name: str, kind: str) -> None:
    environment = environment_of(daemon)
    hook_input = {"session_id": "s", "tool_name": "Bash", "tool_input": {"timeout": 600000, "command": "make"}}
    assert result(hook(library, environment, name, stdin=json.dumps(hook_input).encode())) == SILENT
    event = daemon.expect("hook")
    assert (event["kind"], event["payload"]) == (kind, hook_input)
    assert list((daemon.pane.run / "hooks").iterdir()) == []


def test_a_call_begins_before_what_it_starts_however_late_the_shim_hears_of_it(daemon: Daemon, library: Path) -> None:
    """The hook program waits for nobody, so the call's processes can be there before its hook is read."""
    environment, shim = environment_of(daemon), daemon.pane.pid
    with subprocess.Popen(["sleep", "1000"]) as before:
        os.kill(shim, signal.SIGSTOP)
        try:
            earlier = start_of(before.pid)
            clock = time.clock_gettime(time.CLOCK_BOOTTIME)
            eventually_sync(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > clock + 0.1, what="later ticks")
            hook(library, environment, "tool-start")
            with subprocess.Popen(["sleep", "1000"]) as started:
                later = start_of(started.pid)
                started.kill()
        finally:
            os.kill(shim, signal.SIGCONT)
            before.kill()
    assert earlier < daemon.expect("hook")["ticks"] <= later


def start_of(pid: int) -> int:
    found = read_stat(pid)
    assert found is not None
    return found.start_time


def test_every_kind_that_the_shim_knows_is_known_to_the_program(daemon: Daemon, library: Path) -> None:
    """Two lists, in two languages: this test is what keeps them one."""
    environment = environment_of(daemon)
    source = (library / "shim" / "payload.py").read_text()
    pairs = re.findall(r'^    "(\w+)": "([a-z-]+)",$', source, re.MULTILINE)
    assert len(pairs) == 15
    for claude_name, kind in pairs:
        for name in (claude_name, kind):
            hook(library, environment, name)
            assert daemon.expect("hook")["kind"] == kind


@pytest.mark.parametrize("stdin", [b"", b"\0\xff not JSON", b"[1]", b"x" * 1_000_000])
def test_whatever_comes_in_it_is_silent_and_does_no_harm(daemon: Daemon, library: Path, stdin: bytes) -> None:
    environment = environment_of(daemon)
    assert result(hook(library, environment, "stop", stdin=stdin)) == SILENT
    event = daemon.receive()
    assert event["event"] == ("error" if stdin else "hook")


def test_input_without_end_is_cut_off(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    with Path("/dev/zero").open("rb") as endless:
        assert result(hook(library, environment, "stop", stdin=endless.fileno())) == SILENT
    assert "no object" in daemon.expect("error")["message"]
    assert list((daemon.pane.run / "hooks").iterdir()) == []


def test_a_terminal_is_not_waited_for(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    master, slave = os.openpty()
    assert result(hook(library, environment, "stop", stdin=slave)) == SILENT
    os.close(master)
    os.close(slave)
    assert daemon.expect("hook")["payload"] == {}


def test_f_hb_9_in_a_session_that_is_none_of_ours_it_does_nothing(library: Path, tmp_path: Path) -> None:
    """P83: an operator's private sessions are unaffected."""
    environment = {"PATH": os.environ["PATH"], "PHOENIX_HOOK_DIR": str(tmp_path), "PHOENIX_STATE_DIR": str(tmp_path)}
    (tmp_path / "session-start.json").write_text("{}")
    assert result(hook(library, environment, "session-start")) == SILENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["session-start.json"]


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], [""], ["--text"], ["stop", "and", "more"], ["$(touch x)"], ["../../x"]]
)
def test_wrong_arguments_are_no_error_of_the_agents(daemon: Daemon, library: Path, arguments: list[str]) -> None:
    assert result(hook(library, environment_of(daemon), *arguments)) == SILENT


def test_session_start_prints_what_the_daemon_left_for_it(daemon: Daemon, library: Path) -> None:
    environment, told = ordered(daemon)
    nothing = {key: value for key, value in environment.items() if key != "PHOENIX_SESSION_START"}
    assert result(hook(library, nothing, "session-start")) == SILENT
    Path(f"{told}.json").write_text('{"hookSpecificOutput": {}}')
    Path(f"{told}.txt").write_text("the brief\n")
    assert result(hook(library, environment, "SessionStart")) == (0, b'{"hookSpecificOutput": {}}', b"")
    assert result(hook(library, environment, "session-start", "--text")) == (0, b"the brief\n", b"")
    assert result(hook(library, environment, "stop", "--text")) == SILENT


OLDER = '{"hookSpecificOutput": {"additionalContext": "of the run before"}}'


def ordered(daemon: Daemon, place: Path | None = None) -> tuple[dict[str, str], Path]:
    """The environment of a run whose brief is still to come, beside that of an earlier one; and the brief's name."""
    state = place or daemon.pane.state
    (state / "session-start.0.json").write_text(OLDER)
    (state / "session-start.0.txt").write_text("of the run before")
    told = str(state / "session-start.1")
    environment = {**environment_of(daemon), "PHOENIX_SESSION_START": told, "PHOENIX_BRIEF": str(state / "brief.md")}
    return environment, Path(told)


@pytest.mark.parametrize(("words", "ending"), [(["session-start"], ".json"), (["session-start", "--text"], ".txt")])
def test_a_session_start_waits_for_the_brief_of_its_own_run(
    daemon: Daemon, library: Path, words: list[str], ending: str
) -> None:
    environment, told = ordered(daemon)
    command = [str(library / "phoenix-hook"), *words]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        program.stdin.close()
        # It reports before it looks for the brief.
        assert daemon.expect("hook")["kind"] == "session-start"
        between = told.with_name("between")
        between.write_text("the brief of this run")
        between.rename(f"{told}{ending}")
        assert program.stdout is not None
        assert program.stdout.read() == b"the brief of this run"


@pytest.mark.parametrize("name", ["state", 'wei"rd \\ pläce'])
def test_a_brief_that_is_late_is_said_to_be_so_with_its_place_and_never_an_earlier_runs(
    daemon: Daemon, library: Path, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    place.mkdir(exist_ok=True)
    environment, told = ordered(daemon, place)

    ended, answer, complaint = result(hook(library, environment, "session-start"))
    text = result(hook(library, environment, "session-start", "--text"))

    assert (ended, complaint) == (0, b"")
    said = json.loads(answer)["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert "the brief of this run is late" in said["additionalContext"]
    assert "of the run before" not in said["additionalContext"]
    assert (str(place / "brief.md") in said["additionalContext"]) is (name == "state")
    assert text == (0, f"{said['additionalContext']}\n".encode(), b"")
    assert not told.with_suffix(".1.json").exists()


def test_a_brief_that_is_owed_is_that_of_its_own_run(daemon: Daemon, library: Path) -> None:
    environment, told = ordered(daemon)
    assert result(hook(library, environment, "session-start", "--owe")) == SILENT
    Path(f"{told}.json").write_text("{}")
    assert result(hook(library, environment, "prompt-submit", "--owed")) == (0, b"{}", b"")


def test_p35_a_brief_that_is_owed_comes_with_the_next_prompt_once(daemon: Daemon, library: Path) -> None:
    environment, told = ordered(daemon)
    Path(f"{told}.json").write_text('{"hookSpecificOutput": {}}')
    assert result(hook(library, environment, "prompt-submit", "--owed")) == SILENT
    assert result(hook(library, environment, "session-start", "--owe")) == SILENT
    assert result(hook(library, environment, "prompt-submit")) == SILENT
    assert result(hook(library, environment, "prompt-submit", "--owed")) == (0, b'{"hookSpecificOutput": {}}', b"")
    assert result(hook(library, environment, "prompt-submit", "--owed")) == SILENT
    told = [daemon.expect("hook")["kind"] for _ in range(4)]
    assert told == ["prompt-submit"] * 4, "what is only noted is no event"


def break_nothing(pane: Pane) -> None:
    pane.process.kill()
    pane.process.wait()


def break_the_fifo(pane: Pane) -> None:
    (pane.run / "hook.fifo").unlink()


def break_the_directory(pane: Pane) -> None:
    shutil.rmtree(pane.run / "hooks")


def break_everything(pane: Pane) -> None:
    break_nothing(pane)
    shutil.rmtree(pane.run)


@pytest.mark.parametrize("damage", [break_nothing, break_the_fifo, break_the_directory, break_everything])
def test_it_waits_for_no_shim_and_no_directory(
    open_pane: Callable[..., Pane], library: Path, damage: Callable[[Pane], None]
) -> None:
    pane = open_pane()
    environment = environment_of(pane.daemon())
    damage(pane)
    for words in (["session-start"], ["stop"], ["session-start", "--owe"], ["prompt-submit", "--owed"]):
        assert result(hook(library, environment, *words)) == SILENT
    assert not pane.run.exists() or not (pane.run / "hook.fifo").is_file()


def test_p74_a_hook_that_cannot_leave_its_word_is_counted_and_later_ones_are_heard(
    daemon: Daemon, library: Path
) -> None:
    environment = environment_of(daemon)
    hooks = daemon.pane.run / "hooks"
    shutil.rmtree(hooks)
    assert result(hook(library, environment, "stop")) == SILENT
    told = daemon.expect("refused")
    assert (told["hooks"], "hook file" in told["why"]) == (1, True)

    eventually_sync(hooks.is_dir, DEADLINE, "the shim makes it again")
    assert result(hook(library, environment, "stop")) == SILENT
    assert daemon.expect("hook")["kind"] == "stop"


def test_f_hb_8_it_does_not_wait_for_a_shim_that_is_stopped(open_pane: Callable[..., Pane], library: Path) -> None:
    """P73: a hook never blocks a tool."""
    pane = open_pane()
    daemon = pane.daemon()
    environment = environment_of(daemon)
    os.kill(pane.pid, 19)
    try:
        for _ in range(300):
            assert result(hook(library, environment, "stop")) == SILENT
    finally:
        os.kill(pane.pid, 18)
    for _ in range(300):
        daemon.expect("hook")


def test_as_a_user_who_may_write_nowhere_it_is_still_silent(daemon: Daemon, library: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not run: needs root to be somebody else")
    environment = environment_of(daemon)
    copy = Path("/tmp") / f"phoenix-hook-{os.getpid()}"
    shutil.copy(library / "phoenix-hook", copy)
    try:
        daemon.pane.room.parent.chmod(0o755)
        run = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(copy), "session-start"],
            env=environment, input=b"{}", capture_output=True, timeout=DEADLINE, check=False,
        )  # fmt: skip
        assert result(run) == SILENT
    finally:
        copy.unlink()


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
def test_it_is_plain_posix_shell(daemon: Daemon, library: Path, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"not run: no {shell} here")
    environment = environment_of(daemon)
    command = [*shell.split(), str(library / "phoenix-hook"), "stop"]
    run = subprocess.run(command, env=environment, input=b"{}", capture_output=True, timeout=DEADLINE, check=False)
    assert result(run) == SILENT
    assert daemon.expect("hook")["kind"] == "stop"


@pytest.mark.parametrize("trap", ["fifo", "link", "directory", "huge", "missing"])
def test_a_trap_in_the_hooks_directory_neither_blocks_nor_leads_astray(daemon: Daemon, trap: str) -> None:
    environment_of(daemon)
    pane = daemon.pane
    name = "1.4711.json"
    path = pane.run / "hooks" / name
    secret = pane.room / "secret"
    secret.write_text('{"session_id": "stolen"}')
    if trap == "fifo":
        os.mkfifo(path)
    elif trap == "link":
        path.symlink_to(secret)
    elif trap == "directory":
        path.mkdir()
    elif trap == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    say(pane, f"stop {name}\n")
    assert daemon.receive()["event"] == "error"
    assert secret.exists()
    assert trap == "directory" or not os.path.lexists(path)


def test_a_line_names_a_file_in_the_directory_or_nothing(daemon: Daemon) -> None:
    environment_of(daemon)
    pane = daemon.pane
    outside = pane.room / "1.1.json"
    outside.write_text("{}")
    (pane.run / "1.2.json").write_text("{}")
    for name in (
        "../1.2.json",
        str(outside),
        "1.1.json/../../1.2.json",
        "",
        ".",
        "..",
        "1.json",
        "a.1.json",
        "1.1.json.x",
        "١.1.json",
    ):
        say(pane, f"stop {name}\n")
    say(
        pane,
        "nonsense 1.1.json\n" + "stop\n" + "\n\n" + "\0\xff\n" + "x" * 100_000 + "\nstop" + " " * 1000 + "1.1.json\n",
    )
    (pane.run / "hooks" / "1.3.json").write_text('{"session_id": "the good one"}')
    say(pane, "stop 1.3.json\n")
    assert daemon.receive()["payload"] == {"session_id": "the good one"}
    assert outside.exists()
    assert (pane.run / "1.2.json").exists()


def test_a_late_hook_of_an_earlier_incarnation_is_dropped(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    daemon.send(op="kill", incarnation=1)
    daemon.expect("exited")
    environment_of(daemon)
    assert result(hook(library, environment, "stop")) == SILENT
    eventually_sync(lambda: not list((daemon.pane.run / "hooks").iterdir()), what="its file is removed")
    assert daemon.is_silent()


def test_what_a_dead_agent_dropped_is_not_found_by_the_next(daemon: Daemon) -> None:
    (daemon.pane.run / "hooks" / "1.1.json").write_text("{}")
    environment_of(daemon)
    assert list((daemon.pane.run / "hooks").iterdir()) == []


def test_the_last_hook_of_a_dying_agent_is_told_before_its_death(daemon: Daemon, library: Path) -> None:
    order = daemon.pane.order(["sh", "-c", f"echo '{{}}' | {library}/phoenix-hook session-end; kill -KILL $$"])
    daemon.give(order)
    daemon.expect("exited")
    assert [event["event"] for event in daemon.events[1:]] == ["started", "hook", "exited"]


def say(pane: Pane, text: str) -> None:
    fd = os.open(pane.run / "hook.fifo", os.O_RDWR)
    os.write(fd, text.encode("utf-8", "surrogateescape"))
    os.close(fd)


STATUS = '{"context_window": {"context_window_size": 200000}, "cwd": "$(touch pwned) `touch pwned` \\n %s"}'


def kept(daemon: Daemon) -> str:
    return (daemon.pane.run / "hooks" / "1.status").read_text()


def test_what_the_status_line_is_given_is_kept_and_nothing_is_shown_or_told(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    assert result(hook(library, environment, "status-line", stdin=STATUS.encode())) == SILENT
    assert kept(daemon) == STATUS + "\n"
    assert result(hook(library, environment, "status-line", stdin=b"{}\n")) == SILENT
    assert kept(daemon) == "{}\n", "the newest counts"
    hook(library, environment, "stop")
    assert daemon.expect("hook")["kind"] == "stop", "and the shim was told of none of it"
    assert sorted(path.name for path in (daemon.pane.run / "hooks").iterdir()) == ["1.status"]


def test_the_operators_own_status_line_is_shown_with_the_same_input(daemon: Daemon, library: Path) -> None:
    environment = {**environment_of(daemon), "PHOENIX_STATUS_LINE": "printf 'mine: '; cat"}
    assert result(hook(library, environment, "status-line", stdin=STATUS.encode())) == (
        0, f"mine: {STATUS}\n".encode(), b"",
    )  # fmt: skip
    assert kept(daemon) == STATUS + "\n"


def test_a_status_line_that_asks_itself_comes_to_an_end(daemon: Daemon, library: Path) -> None:
    own = f"'{library / 'phoenix-hook'}' status-line; echo once"
    environment = {**environment_of(daemon), "PHOENIX_STATUS_LINE": own}
    assert result(hook(library, environment, "status-line", stdin=b"{}")) == (0, b"once\n", b"")


@pytest.mark.parametrize("lost", ["PHOENIX_AGENT", "PHOENIX_HOOK_DIR"])
def test_a_status_line_outside_of_any_run_keeps_nothing(daemon: Daemon, library: Path, lost: str) -> None:
    environment = {name: value for name, value in environment_of(daemon).items() if name != lost}
    assert result(hook(library, environment, "status-line")) == SILENT
    assert not (daemon.pane.run / "hooks" / "1.status").exists()


def test_a_status_line_whose_directory_is_gone_or_full_is_silent(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    shutil.rmtree(daemon.pane.run / "hooks")
    assert result(hook(library, environment, "status-line")) == SILENT


def test_a_run_begins_without_the_status_line_of_the_one_before(daemon: Daemon, library: Path) -> None:
    environment = environment_of(daemon)
    hook(library, environment, "status-line", stdin=b"{}")
    assert kept(daemon) == "{}\n"
    daemon.send(op="kill", incarnation=1)
    daemon.expect("exited")
    daemon.give(daemon.pane.order(["sleep", "1000"]))
    daemon.expect("started")
    assert not (daemon.pane.run / "hooks" / "1.status").exists()
