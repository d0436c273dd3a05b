"""The shim on a full disk: memory has what the files lack, and what stands in the files stays whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.full_disk import fill, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "256k") as mount:
        yield mount


def event(seq: int) -> bytes:
    return json.dumps({"event": "hook", "seq": seq, "text": "w" * 2000}).encode()


def test_f_st_3_a_spool_on_a_full_disk_tears_no_line_and_has_it_all_when_there_is_room(
    disk: Path, spool_module: Any
) -> None:
    path = str(disk / "spool.jsonl")
    spool = spool_module.Spool(path)
    for seq in range(1, 11):
        spool.add(seq, event(seq))
    fill(disk)
    for seq in range(11, 41):
        spool.add(seq, event(seq))
    kept = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    assert [line["seq"] for line in kept if "seq" in line][:10] == list(range(1, 11)), "what it held it holds"
    assert spool_module.Spool(str(path)).after(9)[0] == 10

    (disk / "filler").unlink()
    spool.add(41, event(41))
    kept = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    assert [line["seq"] for line in kept if "seq" in line] == list(range(1, 42))
    spool.acknowledge(41)
    assert spool_module.Spool(path).after(0) is None
