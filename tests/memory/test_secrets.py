"""What is secret of an agent is known over handoffs, restarts of the daemon and changes of the value (P79, F-ST-12)."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from phoenixd.core.actions import PlantCodes
from phoenixd.core.agent import Agent
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.spec import Kind
from phoenixd.memory.desks import CLEARED_AFTER
from phoenixd.memory.known_secrets import KnownSecrets
from phoenixd.memory.papers import Papers
from tests.hiding import VALUE, hidings, shows
from tests.start.places import Room, entry

LATER = "another-value-of-the-same-name"


def crew(room: Room, *agents: Agent) -> Papers:
    """A daemon that has just begun, with these agents in its fleet."""
    room.options = {"agents": lambda: agents}
    return room.restarted()


def generation(room: Room, number: int, value: str = VALUE) -> Agent:
    name = "a" if number == 1 else f"a-g{number}"
    spec = room.spec(kind=Kind.ORCHESTRATOR, seat="a", generation=number, name=name, env=(("MY_TOKEN", value),))
    return room.running(room.agent(spec))


@pytest.mark.parametrize("name", ["a", "a-g3"])
def test_after_a_handoff_and_a_restart_a_seats_texts_have_no_secrets(room: Room, name: str) -> None:
    papers = crew(room, generation(room, 3))
    assert papers.clean(name, f"I use {VALUE}.") == "I use [redacted]."


def test_a_successor_with_another_value_and_its_predecessor_hide_both(room: Room) -> None:
    """What one of them showed stands on the other's screen, in its papers and in its package."""
    papers = crew(room, generation(room, 1), generation(room, 2, LATER))
    for name in ("a", "a-g2"):
        assert papers.clean(name, f"{VALUE} {LATER}") == "[redacted] [redacted]"


async def test_a_value_that_was_replaced_stays_hidden(room: Room) -> None:
    first = room.running(room.agent(room.spec(env=(("MY_TOKEN", VALUE),))))
    papers = crew(room, first)
    await room.order(first)
    second = replace(first, spec=replace(first.spec, env=(("MY_TOKEN", LATER),)))
    await room.order(second)
    assert papers.clean("a", f"{VALUE} {LATER}") == "[redacted] [redacted]"


def test_a_successor_that_is_declared_later_is_asked_for_its_secrets_too(room: Room) -> None:
    agents = [generation(room, 1)]
    room.options = {"agents": lambda: tuple(agents)}
    papers = room.restarted()
    assert papers.clean("a", f"{VALUE} {LATER}") == f"[redacted] {LATER}"
    agents.append(generation(room, 2, LATER))
    papers.clean("a-g2", "")
    assert papers.clean("a", f"{VALUE} {LATER}") == "[redacted] [redacted]"


def test_what_others_read_has_nobodys_secrets(room: Room) -> None:
    """A leader's notes quote what its workers printed."""
    worker = room.agent(room.spec(name="w", env=(("W_TOKEN", LATER),)))
    papers = crew(room, generation(room, 1), worker)
    assert papers.clean("a", f"{VALUE} {LATER}") == f"[redacted] {LATER}"
    assert papers.clean_of_all("a", f"{VALUE} {LATER}") == "[redacted] [redacted]"


async def test_p79_hidden_secrets_stand_in_no_paper(room: Room) -> None:
    """state.json, the brief, what sessions are told, the logs: by prompt, by an edit of the file and by reasons."""
    for how, written in hidings(VALUE).items():
        agent = room.running(room.agent(room.spec(env=(("MY_TOKEN", VALUE),)), last_prompt=f"Use {written}."))
        papers = crew(room, agent)
        await papers.publish(agent, [])
        found = room.document()
        found["open_loops"] = [{"id": "x", "text": f"loop {written}", "added": "2026-11-20"}]
        found["note"] = {"deep": [written]}
        (room.state / "state.json").write_text(json.dumps(found))
        await papers.publish(agent, [entry("agent_exited", reason=f"it said {written}", text=written)])
        for path in room.state.rglob("*"):
            if path.is_file():
                text = path.read_text()
                spelled = [text, *(json.dumps(json.loads(line), ensure_ascii=False) for line in _lines(text))]
                assert [face for one in spelled for face in shows(one, VALUE)] == [], (how, path.name)


def _lines(text: str) -> list[str]:
    """Each document of JSON in a file."""
    try:
        return [json.dumps(json.loads(text))]
    except ValueError:
        return [line for line in text.splitlines() if line.startswith("{")]


async def test_what_an_agent_writes_into_its_papers_is_shown_without_secrets_at_once(room: Room) -> None:
    """Before anything was written anew, by a daemon that has just begun."""
    agent = room.agent(room.spec(env=(("MY_TOKEN", VALUE),)))
    papers = crew(room, agent)
    room.state.mkdir(parents=True)
    loops = [{"id": VALUE, "text": "one"}, {"text": f"{VALUE} again"}, f"the third: {VALUE}"]
    found = {"version": "2", "agent": "a", "open_loops": loops, f"odd {VALUE}": 1}
    (room.state / "state.json").write_text(json.dumps(found))
    (room.state / "brief.md").write_text(f"# Brief\n\nIt is {VALUE}.\n")
    told = await papers.open_loops("a")
    assert [VALUE in f"{loop.id} {loop.text}" for loop in told] == [False] * 3
    assert len({loop.id for loop in told}) == 3
    page = await papers.brief("a")
    assert page is not None
    assert "It is [redacted]." in page.text
    assert VALUE not in str(await papers.check_brief("a"))
    await papers.publish(room.running(agent), [])
    for path in room.state.rglob("*"):
        assert not path.is_file() or VALUE not in path.read_text(), path.name
    assert {loop.id for loop in await papers.open_loops("a")} == {loop.id for loop in told}


