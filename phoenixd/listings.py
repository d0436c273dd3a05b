"""The names in a directory that others fill, as many as are wanted and no more. Blocking."""

from __future__ import annotations

import itertools
import os


def names_in(place: int | str | os.PathLike[str], most: int) -> list[str]:
    """Up to `most` names in a directory, in no order; where there are as many, there may be more. Raises OSError.

    os.listdir and glob hold all of them, and an agent may make millions.
    """
    with os.scandir(place) as entries:
        return [entry.name for entry in itertools.islice(entries, most)]
