"""The control API on a living server, and its text on fixture fleets."""
