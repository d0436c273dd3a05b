"""`python -m phoenixd`, and the `phoenixd` command."""

from __future__ import annotations

import gc
import sys

# What imports make lives until the end: to look through it while it grows is an eighth of a start's cost, and later
# would hold up the loop for a tenth of a second each time.
gc.disable()

# structlog loads rich wherever somebody has installed it, 5 MiB for tracebacks in colours that no daemon prints.
without_rich = "rich" not in sys.modules
if without_rich:
    sys.modules["rich"] = None  # type: ignore[assignment]
import structlog  # noqa: E402

if without_rich:
    del sys.modules["rich"]

from phoenixd.daemon import main  # noqa: E402

gc.freeze()
gc.enable()

__all__ = ["main", "structlog"]

if __name__ == "__main__":
    sys.exit(main())