async def test_of_a_removed_agent_no_desk_stays_and_of_a_seat_that_goes_on_its_secrets_do(room: Room) -> None:
    agents = [generation(room, 1), generation(room, 2, LATER), room.agent(room.spec(name="w"))]
    room.options = {"agents": lambda: tuple(agents)}
    papers = room.restarted()
    for agent in agents:
        papers.publication.desks.desk_of(agent)
        papers.clean(agent.name, "")
    await papers.publish(room.running(agents[2]), [])
    del agents[1:]
    papers.forget_removed(["a-g2", "w"])
    papers.publication.desks.clear()
    assert "w" in papers.publication.desks._desks, "somebody may be at it still"
    room.clock.wall += CLEARED_AFTER
    papers.publication.desks.clear()
    assert set(papers.publication.desks._desks) == {"a"}
    assert set(papers.publication.desks._known) == {"a"}
    assert papers.briefing._agents == {}, "and no brief of it is ever due"
    assert papers.clean("a", f"{VALUE} {LATER}") == "[redacted] [redacted]"


async def test_of_agents_that_were_removed_no_name_stays_with_what_writes_their_papers(room: Room) -> None:
    """Each worker has a name of its own: in a year they would be a hundred thousand."""
    agents: list[Agent] = []
    room.options = {"agents": lambda: tuple(agents)}
    papers = room.restarted()
    for number in range(2):
        spec = room.spec(name=f"w{number}", kind=Kind.LOOP, harness="claude", resonance=ResonanceRules(enabled="on"))
        agents[:] = [replace(room.running(room.agent(spec)), resonance=Resonance(ordered="start"))]
        await papers.publish(agents[0], [])
        await papers.breakers.look(agents[0])
        await papers.briefing.generate(agents[0])
        await papers.resonance.plant(agents[0], PlantCodes(spec.name, 1, "start"))
        papers.publication.damaged(spec.name, "it was torn")
    agents.clear()
    papers.forget_removed([f"w{number}" for number in range(2)])
    room.clock.wall += CLEARED_AFTER
    papers.publication.desks.clear()
    papers._watch._forget_strangers()
    parts = (papers.resonance, papers.breakers, papers.briefing, papers._watch)
    left = {
        (type(part).__name__, place)
        for part in parts
        for place, kept in vars(part).items()
        if isinstance(kept, dict) and kept
    }
    assert left == set()


async def test_desk_and_secrets_of_a_removed_agent_stay_together_as_long_as_somebody_is_at_it(room: Room) -> None:
    agents = [room.agent(room.spec(name="w", env=(("MY_TOKEN", VALUE),)))]
    room.options = {"agents": lambda: tuple(agents)}
    papers = room.restarted()
    desk = papers.publication.desks.desk_of(agents[0])
    papers.clean("w", "")
    agents.clear()
    papers.forget_removed(["w"])
    room.clock.wall += CLEARED_AFTER
    async with desk.lock:
        papers.publication.desks.clear()
        assert "w" in papers.publication.desks._desks
        assert papers.publication.desks.known("w").values
    papers.publication.desks.clear()
    assert papers.publication.desks._desks == {}
    assert papers.publication.desks._known == {}


async def test_an_agent_whose_secrets_could_not_be_read_is_asked_for_them_again(room: Room) -> None:
    agent = room.agent(room.spec(name="w", env=(("MY_TOKEN", VALUE),)))
    publication = room.restarted().publication
    found, publication.desks.secrets_of = publication.desks.secrets_of, lambda agent: ()
    publication.desks.learn(agent, [LATER])
    publication.desks._learnt.clear()

    def unreadable(agent: object) -> tuple[str, ...]:
        raise OSError("no file")

    publication.desks.secrets_of = unreadable
    with pytest.raises(OSError, match="no file"):
        publication.desks.learn(agent)
    publication.desks.secrets_of = found
    publication.desks.learn(agent)
    assert VALUE in publication.desks.known("w").values


async def test_a_new_agent_under_the_name_of_a_seat_that_is_gone_has_its_own_secrets_hidden(room: Room) -> None:
    agents = [generation(room, 2)]
    room.options = {"agents": lambda: tuple(agents)}
    papers = room.restarted()
    assert papers.clean("a", VALUE) == "[redacted]"
    agents.clear()
    papers.forget_removed(["a-g2"])
    room.clock.wall += CLEARED_AFTER
    papers.publication.desks.clear()

    agents.append(generation(room, 1, LATER))
    assert papers.clean("a", LATER) == "[redacted]"


def test_no_value_is_lost_that_several_threads_tell_at_once() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    known = KnownSecrets()
    told = [f"a secret {number:03}" for number in range(400)]
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda value: known.take([value]), told))
    finally:
        sys.setswitchinterval(before)

    assert set(known.values) == set(told)
