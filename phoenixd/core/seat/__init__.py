"""Seats of orchestrators: which generation holds one, what is meant by its name, and how it passes on."""
