"""What is typed into a pane arrives byte for byte, and nothing in it can act: not on tmux, a shell, or on us."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.drivers.tmux.keyboard import PASTE_LIMIT
from phoenixd.drivers.tmux.server import KEYS
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.drivers.tmux.text import agent_of, pasteable, quote, readable, session_of
from phoenixd.errors import TerminalFailed
from tests.drivers.tmux.terminals import a_terminal, drift, recorder, tmux
from tests.waiting import eventually

TRIES = 15
"""tmux runs `#(command)` as a job that dies with the client which caused it: one try often shows nothing."""


def hostile(canary: Path) -> list[str]:
    """Texts that make a file when any of tmux, a shell or a terminal takes them for more than text."""
    touch = f"touch {canary}"
    return [
        f"#({touch})",
        f"##({touch})",
        f"#{{E:#({touch})}}",
        f"; run-shell '{touch}'",
        f"foo; run-shell '{touch}'",
        f"\n run-shell '{touch}'\n",
        f'" ; run-shell "{touch}" ; "',
        f"' ; run-shell \"{touch}\" ; '",
        f"$({touch})",
        f"`{touch}`",
        f"\x1b[201~\n{touch}\n",
        f"\x9b201~\r{touch}\r",
        f"\x1bPtmux;\x1b\x1b]0;#({touch})\x07\x1b\\",
        f"\x1b]2;#({touch})\x07",
        f"}} ; run-shell '{touch}' ; {{",
        f"%begin 1 1 1\n%end 1 1 1\nrun-shell '{touch}'",
        f"\\; run-shell '{touch}'",
        "x;",
        ";",
        "C-c",
    ]


@given(st.text())
def test_what_is_pasted_holds_no_control_character_and_is_else_unchanged(text: str) -> None:
    pasted = pasteable(text).decode("utf-8")

    assert all(unicodedata.category(character) != "Cc" or character in "\n\t" for character in pasted)
    kept = [character for character in text if unicodedata.category(character) not in ("Cc", "Cs")]
    assert [character for character in pasted if character not in "\n\t"] == kept
    assert pasteable(pasted) == pasted.encode()


def test_line_ends_become_newlines() -> None:
    assert pasteable("a\r\nb\rc\nd\te\x00\x7f\ud800") == b"a\nb\nc\nd\te"


@given(st.binary())
def test_a_screen_is_always_readable(screen: bytes) -> None:
    assert all(character == "\n" or unicodedata.category(character)[0] != "C" for character in readable(screen))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_quoted_word_is_one_line_of_plain_ascii(word: str) -> None:
    quoted = quote(word)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert not set(quoted[1:-1]) & set("\"';#$~ {}`")


@pytest.mark.parametrize("name", ["", "A", "a b", "a:b", "a.b", "=a", "#(x)", "a\n", "a" * 33, "-a", "ä", "a;"])
async def test_a_name_that_is_no_agents_name_never_reaches_tmux(short_tmp: Path, name: str) -> None:
    terminal = TmuxTerminal(short_tmp)
    for order in (
        terminal.open_pane(name, ["sleep", "1"]),
        terminal.close_pane(name),
        terminal.capture(name),
        terminal.paste(name, "x"),
        terminal.press_enter(name),
        terminal.last_typed(name),
    ):
        with pytest.raises(TerminalFailed, match="name"):
            await order


def test_sessions_of_others_are_nobodys() -> None:
    assert agent_of(session_of("a-1")) == "a-1"
    assert [agent_of(name) for name in ("phoenixd", "a", "phx-", "phx-A", "phx-#(x)", "xphx-a")] == [None] * 6


async def test_a_megabyte_arrives_byte_for_byte(short_tmp: Path) -> None:
    dice = random.Random(7)
    alphabet = "abc xyz 0123 \n\n\t;#$`'\"\\{}~%üß漢字😀\u202e\u200d"
    text = "".join(dice.choices(alphabet, k=800_000)) + "end"
    content = text.encode()
    assert len(content) > 1_000_000
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        await eventually(lambda: (short_tmp / "typed").exists())
        await terminal.paste("a", text)
        await eventually(lambda: (short_tmp / "typed").stat().st_size >= len(content) + 12, timeout=60)

        is_exact = (short_tmp / "typed").read_bytes() == b"\x1b[200~" + content + b"\x1b[201~"
        assert is_exact, "the difference of two megabytes takes minutes to print"
        assert tmux(short_tmp, "list-buffers") == ""


async def test_without_bracketed_paste_no_newline_becomes_the_enter_key(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed", "plain"))
        await eventually(lambda: (short_tmp / "typed").exists())
        await terminal.paste("a", "one\r\ntwo\rthree\n")
        await terminal.press_enter("a")
        await eventually(lambda: (short_tmp / "typed").read_bytes().endswith(b"\r"))

    assert (short_tmp / "typed").read_bytes() == b"one\ntwo\nthree\n\r"


async def test_nothing_to_paste_is_nothing(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        await eventually(lambda: (short_tmp / "typed").exists())
        await terminal.paste("a", "\x1b\x00")
        await terminal.paste("a", "-")
        await eventually(lambda: (short_tmp / "typed").stat().st_size)
        with pytest.raises(TerminalFailed, match="is not pasted"):
            await terminal.paste("a", "x" * (PASTE_LIMIT + 1))

    assert (short_tmp / "typed").read_bytes() == b"\x1b[200~-\x1b[201~"


async def test_p7_no_text_that_is_pasted_runs(short_tmp: Path) -> None:
    """In a real bash with bracketed paste, where each text is pasted and left on the command line."""
    canary = short_tmp / "canary"
    async with a_terminal(short_tmp) as terminal:
        script = f"PS1='ready$ ' HISTFILE= exec bash --norc --noprofile; {short_tmp}"
        await terminal.open_pane("a", ["sh", "-c", script])
        async with asyncio.timeout(10):
            while "ready$" not in await terminal.capture("a"):
                await asyncio.sleep(0.01)
        for text in hostile(canary):
            for _ in range(TRIES):
                await terminal.paste("a", text)
                await terminal._run("send-keys", "-t", "=phx-a:0.0", "C-u")
        await terminal.paste("a", f"echo done > {short_tmp}/done")
        await terminal.press_enter("a")
        await eventually(lambda: (short_tmp / "done").exists(), what="bash read everything up to here")

    assert not canary.exists()


async def test_p7_no_word_of_a_panes_command_runs(short_tmp: Path) -> None:
    canary = short_tmp / "canary"
    show = ["sh", "-c", 'printf \'%s\\0\' "$1" >>"$0"']
    texts = hostile(canary)
    async with a_terminal(short_tmp) as terminal:
        for number, text in enumerate(texts):
            for round_ in range(TRIES):
                await terminal.open_pane(f"a{number}-{round_}", [*show, f"{short_tmp}/o{number}", text])
        sizes = [TRIES * (len(os.fsencode(text)) + 1) for text in texts]
        await eventually(
            lambda: (
                [(short_tmp / f"o{n}").exists() and (short_tmp / f"o{n}").stat().st_size for n in range(len(texts))]
                == sizes
            ),
            timeout=60,
        )

    assert not canary.exists()
    for number, text in enumerate(texts):
        assert (short_tmp / f"o{number}").read_bytes() == (os.fsencode(text) + b"\0") * TRIES


async def test_p7_no_directory_of_ours_runs(short_tmp: Path) -> None:
    """The names of sockets and configuration files come from where the operator put the runtime directory."""
    for number, text in enumerate(hostile(Path("canary"))):
        room = short_tmp / f"{number}{text.replace('/', '_')}"
        room.mkdir()
        for _ in range(3):
            async with a_terminal(room) as terminal:
                await terminal.open_pane("a", ["cat", "-"])
                await terminal.paste("a", "x")
                await terminal.capture("a")
                assert drift(room) == []

    assert not list(short_tmp.rglob("canary"))
    assert not Path("/canary").exists()


async def test_p7_what_an_agent_makes_of_its_pane_does_not_run(short_tmp: Path) -> None:
    """Titles and names set by escape sequences, in front of an operator who looks at the pane."""
    canary = short_tmp / "canary"
    sequences = [f"\x1b]{code};#(touch {canary})\x07" for code in (0, 1, 2, 52)] + [f"\x1bk#(touch {canary})\x1b\\"]
    show = f"import time\nfor _ in range(9999): print({''.join(sequences)!a}, end='', flush=True); time.sleep(0.01)"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", [sys.executable, "-c", show])
        attach = ["tmux", "-N", "-S", str(short_tmp / "tmux.sock"), "attach-session", "-t", "=phx-a"]
        command = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *attach]
        with subprocess.Popen(
            command, env={**os.environ, "TERM": "xterm"}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as operator:
            await eventually(lambda: "phx-a" in tmux(short_tmp, "list-clients", "-F", "#{client_session}"))
            async with asyncio.timeout(10):
                while "touch" not in tmux(short_tmp, "display-message", "-p", "-t", "=phx-a:", "#{pane_title}"):
                    await asyncio.sleep(0.01)
            for _ in range(TRIES):
                await terminal.capture("a")
                await terminal.foreign()
                tmux(short_tmp, "refresh-client", "-S")
            assert tmux(short_tmp, "list-windows", "-t", "=phx-a:", "-F", "#{window_name}").strip() != ""
            assert "touch" not in tmux(short_tmp, "list-windows", "-t", "=phx-a:", "-F", "#{window_name}")
            assert tmux(short_tmp, "list-buffers") == ""
            assert await terminal.last_typed("a") is not None
            operator.kill()
        await eventually(lambda: "phx-a" not in tmux(short_tmp, "list-clients", "-F", "#{client_session}"))
        assert await terminal.last_typed("a") is None

    assert not canary.exists()


async def test_promise_11_who_sits_at_a_terminal_is_told_beside_it_and_the_pane_stays_as_it_is(short_tmp: Path) -> None:
    shown = short_tmp / "shown"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        await terminal.tell_attached("a", "nobody sits here yet")
        attach = ["tmux", "-N", "-S", str(short_tmp / "tmux.sock"), "attach-session", "-t", "=phx-a"]
        command = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *attach]
        with shown.open("wb") as screen:
            operator = subprocess.Popen(
                command, env={**os.environ, "TERM": "xterm"}, stdin=subprocess.PIPE, stdout=screen
            )
        try:
            await eventually(lambda: "phx-a" in tmux(short_tmp, "list-clients", "-F", "#{client_session}"))
            await terminal.tell_attached("a", "phoenixctl answered item 12: deny")
            await eventually(lambda: b"phoenixctl answered item 12: deny" in shown.read_bytes())
            assert "answered" not in await terminal.capture("a")
            assert not (short_tmp / "typed").exists() or (short_tmp / "typed").read_bytes() == b""
        finally:
            operator.kill()
            operator.communicate()
        for words in ("#(touch canary)", "#{pid}", "x" * 201, "a\nb", ""):
            with pytest.raises(ValueError, match="not shown"):
                await terminal.tell_attached("a", words)


async def test_the_corpus_bites_where_nothing_protects(short_tmp: Path) -> None:
    """The same texts as a window's name: if this made no file, the tests above would prove nothing."""
    canary = short_tmp / "canary"
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        for _ in range(TRIES):
            for text in hostile(canary):
                with contextlib.suppress(TerminalFailed):
                    await terminal._run("rename-window", "-t", "=phx-a:", text)
        await eventually(canary.exists)


