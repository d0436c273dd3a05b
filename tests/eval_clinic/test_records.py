"""Every record of both halves is whole, valid, small and names nothing of the machine that made it nor a secret; every
recipe does what it says, and the page has the figures of both halves as the rules give them today."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from tests.eval_clinic.__main__ import BLIND, RECORDS, main
from tests.eval_clinic.draw import divided
from tests.eval_clinic.live import RECIPES, live, load
from tests.measured_page import CLINIC, written

HALVES = {"open": RECORDS, "blind": BLIND}
WITHOUT = {half for half, place in HALVES.items() if not any(place.glob("*/record.json"))}
IDS = sorted(f"{half}/{path.parent.name}" for half, place in HALVES.items() for path in place.glob("*/record.json"))
CAUSES = {
    "context_length_exceeded", "hallucinated_tool", "invalid_tool_arguments", "ambiguous_instruction", "logic_error",
    "transient_error",
}  # fmt: skip
TREATMENTS = {
    "resume", "fresh", "park", "go_on", "advise", "lower_output", "summarise", "handoff", "ask", "abort",
}  # fmt: skip
FILES = {"record.json", "expected.json", "hooks.jsonl", "transcript.jsonl", "screen.txt", "stdout.txt", "stderr.txt"}
LARGEST = 60_000
ELSEWHERE = re.compile(
    r"/tmp/(ph|tmp|pytest)|/root\b|/home/(?!dev\b)\w|/work/(?!shop\b|status|pid|gone|claude\b|codex\b|gemini\b)\w"
    r"|127\.0\.0\.1:\d|localhost:\d|phx-rec-"
)
SECRETS = re.compile(
    r"\bsk-(?!test-)[\w-]{8}|\bAIza[\w-]{20}|\bAKIA\w{12}|\bgh[pousr]_\w{20}|\beyJ[\w-]{20,}\.|PRIVATE KEY"
)


EARLIER = ("2.1.330",)
"""Releases that were tested when records were made with them."""


def skip_without_records(half: str) -> None:
    if half in WITHOUT:
        pytest.skip(f"not run: there are no records of the {half} half in {HALVES[half].name}/")


def place(name: str) -> Path:
    half, _, record = name.partition("/")
    return HALVES[half] / record


def read(name: str, file: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((place(name) / file).read_text())
    return made


def recipes() -> dict[str, Any]:
    for half in HALVES.values():
        load(half)
    return RECIPES


@pytest.mark.parametrize("half", HALVES)
def test_a_half_has_sixty_failures_of_every_harness_and_twenty_healthy_ends(half: str) -> None:
    skip_without_records(half)
    mine = [name for name in IDS if name.startswith(half)]
    ill = [name for name in mine if read(name, "expected.json")["ill"]]

    assert len(ill) >= 60
    assert len(mine) - len(ill) >= 20
    assert {read(name, "record.json")["harness"] for name in ill} == {*PINS, "pydantic_ai"}


def test_no_record_lies_in_both_halves() -> None:
    names = [name.partition("/")[2] for name in IDS]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", IDS)
def test_a_record_is_whole_and_small(name: str) -> None:
    files = {path.name: path.stat().st_size for path in place(name).iterdir()}
    record = read(name, "record.json")

    assert set(files) <= FILES
    assert sum(files.values()) <= LARGEST
    assert record["id"] == place(name).name
    assert record["fault"]
    if record["harness"] == "pydantic_ai":
        assert record["kind"] == "pydantic_ai"
        assert record["recipe"] in recipes()
        return
    assert record["version"] in (*PINS[record["harness"]], *EARLIER)
    assert record["kind"] in ("terminal", "headless")
    assert record["mode"] in ("fresh", "resume")
    assert record["lived_s"] >= 0
    assert isinstance(record["asked_to_end"], bool)
    assert isinstance(record["limits"], dict)
    if record["exit"] is not None:
        assert (record["exit"]["code"] is None) != (record["exit"]["signal"] is None)
    assert {"screen.txt", "stdout.txt", "stderr.txt", "transcript.jsonl"} & set(files), "something is to be seen"
    at = [json.loads(line)["at"] for line in _lines(name, "hooks.jsonl")]
    assert at == sorted(at)
    for line in _lines(name, "hooks.jsonl"):
        assert json.loads(line)["body"]["hook_event_name"]
    # A CLI that dies, or whose disk is full, leaves its last line cut.
    for line in _lines(name, "transcript.jsonl")[:-1]:
        json.loads(line)


@pytest.mark.parametrize("name", IDS)
def test_what_is_expected_is_said_in_the_clinics_words(name: str) -> None:
    expected = read(name, "expected.json")

    assert set(expected) - {"also"} == {"ill", "cause", "detail", "retryable", "acceptable_treatments", "why"}
    assert expected["why"].endswith(".")
    assert set(expected["acceptable_treatments"]) <= TREATMENTS
    assert {expected["cause"], *expected.get("also", [])} <= CAUSES | {None}
    if expected["ill"]:
        assert expected["acceptable_treatments"]
        assert expected["detail"]
    else:
        assert (expected["cause"], expected["retryable"], expected["acceptable_treatments"]) == (None, False, [])


@pytest.mark.parametrize("unwanted", [ELSEWHERE, SECRETS], ids=["the machine that made it", "a secret"])
def test_no_record_names(unwanted: re.Pattern[str]) -> None:
    found = {
        f"{path.parent.name}/{path.name}: {match[0]!r}"
        for half in HALVES.values()
        for path in half.glob("*/*")
        if path.is_file() and path.parent.name != "__pycache__"
        for match in unwanted.finditer(path.read_text())
    }

    assert found == set()


@pytest.mark.parametrize("name", [name for name in IDS if "/pydantic_ai-" in name])
async def test_a_recipe_raises_live_what_its_record_says(name: str) -> None:
    record = read(name, "record.json")

    lived = await live(recipes()[record["recipe"]])

    assert (type(lived.error).__name__ if lived.error else None) == record["raises"]
    assert lived.messages or record["raises"] == "UserError"


@pytest.mark.parametrize("half", HALVES)
def test_the_page_has_the_figures_of_a_half_as_the_rules_give_them_today(
    half: str, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_records(half)
    flags = ["--blind"] if half == "blind" else []
    main(flags)

    told = capsys.readouterr().out.partition("\n\n")[2].splitlines()

    page = CLINIC.read_text(encoding="utf-8")
    assert page == written(page, half, told), f"run ./dev eval-clinic {' '.join([*flags, '--write'])}"


def test_the_draw_is_repeatable_and_gives_each_half_one_of_two() -> None:
    records = [
        {"id": f"{harness}-{fault}-{number}", "fault": fault, "harness": harness}
        for harness in PINS
        for fault in ("killed", "healthy, left", "529")
        for number in range(2)
    ]

    drawn = divided(records, 14, {})

    assert drawn == divided(list(reversed(records)), 14, {})
    for record in records[::2]:
        other = record["id"].removesuffix("0") + "1"
        assert drawn[record["id"]] != drawn[other]
        # What is drawn stays where it is, and a record that is added comes into the other half.
        assert divided(records, 15, {other: True}) == {**divided(records, 15, {other: True}), other: True}
        assert not divided(records, 15, {other: True})[record["id"]]


def _lines(name: str, file: str) -> list[str]:
    path = place(name) / file
    return path.read_text().splitlines() if path.exists() else []
