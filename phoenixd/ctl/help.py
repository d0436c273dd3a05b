"""`help [VERB]`: what a verb does and takes; `help select` is how agents are chosen."""

from __future__ import annotations

import textwrap

from phoenixd.api import exits
from phoenixd.api.operations import verbs
from phoenixd.core.nearest import nearest
from phoenixd.core.selection import CLOSED, KEYS
from phoenixd.ctl import pager
from phoenixd.ctl.grammar import Command, parse
from phoenixd.ctl.refusal import refuse

SELECT = "select"
CHOOSING = """Verbs that act on agents take names and selectors, one or several:

  shop-api               this agent
  'shop-*'               all whose names begin so; ? is one character, [abc] one
                         of these
  '*'                    all agents
  p:shop s:idle          what is of the project shop and idle: different keys
                         have to match together
  s:idle,waiting         idle or waiting: values of one key, and names, are
                         alternatives
  'shop-*' '!shop-old'   all of these but that one

keys:
"""
AFTER = """
Above one agent a verb asks once, and names them; --yes answers beforehand, and
--dry-run only shows whom it means. phoenixctl undo takes back the newest stop,
removal, fresh start or mute, for 7 days.
"""


def show(command: Command) -> int:
    """`help [VERB]`."""
    words = tuple(str(word) for word in command.given.get("verb") or ())
    if words == (SELECT,):
        pager.show(choosing())
        return exits.OK
    known = {*verbs(), *((found[0],) for found in verbs()), ("demo",), ("install-service",)}
    if words and words not in known:
        close = nearest(" ".join(words), [" ".join(found) for found in known])
        why = f"there is no verb {' '.join(words)[:60]!r}{f'; did you mean {close}?' if close else ''}"
        return refuse(exits.USAGE, why, f"phoenixctl help {close}" if close else "phoenixctl help")
    parse([*words, "--help"])
    return exits.OK


def choosing() -> str:
    """How agents are chosen, for people."""
    rows = [f"  {key + ':':<7}{words}" for key, words in KEYS.items()]
    states = textwrap.fill(f"s: is one of {', '.join(CLOSED['s'])}", 78, initial_indent="  ", subsequent_indent="     ")
    return CHOOSING + "\n".join((*rows, "", states)) + "\n" + AFTER
