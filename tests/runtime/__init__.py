"""The plumbing between the core and the drivers."""
