"""Cases that are decided otherwise than their author said: what is decided today, and why."""

from __future__ import annotations

P53 = (
    "ruling P53, and P54 and X4 with it: a resident that ends with 0 by itself stays down, whatever its turn was at. "
    "The author says of this case that the plain reading of P53 stands against it"
)

MISSED: dict[str, tuple[str, str]] = {
    "EXI-07": ("finished well or stopped by an order; leave it", P53),
    "EXI-15": ("finished well or stopped by an order; leave it", P53),
}
