"""The plumbing that carries events to the core and its actions to the outside. It decides nothing."""
