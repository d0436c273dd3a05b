"""The files of an agent's incidents: what could be seen of a failure, and only the newest are kept."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Incident
from phoenixd.core.decision import Readings
from phoenixd.documents.heartbeat import heartbeat_record
from phoenixd.documents.incident import DIRECTORY, KEPT, render_incident, screen_lines
from phoenixd.memory.shelf import Shelf


def keep(
    shelf: Shelf, clean: Callable[[str], str], agent: Agent, incident: Incident, readings: Readings, screen: str
) -> tuple[int, str]:
    """Write an incident's file, and let go of the oldest; returns its lines of the screen, and its content."""
    lines = screen_lines(screen, clean)
    content = shelf.heartbeat()
    beat = heartbeat_record(content) if content is not None else None
    shelf.make_directory(DIRECTORY)
    record = render_incident(agent, incident, readings, lines, beat, clean)
    shelf.write(incident.file, record)
    shelf.keep_newest(f"{DIRECTORY}/*.json", KEPT)
    return len(lines), record.decode("utf-8", "replace")
