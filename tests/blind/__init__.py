"""Corpora that were written by somebody who had read the design, and neither the code nor its tests.

`liveness/`, `breaker/`, `recovery/`, `disk/`, `question/` and `directory/` hold the tables, in two halves each, with
their format. The second
halves were opened only when the rules stood. `python -m tests.blind` plays them all (`./dev proof blind`), and prints
what went wrong. `frozen.py` serves the corpora in other rooms, which are JSON files beside their players.
"""
