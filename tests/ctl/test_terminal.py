"""attach and logs: a real tmux on a socket of its own, and a real terminal in front of it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.ctl import absence, declare
from phoenixd.ctl.follow import news
from phoenixd.drivers.tmux import panes as tmux_panes
from phoenixd.drivers.tmux.server import SESSION_OPTIONS
from tests.api.conftest import Live, serving
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl, environment
from tests.ctl.terminals import on_a_terminal, phoenixctl, read_until
from tests.waiting import eventually_sync


@pytest.fixture
def tmux(runtime: Path) -> Iterator[Path]:
    """A server with one agent's session, as the daemon would have made it."""
    socket = runtime / "tmux.sock"
    command = ["tmux", "-S", os.fspath(socket), "-f", "/dev/null"]
    subprocess.run(
        [*command, "new-session", "-d", "-s", "phx-docs", "-x", "80", "-y", "24", "printf 'agent here\\n'; cat; :"],
        check=True,
    )
    mark = ["set-option", "-pF", "-t", "=phx-docs:0.0", tmux_panes.MARK, tmux_panes.mark("docs")]
    subprocess.run([*command, *mark], check=True)
    yield socket
    subprocess.run([*command, "kill-server"], check=False, capture_output=True)


def test_attach_has_a_tmux_client_on_its_terminal_without_any_daemon(tmux: Path, home: Path) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    with on_a_terminal(phoenixctl("attach", "docs"), env) as (pid, master):
        read_until(master, b"agent here")
        clients = subprocess.run(
            ["tmux", "-S", tmux, "list-clients", "-F", "#{client_pid} #{client_readonly}"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        client, read_only = clients.split()
        assert read_only == "0"
        assert Path(f"/proc/{client}/stat").read_text().rpartition(")")[2].split()[1] == str(pid)


def settings_of(master: int) -> str:
    """What `stty -a` says of a terminal."""
    return subprocess.run(["stty", "-a"], stdin=master, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_f_tmux_2_attach_gives_the_terminal_back_where_the_tmux_server_is_killed_under_it(
    tmux: Path, home: Path, how: signal.Signals
) -> None:
    """A shell that followed echoed nothing, on the alternate screen, and clicks were typed into it."""
    server = ["tmux", "-S", os.fspath(tmux)]
    subprocess.run([*server, "set-option", "-g", "mouse", "on"], check=True)
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    typed = f"{shlex.quote(sys.executable)} -m phoenixd.ctl attach docs; echo code=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (_, master):
        before = settings_of(master)
        seen = read_until(master, b"agent here", 60)
        assert b"\x1b[?1049h" in seen
        assert b"\x1b[?1000h" in seen
        assert settings_of(master) != before
        pid = subprocess.run([*server, "display-message", "-p", "#{pid}"], capture_output=True, text=True, check=True)
        os.kill(int(pid.stdout), how)
        left = read_until(master, b"code=", 60)
        assert settings_of(master) == before

    for taken_back in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h"):
        assert taken_back in left
    said = left[left.rindex(b"\x1b[?1049l") :].decode()
    assert "the tmux server has ended, and docs with it" in said
    assert "do: phoenixctl attach docs" in said


def test_attach_that_is_left_changes_nothing_and_says_nothing_more(tmux: Path, home: Path) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    typed = f"{shlex.quote(sys.executable)} -m phoenixd.ctl attach docs; echo code=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (_, master):
        before = settings_of(master)
        read_until(master, b"agent here", 60)
        server = ["tmux", "-S", os.fspath(tmux)]
        subprocess.run([*server, "detach-client", "-t", _client_name(server)], check=True)
        left = read_until(master, b"code=0", 60)
        assert settings_of(master) == before
    assert b"do: " not in left


def test_attach_that_meets_the_removal_of_its_agent_says_so_itself_and_leaves_tmux_no_word(
    tmux: Path, home: Path, short_tmp: Path
) -> None:
    """The terminal is found, and gone before the client asks for it."""
    real = shutil.which("tmux")
    subprocess.run([str(real), "-S", tmux, "new-session", "-d", "-s", "another", "sleep 1000"], check=True)
    first = short_tmp / "tmux"
    removal = f'case "$*" in *attach-session*) {real} -S {tmux} kill-session -t =phx-docs;; esac'
    first.write_text(f'#!/bin/sh\n{removal}\nexec {real} "$@"\n')
    first.chmod(0o755)
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    env["PATH"] = f"{short_tmp}:{env['PATH']}"
    typed = f"{shlex.quote(sys.executable)} -m phoenixd.ctl attach docs; echo code=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (_, master):
        said = read_until(master, b"code=4", 60).decode()
    assert "docs has no terminal now" in said
    assert "can't find" not in said


def test_attach_whose_agent_is_removed_under_it_says_that_its_terminal_is_gone(tmux: Path, home: Path) -> None:
    server = ["tmux", "-S", os.fspath(tmux)]
    subprocess.run([*server, "new-session", "-d", "-s", "another", "sleep 1000"], check=True)
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    typed = f"{shlex.quote(sys.executable)} -m phoenixd.ctl attach docs; echo code=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (_, master):
        before = settings_of(master)
        read_until(master, b"agent here", 60)
        subprocess.run([*server, "kill-session", "-t", "=phx-docs"], check=True)
        said = read_until(master, b"code=4", 60).decode()
        assert settings_of(master) == before
    assert "docs has no terminal now" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_attach_that_is_ended_by_a_signal_ends_its_client_and_not_the_agent(
    tmux: Path, home: Path, number: signal.Signals
) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    with on_a_terminal(phoenixctl("attach", "docs"), env) as (pid, master):
        read_until(master, b"agent here", 60)
        os.kill(pid, number)
        eventually_sync(lambda: _clients(["tmux", "-S", os.fspath(tmux)]) == [], what="nobody is attached")
    assert absence.pane_of(os.fspath(tmux), "docs") is not None


def test_promise_12_attach_that_is_killed_leaves_no_client_on_the_terminal_and_the_terminal_as_it_was(
    tmux: Path, home: Path
) -> None:
    """kill -9 left the client there: shell and agent read the same keys, and the shell echoed nothing."""
    server = ["tmux", "-S", os.fspath(tmux)]
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    typed = f"set -m; {shlex.quote(sys.executable)} -m phoenixd.ctl attach docs; echo code=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (shell, master):
        before = settings_of(master)
        read_until(master, b"agent here", 60)
        (killed,) = map(int, Path(f"/proc/{shell}/task/{shell}/children").read_text().split())
        os.kill(killed, signal.SIGKILL)
        read_until(master, b"code=137", 60)
        eventually_sync(lambda: _clients(server) == [], what="nobody is attached")
        eventually_sync(lambda: settings_of(master) == before, what="the terminal is as it was")
    assert absence.pane_of(os.fspath(tmux), "docs") is not None


def test_a_program_that_is_lent_a_terminal_does_not_begin_where_who_lent_it_is_gone_already(
    home: Path, short_tmp: Path
) -> None:
    """The kernel tells of a parent that ends, and never of one that has ended."""
    orphan = (
        f"from phoenixd.ctl import lent\nlent.end_with(1 << 22, print)\nopen({os.fspath(short_tmp / 'lives')!r}, 'w')"
    )
    ended = subprocess.run([sys.executable, "-c", orphan], env=environment(home), check=False)
    assert (ended.returncode, (short_tmp / "lives").exists()) == (-signal.SIGTERM, False)


def test_attach_whose_client_is_stopped_stops_as_well_and_goes_on_with_it(
    tmux: Path, home: Path, short_tmp: Path
) -> None:
    """A shell looks at phoenixctl alone, and would wait for ever for a client that has stopped."""
    server, stopped = ["tmux", "-S", os.fspath(tmux)], short_tmp / "stopped"
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    # A client that goes on forgets what was written to the terminal in between and not read yet.
    attach = f"{shlex.quote(sys.executable)} -m phoenixd.ctl attach docs"
    typed = f"set -m; {attach}; echo $? > {stopped}; fg; echo left=$?; cat"
    with on_a_terminal(["sh", "-c", typed], env) as (_, master):
        read_until(master, b"agent here", 60)
        client = _client_name(server)
        subprocess.run([*server, "suspend-client", "-t", client], check=True)
        eventually_sync(stopped.exists, what="the shell goes on")
        subprocess.run([*server, "detach-client", "-t", client], check=True)
        read_until(master, b"left=0", 60)


LENT = """
from phoenixd.ctl import lent
code = lent.lend(["sh", "-c", "stty -echo -icanon; echo begun; exec sleep 1000"])
print(f"code={code}", flush=True)
"""


@pytest.mark.parametrize("stopped", ["the program", "phoenixctl"])
def test_a_terminal_is_given_back_where_a_signal_comes_as_the_program_that_had_it_is_gone(
    home: Path, stopped: str
) -> None:
    """To pass the signal on took the program's end away from who waited for it: a traceback, and no echo."""
    with on_a_terminal([sys.executable, "-c", LENT], environment(home, TERM="xterm")) as (pid, master):
        before = settings_of(master)
        read_until(master, b"begun", 60)
        assert settings_of(master) != before
        (program,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        # Where the program stops, who lent it the terminal stops as well.
        os.kill(program if stopped == "the program" else pid, signal.SIGSTOP)
        eventually_sync(lambda: _letter(pid) == "T", what="it has stopped")
        os.kill(program, signal.SIGKILL)
        eventually_sync(lambda: _letter(program) == "Z", what="the program is gone")
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        read_until(master, b"code=137", 60)
        assert settings_of(master) == before


def _letter(pid: int) -> str:
    """The state of a process, as the kernel has it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_attach_read_only_types_nothing(tmux: Path, home: Path) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    with on_a_terminal(phoenixctl("attach", "docs", "--read-only"), env) as (_, master):
        read_until(master, b"agent here")
        shown = subprocess.run(
            ["tmux", "-S", tmux, "list-clients", "-F", "#{client_readonly}"], capture_output=True, text=True, check=True
        ).stdout
        assert shown.strip() == "1"


def test_attach_opens_the_agents_own_pane_and_none_that_somebody_opened_by_hand(tmux: Path, home: Path) -> None:
    server = ["tmux", "-S", os.fspath(tmux)]
    subprocess.run([*server, "split-window", "-b", "-t", "=phx-docs:0", "sleep 1000"], check=True)
    subprocess.run([*server, "new-window", "-b", "-t", "=phx-docs:0", "sleep 1000"], check=True)
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")

    with on_a_terminal(phoenixctl("attach", "docs"), env) as (_, master):
        read_until(master, b"agent here")
        assert absence.MARK == tmux_panes.MARK


@pytest.mark.parametrize(("name", "known"), [("nosuch", "nosuch"), ("", "not set"), ("dumb", "dumb")])
def test_attach_says_which_terminal_tmux_cannot_use(tmux: Path, home: Path, name: str, known: str) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM=name)
    with on_a_terminal(phoenixctl("attach", "docs", "--read-only"), env) as (_, master):
        told = read_until(master, b"--read-only").decode()

    why, remedy = told.splitlines()
    assert "tmux cannot draw on this terminal" in why
    assert known in why
    assert remedy == "do: TERM=xterm-256color phoenixctl attach docs --read-only"


@pytest.mark.parametrize("size", [(24, 65535), (65535, 80)])
def test_attach_refuses_a_terminal_of_a_size_that_tmux_would_draw_on_for_minutes(
    tmux: Path, home: Path, size: tuple[int, int]
) -> None:
    env = environment(home, TERM="xterm-256color", PHOENIX_SOCKET=os.fspath(tmux.with_name("api.sock")))
    with on_a_terminal(phoenixctl("attach", "docs", "--read-only"), env, size) as (_, master):
        said = read_until(master, b"--read-only", timeout=60).decode()
    assert f"it says that it has {size[1]} columns and {size[0]} lines" in " ".join(said.split())
    assert "do: stty cols 80 rows 24 && phoenixctl attach docs --read-only" in " ".join(said.split())


async def test_attach_takes_no_session_for_an_agents_by_its_name(alone: Ctl, tmux: Path) -> None:
    subprocess.run(["tmux", "-S", tmux, "new-session", "-d", "-s", "phx-shop", "sleep 1000"], check=True)

    ran = await alone("attach", "shop")

    assert (ran.code, ran.out) == (4, "")
    assert "shop has no terminal now" in ran.err


async def test_attach_without_a_daemon_says_what_starts_one_and_then_the_agent(alone: Ctl, tmux: Path) -> None:
    """`start` alone would end with 7: no daemon is there that could do it."""
    ran = await alone("attach", "shop")

    assert (ran.code, ran.out) == (4, "")
    assert "shop has no terminal now" in ran.err
    assert ran.err.endswith("do: phoenixctl up && phoenixctl start shop\n")


async def test_attach_where_neither_daemon_nor_terminals_are_says_what_starts_phoenixd(alone: Ctl) -> None:
    ran = await alone("attach", "shop")

    assert (ran.code, ran.out) == (7, "")
    assert ran.err.startswith("shop has no terminal now")
    assert ran.err.endswith("do: phoenixctl up\n")


async def test_attach_to_an_agent_that_was_removed_says_by_whom_and_what_brings_it_back(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    """As one whose terminal goes under who is attached: `status` alone was advised, which knows nothing of it."""
    daemon.declare("docs")
    assert (await ctl("remove", "docs", "--yes")).code == 0

    ran = await ctl("attach", "docs")

    assert (ran.code, ran.out) == (4, "")
    assert "docs was removed 0s ago by operator" in ran.err
    assert ran.err.endswith("do: phoenixctl undo docs\n")
    assert (await ctl("status", "docs")).err == ran.err
    assert (await ctl("start", "docs")).err == ran.err


async def test_attach_to_an_agent_that_was_taken_out_of_its_file_says_how_it_is_declared_again(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    await ctl("remove", "docs", "--yes")
    daemon.state = replace(daemon.state, undoable=())

    ran = await ctl("attach", "docs")

    again = "put [agent.docs] back into its file, then: phoenixctl apply; or phoenixctl add docs -- COMMAND"
    assert ran.code == 4
    assert ran.err.endswith(f"do: {again}\n")


async def test_attach_says_of_an_unknown_name_what_every_verb_says(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")

    unknown, known = await ctl("attach", "shop"), await ctl("attach", "docs")

    assert unknown.code == known.code == 4
    assert unknown.err == (await ctl("status", "shop")).err
    assert known.err == "docs has no terminal now\ndo: phoenixctl start docs\n"


async def test_attach_refuses_inside_a_foreign_tmux_and_says_how_to_nest(alone: Ctl, tmux: Path) -> None:
    ran = await alone("attach", "docs", TMUX="/tmp/tmux-1000/default,1,0")

    assert ran.code == 6
    assert "TMUX= phoenixctl attach docs" in ran.err


@pytest.mark.parametrize(
    ("tmux_of_it", "keys"), [("", "Ctrl-b Ctrl-b d (one prefix is the outer tmux's)"), (None, "prefix d (Ctrl-b d)")]
)
def test_attach_names_the_keys_that_leave_and_promises_nothing_of_an_agent_that_may_be_stopped(
    tmux: Path, home: Path, short_tmp: Path, tmux_of_it: str | None, keys: str
) -> None:
    """Within another tmux on purpose one prefix detaches the outer one, and a stopped agent does not run on."""
    within = {} if tmux_of_it is None else {"TMUX": tmux_of_it}
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm", **within)
    # As it begins, a client forgets what was written to the terminal and is not read yet.
    client, seen_it = short_tmp / "tmux", short_tmp / "seen"
    waits = f'case "$*" in *attach-session*) while ! test -e {seen_it}; do sleep 0.02; done;; esac\n'
    client.write_text(f'#!/bin/sh\n{waits}exec {shutil.which("tmux")} "$@"\n')
    client.chmod(0o755)
    env["PATH"] = f"{short_tmp}:{env['PATH']}"

    with on_a_terminal(phoenixctl("attach", "docs"), env) as (_, master):
        seen = read_until(master, f"{keys} leaves it, and stops nothing".encode(), 60)
        seen_it.touch()
        seen += read_until(master, b"agent here", 60)

    assert b"runs on" not in seen


def test_the_status_line_names_both_prefixes_to_who_sits_within_another_tmux(tmux: Path, home: Path) -> None:
    told = ["set-option", "-g", "status-right", SESSION_OPTIONS["status-right"]]
    subprocess.run(["tmux", "-S", os.fspath(tmux), *told], check=True)
    for term, keys in (("screen-256color", b"C-b d (in a tmux: C-b C-b d) "), ("xterm", b"detach: C-b d ")):
        env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM=term)
        with on_a_terminal(phoenixctl("attach", "docs"), env) as (_, master):
            read_until(master, keys, 60)


async def test_run_inside_another_tmux_says_that_the_agent_runs_and_ends_well(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    """The first command of the README ended with 6 there, and did not say that the agent runs."""
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket), TERM="xterm", TMUX="/tmp/tmux-1000/default,1,0")

    def ask() -> str:
        typed = f"{sys.executable} -m phoenixd.ctl run r1 -- sleep 1000; echo code=$?; echo ended; cat"
        with on_a_terminal(["sh", "-c", typed], env, (24, 200)) as (_, master):
            return read_until(master, b"ended", 60).decode()

    said = await asyncio.to_thread(ask)

    assert "code=0" in said
    assert daemon.state.agents["r1"].state_name == "running"
    # Until then it may take half a minute, in which nothing was said.
    assert (
        said.index("r1: waiting for its first sign of life") < said.index("r1 is running") < said.index("not open here")
    )
    assert "opens here at its first" not in said
    assert "TMUX= phoenixctl attach r1" in said


async def test_a_missing_daemon_tells_how_many_agents_run_on(alone: Ctl, tmux: Path) -> None:
    ran = await alone("status")

    assert ran.code == 7
    assert "phoenixd does not answer. Your agent runs on." in ran.err


def test_attach_inside_the_own_tmux_switches_the_client(tmux: Path, home: Path) -> None:
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    server = ["tmux", "-S", os.fspath(tmux)]
    switch = f"{sys.executable} -m phoenixd.ctl attach docs; cat"
    subprocess.run([*server, "new-session", "-d", "-s", "other", "-x", "80", "-y", "24", "sleep 1000"], check=True)
    with on_a_terminal([*server, "attach-session", "-t", "=other"], env):
        eventually_sync(lambda: _clients(server), what="the client is attached")
        assignments = [f"-e{name}={env[name]}" for name in ("PYTHONPATH", "PHOENIX_RUNTIME_DIR", "HOME")]
        subprocess.run([*server, "respawn-pane", "-k", *assignments, "-t", "=other:", switch], check=True)
        eventually_sync(lambda: _clients(server) == ["phx-docs"], what="the client is switched over")


def typed_in(tmux: Path, home: Path, session: str, agent: str, words: str) -> str:
    """What the command says that is typed in an agent's pane, and its exit code; the pane stays."""
    env = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(tmux.parent), TERM="xterm")
    server, said, go = ["tmux", "-S", os.fspath(tmux)], home / "said", home / "go"
    assignments = [f"-e{name}={env[name]}" for name in ("PYTHONPATH", "PHOENIX_RUNTIME_DIR", "HOME")]
    waits = f"while ! test -e {go}; do sleep 0.02; done"
    script = f"{waits}; {words} >{said}.part 2>&1; echo code=$? >>{said}.part; mv {said}.part {said}; cat; :"
    subprocess.run([*server, "respawn-pane", "-k", *assignments, "-t", f"={session}:0.0", script], check=True)
    mark = ["set-option", "-pF", "-t", f"={session}:0.0", tmux_panes.MARK, tmux_panes.mark(agent)]
    subprocess.run([*server, *mark], check=True)
    go.touch()

    def is_over() -> bool:
        return said.exists() or bool(_clients(server))

    eventually_sync(is_over, what="it is refused, or a client is attached")
    assert _clients(server) == []
    return said.read_text()


ATTACH = f"{sys.executable} -m phoenixd.ctl attach docs"


@pytest.mark.parametrize(
    "words",
    [
        ATTACH,
        f"unset TMUX; {ATTACH}",
        f"TMUX= {ATTACH} --read-only",
        f"unset TMUX; script -qec '{ATTACH}' {os.devnull}",
        # A tmux that somebody began there has neither its terminal nor its processes above it.
        f"TMUX= PHOENIX_AGENT=docs setsid script -qec '{ATTACH}' {os.devnull}",
    ],
)
def test_attach_in_the_agents_own_pane_refuses_and_draws_nothing_within_itself(
    tmux: Path, home: Path, words: str
) -> None:
    said = typed_in(tmux, home, "phx-docs", "docs", words)

    assert "this terminal is that of docs already, and would be drawn within itself without end" in said
    assert "leave it (prefix d), and type: phoenixctl attach docs" in " ".join(said.split())
    assert "code=6" in said


@pytest.mark.parametrize("words", [f"unset TMUX; {ATTACH}", f"TMUX= {ATTACH}"])
def test_attach_in_another_agents_pane_says_whose_it_is_and_what_to_type(tmux: Path, home: Path, words: str) -> None:
    other = ["new-session", "-d", "-s", "phx-shop", "-x", "80", "-y", "24", "sleep 1000"]
    subprocess.run(["tmux", "-S", os.fspath(tmux), *other], check=True)

    said = typed_in(tmux, home, "phx-shop", "shop", words)

    assert "this terminal is that of shop: docs's would be drawn within it" in said
    assert "leave it first (prefix d), and type: phoenixctl attach docs" in " ".join(said.split())
    assert "code=6" in said


def _client_name(server: list[str]) -> str:
    told = subprocess.run([*server, "list-clients", "-F", "#{client_name}"], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def _clients(server: list[str]) -> list[str]:
    listed = subprocess.run(
        [*server, "list-clients", "-F", "#{session_name}"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


async def test_logs_follow_a_pane(live: Live, daemon: FakeDaemon, home: Path) -> None:
    daemon.declare("docs")
    daemon.panes["docs"] = "one\ntwo\n\n\n"
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", "logs", "docs", "-f", stdout=asyncio.subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(20):
            assert [await process.stdout.readline() for _ in range(2)] == [b"one\n", b"two\n"]
            daemon.panes["docs"] = "one\ntwo\nthree\n\x1b[31mfour\n"
            assert [await process.stdout.readline() for _ in range(2)] == [b"three\n", b"[31mfour\n"]
    finally:
        process.kill()
        await process.wait()


async def test_events_follow_over_a_restart_of_the_daemon(live: Live, daemon: FakeDaemon, home: Path) -> None:
    """No event is lost or told twice: the follower goes on after the last row that it has seen."""
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    daemon.declare("docs", start=False)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", "events", "-f", "--json", "-n", "1",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=env,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30):
            seen = [json.loads(await process.stdout.readline())["id"]]
            live.server.end()
            assert b"waiting for it to come back" in await process.stderr.readline()
            daemon.declare("shop", start=False)
            async with serving(daemon, live.socket.parent):
                daemon.declare("api", start=False)
                seen += [json.loads(await process.stdout.readline())["id"] for _ in range(2)]
    finally:
        process.kill()
        await process.wait()
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["a", "b"], ["a", "b"]),
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["a", "b", "c"], ["c"]),
        (["a", "b", "c"], ["b", "c", "d"], ["d"]),
        (["a", "b"], ["a", "bc"], ["bc"]),
        (["a", "b"], ["x", "y"], ["x", "y"]),
    ],
)
def test_a_pane_that_scrolls_is_told_line_by_line(before: list[str], after: list[str], expected: list[str]) -> None:
    assert news(before, after) == expected


def test_a_seats_name_leads_to_its_holder_and_a_generations_to_that_one(tmux: Path) -> None:
    """Also between the fence and the moment at which the session has its name."""
    command = ["tmux", "-S", os.fspath(tmux)]

    def opens(session: str, agent: str) -> str:
        shell = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session, "cat; :"]
        pane = subprocess.run([*command, *shell], check=True, capture_output=True, text=True).stdout.strip()
        mark = ["set-option", "-pF", "-t", pane, tmux_panes.MARK, tmux_panes.mark(agent)]
        subprocess.run([*command, *mark], check=True)
        return pane

    first = opens("phx-boss-g1", "boss")
    assert absence.pane_of(os.fspath(tmux), "boss") == first
    second = opens("phx-boss", "boss-g2")
    third = opens("phx-boss-g3", "boss-g3")

    found = {name: absence.pane_of(os.fspath(tmux), name) for name in ("boss", "boss-g1", "boss-g2", "boss-g3", "bos")}
    assert found == {"boss": second, "boss-g1": first, "boss-g2": second, "boss-g3": third, "bos": None}


async def test_run_starts_an_agent_at_the_size_of_the_terminal_that_asks(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    env = environment(home, PHOENIX_SOCKET=os.fspath(live.socket), TERM="xterm")

    def ask(name: str, *words: str) -> None:
        with on_a_terminal(phoenixctl("run", name, *words, "--", "sleep", "1000"), env, (33, 101)) as (_, master):
            read_until(master, name.encode() + b" ", 60)

    await asyncio.to_thread(ask, "seen")
    await asyncio.to_thread(ask, "unseen", "--detached")

    assert daemon.sizes == {"seen": (101, 33)}


def test_what_is_typed_while_run_starts_an_agent_answers_no_dialog_of_it() -> None:
    master, slave = pty.openpty()
    with os.fdopen(master, "wb", buffering=0) as person, os.fdopen(slave) as terminal:
        person.write(b"y\n")
        assert select.select([terminal], [], [], 60)[0] == [terminal]
        declare.forget_typed(terminal)
        assert select.select([terminal], [], [], 0)[0] == []
