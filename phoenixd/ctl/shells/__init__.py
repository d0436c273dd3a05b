"""Completions for shells, made from the table of operations: what can be typed is in `spoken`, each shell has a module.

Standard library only: the wheel is built from here, before anything is installed.
"""
