"""`PYTHON -I -S THIS MARKS DIRECTORY [arguments of a shim]`: the shim in that directory, with marks."""

from __future__ import annotations

import os
import runpy
import sys


def put_marks(marks: str) -> None:
    """Put a mark at each step from the agent's death to its successor's exec."""
    import disks
    import launch
    import run
    import runfiles
    import shim
    from pen import Pen

    pen = Pen(marks)
    pen.at_begin(run.Run, "reap", "seen")
    pen.at_begin(run.Run, "_agent_died", "reaped")
    pen.at_begin(shim.Shim, "run_ended", "tree gone")
    pen.at_end(disks, "full", "disks")
    pen.at_end(runfiles.RunFiles, "write_exit", "exit.json")
    pen.at_begin(shim.Shim, "_tell_exit", "told")
    pen.at_begin(shim.Shim, "_start", "order heard")
    pen.at_begin(shim.Shim, "_launch", "order read")
    pen.at_begin(launch, "launch", "ready")
    pen.at_begin(launch, "_run_child", "forked")
    pen.at_begin(launch, "_execute", "set up")


if __name__ == "__main__":
    _, marks, directory, *arguments = sys.argv
    sys.path[:0] = [directory]
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    put_marks(marks)
    sys.argv = [directory, *arguments]
    runpy.run_path(directory, run_name="__main__")
