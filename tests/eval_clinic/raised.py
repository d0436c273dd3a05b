"""Failures of pydantic-ai, which are raised live, and diagnosed by the library's own rules, by type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

from phoenixd.clinic.configuration import ClinicConfig
from phoenixd.clinic.recovery import recoverable_run
from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.documents.clinic import Case
from tests.eval_clinic.live import RECIPES, Recipe, load
from tests.eval_clinic.reading import LIVE, Malformed, Record


def diagnosed(records: Iterable[Record], directory: Path) -> dict[str, Diagnosis | None]:
    """What the library says of each record that names a recipe, by the record's id; raises Malformed."""
    mine = [one for one in records if one.kind == LIVE]
    if not mine:
        return {}
    if not (directory / "recipes.py").exists():
        raise Malformed(f"{directory / 'recipes.py'}: it is to hold the recipes of {len(mine)} records")
    load(directory)
    found = {}
    for one in mine:
        name = str(json.loads((one.place / "record.json").read_text(encoding="utf-8")).get("recipe", ""))
        if name not in RECIPES:
            raise Malformed(f"{one.place / 'record.json'}: there is no recipe {name!r}")
        found[one.id] = asyncio.run(_diagnosed(RECIPES[name]))
    return found


async def _diagnosed(made: Recipe) -> Diagnosis | None:
    cases: list[Case] = []
    async with made() as attempt:
        config, options = ClinicConfig(on_case=cases.append), dict(attempt.options)
        if (settings := options.pop("model_settings", None)) is not None:
            # The library takes the settings that the agent has.
            attempt.agent.model_settings = settings
        try:
            await recoverable_run(attempt.agent, attempt.prompt, 0, config=config, **options)
        except asyncio.CancelledError:
            return None  # Somebody asked for its end.
        except Exception as error:  # noqa: BLE001 - what it raises is what is asked for.
            return _told(cases, error)
    return None


def _told(cases: list[Case], error: Exception) -> Diagnosis:
    if not cases:
        return Diagnosis(None, type(error).__name__, "unknown", 0.0)
    case = cases[-1]
    if case.diagnosis is None:
        return Diagnosis(None, case.detail or "", case.rule, 0.0)
    told = case.diagnosis
    # Below a half the library does not claim to know (C15).
    return Diagnosis(told.root_cause if told.is_sure else None, told.detail or "", case.rule, told.confidence)
