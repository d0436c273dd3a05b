"""Recorded ends of agents, with what a good clinician says of each: records/README.md."""
