"""The meter: how full the context of an agent's session is, and when that is too full. Unknown is never 0."""