async def test_nobody_opens_a_shell_by_a_slip_of_the_finger(short_tmp: Path) -> None:
    async with a_terminal(short_tmp):
        keys = tmux(short_tmp, "list-keys", "-T", "prefix").splitlines()
        commands = {" ".join(line.split()[4:]) for line in keys}
        assert commands == {" ".join(command) for command in KEYS.values()}
        assert tmux(short_tmp, "list-keys", "-T", "root").strip() == ""


async def test_a_pane_that_a_tiny_terminal_left_behind_is_made_large_again(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed"))
        assert await terminal.make_room("a") is None
        tmux(short_tmp, "resize-window", "-t", "=phx-a:0", "-x", "2", "-y", "1")
        assert await terminal.size("a") == (2, 1)

        assert await terminal.make_room("a") is None

        assert await terminal.size("a") == (120, 40)
        window_size = tmux(short_tmp, "show-options", "-wv", "-t", "=phx-a:0", "window-size")
        assert window_size == "", "the next terminal that shows it decides again"


async def test_what_nobody_reads_is_counted_and_can_be_taken_back(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        go = short_tmp / "go"
        deaf = f"stty raw -echo; echo ready; until test -e {go}; do sleep 0.05; done; exec cat > {short_tmp}/typed"
        await terminal.open_pane("a", ["sh", "-c", deaf])

        async def is_ready() -> bool:
            return "ready" in await terminal.capture("a")

        await eventually(is_ready)
        assert await terminal.unread("a") == 0
        await terminal.paste("a", "nobody reads this")

        async def is_unread() -> bool:
            return await terminal.unread("a") == len("nobody reads this")

        await eventually(is_unread)
        await terminal.discard_unread("a")
        assert await terminal.unread("a") == 0
        go.touch()
        await eventually((short_tmp / "typed").exists)
        await terminal.paste("a", "but this")
        await eventually(lambda: (short_tmp / "typed").read_text() == "but this")


async def test_ctrl_u_clears_a_line_and_submits_nothing(short_tmp: Path) -> None:
    async with a_terminal(short_tmp) as terminal:
        await terminal.open_pane("a", recorder(short_tmp / "typed", paste="plain"))
        await eventually((short_tmp / "typed").exists)
        await terminal.clear_line("a")
        await eventually(lambda: (short_tmp / "typed").read_bytes() == b"\x15\x7f")
