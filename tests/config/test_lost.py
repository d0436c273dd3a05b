"""An agent that no file declares any more was given up by nobody where its place is gone, or is not read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from phoenixd.config import look_for, require_given_up
from phoenixd.errors import ConfigurationError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "phoenixd"
    (place / "conf.d").mkdir(parents=True)
    return place


def ask(removed: dict[str, Path], declarations: Path, *read: Path) -> None:
    require_given_up(
        {name: str(file) for name, file in removed.items()},
        {str(file): look_for(file) for file in removed.values() if file.parent != declarations},
        {str(file) for file in read},
        lambda place: f"phoenixctl up --config {place}",
    )


def _is_gone(place: Path) -> None:
    (place / "conf.d").rmdir()
    place.rmdir()


def _is_no_directory(place: Path) -> None:
    _is_gone(place)
    place.touch()


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (_is_gone, "it is gone"),
        (_is_no_directory, "it cannot be read (Not a directory)"),
        (lambda place: None, "it holds no file any more"),
        (lambda place: (place / "phoenixd.toml").touch(), "this daemon does not read it"),
    ],
)
def test_agents_whose_place_is_gone_or_not_read_are_given_up_by_nobody(
    place: Path, happens: Callable[[Path], object], why: str
) -> None:
    """As where its disk was not mounted when the daemon began."""
    file = place / "phoenixd.toml"
    happens(place)

    with pytest.raises(ConfigurationError) as refused:
        ask({"a": file, "b": file}, place / "state")

    assert refused.value.message == f"{place}: {why}, and it declared a, b"
    back = f"have it read: phoenixctl up --config {place}" if file.exists() else "bring it back"
    assert refused.value.remedy == f"{back}; or give its agents up: phoenixctl remove a b"


def test_every_place_and_every_agent_of_it_is_named(place: Path, tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    with pytest.raises(ConfigurationError) as refused:
        ask({"a": place / "conf.d" / "x.toml", "b": named, "c": place / "agents.d" / "c.toml"}, place / "state")
    assert refused.value.message.splitlines() == [
        f"{place}: it holds no file any more, and it declared a, c",
        f"{named}: it is gone, and it declared b",
    ]
    assert refused.value.remedy.endswith("phoenixctl remove a c b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_place_that_may_not_be_read_is_no_empty_one(place: Path) -> None:
    (place / "conf.d").chmod(0)
    with pytest.raises(ConfigurationError, match=r"cannot be read \(Permission denied\)"):
        ask({"a": place / "conf.d" / "x.toml"}, place / "state")


@pytest.mark.parametrize("file", ["phoenixd.toml", "conf.d/x.toml", "agents.d/x.toml"])
def test_an_agent_that_was_taken_out_of_its_file_or_whose_file_was_removed_is_given_up(place: Path, file: str) -> None:
    source = place / file
    ask({"a": source}, place / "state", source)
    ask({"a": source}, place / "state", place / "phoenixd.toml")
    (place / "conf.d" / "another.toml").touch()
    ask({"a": source}, place / "state")
    source.parent.mkdir(exist_ok=True)
    source.touch()
    ask({"a": source}, place / "state", source)


def test_what_add_declared_and_what_no_file_did_is_given_up(place: Path, tmp_path: Path) -> None:
    declarations = tmp_path / "state" / "agents.d"
    ask({"a": declarations / "a.toml"}, declarations)
    require_given_up({"a": ""}, {}, (), str)


def test_a_file_that_config_names_was_read_or_is_missed(tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    ask({"a": named}, tmp_path, named)
    named.touch()
    ask({"a": named}, tmp_path, named)
    with pytest.raises(ConfigurationError, match="does not read it"):
        ask({"a": named}, tmp_path / "state")
