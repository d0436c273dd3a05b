"""The library phoenixd.clinic, offline: models are functions, and no test waits."""
