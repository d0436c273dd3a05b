"""One tmux server of our own, spoken to over one connection: what it does, and what it survives."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.drivers.processes.proc import ancestors, read_stat
from phoenixd.drivers.tmux.control import ControlConnection
from phoenixd.drivers.tmux.panes import Pane, Panes
from phoenixd.drivers.tmux.server import TmuxServer, settings
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.errors import TerminalFailed
from tests.drivers.tmux.terminals import a_terminal, agents, drift, recorder, tmux
from tests.waiting import eventually


async def panes_or_none(terminal: TmuxTerminal) -> frozenset[str] | None:
    try:
        return await agents(terminal)
    except TerminalFailed:
        return None


async def test_panes_come_and_go(short_tmp: Path) -> None:
    """P33: one session for each agent, found by its exact name."""
    async with a_terminal(short_tmp) as terminal:
        assert await agents(terminal) == frozenset()
        await terminal.open_pane("agent-1", recorder(short_tmp / "one"))
        await terminal.open_pane("agent-10", recorder(short_tmp / "ten"))
        assert await agents(terminal) == {"agent-1", "agent-10"}
        columns, lines = await terminal.size("agent-1") or (0, 0)
        assert columns > lines > 0
        await terminal.close_pane("agent-1")
        await terminal.close_pane("agent-1")
        assert await agents(terminal) == {"agent-10"}, "F-TMUX-4: a name is not a prefix"
        assert await terminal.size("agent-1") is None


async def test_a_pane_is_replaced_by_a_new_one_of_its_name(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "first"))
        pid = tmux(short_tmp, "list-panes", "-t", "=phx-a:", "-F", "#{pane_pid}")
        await terminal.open_pane("a", recorder(short_tmp / "second"))
        panes = tmux(short_tmp, "list-panes", "-a", "-F", "#{session_name} #{pane_pid}").splitlines()

        assert len([pane for pane in panes if pane.startswith("phx-a ")]) == 1
        assert f"phx-a {pid.strip()}" not in panes


async def test_a_pane_that_ends_takes_its_session_with_it(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", ["sh", "-c", "exit 3"])

        async def is_gone() -> bool:
            return await agents(terminal) == frozenset()

        await eventually(is_gone)
        assert await terminal.observe()


async def test_p_a_pane_gets_the_words_that_it_was_given(short_tmp: Path) -> None:
    words = ["", " ", "a b", ";", "x;", "\\", "$HOME", "~", "#{pid}", "%1", "-t", "ü\n\t'\"`", "\udcff", "{", "}", "#!"]
    show = "import os, sys; open(sys.argv[1], 'wb').write(b'\\0'.join(map(os.fsencode, sys.argv[2:])))"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show, str(short_tmp / "out"), *words])
        await eventually(lambda: (short_tmp / "out").exists() and (short_tmp / "out").stat().st_size)

    assert (short_tmp / "out").read_bytes().split(b"\0") == [os.fsencode(word) for word in words]


async def test_a_single_word_never_reaches_a_shell(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        for argv in ([], ["touch x"]):
            with pytest.raises(ValueError, match="two words"):
                await terminal.open_pane("a", argv)


async def test_the_screen_is_read_as_plain_text(short_tmp: Path) -> None:
    shown = "\x1b[31mred\x1b[0m ü \u202eevil\u202c \u200bx\x9b1mC1"
    show = f"import time; print({shown!a}, end='', flush=True); time.sleep(99)"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show])
        screen = await eventually(lambda: terminal.capture("a"))
        async with asyncio.timeout(10):
            while "C1" not in (screen := await terminal.capture("a")):
                await asyncio.sleep(0.01)

    assert screen.splitlines()[0].startswith("red ü evil x")
    assert all(character.isprintable() or character == "\n" for character in screen)


async def test_what_scrolled_out_of_a_pane_is_captured_on_request(short_tmp: Path) -> None:
    show = "import time\nfor n in range(500): print(f'line {n}\\x1b[31m \\x9b red')\nprint('end')\ntime.sleep(99)"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show])
        async with asyncio.timeout(10):
            while "end" not in (screen := await terminal.capture("a")):
                await asyncio.sleep(0.01)

        lines = (await terminal.capture("a", 300)).rstrip().splitlines()

    assert "line 100 " not in screen
    assert lines[-1] == "end"
    assert len(lines) > 300
    assert [line.split()[1] for line in lines[-300:-1]] == [str(number) for number in range(201, 500)]
    assert all(line.isprintable() for line in lines)


async def test_p79_a_secret_that_the_terminal_broke_at_its_edge_stands_on_one_line(short_tmp: Path) -> None:
    """Else it would be looked for in two halves, and people would read both of them."""
    secret = "plain-words-of-a-secret-0451"
    show = f"import time\nprint('x' * 110 + '{secret}')\nprint('y' * 300)\nprint('end')\ntime.sleep(99)"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show])
        async with asyncio.timeout(60):
            while "end" not in (screen := await terminal.capture("a")):
                await asyncio.sleep(0.01)
        lines = (await terminal.capture("a", 100)).rstrip().splitlines()
        raw = [await terminal.capture_raw("a", history) for history in (0, 100)]

    assert all(secret in one for one in raw), "with its colours, it is what secrets are looked for in"
    assert secret not in screen
    assert lines == [f"{'x' * 110}{secret}", "y" * 300, "end"]


async def test_a_screen_cannot_speak_for_tmux(short_tmp: Path) -> None:
    """Lines that end a block in the control protocol are only lines, and the next answer is the next answer."""
    show = (
        "import sys, time\n"
        "for number in range(int(sys.argv[1]), int(sys.argv[1]) + 38):\n"
        "    print(f'%end {int(time.time())} {number} 1')\n"
        "time.sleep(99)"
    )
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show, "280"])
        async with asyncio.timeout(10):
            while (await terminal.capture("a")).count("%end") < 38:
                await asyncio.sleep(0.01)
        assert await agents(terminal) == {"a"}


async def test_enter_is_pressed_even_when_the_operator_left_copy_mode_on(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        await eventually(lambda: (short_tmp / "typed").exists())
        tmux(short_tmp, "copy-mode", "-t", "=phx-a:")
        await terminal.paste("a", "hello")
        tmux(short_tmp, "copy-mode", "-t", "=phx-a:")
        await terminal.press_enter("a")
        await eventually(lambda: (short_tmp / "typed").read_bytes().endswith(b"\r"))

    assert (short_tmp / "typed").read_bytes() == b"\x1b[200~hello\x1b[201~\r"


async def test_a_pane_beside_the_agents_is_never_typed_into(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        await eventually(lambda: (short_tmp / "typed").exists())
        tmux(short_tmp, "split-window", "-t", "=phx-a:", *recorder(short_tmp / "beside"))
        tmux(short_tmp, "new-window", "-t", "=phx-a:", *recorder(short_tmp / "window"))
        await eventually(lambda: (short_tmp / "window").exists() and (short_tmp / "beside").exists())
        await terminal.paste("a", "hello")
        await terminal.press_enter("a")
        await eventually(lambda: (short_tmp / "typed").read_bytes().endswith(b"\r"))

    assert (short_tmp / "beside").read_bytes() + (short_tmp / "window").read_bytes() == b""


async def test_who_is_not_there_cannot_be_typed_into(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("ab", recorder(short_tmp / "typed"))
        for order in (terminal.paste("a", "x"), terminal.press_enter("a"), terminal.capture("a")):
            with pytest.raises(TerminalFailed):
                await order
        assert tmux(short_tmp, "list-buffers") == ""


async def test_a_text_that_could_not_be_pasted_is_not_left_behind(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pane closes after the look at it, and before the text was there."""

    async def look_away(self: TmuxTerminal, pane: str) -> None:
        pass

    async def was_there(self: Panes, agent: str) -> Pane:
        return Pane("%99", 1, "$99", "", "phx-a")

    monkeypatch.setattr(TmuxTerminal, "_leave_modes", look_away)
    monkeypatch.setattr(Panes, "of", was_there)
    async with a_terminal(short_tmp) as terminal:
        with pytest.raises(TerminalFailed):
            await terminal.paste("a", "secret")
        assert tmux(short_tmp, "list-buffers") == ""


