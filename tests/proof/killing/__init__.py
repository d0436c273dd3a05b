"""The daemon's violent deaths: a fleet that is counted from outside, and the instants at which the daemon is killed."""
