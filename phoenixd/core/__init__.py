"""The decisions of phoenixd, as values in and values out.

Nothing in this package awaits, reads a clock, rolls dice, logs or touches the machine: time and chance are
arguments (`Moment`), what happened is an event, what is to be done is an action, and why is in the decision.
"""