@pytest.mark.timeout(60)
async def test_a_fifo_in_the_place_of_its_configuration_keeps_no_server_from_starting(short_tmp: Path) -> None:
    """An agent's: the event loop opened it and waited for a reader, and nobody was answered any more."""
    for name in ("tmux.new", "tmux.conf"):
        os.mkfifo(short_tmp / name)
    async with a_terminal(short_tmp) as terminal:
        assert await terminal.observe()
    assert stat.S_ISREG((short_tmp / "tmux.conf").stat().st_mode)


async def test_a_killed_server_is_noticed_and_revived(short_tmp: Path) -> None:
    """F-TMUX-2."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        pid = await terminal.server_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not terminal.server.listens())

        assert not await terminal.observe()
        with pytest.raises(TerminalFailed, match="no tmux server"):
            await terminal.foreign()
        with pytest.raises(TerminalFailed, match="no tmux server"):
            await terminal.open_pane("a", recorder(short_tmp / "typed"))
        assert await terminal.server_pid() is None
        assert await terminal.revive()
        assert await agents(terminal) == frozenset()
        assert await terminal.server_pid() != pid


async def test_a_request_that_the_server_dies_under_fails_at_once(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        pid = await terminal.server_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        waiting = asyncio.create_task(terminal.foreign())
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(TerminalFailed, match=r"lost|no tmux server"):
            await waiting


async def test_a_server_that_hangs_is_not_waited_for(short_tmp: Path) -> None:
    """F-TMUX-8: all who wait fail within the same limit, and the first answer after it is the right one. F-SY-8."""
    async with a_terminal(short_tmp, timeout=2) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        pid = await terminal.server_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            outcomes = await asyncio.gather(
                terminal.foreign(), terminal.observe(), terminal.close_pane("b"), terminal.capture("a"),
                terminal.paste("a", "x"), return_exceptions=True,
            )  # fmt: skip
            again = await asyncio.gather(*(terminal.foreign() for _ in range(20)), return_exceptions=True)
        finally:
            os.kill(pid, signal.SIGCONT)

        assert [type(outcome) for outcome in [*outcomes, *again]] == [TerminalFailed] * 25
        assert await eventually(lambda: panes_or_none(terminal)) == {"a"}
        assert tmux(short_tmp, "list-buffers") == ""


async def test_clients_that_nobody_waits_for_do_not_crash_a_server_that_hung(short_tmp: Path) -> None:
    """tmux 3.3a crashes, and all panes with it, over two control clients that were killed before their turn came."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        pid = await terminal.server_pid()
        assert pid is not None
        argv = terminal.server.argv("-C", "attach-session", "-t", "=phoenixd")
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(4):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):  # Time for the client to reach the socket of the server.
                        await ControlConnection.open(argv, terminal.server.environment())
        finally:
            os.kill(pid, signal.SIGCONT)

        assert await eventually(lambda: panes_or_none(terminal)) == {"a"}
        assert await terminal.server_pid() == pid


