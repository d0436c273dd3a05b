"""The example file names every key, with the default that really holds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import BaseModel

from phoenixd.config import json_schema, read_configuration
from phoenixd.config.tables import ConfigurationTable

EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "phoenixd.toml"


def leaves(table: BaseModel, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, BaseModel):
            found |= leaves(value, f"{prefix}{name}.")
        elif f"{prefix}{name}" not in ("agent", "sequence"):
            found[f"{prefix}{name}"] = value
    return found


def commented_keys() -> set[str]:
    table, found = "", set()
    for line in EXAMPLE.read_text().splitlines():
        if header := re.match(r"\[([a-z.]+)\]", line):
            table = header.group(1)
        elif key := re.match(r"# ([a-z_]+) = ", line):
            found.add(f"{table}.{key.group(1)}")
    return found


def test_the_example_is_accepted_and_equals_the_defaults(tmp_path: Path) -> None:
    configuration = read_configuration(EXAMPLE, tmp_path, {})

    assert configuration.problems == ()
    assert configuration.settings == ConfigurationTable()


def test_the_example_names_every_key() -> None:
    everything = leaves(ConfigurationTable())
    written = leaves(ConfigurationTable.model_validate(tomllib.loads(EXAMPLE.read_text())))
    set_in_file = {
        f"{table}.{key}" for table, key in _paths(tomllib.loads(EXAMPLE.read_text())) if f"{table}.{key}" in everything
    }

    assert written == everything
    assert {key for key, value in everything.items() if value is not None} - set_in_file == set()
    assert {key for key, value in everything.items() if value is None} - commented_keys() == set()


def test_every_commented_key_is_one_that_the_configuration_knows(tmp_path: Path) -> None:
    text = re.sub(r"^# ([a-z_]+ = )", r"\1", EXAMPLE.read_text(), flags=re.M)
    text = text.split("# [agent.builder]")[0]
    changed = tmp_path / "phoenixd.toml"
    changed.write_text(text)

    assert [str(problem) for problem in read_configuration(changed, tmp_path, {}).problems] == []


def test_every_line_of_the_example_explains_its_key() -> None:
    assignments = [line for line in EXAMPLE.read_text().splitlines() if re.match(r"[a-z_]+ = ", line)]

    assert [line for line in assignments if " # " not in line] == []


def test_the_json_schema_accepts_the_example() -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)

    assert list(validator.iter_errors(tomllib.loads(EXAMPLE.read_text()))) == []
    assert list(validator.iter_errors({"agent": {"a": {"colour": 1}}})) != []
    assert list(validator.iter_errors({"agent": {"a": {"liveness": {"stale": "soon"}}}})) != []


def _paths(table: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in table.items():
        found.append((prefix, key))
        if isinstance(value, dict):
            found += _paths(value, f"{prefix}.{key}".lstrip("."))
    return found
