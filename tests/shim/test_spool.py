"""The spool's file: what an acknowledgement costs, and what a successor finds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def event(seq: int) -> bytes:
    return json.dumps({"event": "hook", "seq": seq, "text": "w" * 500}).encode()


def test_a_file_is_not_written_anew_for_each_acknowledgement_and_stays_small(
    tmp_path: Path, spool_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it was, with five calls of the system for each hook that decides."""
    path = tmp_path / "spool.jsonl"
    spool = spool_module.Spool(str(path))
    anew, sizes = list[str](), set[int]()
    rename = os.rename

    def counted(source: str, target: str) -> None:
        anew.append(target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", counted)
    for seq in range(1, 1001):
        spool.add(seq, event(seq))
        spool.acknowledge(seq)
        sizes.add(path.stat().st_size)

    assert 0 < len(anew) < 20
    assert max(sizes) < 2 * spool_module.EMPTIED_AT


def test_what_was_acknowledged_is_not_told_again_by_a_successor(tmp_path: Path, spool_module: Any) -> None:
    path = str(tmp_path / "spool.jsonl")
    spool = spool_module.Spool(path)
    for seq in range(1, 4):
        spool.add(seq, event(seq))
    spool.acknowledge(2)
    spool = spool_module.Spool(path)
    assert (spool.after(0)[0], spool.next_seq()) == (3, 4)
    spool.acknowledge(3)

    successor = spool_module.Spool(path)
    assert (successor.after(0), successor.next_seq()) == (None, 4)
