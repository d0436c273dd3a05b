"""A plan names what changes, and leaves alone what does not."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.config import after_restart, plan
from phoenixd.config.plan import changed_keys
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.spec import AgentSpec, Kind, RestartRules

SPEC = AgentSpec(name="a", argv=("x",), cwd="/", env=(("K", "secret-one"),), source="one.toml")


def test_added_changed_removed_and_unchanged() -> None:
    other = replace(SPEC, name="b")
    changed = replace(other, prompt="new", restart=RestartRules(max_crashes=9))

    made = plan({"a": SPEC, "b": other, "c": SPEC}, {"a": SPEC, "b": changed, "d": SPEC})

    assert [spec.name for spec in made.added] == ["a"]
    assert [(change.spec, change.keys) for change in made.changed] == [(changed, ("prompt", "restart.max_crashes"))]
    assert made.removed == ("c",)
    assert made.unchanged == ("a",)
    assert not made.is_empty


def test_the_file_that_declares_an_agent_is_no_difference() -> None:
    assert plan({"a": SPEC}, {"a": replace(SPEC, source="two.toml")}).is_empty


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
