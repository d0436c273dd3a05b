"""A plan names what changes, and leaves alone what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.config import Configuration, after_restart, at_once, plan
from phoenixd.config.plan import Plan, changed_keys
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.rules import RestartRules
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind

SPEC = AgentSpec(name="a", argv=("x",), cwd="/", env=(("K", "secret-one"),), source="one.toml")


def test_added_changed_removed_and_unchanged() -> None:
    other = replace(SPEC, name="b")
    changed = replace(other, prompt="new", restart=RestartRules(max_crashes=9))

    made = plan({"a": SPEC, "b": other, "c": SPEC}, {"a": SPEC, "b": changed, "d": SPEC})

    assert [spec.name for spec in made.added] == ["a"]
    assert [(change.spec, change.keys) for change in made.changed] == [(changed, ("prompt", "restart.max_crashes"))]
    assert made.removed == ("c",)
    assert made.unchanged == ("a",)


def test_the_file_that_declares_an_agent_is_no_difference() -> None:
    assert plan({"a": SPEC}, {"a": replace(SPEC, source="two.toml")}) == Plan(unchanged=("a",))


def test_a_changed_variable_is_named_and_its_value_is_not() -> None:
    change = plan({"a": SPEC}, {"a": replace(SPEC, env=(("K", "secret-two"), ("L", "x")))}).changed[0]

    assert change.keys == ("env.K", "env.L")
    assert change.differences == ("env.K", "env.L")
    assert "secret" not in repr(change)


def test_a_change_tells_what_was_and_what_is_to_be() -> None:
    asked = AgentSpec(name="a", argv=("claude", "--api-key", "sk-ant-api03-" + "x1Y2" * 20), cwd="/")
    rules = RestartRules(max_crashes=9, period=5400.0, early_exit=0.5)
    made = replace(SPEC, argv=asked.argv, prompt="New\nwords " * 20, kind=Kind.LOOP, restart=rules, autostart=False)

    change = plan({"a": SPEC}, {"a": made}).changed[0]

    told = dict(one.split(": ", 1) for one in change.differences)
    assert told["restart.max_crashes"] == "5 -> 9"
    assert told["restart.period"] == "30m -> 1h30m"
    assert told["restart.early_exit"] == "unset -> 0.5s"
    assert told["kind"] == "resident -> loop"
    assert told["autostart"] == "true -> false"
    assert told["prompt"].startswith("unset -> New")
    assert told["prompt"].endswith("...")
    assert told["argv"].startswith('["x"] -> ["claude", "--api-key"')
    assert "x1Y2" not in repr(change.differences)


def test_equal_specifications_differ_in_no_key() -> None:
    assert changed_keys(SPEC, SPEC) == ()


def test_what_the_daemon_reads_at_its_start_alone_is_named_key_by_key_and_without_values() -> None:
    began = ConfigurationTable()
    tables = {
        "daemon": {"log_level": "debug"}, "alerts": {"command": ["/bin/tell", "secret-one"], "tries": 6},
        "fleet": {"max_starting": 3}, "jobs": {"at_once": 2}, "clinic": {"per_case": 1}, "defaults": {"cwd": "/"},
    }  # fmt: skip

    assert after_restart(began, ConfigurationTable.model_validate(tables)) == ("alerts.command", "daemon.log_level")
    assert after_restart(began, began) == ()


SAMPLES: dict[str, dict[str, object]] = {
    "daemon": {"log_level": "debug", "log_format": "json", "api_group": "ops"},
    "alerts": {
        "command": ["/bin/tell"], "at_once": 2, "timeout": "3s", "tries": 2, "brief_max_age": "2h",
        "webhook": "https://chat.example/hook", "webhook_authorization": {"file": "/etc/phoenixd/token"},
    },
    "fleet": {
        "max_starting": 3, "outage_min": 7, "outage_share": 0.9, "outage_window": "9s", "observe_retry": "9s",
        "resume_every": "1s",
    },
    "brief": {"max_chars": 2000, "happenings": 3, "git": False, "hour": 5.0, "stagger": "1m"},
    "redaction": {"marks": ["acme_"]},
    "loops": {"stale_days": 3, "resolved_days": 3},
    "journal": {"keep": "2d"},
    "jobs": {"keep": 9, "at_once": 7, "timeout": "7m"},
    "clinic": {
        "per_case": 7, "per_agent": 7, "per_fleet": 7, "model": "anthropic:NAME", "command": ["/bin/read"],
        "timeout": "7s", "questions_per_day": 7, "tokens_per_day": 7,
    },
}  # fmt: skip
"""Another value of each key of the daemon's own."""
OF_AGENTS = {"fence", "defaults", "agent", "sequence"}
"""Tables whose changes are told agent by agent."""
IN_FORCE = {"fleet", "jobs", "clinic"}
"""Those that `apply` puts in force."""


def changed_to(table: str, key: str) -> Configuration:
    settings = ConfigurationTable.model_validate({table: {key: SAMPLES[table][key]}})
    return Configuration(settings=settings, limits=FleetLimits(**settings.fleet.model_dump()))


def test_every_setting_of_the_daemons_own_has_a_sample() -> None:
    known = {name: set(type(getattr(ConfigurationTable(), name)).model_fields) for name in SAMPLES}
    assert known == {name: set(keys) for name, keys in SAMPLES.items()}
    assert set(ConfigurationTable.model_fields) - OF_AGENTS == set(SAMPLES)


@pytest.mark.parametrize(("table", "key"), [(table, key) for table, keys in SAMPLES.items() for key in keys])
def test_each_setting_of_the_daemons_own_is_told_once_as_in_force_by_apply_or_after_a_restart(
    table: str, key: str
) -> None:
    began, after = Configuration(), changed_to(table, key)
    waits = after_restart(began.settings, after.settings)
    applied = at_once(began.limits, began.jobs, began.clinic, after)

    assert (applied, waits) == (((f"{table}.{key}",), ()) if table in IN_FORCE else ((), (f"{table}.{key}",)))
    assert at_once(after.limits, after.jobs, after.clinic, after) == ()
