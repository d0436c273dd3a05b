"""The files in which a CLI keeps the task list of a session beside its transcript. Blocking; never raises."""

from __future__ import annotations

import os
from itertools import islice

from phoenixd.documents.deeds import MOST_ROWS, TaskRow
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts.lines import open_lines

FILE_LIMIT = 256 << 10
MOST_ENTRIES = 2000


def read_tasks(directory: str | None, form: TranscriptForm) -> tuple[tuple[TaskRow, ...], bool]:
    """The tasks of a directory's files, in the order of their numbers, and whether those are all.

    One that cannot be read, perhaps because it is being written, is left out, and then they are not all.
    """
    names = sorted(_names(directory), key=lambda name: (len(name), name)) if directory is not None else []
    rows: list[TaskRow] = []
    for name in names[:MOST_ROWS]:
        with open_lines(f"{directory}/{name}") as file:
            content = file.bytes_at(0, FILE_LIMIT) if file is not None else b""
        if (row := form.task_file(content)) is not None:
            rows.append(row)
    return tuple(rows), len(rows) == len(names)


def _names(directory: str) -> list[str]:
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return []
    try:
        with os.scandir(descriptor) as entries:
            found = [entry.name for entry in islice(entries, MOST_ENTRIES)]
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return [name for name in found if name.endswith(".json") and not name.startswith(".")]
