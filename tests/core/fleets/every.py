"""All fleets to which events happen."""

from __future__ import annotations

from tests.core.fleets.people import asking, configured, ordered
from tests.core.fleets.seats import handing, turns
from tests.core.fleets.situation import alone, known
from tests.core.fleets.trouble import behind, ending, failing
from tests.core.fleets.work import checking, working

FLEETS = (
    *alone(), *known(), *failing(), *handing(), *asking(), *ordered(), *ending(), *configured(), *behind(), *turns(),
    *working(), *checking(),
)  # fmt: skip
"""Made before any test begins: what is decided on the way to them is no story of this one."""
