"""A plan names what changes, and leaves alone what does not."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.config import plan
from phoenixd.config.plan import changed_keys
from phoenixd.core.spec import AgentSpec, RestartRules

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
    assert "secret" not in repr(change)


def test_equal_specifications_differ_in_no_key() -> None:
    assert changed_keys(SPEC, SPEC) == ()
