"""From a decision to spawn to an order that a shim can carry out: environment, login, trust, command line, fence."""
