"""What the daemon is made of, in the order in which it is made."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.config import Configuration
from phoenixd.directories import Directories
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.evidence.signs import EvidenceFiles
from phoenixd.drivers.files.epoch import EpochFiles
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.notify.notifier import Notifier
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.drivers.shims.records import ExitRecords
from phoenixd.drivers.systemd import ServiceManager
from phoenixd.drivers.tmux.terminal import TmuxTerminal
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.drivers.writers.reader import ClinicReader
from phoenixd.harness.screens import Screens
from phoenixd.memory.handover import Handover
from phoenixd.memory.held_sessions import HeldSessions
from phoenixd.memory.kept_plans import KeptPlans
from phoenixd.memory.papers import Papers
from phoenixd.memory.sharing import SharedMemory
from phoenixd.ports import Outside
from phoenixd.runtime.ack_watch import AckWatch
from phoenixd.runtime.cut_answers import CutAnswers
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.key_watch import KeyWatch
from phoenixd.runtime.marker_watch import MarkerWatch
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.metering import Metering
from phoenixd.runtime.performer import Performer
from phoenixd.runtime.publisher import Publisher
from phoenixd.runtime.rounds import Rounds
from phoenixd.runtime.sights import Sights
from phoenixd.runtime.strays import Strays
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.turn_watch import TurnWatch
from phoenixd.runtime.ways import Ways
from phoenixd.service.daemon_service import DaemonService
from phoenixd.start.starter import Starter
from phoenixd.start.variables import Variables
from phoenixd.wiring.closing import Ending


@dataclass(frozen=True, slots=True)
class Ground:
    """What needs nothing else. The supervisor has the fleet as it was saved; nothing turns before it is run."""

    directories: Directories
    configuration: Configuration
    journal: SqliteJournal
    manager: ServiceManager
    clock: SupervisedClock
    records: ExitRecords
    epochs: EpochFiles
    supervisor: Supervisor


@dataclass(frozen=True, slots=True)
class World:
    """What runs on this machine: the links to the shims, the terminal, the control groups, the processes."""

    shims: SeqpacketShims
    terminal: TmuxTerminal
    cgroups: CgroupTree | None
    processes: Processes


@dataclass(frozen=True, slots=True)
class House:
    """What a run starts with, and what is kept of its agent."""

    variables: Variables
    transcripts: TranscriptFiles
    papers: Papers
    starter: Starter
    screens: Screens
    handover: Handover
    sessions: HeldSessions
    plans: KeptPlans
    shared: SharedMemory
    reader: ClinicReader


@dataclass(frozen=True, slots=True)
class Hands:
    """What acts for the supervisor, and hears what came of it."""

    messenger: Messenger
    hearing: Hearing
    strays: Strays
    performer: Performer
    metering: Metering
    cut_answers: CutAnswers
    marker_watch: MarkerWatch
    key_watch: KeyWatch
    turn_watch: TurnWatch
    ack_watch: AckWatch
    sights: Sights


@dataclass(frozen=True, slots=True)
class Daemon:
    """The parts that live as long as the daemon does, in the order in which they were made."""

    ground: Ground
    world: World
    house: House
    keeper: EpochKeeper
    outside: Outside
    hands: Hands
    evidence: EvidenceFiles
    notifier: Notifier
    ways: Ways
    publisher: Publisher
    rounds: Rounds
    service: DaemonService
    ending: Ending
