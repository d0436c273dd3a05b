"""The places that a configuration names are looked at although any of them may hang."""

from __future__ import annotations

import threading
from pathlib import Path

from phoenixd.config import read_configuration
from phoenixd.terrain import Terrain, _mount_of
from tests.hung_disk import hung_mount
from tests.waiting import eventually_sync


def test_what_answers_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    terrain = Terrain()
    found = [
        (terrain.is_directory(str(tmp_path / one)), terrain.is_file(str(tmp_path / one))) for one in ("", "file", "no")
    ]
    assert found == [(True, False), (False, True), (False, False)]
    assert terrain.real(str(tmp_path / "link" / "x")) == str(tmp_path / "x")
    assert terrain.is_directory("a\0b") is False
    terrain.close()


def test_a_mount_that_hangs_is_asked_once_and_again_when_it_answers(tmp_path: Path) -> None:
    terrain, before = Terrain(patience=0.1), threading.active_count()
    with hung_mount(tmp_path / "dead") as dead:
        assert _mount_of(f"{dead}/a/b") == str(dead)
        for name in ("a", "b", "c"):
            assert terrain.is_directory(f"{dead}/{name}") is None
            assert terrain.real(f"{dead}/{name}/../x") == f"{dead}/x"
            assert terrain.is_directory(str(tmp_path)) is True
        assert threading.active_count() <= before + 2, "one that hangs, and one that looks"
    eventually_sync(lambda: terrain.is_directory(f"{dead}/a") is False)
    terrain.close()


def test_a_hundred_agents_on_a_dead_mount_are_read_and_each_is_told_of(tmp_path: Path) -> None:
    with hung_mount(tmp_path / "dead") as dead:
        agent = '[agent.{0}]\nargv = ["sleep", "9"]\nharness = "command"\ncwd = "{1}/{0}"\n'
        agent += 'heartbeat_file = "{1}/{0}.json"\n'
        place = tmp_path / "phoenixd.toml"
        place.write_text("".join(agent.format(f"a{number}", dead) for number in range(100)))
        found = read_configuration(place, tmp_path / "state", {}, Terrain(patience=0.1))
    assert len(found.agents) == 100
    told = [one.message for one in found.problems if one.key.endswith(".cwd")]
    assert len(told) == 100
    assert told[0] == f"{dead}/a0 does not answer: its file system hangs"
