"""Files that agents can write are never trusted, and our own are never left half-written."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from phoenixd.drivers.files import plain as files
from phoenixd.drivers.files.plain import append, copy_new, ensure_private_dir, read_plain, replace, replace_unchanged
from phoenixd.errors import FileUnreadable, UnsafeFile


def test_a_plain_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1000)

    assert read_plain(tmp_path / "f", 1000) == b"x" * 1000


def test_a_host_that_cannot_look_says_nothing_about_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(FileUnreadable):
            read_plain(tmp_path / "f", 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert read_plain(tmp_path / "f", 1000) == b"x"


def test_what_an_agent_may_put_in_a_files_place_is_refused(short_tmp: Path) -> None:
    (short_tmp / "plain").write_bytes(b"secret")
    (short_tmp / "symlink").symlink_to(short_tmp / "plain")
    (short_tmp / "dangling").symlink_to(short_tmp / "nothing")
    os.mkfifo(short_tmp / "fifo")
    (short_tmp / "directory").mkdir()
    os.link(short_tmp / "plain", short_tmp / "second-name")
    (short_tmp / "sparse").touch()
    os.truncate(short_tmp / "sparse", 1 << 40)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_tmp / "socket"))

    for name in ("symlink", "dangling", "fifo", "directory", "second-name", "sparse", "socket"):
        with pytest.raises(UnsafeFile):
            read_plain(short_tmp / name, 1000)
    with pytest.raises(UnsafeFile):
        read_plain("/dev/zero", 1000)
    with pytest.raises(FileNotFoundError):
        read_plain(short_tmp / "nothing", 1000)


def test_a_file_that_is_longer_than_it_said_is_refused() -> None:
    """/proc files say that they are empty, as a file does that grows after the look at its size."""
    with pytest.raises(UnsafeFile, match="more than 3"):
        read_plain("/proc/self/status", 3)


def test_a_strangers_file_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not run: only root can make another user's file")
    (tmp_path / "f").write_bytes(b"x")
    os.chown(tmp_path / "f", 65534, 65534)

    with pytest.raises(UnsafeFile, match="uid 65534"):
        read_plain(tmp_path / "f", 10)


def test_replace_leaves_the_new_content_alone_with_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "state.json"
    replace(target, b"old")
    previous = os.umask(0o077)
    try:
        replace(target, b"new", mode=0o644)
    finally:
        os.umask(previous)

    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["state.json"]


@pytest.mark.parametrize("before", [None, "file", "link", "dangling"])
def test_replace_in_haste_leaves_the_new_content_alone_whatever_stood_there(tmp_path: Path, before: str | None) -> None:
    target, victim = tmp_path / "brief.md", tmp_path / "victim"
    victim.write_bytes(b"precious")
    if before == "file":
        target.write_bytes(b"old")
    elif before is not None:
        target.symlink_to(victim if before == "link" else tmp_path / "nothing")
    seen = os.open(target, os.O_RDONLY) if before == "file" else None

    replace(target, b"new", durable=False)

    assert (target.read_bytes(), target.is_symlink()) == (b"new", False)
    assert sorted(os.listdir(tmp_path)) == ["brief.md", "victim"]
    assert victim.read_bytes() == b"precious"
    if seen is not None:
        assert os.read(seen, 10) == b"old", "whoever has it open reads on in the old one"
        os.close(seen)


def test_replace_in_haste_makes_no_directory_of_an_agents_disappear(tmp_path: Path) -> None:
    (tmp_path / "brief.md").mkdir()
    (tmp_path / "brief.md" / "kept").touch()

    with pytest.raises(IsADirectoryError):
        replace(tmp_path / "brief.md", b"new", durable=False)

    assert os.listdir(tmp_path) == ["brief.md"]
    assert (tmp_path / "brief.md" / "kept").exists()


def test_replace_does_not_write_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "state.json").symlink_to(tmp_path / "victim")

    replace(tmp_path / "state.json", b"new")

    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "state.json").is_symlink()


def test_replace_that_cannot_finish_keeps_the_old_content(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes the write fail half-way, as a full disk does."""
    replace(tmp_path / "f", b"old")
    script = (
        "import resource, signal, sys\n"
        "from phoenixd.drivers.files.plain import replace\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: replace(sys.argv[1], b'n' * 5000)\n"
        "except OSError as error: print(error.strerror)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "f"], capture_output=True, text=True, check=True)

    assert done.stdout == "File too large\n"
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_append_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    journal = tmp_path / "ops.jsonl"
    append(journal, b'{"n":1}')
    with journal.open("ab") as torn:
        torn.write(b'{"n":2')
    append(journal, b'{"n":3}')

    assert journal.read_bytes() == b'{"n":1}\n{"n":2\n{"n":3}\n'
    with pytest.raises(ValueError, match="newline"):
        append(journal, b"two\nlines")


def test_append_that_cannot_finish_takes_its_part_back(tmp_path: Path) -> None:
    append(tmp_path / "f", b"first")
    script = (
        "import resource, signal, sys\n"
        "from phoenixd.drivers.files.plain import append\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: append(sys.argv[1], b'n' * 5000)\n"
        "except OSError as error: print(error.strerror)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "f"], capture_output=True, text=True, check=True)

    assert done.stdout == "File too large\n"
    assert (tmp_path / "f").read_bytes() == b"first\n"


def test_append_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious\n")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "fifo")

    for name in ("link", "fifo"):
        with pytest.raises(UnsafeFile):
            append(tmp_path / name, b"line")
    assert (tmp_path / "victim").read_bytes() == b"precious\n"


def test_directories_are_private(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    ensure_private_dir(tmp_path / "open")
    ensure_private_dir(tmp_path / "new" / "deep")

    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "deep").stat().st_mode) == 0o700
    if os.geteuid() == 0:
        os.chown(tmp_path / "open", 65534, 65534)
        with pytest.raises(UnsafeFile):
            ensure_private_dir(tmp_path / "open")


def test_what_is_unchanged_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "f"

    assert replace_unchanged(path, b"one", None)
    assert replace_unchanged(path, b"two", b"one")

    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_file_that_was_deleted_or_made_meanwhile_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    path = tmp_path / "f"
    if not exchanges:
        monkeypatch.setattr(files, "_renameat2", None)

    assert replace_unchanged(path, b"two", b"one") is not exchanges
    assert path.exists() is not exchanges
    path.write_bytes(b"theirs")
    assert replace_unchanged(path, b"two", None) is not exchanges
    assert path.read_bytes() == (b"theirs" if exchanges else b"two")


@pytest.mark.parametrize("theirs", ["edited", "longer than it was", "link", "directory"])
def test_an_edit_that_came_in_between_stands(tmp_path: Path, theirs: str) -> None:
    path, elsewhere = tmp_path / "f", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"one")
    if theirs == "link":
        path.symlink_to(elsewhere)
    elif theirs == "directory":
        path.mkdir()
    else:
        path.write_text(theirs)

    assert not replace_unchanged(path, b"two", b"one")

    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "f"]
    assert elsewhere.read_bytes() == b"one"
    assert path.is_symlink() == (theirs == "link")
    assert path.is_dir() == (theirs == "directory")
    if path.is_file() and not path.is_symlink():
        assert path.read_text() == theirs


@pytest.mark.parametrize("fault", [FileUnreadable("too many open files"), OSError(errno.EIO, "Input/output error")])
def test_f_st_3_a_host_that_cannot_look_at_what_stood_there_is_told_and_is_no_edit_of_another_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")

    def unreadable(path: object, limit: int) -> bytes:
        raise fault

    monkeypatch.setattr(files, "read_plain", unreadable)
    with pytest.raises(type(fault)):
        replace_unchanged(path, b"two", b"one")

    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("name", ["\u4e2d" * 85, "a" + "\u4e2d" * 84, "\U0001f600" * 63, "a" * 255])
def test_a_name_of_the_most_bytes_that_a_directory_holds_can_be_written(tmp_path: Path, name: str) -> None:
    replace(tmp_path / name, b"whole")
    (tmp_path / "source").write_bytes(b"whole")
    (tmp_path / "below").mkdir()

    assert copy_new(tmp_path / "source", tmp_path / "below" / name, 5, sha256(b"whole").hexdigest())
    assert (tmp_path / name).read_bytes() == (tmp_path / "below" / name).read_bytes() == b"whole"
