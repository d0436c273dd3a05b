"""The journal may be behind the world: an older copy of it, one without the end of its log, or none at all.

`world.py` holds what there is to compare, `verdicts.py` decides what becomes of each agent, `epochs.py` says what moves
the count by which a journal is known to be old. `tasks.py` says which workers count as declared, and what
becomes of tasks; `plan.py` makes decisions of the verdicts, and tells of them. All that is said here is said before
anything is killed or started.
"""
