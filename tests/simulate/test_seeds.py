"""What many seeds come to does not hang on how many processes play them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from tests.simulate.__main__ import main
from tests.simulate.seeds import each
from tests.simulate.simulation import Broke


@pytest.fixture(autouse=True)
def log_again() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def break_each_third(seed: str) -> str:
    if int(seed) % 3 == 0:
        try:
            raise RuntimeError("its cause")
        except RuntimeError as cause:
            raise Broke(f"seed {seed}: the story\nhas lines") from cause
    return f"seed {seed} held"


def told(jobs: int) -> list[str]:
    return [f"BROKEN {one}" if isinstance(one, Broke) else one for one in each(break_each_third, range(1, 8), jobs)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_seed_is_told_in_order_and_each_breach_whole_whoever_plays_them(jobs: int) -> None:
    assert told(jobs) == [
        "seed 1 held", "seed 2 held", "BROKEN seed 3: the story\nhas lines", "seed 4 held", "seed 5 held",
        "BROKEN seed 6: the story\nhas lines", "seed 7 held",
    ]  # fmt: skip


@pytest.mark.parametrize("what", [["--seats", "--hours", "0.05"], ["--storm", "--agents", "3", "--hours", "0.1"]])
def test_what_is_printed_does_not_hang_on_the_number_of_processes(
    what: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = (printed(capsys, *what, "--seeds", "3", "--verbose", "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two
    assert "0 broken" in one


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out
