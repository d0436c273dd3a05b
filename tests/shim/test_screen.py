"""What an operator sees in a pane after a death: the last words of the agent, and the notice below them."""

from __future__ import annotations

from tests.shim.test_terminal import TmuxPane, tmux_pane

__all__ = ["tmux_pane"]

FRAME = r"printf 'first line\nlast words\n> input\n  status line\033[1A\r> in'; kill -9 $$"


def test_p61_last_words_stay_and_the_notice_stands_below_them(tmux_pane: TmuxPane) -> None:
    daemon = tmux_pane.daemon()
    daemon.run_to_end(["sh", "-c", FRAME])

    tmux_pane.shows("[phoenixd] a ended by SIGKILL")
    lines = [line for line in tmux_pane.read_screen().decode().splitlines() if line]
    at = lines.index("first line")
    assert lines[at + 1 : at + 3] == ["last words", "> input"]
    assert lines[at + 3].startswith("[phoenixd] a ended by SIGKILL")
    assert "status line" not in "\n".join(lines)
