"""Faults of the host, each in namespaces, limits or control groups of its own: `./dev proof host`."""
