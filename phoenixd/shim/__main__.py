"""The shim: the program in an agent's pane, between the daemon that may die and the agent that must not notice.

Run as `PYTHON -I -S DIRECTORY --agent NAME --state DIR --run DIR --version V [--owner ID]`. Standard library alone,
everything imported here and now: a package upgrade may take the files away from under a living shim.
"""

from __future__ import annotations

import gc
import os
import sys

import job
import launch
from place import Place
from shim import Shim

OPTIONS = ("agent", "state", "run", "version")
OWNER = "--owner"
USAGE, ANOTHER_LIVES = 64, 75


def make_private(directory: str) -> None:
    """Make it and what is missing above it for ourselves alone, whatever the umask is."""
    if not os.path.isdir(directory):
        make_private(os.path.dirname(directory))
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            pass


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--job"] and len(arguments) > 1:
        return job.main(arguments[1:])
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    given = len(options)
    owner = options.pop(OWNER, None)
    if len(arguments) != 2 * given or set(options) != {f"--{name}" for name in OPTIONS}:
        sys.stderr.write("usage: shim --agent NAME --state DIR --run DIR --version VERSION [--owner ID]\n")
        return USAGE
    state_dir, run_dir = os.path.abspath(options["--state"]), os.path.abspath(options["--run"])
    for directory in (state_dir, run_dir):
        make_private(directory)
    try:
        place = Place(run_dir)
    except BlockingIOError:
        sys.stderr.write(f"phoenixd: another shim serves {options['--agent']}\n")
        return ANOTHER_LIVES
    close_inherited(place.fd)
    os.chdir("/")
    launch.become_subreaper(b"phoenix-shim")
    shim = Shim(options["--agent"], state_dir, place, options["--version"], owner)
    # What exists by now lives as long as the process: the collector need not look at it again, nor fork copy it.
    gc.collect()
    gc.freeze()
    try:
        shim.serve()
    except BaseException:
        shim.fence()
        raise
    return 0


def close_inherited(keep: int) -> None:
    """Close what the starter left open: the agent would inherit it, and the shim has no use for it."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd != keep:
            try:
                os.close(fd)
            except OSError:  # The descriptor that listed the directory.
                pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
