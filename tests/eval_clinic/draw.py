"""Divides what was recorded and judged into an open and a closed half, by a draw that a seed repeats.

    python -m tests.eval_clinic.draw RAW OPEN CLOSED [--seed 14]

The strata are fault and harness: of two records of a stratum each half gets one. What lies in a half stays there, so
that records can be added.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODULE = "recipes.py"


def divided(records: list[dict[str, Any]], seed: int, placed: Mapping[str, bool]) -> dict[str, bool]:
    """Whether each record, by its id, is open; `placed` tells it of those that were divided before."""
    draw = random.Random(seed)
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in records:
        strata[record["fault"], record["harness"]].append(record["id"])
    is_open = {name: turn for ids in strata.values() for name in ids if (turn := placed.get(name)) is not None}
    given: Counter[tuple[str, bool, bool]] = Counter()
    for (fault, harness), ids in sorted(strata.items()):
        well = fault.startswith("healthy")
        before = [placed[name] for name in ids if name in placed]
        draw.shuffle(ids := sorted(ids))
        for name in ids:
            if name not in placed:
                # First by the stratum, then by all of the harness, then by chance.
                for ahead in (sum(before) * 2 - len(before), given[harness, well, True] - given[harness, well, False]):
                    if ahead:
                        turn = ahead < 0
                        break
                else:
                    turn = draw.random() < 0.5
                before.append(turn)
                is_open[name] = turn
            given[harness, well, is_open[name]] += 1
    return is_open


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("raw", "open", "closed"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    judged = sorted(path.with_name("record.json") for path in options.raw.glob("*/expected.json"))
    records = [json.loads(path.read_text()) for path in judged]
    placed = {path.parent.name: is_it for half, is_it in ((options.open, True), (options.closed, False))
              for path in half.glob("*/record.json")}  # fmt: skip
    is_open = divided(records, options.seed, placed)
    for half, wanted in ((options.open, True), (options.closed, False)):
        half.mkdir(parents=True, exist_ok=True)
        for record in records:
            if is_open[record["id"]] == wanted:
                shutil.rmtree(half / record["id"], ignore_errors=True)
                shutil.copytree(options.raw / record["id"], half / record["id"])
        source = (options.raw / MODULE).read_text()
        recipes = {record["recipe"] for record in records if "recipe" in record and is_open[record["id"]] == wanted}
        (half / MODULE).write_text(_with_only(source, recipes))
    print(json.dumps({name: sum(value == is_it for value in is_open.values())
                      for name, is_it in (("open", True), ("closed", False))}))  # fmt: skip


def _with_only(source: str, recipes: set[str]) -> str:
    """The module without the recipes of the other half: a recipe is what `@recipe` marks."""
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if not isinstance(node, ast.AsyncFunctionDef) or node.name in recipes or not node.decorator_list:
            continue
        begin, end = node.decorator_list[0].lineno - 1, node.end_lineno or node.lineno
        while end < len(lines) and not lines[end].strip():
            end += 1
        del lines[begin:end]
    return "".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
