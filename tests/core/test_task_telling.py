"""Who asked for a task is told of its end, once, when it can be (E58)."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Deliver
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested
from phoenixd.core.events.runs import AgentStarted, Delivered, NotDelivered
from phoenixd.documents.hooks import hook_of
from tests.core.story import claude
from tests.core.workers import Works, boss


def idle(works: Works) -> Works:
    works.works()
    works.hook("stop")
    return works


def test_e58_the_one_who_asked_is_told_in_one_line_at_its_next_idle_moment() -> None:
    works = Works()
    works.works()
    works.ask(asked_by="shop", project="shop", plan="3")
    works.finishes("t1")
    assert works.typed() == []
    works.hook("stop")
    assert works.typed() == ["phoenixd: task t1 (plan 3) is done; report: /tasks/report.md"]
    works.tell(Delivered("shop", 1, works.of(Deliver)[-1].message_id, "prompt-submit"))
    assert works.task("t1").told == "told"
    assert works.fleet.tasks.open == ()
    works.hook("stop")
    works.wait(3600)
    assert len(works.typed()) == 1


def test_several_ends_are_one_message() -> None:
    works = Works()
    works.works()
    works.ask(asked_by="shop", tries=1)
    works.ask(asked_by="shop", writes=False)
    works.finishes("t1", 4)
    works.finishes("t2")
    works.hook("stop")
    assert len(works.of(Deliver)) == 1
    assert [line.split()[2:5] for line in works.typed()] == [["t1", "is", "failed,"], ["t2", "is", "done;"]]


def test_what_could_not_be_typed_is_typed_later_and_what_an_agent_took_is_not_typed_again() -> None:
    works = idle(Works())
    works.ask(asked_by="shop")
    works.finishes("t1")
    first = works.of(Deliver)[-1]
    works.tell(NotDelivered("shop", 1, first.message_id, "a dialog opened"))
    works.wait(29)
    assert len(works.of(Deliver)) == 1
    works.wait(2)
    assert len(works.of(Deliver)) == 2
    works.hook("prompt-submit", text=first.text)
    assert works.task("t1").told == "told"
    assert works.agent.last_prompt is None, "it is no task that a person gave"


def test_an_end_waits_for_an_agent_that_is_down_and_for_none_that_is_gone() -> None:
    works = idle(Works())
    works.ask(asked_by="shop")
    works.stop()
    works.exited(signal=15)
    works.finishes("t1")
    works.wait(3600)
    assert works.typed() == []
    idle(works)
    assert len(works.typed()) == 1


def test_the_end_of_a_task_whose_asker_was_removed_meanwhile_is_told_to_nobody() -> None:
    works = Works(boss(), claude("b"))
    works.ask(asked_by="b")
    works.finishes("t1")
    works.tell(AgentWithdrawn("b"))

    assert "b" not in works.fleet.agents
    assert (works.typed(), works.task("t1").told, works.fleet.tasks.open) == ([], "nobody", ())


def test_an_operators_task_is_told_to_nobody() -> None:
    works = idle(Works())
    works.ask()
    works.finishes("t1")
    assert (works.typed(), works.task("t1").told, works.fleet.tasks.open) == ([], "nobody", ())


def test_whoever_holds_the_seat_is_told_also_of_what_an_earlier_generation_asked_for() -> None:
    works = Works()
    works.ask(asked_by="shop")
    works.finishes("t1")
    seat = works.fleet.seats["shop"]
    heir = replace(works.agent.spec, name="shop-g2", generation=2)
    agents = {**works.fleet.agents, "shop-g2": replace(works.agent, spec=heir)}
    works.fleet = replace(works.fleet, agents=agents, seats={"shop": replace(seat, generation=2, fenced=1)})
    works.tell(StartRequested("shop"))
    agent = works.fleet.agents["shop-g2"]
    assert agent.run is not None
    works.tell(AgentStarted("shop-g2", agent.run.incarnation, agent.run.run_id, 7, 70))
    begun = {"session_id": agent.run.session_id, "source": "startup"}
    works.tell(hook_of("shop-g2", agent.run.incarnation, "session-start", **begun))
    works.tell(hook_of("shop-g2", agent.run.incarnation, "stop"))
    assert [one.agent for one in works.of(Deliver)] == ["shop-g2"]
