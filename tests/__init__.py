"""What phoenixd promises, held to it. Rooms are named as in the package; see docs/promises.md.

Decisions ask the traits of harnesses, which are told when these are imported.
"""

import phoenixd.harness  # noqa: F401
