"""What hearing makes of a fixed set of sessions, by digest; `python -m tests.documents.ledger_rules` writes it anew.

ledger.json is kept between two daemons, and has what the rules made of a transcript when it was heard. So a change of
these rules needs another VERSION, by which the transcript is heard anew. `--unreleased` says that no release has had
this one.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phoenixd.documents.kept_ledger import VERSION, render_kept
from phoenixd.drivers.transcripts.ledger import LedgerTail
from tests.documents.ledgers import FORMS
from tests.eval_brief.blind.random_sessions import EVENTS, random_session
from tests.eval_brief.blind.reading import read_sessions
from tests.eval_brief.blind.rendered import rendered
from tests.transcripts.samples import HERE as RECORDED

PLACE = Path(__file__).parent / "ledger_rules.json"
SAMPLES = Path(__file__).parents[1] / "eval_brief" / "blind" / "samples"
SEEDS = 6


def made_now() -> dict[str, str]:
    """The digest of what stands of each session, by its name."""
    return {name: hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] for name, found in _ledgers()}


def recorded() -> tuple[int, dict[str, str]]:
    """The version of the rules that were recorded, and the digests."""
    found = json.loads(PLACE.read_text())
    return found["version"], found["ledgers"]


def complaint(version: int, known: tuple[int, dict[str, str]], made: dict[str, str]) -> str:
    """What is to be done where the rules and their version do not go together; empty where they do."""
    changed = [name for name, digest in made.items() if known[1].get(name, digest) != digest]
    if version == known[0] and changed:
        return (
            f"what hearing makes of {', '.join(changed[:5])} is another, and a kept ledger has what it was before:"
            " raise VERSION in phoenixd/documents/kept_ledger.py, then run python -m tests.documents.ledger_rules"
        )
    if version != known[0] or known[1].keys() != made.keys():
        return "the sessions or the version are others than those on record: run python -m tests.documents.ledger_rules"
    return ""


def main(arguments: list[str]) -> int:
    made = made_now()
    told = complaint(VERSION, recorded(), made) if PLACE.exists() else ""
    if "raise" in told and "--unreleased" not in arguments:
        print(f"{told}\nor, where no release has had version {VERSION}: add --unreleased")
        return 1
    PLACE.write_text(json.dumps({"version": VERSION, "ledgers": made}, indent=1) + "\n")
    print(f"{PLACE} has {len(made)} sessions, version {VERSION}")
    return 0


def _ledgers() -> Iterator[tuple[str, Any]]:
    for path in sorted(RECORDED.glob("*.jsonl")):
        yield path.stem, _heard(path, path.name.split("-", 1)[0])
    sessions = [(one.id, one) for one in read_sessions(SAMPLES)]
    sessions += [(f"{cli} {seed}", random_session(cli, seed)) for cli in EVENTS for seed in range(SEEDS)]
    with tempfile.TemporaryDirectory(prefix="phoenixd-rules-") as directory:
        path = Path(directory) / "t.jsonl"
        for name, session in sessions:
            path.write_bytes(b"".join(rendered(session).transcript))
            yield name, _heard(path, session.cli)


def _heard(path: Path, cli: str) -> Any:
    tail = LedgerTail(str(path), FORMS[cli])
    while tail.read_slice():
        pass
    return json.loads(render_kept(tail.kept(lambda text: text)))["ledger"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
