"""The part of a claude.md that phoenixd writes at each handoff, between two lines; all else is somebody else's."""

from __future__ import annotations

BEGIN = "<!-- phoenixd writes what stands below, at each handoff -->"
END = "<!-- phoenixd: end -->"


def without(content: bytes) -> bytes:
    """The file without that part, and without the blank lines at its end: some of those set the part apart.

    A part that has lost one of its two lines cannot be told from other text, and stays.
    """
    lines = content.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if line.strip() == BEGIN.encode()]
    ends = [number for number, line in enumerate(lines) if line.strip() == END.encode()]
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        lines = [*lines[: begins[0]], *lines[ends[0] + 1 :]]
    return b"".join(lines).rstrip(b"\r\n")
