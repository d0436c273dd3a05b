"""Typing a text into an agent: what was seen goes in, and what to do next comes out. Nothing here waits.

`machine.hear` is the way in. The runtime carries out one order, and tells what it saw.
"""
