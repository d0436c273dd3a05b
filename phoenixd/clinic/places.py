"""Which code is the program's own, by where it lies: an error out of a library is no bug of the program."""

from __future__ import annotations

import site
import sysconfig
import traceback
from pathlib import Path


def _foreign() -> tuple[str, ...]:
    """Where code lies that is not the program's own."""
    directories = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories |= {*site.getsitepackages(), str(Path(__file__).parent)}
    return tuple(f"{directory}/" for directory in directories)


FOREIGN = _foreign()


def is_own(file: str) -> bool:
    """Whether a file is the program's own."""
    return not file.startswith((*FOREIGN, "<"))


def is_out_of_libraries(error: BaseException) -> bool:
    """Whether no code of the program has a part in where it was raised, as far as that is known."""
    places = traceback.extract_tb(error.__traceback__)
    return bool(places) and not any(is_own(place.filename) for place in places)
