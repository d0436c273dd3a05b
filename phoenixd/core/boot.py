"""Whether all that ran is gone because the host, or the container, that it ran in is gone. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Boot:
    """One life of a process table: of a host, or of a container on it.

    namespace: the pid namespace's inode; the kernel hands the number of one that is gone to the next. first: when the
    first process in it began, in clock ticks since the host's boot. Both are 0 where they are not known: an older
    journal has neither, and hidepid hides the first process from an ordinary user.
    """

    boot_id: str
    namespace: int = 0
    first: int = 0

    @property
    def table(self) -> str:
        """What is known beyond the boot id, as a journal keeps it beside that."""
        return f"{self.namespace} {self.first}"


def read_boot(boot_id: str | None, table: str | None) -> Boot | None:
    """What a journal remembers; None where it remembers no boot at all. An older one knows no more than the boot id."""
    if boot_id is None:
        return None
    numbers = [int(word) for word in (table or "").split() if word.isascii() and word.isdigit()]
    return Boot(boot_id, *numbers) if len(numbers) == 2 else Boot(boot_id)


def is_another_host(known: Boot | None, now: Boot) -> bool:
    """Whether the host itself was booted since."""
    return known is not None and known.boot_id != now.boot_id


def is_another_table(known: Boot | None, now: Boot) -> bool:
    """Whether the processes of then stood in another table than ours: the container was restarted.

    What only one of the two knows tells nothing.
    """
    if known is None:
        return False
    pairs = (known.namespace, now.namespace), (known.first, now.first)
    return any(then and today and then != today for then, today in pairs)


def why_gone(known: Boot | None, now: Boot, answering: Collection[str]) -> str | None:
    """Why nothing that ran then can be alive; None where it can.

    answering: agents at whose link somebody listens. A daemon in another container may look at the runtime directory of
    a living one, and sees another table as well. Then somebody answers, and nothing is known gone.
    """
    if is_another_host(known, now):
        return "the host was booted since"
    if is_another_table(known, now) and not answering:
        return "it ran in another pid namespace, and nothing there answers"
    return None
