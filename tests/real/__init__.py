"""Contracts with the real agent CLIs, run against stubs of their APIs on loopback."""
