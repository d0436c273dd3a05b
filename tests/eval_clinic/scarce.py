"""The drives in which the host lacks something: memory, room on the disk. They need root."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.eval_clinic.deaths import silent
from tests.eval_clinic.ends import Drive, settle
from tests.eval_clinic.room import Room
from tests.eval_clinic.written import files
from tests.full_disk import fill
from tests.stub.scenario import Step

GROUPS = Path("/sys/fs/cgroup/memory")


def out_of_memory(room: Room) -> None:
    _with_little_memory(room, lambda: room.headless(wait=False))


def out_of_memory_in_terminal(room: Room) -> None:
    _with_little_memory(room, room.in_terminal)


def _with_little_memory(room: Room, begin_in_it: Callable[[], None]) -> None:
    """In a control group whose memory something else of the agent's eats up, so that the kernel kills the CLI."""
    room.group = GROUPS / f"phx-rec-{os.getpid()}-{time.time_ns() % 10**6}"
    room.group.mkdir()
    try:
        room.answer(room.cli.shell("echo counted > till.txt; wc till.txt"), Step(hold="never"))
        begin_in_it()
        room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
        settle(room)
        for pid in map(int, (room.group / "cgroup.procs").read_text().split()):
            Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
        limit = int((room.group / "memory.usage_in_bytes").read_text()) + (32 << 20)
        (room.group / "memory.limit_in_bytes").write_text(str(limit))
        eater = subprocess.Popen([sys.executable, "-c", EATER, str(room.group)])
        try:
            room.wait_exit()
        finally:
            eater.kill()
            eater.wait()
        told = dict(line.split() for line in (room.group / "memory.oom_control").read_text().splitlines())
        room.limits = {"memory_max_bytes": limit, "oom_kills": int(told["oom_kill"])}
        settle(room, 0.5)
        room.kept = files(room)
    finally:
        room.end()
        time.sleep(0.5)
        room.group.rmdir()


EATER = """
import os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
eaten = bytearray(1 << 30)
time.sleep(60)
"""


def disk_full(kind: str) -> Drive:
    """The HOME is on a disk that is full from the second request on."""

    def drive(room: Room) -> None:
        options = "size=40m,mode=0700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "phoenixd-record", room.home], check=True)
        try:
            writes = replace(silent(room, "cp /bin/ls ~/till-report"), hold="full")
            room.answer(room.cli.shell("ls"), writes, Step(text="I could not write the report: no space is left."))
            if kind == "headless":
                room.headless(wait=False)
            else:
                room.in_terminal()
            room.stub.wait_for(lambda _: len(room.stub.main_requests()) > 1, timeout=120)
            fill(room.home)
            room.limits = {"disk_full": "/home/dev"}
            room.stub.open_gate("full")
            if kind == "headless":
                room.wait_exit()
            else:
                settle(room, 8)
            # The disk will be gone when the record is written.
            room.kept = files(room)
        finally:
            room.end()
            subprocess.run(["umount", "--lazy", room.home], check=True)

    return drive


def little_heap(room: Room) -> None:
    """A CLI that runs in node, with less of a heap than it needs."""
    room.env["NODE_OPTIONS"] = "--max-old-space-size=40"
    room.headless()
