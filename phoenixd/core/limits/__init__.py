"""Limits, overload and outages: one agent that waits them out (`parking`), and those that wait together."""
