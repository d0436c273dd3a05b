"""The shape of the configuration: one frozen model for each table of TOML. Defaults are the core's."""

from __future__ import annotations

from pydantic import Field

from phoenixd.config.tables.agent import AgentTable, FenceTable
from phoenixd.config.tables.clinic import ClinicTable
from phoenixd.config.tables.daemon import (
    AlertsTable,
    BriefTable,
    DaemonTable,
    FleetTable,
    JobsTable,
    JournalTable,
    LoopsTable,
    RedactionTable,
)
from phoenixd.config.tables.sequence import SequenceTable
from phoenixd.config.tables.values import Table


class ConfigurationTable(Table):
    """All files together, after they were laid over each other."""

    daemon: DaemonTable = DaemonTable()
    alerts: AlertsTable = AlertsTable()
    fleet: FleetTable = FleetTable()
    brief: BriefTable = BriefTable()
    redaction: RedactionTable = RedactionTable()
    loops: LoopsTable = LoopsTable()
    journal: JournalTable = JournalTable()
    jobs: JobsTable = JobsTable()
    clinic: ClinicTable = ClinicTable()
    fence: FenceTable = FenceTable()
    defaults: AgentTable = AgentTable()
    agent: dict[str, AgentTable] = Field(default_factory=dict)
    sequence: dict[str, SequenceTable] = Field(default_factory=dict)
