"""state.json and brief.md switch together: what is to be written stands in one file before the first of them changes.

After a crash that file is there whole, and the switch is finished; or it is not, and nothing has been switched. An
operator's edit made in between is merged as any other. Blocking: for threads.
"""

from __future__ import annotations

import os
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from phoenixd.documents.brief.record import FILE as RECORD_FILE
from phoenixd.documents.resolved import LOG as RESOLVED_LOG
from phoenixd.documents.resolved import read_resolutions, render_resolution, resolution
from phoenixd.documents.state import StateDocument
from phoenixd.documents.state_merge import merge_states
from phoenixd.memory.files import Files, Location

SWITCH_FILE = ".brief-switch.json"
SIZE_LIMIT, LOG_LIMIT = 8 << 20, 64 << 20
DOCUMENTS = ("brief.md", RECORD_FILE)
"""What a switch may write besides state.json; a name that is not among them is not ours."""


class Switch(BaseModel):
    """One brief run's outcome. base: the state that the writer was told; ours: what the run makes of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    base: StateDocument
    ours: StateDocument
    documents: dict[str, str]
    resolutions: tuple[tuple[str, str], ...] = ()
    """Loops that the run closed, with the reason."""
    wall: float = 0.0


class Switchable(Protocol):
    """What a switch needs of an agent's shelf."""

    files: Files

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> StateDocument | None: ...

    def place(self, name: str) -> Location: ...

    def put_state(self, document: StateDocument) -> None: ...

    def content(self, name: str, limit: int) -> bytes | None: ...


def begin_switch(shelf: Switchable, switch: Switch) -> None:
    """Commit to a switch; once this returns it will be finished, by whom ever. Raises OSError, with nothing begun."""
    content = switch.model_dump_json().encode("utf-8", "replace")
    shelf.files.replace(shelf.place(SWITCH_FILE), content)


def finish_switch(shelf: Switchable, switch: Switch) -> StateDocument:
    """Write all that a switch says; doing so twice changes nothing. `look` came before. Raises OSError."""
    merged = merged_state(shelf, switch)
    log = shelf.content(RESOLVED_LOG, LOG_LIMIT) if switch.resolutions else None
    logged = {made.id for made in read_resolutions(log or b"")}
    for loop_id, reason in switch.resolutions:
        if loop_id not in logged:
            made = resolution(loop_id, reason, switch.wall, switch.agent)
            shelf.files.append(shelf.place(RESOLVED_LOG), render_resolution(made))
    shelf.put_state(merged)
    for name in DOCUMENTS:
        if name in switch.documents:
            shelf.files.replace(shelf.place(name), switch.documents[name].encode("utf-8", "replace"))
    os.unlink(shelf.place(SWITCH_FILE))
    return merged


def merged_state(shelf: Switchable, switch: Switch) -> StateDocument:
    """What state.json is to hold: the run's outcome, and all that others did since the writer was told."""
    assert shelf.state is not None
    ours = switch.ours.model_copy(update={"status": shelf.state.status})
    return merge_states(switch.base, shelf.state, ours)


def interrupted_switch(shelf: Switchable) -> Switch | None:
    """The switch that a crash left unfinished; what is not one is taken away."""
    content = shelf.content(SWITCH_FILE, SIZE_LIMIT)
    if content is None:
        return None
    try:
        switch = Switch.model_validate_json(content)
    except ValidationError:
        switch = None
    if switch is None or switch.agent != shelf.name:
        os.unlink(shelf.place(SWITCH_FILE))
        return None
    return switch
