"""Whose word settled a permission: the answer that was given from afar, or somebody at the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.harness.shape import PermissionTold
from phoenixd.ports.evidence import AnswerGiven

CLOCK_STEP = 0.001
"""Seconds to which records of CLIs tell their time, cut off."""
HOOKS = ("allowed", "denied")
"""What a hook's answer makes of a call."""


def whose_word(given: AnswerGiven, told: Sequence[PermissionTold]) -> bool | None:
    """Whether the answer counted; None where what was written so far cannot tell (promise 11).

    told: what the records say that were written since, in their order. A record of the call that asks which was made
    before the answer tells that the answer came too late.
    """
    since = given.since - CLOCK_STEP
    own = [one for one in told if one.call == given.call] if given.call else _of_one_call(given, told, since)
    hooks = [one for one in own if one.what in HOOKS]
    hook = next((one for one in hooks if one.at >= since), hooks[0] if hooks else None)
    over = next((one for one in own if one.what not in HOOKS), None)
    if hook is not None:
        return _of_a_hook(given, hook, over, since)
    if over is None or not given.call:  # Of a call that is not known, what is over may be another one.
        return None
    if over.at < since:
        return False
    # A command that was allowed from afar and broken off leaves the record of one that a person said No to. And what
    # fails may print the words of a denial, where no record says that it was denied.
    is_either = over.what == "refused" if given.allow else _is_denial(given, over)
    return None if is_either else False


def _of_one_call(given: AnswerGiven, told: Sequence[PermissionTold], since: float) -> list[PermissionTold]:
    """What may be of a call that asks and is not known; nothing where it may be of several.

    A call whose permission was settled before the answer does not ask, whenever it is over.
    """
    settled = {one.call for one in told if one.what in HOOKS and one.at < since}
    own = [one for one in told if one.at >= since and one.call not in settled]
    denied = {one.call for one in own if not given.allow and _is_denial(given, one)}
    calls = denied or {one.call for one in own}
    return [one for one in own if one.call in calls] if len(calls) == 1 else []


def _is_denial(given: AnswerGiven, one: PermissionTold) -> bool:
    """Whether these are the words of that denial, or quote them at their end."""
    return one.words.rstrip().endswith(given.mark)


def _of_a_hook(given: AnswerGiven, hook: PermissionTold, over: PermissionTold | None, since: float) -> bool | None:
    """Some hook's answer settled it: this one's, or that of another program which asks to be told as well."""
    if hook.at < since or (hook.what == "allowed") != given.allow:
        return False
    if given.allow:
        return True
    # Any program may print the words of a denial, but only of a call that was not denied.
    return None if over is None else _is_denial(given, over)
