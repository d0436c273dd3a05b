"""phoenixd keeps AI coding agents alive and at work."""

__version__ = "0.1.0"
