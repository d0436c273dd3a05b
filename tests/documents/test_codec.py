"""The snapshot of an agent loses nothing, keeps no secret, and reads what older and newer versions wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Lease, PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.state import BackingOff, Running
from phoenixd.documents.codec import Undecodable
from tests.agents import agents, an_agent
from tests.journaled import dump_agent, load_agent


def without_environment(agent: Agent) -> Agent:
    return replace(agent, spec=replace(agent.spec, env=()))


@given(agents)
def test_an_agent_survives_the_round_trip(agent: Agent) -> None:
    text = dump_agent(agent)

    assert text.isascii()
    assert "\n" not in text
    assert load_agent(text) == without_environment(agent)
    assert type(load_agent(text).state) is type(agent.state)


def test_the_environment_is_never_stored() -> None:
    agent = an_agent()
    agent = replace(agent, spec=replace(agent.spec, env=(("API_KEY", "hunter2hunter2"),)))

    assert "hunter2" not in dump_agent(agent)
    assert "API_KEY" not in dump_agent(agent)
    assert load_agent(dump_agent(agent)).spec.env == ()


def test_an_older_snapshot_takes_defaults() -> None:
    data = json.loads(dump_agent(an_agent(restarts=3)))
    del data["restarts"], data["spec"]["liveness"], data["spec"]["stop"]["grace"]

    loaded = load_agent(json.dumps(data))

    assert loaded == an_agent()


def test_an_open_call_that_an_older_version_saved_is_known_without_its_work() -> None:
    lease = Lease("t1", 500.0, 100.0, tool="Bash", command="make", ticks=7, most=900.0)
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.GOAL, 0.0, 0.0)
    busy = an_agent(state=Running(run, Activity(True, 100.0, 100.0, leases=(lease,), stale_claim=50.0)))
    data = json.loads(dump_agent(busy))
    activity = data["state"]["activity"]
    del activity["claim_due"], activity["work"], data["spec"]["liveness"]["busy_max"]
    for name in ("tool", "command", "declared", "ticks", "most"):
        del activity["leases"][0][name]

    loaded = load_agent(json.dumps(data))

    assert isinstance(loaded.state, Running)
    assert loaded.state.activity.leases == (Lease("t1", 500.0, 100.0),)
    assert (loaded.state.activity.claim_due, loaded.state.activity.work) == (None, None)


def test_keys_of_a_newer_version_are_dropped() -> None:
    data = json.loads(dump_agent(an_agent(state=BackingOff(5.0, Mode.FRESH, PromptKind.GOAL))))
    data["colour"] = "red"
    data["state"]["mood"] = {"deep": [1, 2]}

    assert load_agent(json.dumps(data)) == an_agent(state=BackingOff(5.0, Mode.FRESH, PromptKind.GOAL))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("state", "name"), "levitating"),
        (("state", "name"), ["stopped"]),
        (("state",), None),
        (("desired",), "perhaps"),
        (("incarnation",), "7"),
        (("incarnation",), True),
        (("incarnation",), 7.5),
        (("spec", "argv"), "rm -rf /"),
        (("spec", "argv"), [1]),
        (("spec", "name"), None),
        (("crashes",), {}),
        (("session",), []),
    ],
)
def test_what_does_not_fit_is_refused(path: tuple[str, ...], value: Any) -> None:
    data = json.loads(dump_agent(an_agent()))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    with pytest.raises(Undecodable, match=path[0]):
        load_agent(json.dumps(data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_arbitrary_damage_is_refused_or_means_an_agent(data: st.DataObject) -> None:
    """Whatever stands in one place of the object: an Agent or Undecodable, never another error."""
    document = json.loads(dump_agent(an_agent(state=BackingOff(5.0, Mode.FRESH, PromptKind.GOAL))))
    place = data.draw(st.sampled_from([document, document["spec"], document["state"], document["spec"]["restart"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(json_values)

    try:
        loaded = load_agent(json.dumps(document))
    except Undecodable:
        return
    assert load_agent(dump_agent(loaded)) == loaded or "NaN" in json.dumps(document)


@given(st.text())
def test_text_that_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(Undecodable):
        load_agent(text)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(Undecodable):
        load_agent("[" * 100_000)
