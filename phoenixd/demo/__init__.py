"""`phoenixctl demo`: the main job on an agent that needs no key, narrated, in a state directory of its own."""

from __future__ import annotations

from phoenixd.demo.story import main

__all__ = ["main"]
