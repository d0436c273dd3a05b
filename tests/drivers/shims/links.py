"""The driver of links as tests have it: what it hears is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.ports.shims import ShimMessage
from tests.waiting import eventually

RUN = {"incarnation": 7, "run_id": "r-7", "pid": 4242, "start_time": 99, "started_at": "2026-11-21T10:00:00.123Z"}


class Links:
    """The driver with a sink that keeps everything."""

    def __init__(self, runtime_dir: Path, **options: Any) -> None:
        self.heard: list[ShimMessage] = []
        self.shims = SeqpacketShims(runtime_dir, self.heard.append, **options)

    async def heard_of(self, event: str) -> ShimMessage:
        return await eventually(
            lambda: next((message for message in self.heard if message.event == event), None), what=f"{event} was heard"
        )
