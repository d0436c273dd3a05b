"""Without pydantic-ai the library says how to get it, and everything else runs (C23, X11)."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pydantic_ai":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def ran(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + program], capture_output=True, text=True, timeout=120, check=False
    )


def test_c23_x11_one_clear_sentence_with_the_command() -> None:
    failed = ran("import phoenixd.clinic")

    last = failed.stderr.strip().splitlines()[-1]
    assert failed.returncode == 1
    assert last == (
        "ImportError: phoenixd.clinic needs pydantic-ai 2.60 or newer, and it is not installed: "
        "pip install '.[clinic]' in a checkout of phoenixd"
    )
    assert failed.stderr.count("Traceback") == 1


def test_one_that_is_too_old_is_told_in_the_same_sentence() -> None:
    program = """
sys.meta_path.pop(0)
import types, importlib.machinery
old = types.ModuleType("pydantic_ai")
old.__spec__ = importlib.machinery.ModuleSpec("pydantic_ai", None)
sys.modules["pydantic_ai"] = old
import phoenixd.clinic
"""
    last = ran(program).stderr.strip().splitlines()[-1]

    assert last.startswith("ImportError: phoenixd.clinic needs pydantic-ai 2.60 or newer")
    assert last.endswith("pip install '.[clinic]' in a checkout of phoenixd")


def test_c23_x11_the_daemon_phoenixctl_the_records_and_the_other_library_do_not_need_it() -> None:
    loaded = ran(
        "import phoenixd.__main__, phoenixd.daemon, phoenixd.ctl.__main__, phoenixd.resonance\n"
        "import phoenixd.documents.clinic, phoenixd.drivers.writers.model\n"
        "print('fine')"
    )

    assert (loaded.stdout, loaded.stderr) == ("fine\n", "")
