"""`python -m phoenixd`, and the `phoenixd` command."""

from __future__ import annotations

import sys

from phoenixd.daemon import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
