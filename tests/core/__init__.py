"""The decisions, told what happened and asked what they decide: no clock, no process, no waiting."""