async def test_a_server_that_was_ended_is_not_brought_back(short_tmp: Path) -> None:
    """Its end is noticed like any other, by a daemon that has not come to its own end yet."""
    async with a_terminal(short_tmp) as terminal:
        await terminal.end()
        await eventually(lambda: not terminal.server.listens(), what="the server is gone")

        assert not await terminal.revive()
        assert not terminal.server.listens()


async def test_a_server_that_is_being_started_at_the_end_is_waited_for_and_ended_with_the_others(
    short_tmp: Path,
) -> None:
    """Nobody listened yet when the daemon ended, and a moment later a server stood there that nobody would end."""
    begun, go_on, slow = short_tmp / "begun", short_tmp / "go_on", short_tmp / "tmux"
    for fifo in (begun, go_on):
        os.mkfifo(fifo)
    slow.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *start-server) echo begun > {begun}; read word < {go_on};; esac\n'
        'PATH=/usr/local/bin:/usr/bin:/bin exec tmux "$@"\n'
    )
    slow.chmod(0o755)
    terminal = TmuxTerminal(short_tmp, tmux=str(slow))
    reviving = asyncio.create_task(terminal.revive())
    await asyncio.to_thread(begun.read_text)

    ending = asyncio.create_task(terminal.end())
    await asyncio.sleep(0)
    await asyncio.to_thread(go_on.write_text, "go\n")
    await ending

    assert await reviving
    await eventually(lambda: not terminal.server.listens(), what="no server is left")
    terminal.close()


