"""`python -m phoenixd`, and the `phoenixd` command."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType

# Nearly all that imports make lives until the end: to look through it while it grows is an eighth of a start's cost,
# and later would hold up the loop for a tenth of a second each time.
gc.disable()

# structlog loads rich wherever somebody has installed it, 5 MiB for tracebacks in colours that no daemon prints.
without_rich = "rich" not in sys.modules
if without_rich:
    sys.modules["rich"] = None  # type: ignore[assignment]
import structlog  # noqa: E402

if without_rich:
    del sys.modules["rich"]

# These packages load their own command lines, with click and multiprocessing: 1.6 MiB for what no daemon runs. Their
# modules are found without that.
for package in ("uvicorn", "watchfiles"):
    if package not in sys.modules and (spec := find_spec(package)) is not None:
        sys.modules[package] = module_from_spec(spec)

# pydantic reads the metadata of all that is installed for plugins, and would load what it finds.
PLUGINS = "pydantic.plugin._loader"
if PLUGINS not in sys.modules:
    sys.modules[PLUGINS] = ModuleType(PLUGINS)
    vars(sys.modules[PLUGINS])["get_plugins"] = tuple

import uvicorn  # noqa: E402
import uvicorn.config  # noqa: E402

from phoenixd.shared_methods import shared_methods  # noqa: E402

with shared_methods():
    from phoenixd.daemon import main

# Its lifespan asks the package for that.
vars(uvicorn)["Config"] = uvicorn.config.Config

# Each dataclass with slots was made twice: 1.4 MiB for what none of them is.
gc.collect()
gc.freeze()
gc.enable()

__all__ = ["main", "structlog", "uvicorn"]

if __name__ == "__main__":
    sys.exit(main())
