"""Plays the corpus of readers: what a model or a program printed about a failure, and what of that may have an effect.

The corpus is flat, for no document that its author read fixes the envelope: an answer that is a JSON object is wrapped
into ours, a word at a time, so that doubled keys stay doubled. All else is read as it was printed.
"""

from __future__ import annotations

import base64
import json
import lzma
from dataclasses import dataclass, field

from phoenixd.core.treatment.examined import Opinion, bounded, why_not_believed
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic_answer import AnswerRefused, read_answer
from phoenixd.drivers.writers.command import unwrapped
from tests.blind.tables import Outcome, Table

DIAGNOSIS, TEXTS = ("root_cause", "explanation", "confidence"), ("modified_prompt", "modified_system_prompt")
PRESCRIPTION = ("action", *TEXTS)


@dataclass(slots=True)
class _Found:
    """used: by the corpus's own names, what of the answer may have an effect."""

    label: str
    opinion: Opinion | None = None
    why: str = ""
    used: set[str] = field(default_factory=set)


def play(case: Table) -> Outcome:
    """Read the answer as the daemon does, and say what is used that may not be, or dropped that should be used."""
    found = _read(case)
    wrong, dropped = [], []
    allowed = {case["expected"], *case.get("also_allowed", ())}
    if found.label not in allowed:
        told = wrong if found.opinion is not None and "refused" in allowed else dropped
        told.append(f"{found.label}, not {' or '.join(sorted(allowed))}: {found.why}")
    if surplus := found.used - {*case.get("fields", ()), "action"}:
        wrong.append(f"it uses {', '.join(sorted(surplus))}")
    left = case.get("action") or ""
    if found.opinion is not None and "action" in found.used and found.opinion.action != left:
        wrong.append(f"its action is {found.opinion.action!r}, not {left!r}")
    said = f"{found.why}\n{found.opinion}"
    wrong += [
        f"it shows {text!r}" for text in case.get("never_appears", ()) if text in said or repr(text)[1:-1] in said
    ]
    return Outcome(case["id"], false_kill=tuple(wrong), missed=tuple(dropped))


def _read(case: Table) -> _Found:
    # What the reader was shown and may not say is a secret of the agent's environment.
    secrets = tuple(text for text in case.get("never_appears", ()) if text in case.get("shown", ""))
    try:
        opinion = bounded(read_answer(_printed(case), case.get("original_prompt", ""), Cleaner(secrets)))
    except AnswerRefused as refused:
        return _Found("refused", why=str(refused))
    if why := why_not_believed(opinion):
        # The rules alone decide, and what it guessed stands in the Case.
        return _Found("reduced", opinion, why, {*DIAGNOSIS})
    used = {*DIAGNOSIS, *(("action",) if opinion.action else ())}
    if opinion.note:
        used |= {name for name in TEXTS if name in case.get("fields", ())} or {TEXTS[0]}
    wanted = {name for name in PRESCRIPTION if _members(case).get(name) is not None}
    return _Found("taken" if wanted <= used else "reduced", opinion, used=used)


def _printed(case: Table) -> str:
    """What the program printed, in our envelope where it is one JSON object."""
    text = unwrapped(_bytes(case).decode("utf-8", "replace")).text
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return text
    if not isinstance(pairs, _Pairs):
        return text
    parts: dict[str, list[str]] = {"diagnosis": [], "prescription": [], "": []}
    for key, value in pairs:
        part = "diagnosis" if key in DIAGNOSIS else "prescription" if key in PRESCRIPTION else ""
        parts[part].append(f"{json.dumps(key)}: {_dumped(value)}")
    shapes = [f'"{name}": {{{", ".join(found)}}}' for name, found in parts.items() if name and found]
    return f"{{{', '.join([*shapes, *parts['']])}}}"


class _Pairs(list[tuple[str, object]]):
    """An object with its keys as they stand there, doubled ones too."""


def _dumped(value: object) -> str:
    if isinstance(value, _Pairs):
        return f"{{{', '.join(f'{json.dumps(key)}: {_dumped(one)}' for key, one in value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_dumped, value))}]"
    return json.dumps(value)


def _members(case: Table) -> dict[str, object]:
    try:
        found = json.loads(_bytes(case).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _bytes(case: Table) -> bytes:
    """The answer's bytes. The corpus keeps ten megabytes of one word as xz."""
    if "answer_xz_base64" in case:
        return lzma.decompress(base64.b64decode(case["answer_xz_base64"]))
    if "answer_base64" in case:
        return base64.b64decode(case["answer_base64"])
    said: str = case["answer"]
    return said.encode("utf-8", "surrogatepass")
