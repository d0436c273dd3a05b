"""The edge of the house: each driver talks to one outside thing.

The law: drivers never import each other, decide nothing, and never guess. They translate foreign errors into
phoenixd.errors or into events; what they implement stands in phoenixd.ports. A driver of more than one file is
a folder (tmux/, git/).
"""
