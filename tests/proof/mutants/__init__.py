"""Mutants: one small change in a copy of the code, and the tests that must see it."""
