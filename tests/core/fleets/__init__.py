"""Fleets to which events happen: what became of an agent and of those around it."""
