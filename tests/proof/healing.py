"""Every command of docs/how-to/self-healing.md, in its order, in one shell: seed G's own four tests are among them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/self-healing.md"
PATIENCE = 100.0


def script() -> str:
    """The page as a script: its headings are told, its commands are run, and the first that fails ends it."""
    lines = ["set -eu"]
    for heading, commands in _parts(PAGE.read_text(encoding="utf-8")):
        lines.append(f"printf '%s\\n' '--- {heading}'")
        lines.append(commands)
    return "\n".join(lines)


def play(home: Path) -> tuple[int, str]:
    """Run it with this HOME, against a daemon of its own, which is down with all its agents when this returns.

    Exit code and output; 124 when a command waited for something that did not come.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PHOENIX_", "TMUX"))}
    environ |= {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{environ.get('PATH', os.defpath)}"}
    try:
        command = ["timeout", f"{PATIENCE:g}", "sh", "-c", script()]
        played = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return played.returncode, played.stdout.decode(errors="replace")
    finally:
        subprocess.run(["phoenixctl", "down", "--agents"], env=environ, capture_output=True, check=False)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="phx-") as home:
        code, said = play(Path(home))
    print(said)
    print(f"every command of {PAGE.name}: {'done' if code == 0 else f'exit {code}'}")
    return code


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Each heading with the commands below it; other blocks are there to be read."""
    heading = ""
    for found in re.finditer(r"^## ([^\n]*)$|^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if found[1] is not None:
            heading = found[1]
        else:
            yield heading.replace("'", ""), found[2]


if __name__ == "__main__":
    sys.exit(main())
