"""A change of a phase's files that can be taken back: what stood before is kept whole in the phase's archive."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from phoenixd.documents.project import layout, own_part
from phoenixd.documents.project.models import Document, OrchestratorState, Path, PhaseName, Time
from phoenixd.documents.project.reading import read_document, render_document
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.errors import BadProject

Kind = Literal["split", "archive", "summarise"]
Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
RECORD = "record.json"
_PLACE = re.compile(r"([0-9]{3,6})-(split|archive|summarise)")


class RevisionRecord(Document):
    """record.json. before: where the old content of each file is kept, None: there was none; after: what came of it.

    parts: phases that a split made.
    """

    kind: Kind
    phase: PhaseName
    made_at: Time
    before: dict[Path, Path | None]
    after: dict[Path, Sum | None]
    parts: tuple[PhaseName, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """A change that is shown before it is made. told: what it does, one sentence each."""

    kind: Kind
    phase: str
    changes: Changes
    told: tuple[str, ...]


def place_of(tree: Tree, phase: str, kind: Kind) -> str:
    """The directory in the archive that the next revision of this phase has."""
    numbers = [number for number, _ in _places(tree, phase)]
    return f"{tree.paths.archive(phase)}/{max(numbers, default=0) + 1:03d}-{kind}"


def revision(
    tree: Tree, phase: str, kind: Kind, writes: Mapping[str, bytes], now: str, told: tuple[str, ...],
    parts: tuple[str, ...] = (),
) -> Revision:  # fmt: skip
    """These writes with everything that it takes to undo them."""
    place = place_of(tree, phase, kind)
    kept = {path: f"{place}/{path.rsplit('/', 1)[-1]}" if path in tree.files else None for path in writes}
    record = RevisionRecord(
        kind=kind,
        phase=phase,
        made_at=now,
        before=kept,
        after={path: digest(content) for path, content in writes.items()},
        parts=parts,
    )
    old = {place_kept: tree.files[path] for path, place_kept in kept.items() if place_kept is not None}
    everything = {**old, f"{place}/{RECORD}": render_document(record), **writes}
    made = tuple(tree.paths.artifacts(part) for part in parts)
    return Revision(kind, phase, Changes(everything, directories=made), told)


def undo(tree: Tree, phase: str) -> Revision:
    """Take back the newest revision of a phase, to the same bytes.

    Raises BadProject where there is none, or where a file was changed since: that work would be lost. What phoenixd's
    own part of a claude.md says by now is no such work: the next handoff writes it anew.
    """
    places = _places(tree, phase)
    if not places:
        raise BadProject(f"{phase} has no split, archive or summary to undo", "phoenixctl phase list")
    _, place = places[-1]
    record = read_document(RevisionRecord, tree.files[f"{place}/{RECORD}"], f"{place}/{RECORD}")
    writes: dict[str, bytes] = {}
    removes: list[str] = []
    for path, after in record.after.items():
        present, kept = tree.files.get(path), record.before[path]
        if kept is not None and kept not in tree.files:
            raise BadProject(f"{kept} is gone, and with it what {path} was", f"keep the {record.kind} of {phase}")
        before = tree.files[kept] if kept is not None else None
        if present == before:
            continue  # A crash came before this file's turn.
        if path == tree.paths.state and present is not None and digest(present) != after:
            writes[path] = _state_without(tree, record)
            continue
        if (digest(present) if present is not None else None) != after and not _is_ours(tree, record, path):
            raise BadProject(
                f"{path} was changed after the {record.kind} of {phase}: to undo it would lose that",
                f"move the change into {place}, or keep the {record.kind}",
            )
        if before is None:
            removes.append(path)
        else:
            writes[path] = before
    removes += [path for path in tree.files if path.startswith(f"{place}/")]
    _require_empty(tree, record)
    emptied = [place, tree.paths.archive(phase)]
    for part in record.parts:
        emptied += [tree.paths.artifacts(part), tree.paths.phase(part)]
    told = (
        f"the {record.kind} of {phase} is undone: {len(writes)} files are as they were, {len(removes)} are removed",
    )
    return Revision(record.kind, phase, Changes(writes, tuple(removes), emptied=tuple(emptied)), told)


def newest(tree: Tree, phase: str) -> str | None:
    """What `undo` would take back: its place in the archive."""
    places = _places(tree, phase)
    return places[-1][1] if places else None


def digest(content: bytes) -> str:
    """What a file's content is known by."""
    return hashlib.sha256(content).hexdigest()


def _places(tree: Tree, phase: str) -> list[tuple[int, str]]:
    """The revisions of a phase, oldest first."""
    root = f"{tree.paths.archive(layout.phase_name(phase))}/"
    names = {path.removeprefix(root).split("/")[0] for path in tree.files if path.startswith(root)}
    found = [(int(match[1]), f"{root}{match[0]}") for name in names if (match := _PLACE.fullmatch(name))]
    return sorted(one for one in found if f"{one[1]}/{RECORD}" in tree.files)


def _is_ours(tree: Tree, record: RevisionRecord, path: str) -> bool:
    """Whether nothing of a claude.md that a split made is new but phoenixd's own part.

    The split made it of the one of its phase, which stands as it was; else it is known without an earlier such part.
    """
    present, after = tree.files.get(path), record.after[path]
    if record.kind != "split" or present is None or path not in map(tree.paths.context, record.parts):
        return False
    source = tree.files.get(tree.paths.context(record.phase))
    bare = own_part.without(present)
    if source is not None and digest(source) == after:
        return bare == own_part.without(source)
    return after in {digest(bare + end) for end in (b"", b"\n", b"\n\n", b"\r\n", b"\r\n\r\n")}


def _require_empty(tree: Tree, record: RevisionRecord) -> None:
    for part in record.parts:
        root = f"{tree.paths.phase(part)}/"
        made = [one.path for one in tree.artifacts if one.path.startswith(root)]
        made += [path for path in tree.files if path.startswith(root) and path not in record.after]
        if made:
            raise BadProject(
                f"{made[0]} came after the {record.kind}, and undoing it would lose that",
                f"move it to {tree.paths.artifacts(record.phase)}, or keep the {record.kind}",
            )


def _state_without(tree: Tree, record: RevisionRecord) -> bytes:
    """The state as it is now, without the parts that go."""
    state = read_document(OrchestratorState, tree.files[tree.paths.state], tree.paths.state)
    phases = {name: one for name, one in state.phases.items() if name not in record.parts}
    current = record.phase if state.current_phase in record.parts else state.current_phase
    return render_document(state.model_copy(update={"phases": phases, "current_phase": current}))
