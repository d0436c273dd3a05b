"""An agent in raw mode: it sets a hostile title, asks for bracketed paste, and keeps every byte that is typed."""

from __future__ import annotations

import os
import sys
import tty

OUT, TITLE = sys.argv[1], sys.argv[2]


def main() -> None:
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h\x1b]2;" + TITLE.encode() + b"\x07\x1bk" + TITLE.encode() + b"\x1b\\ready")
    with open(OUT, "ab", buffering=0) as out:
        out.write(b"")
        while typed := os.read(0, 65536):
            out.write(typed)


if __name__ == "__main__":
    main()