async def test_a_server_that_hangs_while_we_connect_is_connected_to_in_the_end(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_terminal(short_tmp) as owner:
        await owner.open_pane("a", recorder(short_tmp / "typed"))
        pid = await owner.server_pid()
        assert pid is not None
        call = TmuxTerminal._call

        async def hang_after_the_probe(self: TmuxTerminal, *arguments: str, stdin: bytes = b"") -> bytes:
            try:
                return await call(self, *arguments, stdin=stdin)
            finally:
                os.kill(pid, signal.SIGSTOP)

        monkeypatch.setattr(TmuxTerminal, "_call", hang_after_the_probe)
        terminal = TmuxTerminal(short_tmp, timeout=0.3)
        try:
            for _ in range(3):
                with pytest.raises(TerminalFailed, match=r"within 0\.3 s"):
                    await terminal.foreign()
        finally:
            monkeypatch.undo()
            os.kill(pid, signal.SIGCONT)

        assert await eventually(lambda: panes_or_none(terminal)) == {"a"}
        assert await owner.server_pid() == pid
        clients = tmux(short_tmp, "list-clients", "-F", "#{client_session}").split()
        assert clients == ["phoenixd"] * 2, "the attempt was shared"
        terminal.close()


async def test_a_lost_connection_is_made_again(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:

        async def attached() -> None:
            # tmux answers a client that has not come to its attach-session yet, whom no detach-client finds.
            await eventually(lambda: "phoenixd" in tmux(short_tmp, "list-clients", "-F", "#{client_session}"))

        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        for command in (("detach-client", "-a", "-s", "=phoenixd"), ("kill-session", "-t", "=phoenixd")):
            await attached()
            tmux(short_tmp, *command)
            assert await agents(terminal) == {"a"}
        await attached()
        tmux(short_tmp, "detach-client", "-s", "=phoenixd")
        await eventually(lambda: terminal._control is None or not terminal._control.is_open)
        assert await agents(terminal) == {"a"}


async def test_a_hundred_at_once_get_each_their_own_answer(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        answers = await asyncio.gather(
            *(terminal._run("display-message", "-p", f"number {number}") for number in range(100)),
            *(terminal.close_pane(f"nobody-{number}") for number in range(10)),
        )

    assert answers[:100] == [[f"number {number}"] for number in range(100)]


async def test_a_cancelled_request_does_not_shift_the_answers(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        asked = [asyncio.create_task(terminal._run("display-message", "-p", str(number))) for number in range(10)]
        await asyncio.sleep(0)
        for task in asked[::2]:
            task.cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)

    assert answers[1::2] == [[str(number)] for number in range(1, 10, 2)]


async def test_under_systemd_no_call_starts_a_server(short_tmp: Path) -> None:
    terminal = TmuxTerminal(short_tmp, under_systemd=True)
    assert not await terminal.revive()
    for order in (
        terminal.foreign(),
        terminal.open_pane("a", ["sleep", "1"]),
        terminal.capture("a"),
        terminal.paste("a", ""),
    ):
        with pytest.raises(TerminalFailed):
            await order
    assert not terminal.server.listens()
    assert not (short_tmp / "tmux.sock").exists()


async def test_under_systemd_a_server_of_the_unit_is_joined(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as unit:
        joined = TmuxTerminal(short_tmp, under_systemd=True)
        assert await joined.revive()
        await joined.open_pane("a", recorder(short_tmp / "typed"))
        assert await agents(joined) == await agents(unit) == {"a"}
        joined.close()


async def test_the_server_outlives_what_started_it(short_tmp: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from phoenixd.drivers.tmux.terminal import TmuxTerminal\n"
        "terminal = TmuxTerminal(Path(sys.argv[1]))\n"
        "async def main():\n"
        "    assert await terminal.revive()\n"
        "    print(await terminal.server_pid(), flush=True)\n"
        "    await asyncio.sleep(1000)\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", script, short_tmp]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as daemon:
        assert daemon.stdout is not None
        pid = int(daemon.stdout.readline())
        os.killpg(daemon.pid, signal.SIGKILL)
    try:
        assert os.getsid(pid) == pid
        assert daemon.pid not in ancestors(pid)
        terminal = TmuxTerminal(short_tmp, under_systemd=True)
        assert await terminal.observe()
        terminal.close()
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_the_server_knows_nothing_of_the_daemons_environment(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-TMUX-6."""
    for name in ("ANTHROPIC_API_KEY", "NOTIFY_SOCKET", "TMUX", "TMUX_PANE", "PHOENIX_TOKEN", "CLAUDECODE"):
        monkeypatch.setenv(name, "planted")
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane(
            "a", ["sh", "-c", f"env > {short_tmp}/env.new; mv {short_tmp}/env.new {short_tmp}/env; sleep 99"]
        )
        await eventually(lambda: (short_tmp / "env").exists())

        assert "planted" not in (short_tmp / "env").read_text()
        assert "planted" not in tmux(short_tmp, "show-environment", "-g")
        assert "PWD=/\n" in (short_tmp / "env").read_text()


async def test_the_connection_costs_one_process_that_sleeps(short_tmp: Path) -> None:
    async with a_terminal(short_tmp):
        panes = tmux(short_tmp, "list-panes", "-a", "-F", "#{session_name} #{pane_pid} #{pane_current_command}").split()

        assert panes[0::3] == ["phoenixd"]
        assert panes[2::3] == ["sleep"]
        await eventually(lambda: (found := read_stat(int(panes[1]))) and found.state == "S", what="it sleeps")


async def test_a_directory_with_odd_bytes_is_only_a_directory(short_tmp: Path) -> None:
    odd = short_tmp / "#(touch x);'\"\n$(id)`id` ü[*"
    odd.mkdir()
    async with a_terminal(odd) as terminal:
        await terminal.open_pane("a", recorder(odd / "typed"))
        await eventually(lambda: (odd / "typed").exists())
        await terminal.paste("a", "hello")
        await eventually(lambda: b"hello" in (odd / "typed").read_bytes())

        assert drift(odd) == []
        assert stat.S_IMODE((odd / "tmux.conf").stat().st_mode) == 0o600
        assert stat.S_IMODE((odd / "tmux.sock").stat().st_mode) & 0o077 == 0
    assert not list(short_tmp.rglob("x"))


async def test_a_path_that_no_socket_can_have_is_refused_with_the_way_out(short_tmp: Path) -> None:
    terminal = TmuxTerminal(short_tmp / ("d" * 110))
    with pytest.raises(TerminalFailed) as refusal:
        await terminal.revive()
    assert "runtime-dir" in refusal.value.remedy


@pytest.mark.parametrize("version", ["tmux 3.1c", "tmux 2.9a", "tmux next-3.1"])
async def test_f_tmux_7_an_old_tmux_is_refused(short_tmp: Path, version: str) -> None:
    old = short_tmp / "tmux-old"
    old.write_text(f"#!/bin/sh\necho '{version}'\n")
    old.chmod(0o755)
    with pytest.raises(TerminalFailed, match=r"too old: phoenixd needs 3\.2") as refusal:
        await TmuxTerminal(short_tmp, tmux=str(old)).revive()
    assert refusal.value.remedy


@pytest.mark.parametrize("version", ["tmux 3.2", "tmux 3.2a", "tmux next-3.6", "tmux master", "tmux 4.0"])
async def test_f_tmux_7_a_newer_tmux_is_taken(short_tmp: Path, version: str) -> None:
    new = short_tmp / "tmux-new"
    new.write_text(f"#!/bin/sh\necho '{version}'\n")
    new.chmod(0o755)
    await TmuxServer(short_tmp, str(new), 5.0).require_version()


@pytest.mark.parametrize("tmux_path", ["/nonexistent/tmux", "tmux-that-is-not-there"])
async def test_f_tmux_7_a_missing_tmux_is_named(short_tmp: Path, tmux_path: str) -> None:
    with pytest.raises(TerminalFailed, match="tmux") as refusal:
        await TmuxTerminal(short_tmp, tmux=tmux_path).revive()
    assert "install tmux" in refusal.value.remedy


@pytest.mark.parametrize("works", [True, False])
async def test_the_server_gets_a_scope_of_its_own_where_systemd_gives_one(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """A stand-in for systemd-run, which also runs the command in place, or refuses for want of a user bus."""
    systemd_run = short_tmp / "systemd-run"
    systemd_run.write_text(
        f'#!/bin/sh\necho "$@" > {short_tmp}/asked\n'
        + ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n' if works else "exit 1\n")
    )
    systemd_run.chmod(0o755)
    monkeypatch.setenv("PATH", f"{short_tmp}:{os.environ['PATH']}")
    isdir = os.path.isdir
    monkeypatch.setattr("os.path.isdir", lambda path: path == "/run/systemd/system" or isdir(path))
    async with a_terminal(short_tmp) as terminal:
        assert await terminal.observe()

    asked = (short_tmp / "asked").read_text().split()
    assert {"--scope", "--collect", "--property=Delegate=yes", "start-server"} <= set(asked)
    assert ("--user" in asked) == (os.geteuid() != 0)


async def test_what_somebody_changed_is_set_again_with_the_next_connection(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        assert drift(short_tmp) == []
        tmux(short_tmp, "set-option", "-g", "mouse", "on")
        assert drift(short_tmp) == ["mouse on"]
        terminal.close()
        assert await terminal.observe()
        assert drift(short_tmp) == []


async def test_a_socket_that_somebody_took_away_is_made_again_by_the_living_server(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        before = await terminal.server_pid()
        terminal.server.socket.unlink()
        await terminal.keep_named()
        await eventually(terminal.server.listens)
        assert await terminal.server_pid() == before


async def test_a_dead_socket_in_the_servers_place_is_noticed_and_replaced_by_the_living_server(short_tmp: Path) -> None:
    """A directory that vanished came back, with the socket of before: its server had made another one meanwhile."""
    async with a_terminal(short_tmp) as terminal:
        before, place = await terminal.server_pid(), terminal.server.socket
        await terminal.keep_named()
        place.rename(short_tmp / "aside")
        await terminal.keep_named()
        await eventually(terminal.server.listens)
        await terminal.keep_named()
        (short_tmp / "aside").replace(place)
        assert not terminal.server.listens()
        await terminal.keep_named()
        await eventually(terminal.server.listens)
        assert await terminal.server_pid() == before


async def test_a_socket_that_stays_is_not_asked_again_and_again(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.keep_named()
        monkeypatch.setattr(type(terminal.server), "listens", lambda _self: pytest.fail("the server is woken"))
        await terminal.keep_named()
        monkeypatch.undo()


def test_f_tmux_10_what_scrolls_out_of_a_pane_is_bounded() -> None:
    limits = [int(command[-1]) for command in settings() if "history-limit" in command]

    assert len(limits) == 1
    assert 1000 <= limits[0] <= 100_000


@pytest.mark.parametrize(("before", "stays"), [("", "False"), ("import libtmux; ", "True")])
def test_libtmux_is_let_go_once_it_has_told_the_version(before: str, stays: str) -> None:
    """It serves where the server is set up; no more of it is loaded than that takes. What somebody else uses stays."""
    ask = "TmuxServer(Path('/run'), 'tmux', 5.0)._version(), 'libtmux.common' in sys.modules"
    script = f"{before}import sys; from pathlib import Path; from phoenixd.drivers.tmux.server import TmuxServer"
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"{script}; print(*({ask}))"],
        capture_output=True,
        text=True,
        check=True,
    )

    version, is_there = told.stdout.split()
    assert version[0].isdecimal()
    assert is_there == stays
    assert ("libtmux.server" in told.stderr) == bool(before)
