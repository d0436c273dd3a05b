"""The start order. Read it from top to bottom: each part is made of parts that stand above it.

Some parts speak to what is made after them, and are told so once that is there: the links speak to the hearing, the
papers of markers to the publisher, and the supervisor, which holds the fleet and so comes early, is connected to those
that act, remember and publish.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from anyio.abc import TaskGroup

from phoenixd.config import Configuration
from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.fleet import TerminalEnded
from phoenixd.core.unheard import unheard
from phoenixd.directories import Directories
from phoenixd.drivers.evidence.signs import HEARTBEAT, EvidenceFiles
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.notify.notifier import Notifier
from phoenixd.log_file import LogFile
from phoenixd.ports.journal import StoredEntry
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.openings import openings
from phoenixd.runtime.publisher import Publisher
from phoenixd.runtime.rounds import Rounds
from phoenixd.runtime.tellings import Tellings
from phoenixd.runtime.ways import Ways
from phoenixd.wiring.closing import Ending
from phoenixd.wiring.face import make_service
from phoenixd.wiring.ground import find_world, lay_ground
from phoenixd.wiring.hands import lend_hands
from phoenixd.wiring.house import build_house
from phoenixd.wiring.looks import periodic_looks
from phoenixd.wiring.outside import open_outside, routes
from phoenixd.wiring.parts import Daemon


async def compose(
    directories: Directories,
    configuration: Configuration,
    journal: SqliteJournal,
    tasks: TaskGroup,
    ending: Ending,
    lines: LogFile | None,
) -> Daemon:
    """Make every part, each of those above it. lines: the daemon's log, where it is a file of ours."""
    settings = configuration.settings
    ground = lay_ground(directories, configuration, journal)
    supervisor = ground.supervisor
    world = await find_world(ground, ending.owned.owner.id)
    shims = world.shims
    keeper = EpochKeeper(
        ground.epochs, ground.clock, supervisor.tell, shims.tell_epoch, tell_at_once=shims.tell_epoch_at_once
    )
    house = build_house(ground, world, keeper, ending.owned.owner.id)

    def seen(event: EvidenceSeen) -> None:
        supervisor.tell(event)
        hands.metering.seen(event)

    evidence = EvidenceFiles(directories.state, seen, DirectoryChanges(HEARTBEAT), house.variables.transcript_of)
    tellings = Tellings(supervisor.tell)
    notifier = Notifier(routes(settings.alerts, world.processes, tellings.hear), time.time)
    fleet = supervisor.fleet
    tellings.begin(notifier.ways, [way for way in fleet.ways if unheard(fleet, way).alerts])
    ways = Ways(lambda: supervisor.fleet, ground.clock.at, supervisor.tell, notifier)
    notifier.hear, notifier.leave_out = ways.hear, ways.leave_out
    outside = open_outside(ground, world, house, evidence, notifier)
    hands = await lend_hands(ground, world, house, outside, tasks)
    publisher = Publisher(house.papers, evidence, ground.clock, supervisor.tell)
    house.papers.resonance.catch_up = publisher.catch_up
    rounds = Rounds(ground.clock, periodic_looks(ground, world, house, ways, lines))
    service = make_service(ground, world, house, outside, hands, ending, tasks)

    def listen(entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        publisher.hear(entries, changed)
        hands.key_watch.hear(changed)
        hands.turn_watch.hear(changed)
        hands.ack_watch.hear(changed)
        house.sessions.hear(changed)
        house.plans.hear()
        for name, row in openings(entries, changed):
            hands.sights.opens(name, row)
            # What has no hooks is looked at where its state changes.
            hands.metering.note(name)
        told = {stored.entry.agent for stored in entries if stored.entry.agent is not None}
        if gone := [name for name in told if supervisor.find(name) is None]:
            for part in (hands.sights, hands.messenger, hands.turn_watch, publisher, house.papers):
                part.forget_removed(gone)
        house.handover.drafting.turned()
        service.turned(entries, changed)

    world.shims.speak_to(hands.hearing.hear)
    world.terminal.speak_to(lambda: supervisor.tell(TerminalEnded()))
    supervisor.connect(
        dispatch=hands.performer.submit,
        clean=house.papers.clean,
        remember=keeper.keep,
        listener=listen,
        on_saved=service.ring,
        on_crowded=world.shims.hold_back,
        prepare=hands.performer.prepare,
        on_long_crowded=world.shims.read_each,
    )
    return Daemon(
        ground, world, house, keeper, outside, hands, evidence, notifier, ways, publisher, rounds, service, ending
    )
