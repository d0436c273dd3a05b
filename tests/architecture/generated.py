"""What the documentation takes from the code's tables; `python -m tests.architecture.generated` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from phoenixd.core import alert_kinds

ROOT = Path(__file__).parents[2]


def alerts() -> str:
    """The table of docs/how-to/get-told.md; neighbours with the same sentences share a row."""
    return "\n".join(("| kind | raised when | over when |", "|---|---|---|", *_alert_rows()))


def _alert_rows() -> Iterator[str]:
    for (raised, over), kinds in groupby(alert_kinds.TABLE, key=lambda kind: (kind.raised, kind.over)):
        yield f"| {', '.join(f'`{kind.name}`' for kind in kinds)} | {raised} | {over} |"


PARTS = {("docs/how-to/get-told.md", "| kind | raised when"): alerts}
"""The page and the beginning of the first line of each part, which goes on to the next empty line."""


def rewritten(page: str, begins: str, text: str) -> str:
    """The page with that part put in place."""
    head, _, rest = page.partition(begins)
    return head + text + rest[rest.index("\n\n") :]


if __name__ == "__main__":
    for (name, begins), make in PARTS.items():
        path = ROOT / name
        path.write_text(rewritten(path.read_text(encoding="utf-8"), begins, make()), encoding="utf-8")
