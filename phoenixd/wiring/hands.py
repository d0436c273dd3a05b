"""What acts for the supervisor, and hears what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from anyio.abc import TaskGroup

from phoenixd.core.agent import Agent
from phoenixd.core.tasks import concerned
from phoenixd.documents.project import layout
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.drivers.cgroups.oom import OomCounters
from phoenixd.drivers.evidence.status_lines import StatusLines
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.files.reads import FileReads, FileWrites
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.drivers.git.branch import branch_of
from phoenixd.drivers.processes.strays import StraySweeper
from phoenixd.ports import Outside
from phoenixd.runtime.ack_watch import AckWatch
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.cut_answers import CutAnswers
from phoenixd.runtime.farewells import Farewells
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.key_watch import KeyWatch
from phoenixd.runtime.marker_watch import MarkerWatch
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.metering import Metering
from phoenixd.runtime.parting_words import PartingWords
from phoenixd.runtime.performer import Performer
from phoenixd.runtime.post_mortem import PostMortem
from phoenixd.runtime.recovery import relink, unfinished_openings, unfinished_texts
from phoenixd.runtime.sighting import Sighting
from phoenixd.runtime.sights import Sights
from phoenixd.runtime.strays import Strays
from phoenixd.runtime.turn_watch import TurnWatch
from phoenixd.runtime.untold_failures import UntoldFailures
from phoenixd.wiring.parts import Ground, Hands, House, World


async def lend_hands(ground: Ground, world: World, house: House, outside: Outside, tasks: TaskGroup) -> Hands:
    supervisor, clock, cgroups = ground.supervisor, ground.clock, world.cgroups
    find, tell, loop = supervisor.find, supervisor.tell, asyncio.get_running_loop()
    answerer = Answerer(find, world.terminal, world.shims, house.screens, house.transcripts, clock)
    messenger = Messenger(world.terminal, house.screens, house.transcripts, clock, find, tell)
    texts = unfinished_texts(await ground.journal.read(newest=True))
    for name, first in (await unfinished_openings(supervisor.everybody(), house.papers.opening_words)).items():
        texts[name] = (first, *texts.get(name, ()))
    for unfinished in texts.values():
        messenger.left_behind(unfinished)
    sweeper = StraySweeper(cgroups, lambda: world.shims.living().values())
    strays = Strays(sweeper, clock, find, tell, world.shims.swept)

    def greeted(name: str) -> None:
        tasks.start_soon(relink, name, find, world.shims, hearing, clock)

    sights = Sights(find, house.papers.clean, clock, known=house.papers.known_secrets)
    sighting = Sighting(sights, clock, house.transcripts.last_words_now, branch_of, house.papers.heard_before)
    status = StatusLines(ground.directories.agent_runtime)

    def metered(agent: Agent, line: StatusLine | None, used: Used | None) -> None:
        sighting.note(agent, line, used)
        house.sessions.note(agent, used)

    metering = Metering(find, tell, clock, house.transcripts, status, supervisor.everybody, metered)
    cut_answers = CutAnswers(find, tell, clock, house.transcripts)
    marker_watch = MarkerWatch(find, tell, clock, house.transcripts, supervisor.everybody)
    key_watch = KeyWatch(world.terminal, FileReads(), clock, tell, supervisor.everybody)

    untold = UntoldFailures(find, house.transcripts, house.screens)
    farewells = Farewells(find, world.terminal, house.screens)
    parting_words = PartingWords(world.terminal, house.papers.clean)
    post_mortem = PostMortem(find, tell, tasks, (untold, farewells, parting_words))

    def hook_heard(name: str, kind: str, payload: dict[str, Any]) -> None:
        messenger.heard(name, kind, payload)
        sights.heard(name, kind, payload)
        metering.heard(name, kind, payload)
        cut_answers.heard(name, kind, payload)
        marker_watch.heard(name, kind, payload)

    hearing = Hearing(
        world.shims,
        world.processes,
        ground.records,
        clock,
        find,
        tell,
        later=lambda seconds, call: loop.call_later(seconds, call),
        heard=hook_heard,
        greeted=greeted,
        answered=answerer.heard,
        memory=OomCounters(cgroups.leaf_of if cgroups is not None else lambda agent, incarnation: None),
        unswept=strays.hear,
        left_out=marker_watch.heard,
        looked_into=post_mortem.looks_into,
        explained=untold.explained,
    )
    performer = Performer(
        outside, find, tell, hearing, messenger, answerer, lambda: supervisor.fleet.tasks,
        lambda task, judged: concerned.told(supervisor.fleet, task, judged),
    )  # fmt: skip
    turn_watch = TurnWatch(
        find, house.transcripts, FileWrites(), performer.refusals, clock, supervisor.everybody
    )  # fmt: skip
    ack_watch = AckWatch(
        find, house.handover.seat_of, tell, clock, DirectoryChanges(layout.ACK), ProjectFiles(), supervisor.everybody
    )
    return Hands(
        messenger, hearing, strays, performer, metering, cut_answers, marker_watch, key_watch, turn_watch, ack_watch,
        sights,
    )  # fmt: skip
