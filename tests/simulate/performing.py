"""The performer in the simulation: an action that crashes ends the run, where the real one logs it and goes on."""

from __future__ import annotations

import traceback
from typing import Any

from phoenixd.core.actions import Action
from phoenixd.errors import PhoenixdError
from phoenixd.runtime.performer import Performer
from tests.simulate.host import Life
from tests.simulate.promises import Promises


class StrictPerformer(Performer):
    """What fails in a way that phoenixd knows stays a misfortune of the host; every other exception is a fault."""

    def __init__(self, promises: Promises, life: Life, *rooms: Any) -> None:
        super().__init__(*rooms)
        self._promises = promises
        self._life = life

    async def _perform(self, action: Action) -> None:
        try:
            await super()._perform(action)
        except PhoenixdError:
            raise
        except Exception:
            if self._life.is_over:
                raise
            self._promises.hold(False, f"{type(action).__name__} crashed: {action}\n{traceback.format_exc()}")
