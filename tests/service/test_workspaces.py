"""What operators and orchestrators ask of workspaces: one on a disk that hangs is in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.directories import Directories
from phoenixd.drivers.files.project import projects_of, read_project
from phoenixd.errors import NoAnswer
from phoenixd.service import daemon_service
from phoenixd.service.daemon_service import DaemonService
from tests.hung_disk import hung_mount


def service(tmp_path: Path, **given: Any) -> DaemonService:
    """One that has what is given, and nothing else that it would need."""
    needed = [one.name for one in fields(DaemonService) if one.init and one.default is one.default_factory is MISSING]
    rooms: dict[str, Any] = dict.fromkeys(needed)
    return DaemonService(**rooms | {"directories": Directories(None, tmp_path, tmp_path)} | given)


ASKS: dict[str, Callable[[DaemonService, str], Any]] = {
    "projects": lambda one, place: one.projects(place),
    "a project": lambda one, place: one.project(place, "shop"),
}


@pytest.mark.parametrize("what", ASKS)
async def test_a_workspace_on_a_disk_that_hangs_is_given_up_and_takes_no_thread_from_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """An orchestrator may ask as often as it likes, and each question took a thread for good until none was left."""
    monkeypatch.setattr(daemon_service, "PATIENCE", 0.5)
    asked = service(tmp_path, list_projects=projects_of, read_project=partial(read_project, hashed=False))
    with hung_mount(tmp_path / "dead") as dead:
        for _ in range(2):
            with anyio.fail_after(60), pytest.raises(NoAnswer, match="dead"):
                await ASKS[what](asked, str(dead))
        assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0


async def test_a_workspace_that_answers_is_read(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects" / "shop").mkdir(parents=True)
    asked = service(tmp_path, list_projects=projects_of, read_project=partial(read_project, hashed=False))
    assert await asked.projects(str(tmp_path)) == ("shop",)
    assert (await asked.project(str(tmp_path), "shop")).is_empty
