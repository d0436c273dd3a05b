"""Contexts that are full: cases that were written and frozen before anybody tried them."""
