"""What a CLI needs to be logged in, where its environment holds no key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Login:
    """files: of these one has to exist, and none is read. remedy: what a person does where none does."""

    files: tuple[str, ...]
    remedy: str

    def is_missing(self, exists: Callable[[str], bool]) -> bool:
        """Whether none of the files is there, as `exists` says."""
        return not any(map(exists, self.files))
