"""What each room may import, where import-linter's contracts cannot say it: allow-lists and the cost of a start."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "phoenixd"
PURE_STANDARD_LIBRARY = {
    "__future__",
    "abc",
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "types",
    "typing",
    "unicodedata",
}


def imported_modules(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every absolute module name that a file imports, also inside functions, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield str(node.module), node.lineno


def offenders(room: str, allowed: set[str]) -> list[str]:
    found: list[str] = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        for module, line in imported_modules(path):
            accepted = any(module == name or module.startswith(name + ".") for name in allowed)
            if not accepted:
                found.append(f"{path.relative_to(PACKAGE)}:{line} imports {module}")
    return found


def test_the_core_imports_only_what_computes() -> None:
    assert offenders("core", PURE_STANDARD_LIBRARY | {"phoenixd.core", "phoenixd.planting"}) == []
    planting = {module.partition(".")[0] for module, _ in imported_modules(PACKAGE / "planting.py")}
    assert planting <= PURE_STANDARD_LIBRARY | {"__future__"}


def test_harnesses_are_pure() -> None:
    allowed = PURE_STANDARD_LIBRARY | {"uuid", "urllib.parse", "pathlib", "shlex", "tomllib"}
    ours = {"phoenixd.core", "phoenixd.documents", "phoenixd.errors", "phoenixd.harness", "phoenixd.planting"}
    # What a hook tells is trimmed in the shim, and a transcript has to say the same of it.
    assert offenders("harness", allowed | ours | {"phoenixd.clis", "phoenixd.shim.payload"}) == []
    assert {module for module, _ in imported_modules(PACKAGE / "clis.py")} <= PURE_STANDARD_LIBRARY | {"__future__"}


def test_the_shim_imports_the_standard_library_and_its_siblings() -> None:
    """It runs from a copy of its directory, with an interpreter that need not have phoenixd."""
    siblings = {path.stem for path in (PACKAGE / "shim").glob("*.py")}

    # hashlib pulls OpenSSL in, 3 ms; these are what it stands on, under the names of 3.11 and of 3.12.
    faster_hashes = {"_sha256", "_sha2"}

    assert offenders("shim", set(sys.stdlib_module_names) | siblings | faster_hashes) == []


def test_the_api_table_is_readable_by_a_client_without_dependencies() -> None:
    assert offenders("api/operations", set(sys.stdlib_module_names) | {"phoenixd"}) == []


def test_phoenixctl_starts_on_the_standard_library_alone() -> None:
    """Every import costs each call: pydantic 50 ms, structlog 135 ms, against 26 ms for the whole verb."""
    if not (PACKAGE / "ctl" / "__main__.py").exists():
        pytest.skip("not run: phoenixd/ctl does not exist yet")
    script = (
        "import sys; before = set(sys.modules); import phoenixd.ctl.__main__\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(roots - set(sys.stdlib_module_names) - {'phoenixd'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )

    assert loaded.stdout.split() == []


def test_a_daemon_loads_what_it_may_never_use_when_it_first_uses_it() -> None:
    """libtmux sets the server up, psutil looks for who listens on a port, the schemas describe the control API; rich
    colours what no daemon prints. The others are command lines of what the daemon is made of."""
    seldom = {
        "libtmux", "psutil", "rich", "phoenixd.api.openapi", "phoenixd.api.schemas", "uvicorn.main", "watchfiles.run",
        "click", "multiprocessing", "importlib.metadata",
    }  # fmt: skip

    loaded = said_by("import sys, phoenixd.__main__; print(*sys.modules)").split()

    assert "structlog" in loaded
    assert seldom & set(loaded) == set()


def test_what_a_daemon_imports_is_never_looked_through_for_garbage() -> None:
    enabled, kept, looked_through = said_by(
        "import gc, phoenixd.__main__; print(gc.isenabled(), gc.get_freeze_count(), len(gc.get_objects()))"
    ).split()

    assert enabled == "True"
    assert int(kept) > 10 * int(looked_through)


def said_by(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


EVERY_MODULE = """
import importlib, pkgutil, sys
import phoenixd
names = [found.name for found in pkgutil.walk_packages(phoenixd.__path__, "phoenixd.")]
# The shim's modules import each other by their bare names: they run from a copy of their directory.
for name in names:
    if not name.startswith("phoenixd.shim"):
        importlib.import_module(name)
print(len(names))
"""


def test_every_module_can_be_imported_by_this_python() -> None:
    """./dev test asks this of the newest Python too, which is not given every room."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EVERY_MODULE], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
