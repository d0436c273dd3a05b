"""Each bug of `./dev proof plants` can be planted: a change of its place plants it anew, in the same commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.plant import Plant
from tests.proof.plants import PLANTS, Missing, plant

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("planted", PLANTS, ids=lambda planted: planted.name)
def test_the_text_of_every_plant_stands_where_it_says_and_its_tests_exist(planted: Plant, tmp_path: Path) -> None:
    for name in {name for name, _, _ in planted.edits}:
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    plant(tmp_path, planted.edits)
    files = [word.partition("::")[0] for word in planted.tests if word.startswith("tests/")]
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_a_plant_whose_text_has_gone_is_told_by_its_file_and_text(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("y = 1\n")
    with pytest.raises(Missing, match=r"code\.py holds 'x = 1' 0 times"):
        plant(tmp_path, (("code.py", "x = 1", "x = 2"),))
