"""`recover`: the plan is shown; with --yes, or after a word at the terminal, it is done; --take hands shims over."""

from __future__ import annotations

import sys

from phoenixd.api import exits
from phoenixd.ctl import calls
from phoenixd.ctl.grammar import Command


def recover(command: Command) -> int:
    """`recover [--yes]`, and `recover --take`, for which no daemon may run."""
    if command.given.get("take"):
        # It locks directories and speaks to shims, which no other call of phoenixctl has to load.
        from phoenixd.ctl import taking

        return taking.take_over(command)
    confirm = calls.operation("confirm_recovery")
    if command.given.get("yes"):
        return calls.told(command, calls.ask(command, confirm, {}))
    shown = calls.ask(command, command.operation, {})
    code = calls.told(command, shown)
    is_asked = sys.stdin.isatty() and sys.stdout.isatty() and not command.as_json
    if code != exits.OK or not is_asked or not _is_open(command):
        return code
    try:
        word = input("do it? [y/N] ").strip().lower()
    except EOFError:
        print()
        return code
    return calls.told(command, calls.ask(command, confirm, {})) if word in ("y", "yes") else code


def _is_open(command: Command) -> bool:
    """Whether there is anything to confirm."""
    plan = calls.ask(command, command.operation, {}, as_json=True)
    return plan is not None and b'"behind": true' in plan.body
