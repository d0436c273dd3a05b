"""What failed lately, runs that are being ended, and a journal that is older than the world."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.events.fleet import JournalBehind, LimitsDeclared
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import ShimLost, TreeGone, TreeLingers
from phoenixd.core.spec import FleetLimits, Kind
from phoenixd.core.treatment.authority import AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.examined import ReaderRules
from tests.core.fleets.situation import At, at
from tests.core.happening import began, fails, hook
from tests.core.story import EPOCH, Story, claude, spec


def failing() -> Iterator[At]:
    """What failed lately: a case, a history, an account or a service that others share."""
    for times in (1, 3):
        story = Story(claude(), claude("b"))
        for _ in range(times):
            story.works()
            story.pass_over(40)
            story.exited(1)
        yield at(f"it crashed, {times}", story)
        story.works()
        yield at(f"it works after a crash, {times}", story)
    for failure, status in (("limit", 429), ("overload", 529), ("login", 401), ("request", 400), ("full", 400)):
        story = Story(claude(), claude("b"), claude("c"))
        story.works()
        story.tell(fails(failure, status)(story.agent))
        yield at(f"its turn failed: {failure}", story)
    shared = Story(claude(), claude("b"), claude("c"))
    for name in ("a", "b", "c"):
        shared.tell(StartRequested(name))
        shared.tell(began(shared.fleet.agents[name]))
        for kind in ("session-start", "prompt-submit"):
            shared.tell(hook(kind, text="go", source="startup")(shared.fleet.agents[name]))
        shared.tell(fails("overload", 529)(shared.fleet.agents[name]))
    yield at("three are in an outage", shared)
    read = Story(claude())
    read.tell(LimitsDeclared(FleetLimits(), clinic=Caps(reader=ReaderRules("test:reader"))))
    read.works()
    read.pass_over(400)
    read.exited(1)
    yield at("a model reads its failure", read)
    read.respawned().works()
    yield at("a model reads its last failure", read)
    offered = Story(claude(clinic=ClinicRules(AuthorityRules(advise="propose", resume="propose", fresh="propose"))))
    for _ in range(2):
        if offered.agent.last_exit is not None:
            offered.respawned()
        offered.works()
        offered.pass_over(400)
        offered.exited(1)
    yield at("a treatment is proposed", offered)
    loop = Story(spec(kind=Kind.LOOP))
    loop.start()
    loop.started()
    yield at("an iteration goes on", loop)
    loop.work = "late"
    loop.pass_over(60)
    loop.exited(0)
    yield at("an iteration is measured", loop)


def ending() -> Iterator[At]:
    """Runs that are being ended, or that may have ended unnoticed."""
    story = Story(claude()).works()
    story.tell(ShimLost("a", 1))
    yield at("its shim died", story)
    story.tell(TreeGone("a", 1, unproven=True, unread=(700,)))
    yield at("its end is not proven", story, after=20)
    story.wait(90)
    story.tell(TreeGone("a", 1, unproven=True, unread=(700,)))
    yield at("its end is not proven for long", story, after=20)
    for kind in (Kind.RESIDENT, Kind.LOOP):
        hung = Story(claude(kind=kind)).works()
        hung.wait(1_800)
        yield at(f"a {kind} that hung is being ended", hung)
        hung.exited(None, 15)
        yield at(f"a {kind} hung", hung)
    left = Story(claude()).works()
    left.stop()
    left.wait(60)
    yield at("it does not end", left)
    left.tell(TreeLingers("a", 1, (300,)))
    yield at("some of it does not end", left, after=60)
    late = Story(claude())
    late.start()
    late.started()
    late.wait(120)
    yield at("it started, and tells nothing", late)
    person = Story(claude(kind=Kind.LOOP)).works()
    person.hook("session-end", source="logout")
    person.exited(0)
    yield at("a loop ended at its terminal", person, after=1)


def behind() -> Iterator[At]:
    """What was found of it where the journal was older than the world."""
    older, newer = (SeenRun(n, f"run-{n}", "s", "resume", 30, 1, EPOCH - 900, 10 * n, "b") for n in (2, 3))
    traces = {
        "it lives, and nobody knows": Trace("a", None, "runs", newer, newer, 3),
        "it is wanted, and died": Trace("a", Wish("running", 18), "idle", None, newer, 3),
        "it was stopped": Trace("a", Wish("stopped", 18), "none", None, newer, 3),
        "its shim is silent": Trace("a", Wish("running", 18), "silent", None, older, 2),
        "nothing is known": Trace("a"),
    }
    for what, trace in traces.items():
        story = Story(claude()).works()
        story.tell(JournalBehind("it was put back", World("b", 15, 20, (trace,)), (claude(),)))
        yield at(f"an old journal: {what}", story, after=60)
