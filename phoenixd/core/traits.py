"""In what agent CLIs differ, as far as decisions hang on it. The harnesses know the values; the core names no CLI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.armed_answer import On
from phoenixd.core.causes import Told


@dataclass(frozen=True, slots=True)
class Traits:
    """One CLI. The defaults are those of one that reports by hooks and has no peculiarity.

    has_hooks: it reports its own start by a hook, so that readiness can wait for it. holds_permissions: its permission
    requests are held for an answer unless the operator says otherwise. hides_its_dialog: its dialog is drawn only when
    its request is let go of. starts_silently: its first hook comes with the first prompt only. stops_either_way: its
    hook of a turn's end comes as well where the API refused the turn. ends_with_a_word: it tells of its session's end
    only when a person leaves it, and not when a signal ends it. leaves_in_silence: it ends with 0 where a person leaves
    it and where a signal ends it, and tells neither apart. writes_briefs: it can be asked without a terminal to write
    its agent's brief. takes_armed: the hooks that an answer of ours can stand ready for. one_turn_flags: of its
    command line, with which it ends after one turn. escape_ends_turn: Escape breaks its open turn off, and leaves the
    session as it is. exits_with_status: where the API refused that one turn, it exits with the status of HTTP modulo
    256. exits_tell: what its own exit codes say. tells_cut: what it keeps of a session shows an answer that was cut.
    resumes_one_turn: what ended after one turn can be asked another thing in its session, again without a terminal.
    is_prompted: each run is told its first words by us, whatever is configured. resumes_empty: a session in which
    nothing was ever said can be gone back to.
    """

    has_hooks: bool = True
    holds_permissions: bool = False
    hides_its_dialog: bool = False
    starts_silently: bool = False
    stops_either_way: bool = False
    ends_with_a_word: bool = False
    leaves_in_silence: bool = False
    writes_briefs: bool = False
    takes_armed: tuple[On, ...] = ()
    one_turn_flags: tuple[str, ...] = ()
    escape_ends_turn: bool = False
    exits_with_status: bool = False
    exits_tell: tuple[tuple[int, Told], ...] = ()
    tells_cut: bool = True
    resumes_one_turn: bool = False
    is_prompted: bool = True
    resumes_empty: bool = False


UNKNOWN = Traits()
"""Of a CLI that an older journal names and this version does not know."""

_known: dict[str, Traits] = {}


def told_by_exit(harness: str, code: int | None) -> Told | Literal[""]:
    """What the exit code of this harness's CLI says; nothing where it is none of its own."""
    return next((told for known, told in traits_of(harness).exits_tell if known == code), "")


def learn(harness: str, traits: Traits) -> None:
    """Take a harness's traits, once, when the harnesses are imported; they never change afterwards."""
    if _known.setdefault(harness, traits) != traits:
        raise ValueError(f"the traits of {harness} are known already, and are others")


def traits_of(harness: str) -> Traits:
    """The traits of a harness. Raises LookupError before any harness told its own: phoenixd.harness is not imported."""
    if not _known:
        raise LookupError("no harness has told its traits: import phoenixd.harness before the first decision")
    return _known.get(harness, UNKNOWN)
