"""A pytest plugin, `-p tests.proof.mutants.forked`: each mutant in a fork of a process that has collected all tests.

What a trial costs is its start: the interpreter, the imports, the collection. Here these happen once. A fork gives the
mutant's function its other code and runs the chosen tests. A mutant that stands in no function's body is answered with
`cold`: what runs while a file is imported has run before the fork.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import gc
import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.proof.mutants.operators import Mutant

LIST = "PHOENIX_MUTANTS_FORKED"
JOBS = "PHOENIX_MUTANTS_JOBS"
SURVIVED, KILLED, COLD = 0, 1, 2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """One mutant, or none for the control; its tests, each with how long it may take, and how long they all may."""

    number: int
    mutant: Mutant | None
    tests: list[tuple[str, float]]
    limit: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A fork at work. said: where it writes which test saw the mutant."""

    asked: Asked
    pid: int
    fd: int
    said: int
    began: float


def code_of(root: Path, mutant: Mutant) -> tuple[CodeType, CodeType] | None:
    """Return the code of the outermost function around a mutant, as it is and with it; None outside any body."""
    source = (root / mutant.path).read_bytes()
    found = []
    for text in (source, mutant.applied(source)):
        node = _outermost(ast.parse(text), mutant.line)
        if node is None or mutant.line < node.body[0].lineno:
            return None
        compiled = compile(text, str(root / mutant.path), "exec", dont_inherit=True)
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        named = [one for one in _within(compiled) if (one.co_name, one.co_firstlineno) == (node.name, first)]
        found.append(named[0] if named else None)
    old, new = found
    if old is None or new is None or old.co_freevars != new.co_freevars or old == new:
        return None
    return old, new


def _outermost(tree: ast.AST, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for node in ast.iter_child_nodes(tree):
        if getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", 0) or 0):
            return node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else _outermost(node, line)
    return None


def _within(code: CodeType) -> list[CodeType]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return inner + [one for held in inner for one in _within(held)]


def plant(old: CodeType, new: CodeType) -> bool:
    """Give each function that has the one code the other; whether there was one."""
    found = False
    wanted = _place(old)
    for function in gc.get_objects():
        if type(function) is FunctionType and _place(function.__code__) == wanted:
            function.__code__ = new
            found = True
        elif isinstance(function, functools._lru_cache_wrapper):
            function.cache_clear()
    return found


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_name, code.co_firstlineno, code.co_filename


def pytest_runtestloop(session: pytest.Session) -> bool:
    items = {item.nodeid: item for item in session.items}
    rows = [json.loads(row) for row in Path(os.environ[LIST]).read_text().splitlines()]
    waiting = [Asked(number, Mutant(*mutant) if mutant else None, *how) for number, mutant, *how in reversed(rows)]
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    at_work: dict[int, Trial] = {}
    while waiting or at_work:
        while waiting and len(at_work) < int(os.environ[JOBS]):
            trial = _begin(session, items, waiting.pop())
            at_work[trial.fd] = trial
        due = min(trial.began + trial.asked.limit for trial in at_work.values()) - time.monotonic()
        ready, _, _ = select.select(list(at_work), [], [], max(0.0, due))
        for fd in ready or [one.fd for one in at_work.values() if time.monotonic() >= one.began + one.asked.limit]:
            _end(at_work.pop(fd), is_over=bool(ready))
    return True


def _begin(session: pytest.Session, items: dict[str, pytest.Item], asked: Asked) -> Trial:
    said, says = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(said)
        code = COLD
        try:
            code = _try(session, items, asked, says)
        finally:
            os._exit(code)
    os.close(says)
    return Trial(asked, pid, os.pidfd_open(pid), said, time.monotonic())


def _try(session: pytest.Session, items: dict[str, pytest.Item], asked: Asked, says: int) -> int:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    gc.unfreeze()  # What is frozen is listed nowhere.
    chosen = [items[name] for name, _ in asked.tests if name in items]
    for name, limit in asked.tests:
        if name in items:
            # A mutant that hangs costs what one test may take, and not what all of them may.
            items[name].add_marker(pytest.mark.timeout(limit), append=False)
    codes = code_of(session.config.rootpath, asked.mutant) if asked.mutant is not None else None
    if not chosen or (asked.mutant is not None and (codes is None or not plant(*codes))):
        return COLD
    for item, following in zip(chosen, [*chosen[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            os.write(says, item.nodeid.encode()[:400])
            return KILLED
    return SURVIVED


def _end(trial: Trial, *, is_over: bool) -> None:
    if not is_over:
        os.killpg(trial.pid, signal.SIGKILL)
    _, status = os.waitpid(trial.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    os.set_blocking(trial.said, False)
    try:
        by = os.read(trial.said, 4096).decode()
    except BlockingIOError:
        by = ""
    os.close(trial.fd)
    os.close(trial.said)
    if not is_over:
        word, by = "timed out", f"after {trial.asked.limit:.0f} s"
    else:
        word = {SURVIVED: "survived", KILLED: "killed", COLD: "cold"}.get(code, "killed")
    row = [trial.asked.number, word, time.monotonic() - trial.began, by or f"exit {code}"]
    print(f"\n{LIST} {json.dumps(row)}", file=sys.__stdout__, flush=True)
