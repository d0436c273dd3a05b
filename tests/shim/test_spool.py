"""The spool's file: what an acknowledgement costs, and what a successor finds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def event(seq: int) -> bytes:
    return json.dumps({"event": "hook", "seq": seq, "text": "w" * 500}).encode()


def test_p79_what_is_acknowledged_stands_in_no_file_and_the_file_is_not_written_anew_for_that(
    tmp_path: Path, spool_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it was, with five calls of the system for each hook that decides; and once each hook's words stayed."""
    path = tmp_path / "spool.jsonl"
    spool = spool_module.Spool(str(path))
    monkeypatch.setattr(os, "rename", None)
    for seq in range(1, 1001):
        spool.add(seq, event(seq))
        assert path.read_bytes().endswith(event(seq) + b"\n")
        spool.acknowledge(seq)
        assert path.read_bytes() == b'{"acked":%d}\n' % seq


def test_f_st_3_a_shim_that_is_killed_while_it_empties_the_file_leaves_nothing_to_be_told_again(
    tmp_path: Path, spool_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spool.jsonl"
    spool = spool_module.Spool(str(path))
    for seq in range(1, 4):
        spool.add(seq, event(seq))
    monkeypatch.setattr(os, "ftruncate", killed)
    with pytest.raises(KeyboardInterrupt):
        spool.acknowledge(3)
    assert b"wwww" in path.read_bytes()

    successor = spool_module.Spool(str(path))
    assert (successor.after(0), successor.next_seq()) == (None, 4)
    assert b"wwww" not in path.read_bytes()


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_where_it_cannot_be_emptied_in_its_place_it_is_written_anew(
    tmp_path: Path, spool_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spool.jsonl"
    spool = spool_module.Spool(str(path))
    spool.add(1, event(1))
    monkeypatch.setattr(os, "pwrite", failing)

    spool.acknowledge(1)

    assert json.loads(path.read_bytes()) == {"acked": 1}


def failing(*_: object) -> int:
    raise OSError(28, "No space left on device")


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
