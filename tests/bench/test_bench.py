"""`./dev bench` still runs: what it prints is for people, and nothing here depends on how fast anything was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import death, links, orders
from tests.bench.heard import lost
from tests.bench.parts import PARTS
from tests.measured_page import PERFORMANCE, written

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="not run: no C compiler (apt-get install gcc libc6-dev)"
)
def test_a_race_of_two_ends_with_a_figure_for_each() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--only", "race", "--quick", "--agents", "2", "--kills", "2",
         "--seconds", "1", "--peers", "floor", "phoenixd"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    deaths, _, costs = done.stdout.partition("silent")
    for name in ("floor: asyncio + pidfd", "phoenixd"):
        (line,) = [line for line in deaths.splitlines() if line.startswith(f"{name} ")]
        assert " / " in line, line
        assert "never came back" not in line
        assert any(line.startswith(f"{name} ") for line in costs.splitlines())


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="not run: no C compiler (apt-get install gcc libc6-dev)"
)
def test_of_a_death_every_step_has_its_mark() -> None:
    (found,) = death.deaths(1, 1)

    assert set(found) == {*death.STEPS, *death.MEANWHILE}


def test_of_an_order_every_step_has_its_mark(short_tmp: Path) -> None:
    with links.talking(short_tmp, 2, 60, 1.0) as (stage, talkers):
        asked = orders.heard(orders.asking(stage, 1.0))
        assert talkers.stdin is not None
        assert talkers.stdout is not None
        print("go", file=talkers.stdin, flush=True)
        told = json.loads(talkers.stdout.readline())
        missing = lost(stage, told["deciding"])
        marks = orders.read_marks(stage.root / "marks")

    for order in orders.ORDERS:
        assert asked[order].spans
        for span in asked[order].spans:
            assert set(orders.steps(marks, *span)) == set(orders.STEPS)
    assert told["events"] > 0
    assert (told["unsent"], missing) == (0, 0)


def test_every_part_can_be_asked_for_and_help_says_what_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(["--help"])

    told = capsys.readouterr().out
    assert ended.value.code == 0
    for name, part in PARTS.items():
        assert f"  {name} " in told
        assert part.words in told


@pytest.mark.parametrize("name", ["race", "recovery"])
def test_a_measured_table_takes_the_place_of_the_one_before(name: str) -> None:
    told = PERFORMANCE.read_text()

    again = written(written(told, name, ["measured once"]), name, ["measured anew"])

    assert "measured anew" in again
    assert "measured once" not in again
    assert again.partition(f"<!-- {name} -->")[0] == told.partition(f"<!-- {name} -->")[0]
    with pytest.raises(ValueError, match="no place"):
        written("no markers", name, [])
