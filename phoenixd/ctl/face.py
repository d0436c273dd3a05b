"""The page for what phoenixctl itself has to tell: as the daemon would make it for this terminal."""

from __future__ import annotations

import time

from phoenixd.api.pages.layout import Page, page_columns
from phoenixd.ctl import wire


def here() -> Page:
    """Now, in the columns that there are."""
    return Page(time.time(), page_columns(wire.width()), colour=wire.is_coloured(), socket=wire.named_socket())
